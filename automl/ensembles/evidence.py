"""Evidence for an ensemble: honest scores, and the paired test against the champion.

The weights of an ensemble are learned from the same out-of-fold predictions that score it, so its
score on them is optimistic. Here they are learned on all folds but one and scored on that one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from automl.errors import SettingsError
from automl.inference.combining import Combine, combined
from automl.records import FloatArray, IntArray
from automl.statistics.paired import corrected_t

Learn = Callable[[IntArray], FloatArray]


@dataclass(frozen=True)
class CrossFitted:
    """Scores of an ensemble and of its members on folds that the weights have not seen.

    Parameters
    ----------
    scores : (n folds,), maximized
    weights : (n folds, n members)
    rows : (n folds,)
        Number of rows of each fold.
    """

    scores: FloatArray
    weights: FloatArray
    rows: IntArray


def cross_fitted_scores(
    predictions: Sequence[NDArray[Any]],
    y: NDArray[Any],
    score: Callable[..., float],
    folds: IntArray,
    learn: Learn,
    *,
    sample_weight: FloatArray | None = None,
    combine: Combine = "mean",
) -> CrossFitted:
    """Per-fold scores of an ensemble whose weights never saw the fold.

    Parameters
    ----------
    predictions : n members of (n, K) or (n,)
        Out-of-fold predictions.
    y : (n,), codes or values
    score
        Called as ``score(y, prediction)``, and with the sample weights third if there are any.
    folds : (n,)
        Fold of each row, -1 for rows without predictions. At least two folds.
    learn
        Weights, (n members,), learned from the rows whose positions it is given.
    sample_weight : (n,), non-negative
    combine
        How the members' predictions become one.

    Raises
    ------
    ValueError
        If there are fewer than two folds.
    """
    numbers = np.unique(folds[folds >= 0])
    if len(numbers) < 2:
        raise ValueError(f"cross-fitting needs at least two folds; got {len(numbers)}")
    scores, weights, sizes = [], [], []
    for fold in numbers:
        inside = np.flatnonzero(folds == fold)
        learned = learn(np.flatnonzero((folds >= 0) & (folds != fold)))
        extra = () if sample_weight is None else (sample_weight[inside],)
        prediction = combined(predictions, learned, combine, inside)
        scores.append(score(y[inside], prediction, *extra))
        weights.append(learned)
        sizes.append(len(inside))
    return CrossFitted(np.array(scores), np.stack(weights), np.array(sizes))


def fold_scores(
    prediction: NDArray[Any],
    y: NDArray[Any],
    score: Callable[..., float],
    folds: IntArray,
    *,
    sample_weight: FloatArray | None = None,
) -> FloatArray:
    """Per-fold scores of one prediction, in the order of `cross_fitted_scores`."""
    found = []
    for fold in np.unique(folds[folds >= 0]):
        inside = np.flatnonzero(folds == fold)
        extra = () if sample_weight is None else (sample_weight[inside],)
        found.append(score(y[inside], np.asarray(prediction[inside]), *extra))
    return np.array(found)


def blend(
    predictions: Sequence[NDArray[Any]], weights: FloatArray, rows: IntArray | None = None
) -> NDArray[Any]:
    """Weighted mean of the predictions on some rows, or on all, in 32 bits.

    Parameters
    ----------
    predictions : n members of (n, K) or (n,)
    weights : (n members,), sum 1
        Members without weight are not read.
    rows : positions, or None for all
    """
    return combined(predictions, weights, rows=rows)


@dataclass(frozen=True)
class EnsembleDecision:
    """Whether the ensemble replaces the champion, and why.

    Parameters
    ----------
    is_replaced
        True if p < `alpha`; never where all scores are equal.
    difference
        Mean score of the ensemble minus that of the champion.
    statistic, pvalue
        Corrected t-test on the same folds, one-sided: the ensemble is better.
    alpha : in (0, 1)
    test_train_ratio : non-negative
    ensemble_scores, champion_scores : (n folds,)
    reason
        One sentence.
    """

    is_replaced: bool
    difference: float
    statistic: float
    pvalue: float
    alpha: float
    test_train_ratio: float
    ensemble_scores: tuple[float, ...]
    champion_scores: tuple[float, ...]
    reason: str

    def to_json(self) -> dict[str, Any]:
        """Plain JSON form."""
        finite = np.isfinite(self.statistic)
        return {
            **self.__dict__,
            "statistic": self.statistic if finite else str(self.statistic),
            "ensemble_scores": list(self.ensemble_scores),
            "champion_scores": list(self.champion_scores),
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """Inverse of `to_json`."""
        scores = {key: tuple(data[key]) for key in ("ensemble_scores", "champion_scores")}
        return cls(**{**data, **scores, "statistic": float(data["statistic"])})


def decide_ensemble(
    ensemble_scores: ArrayLike,
    champion_scores: ArrayLike,
    *,
    test_train_ratio: float,
    alpha: float = 0.05,
) -> EnsembleDecision:
    """Decision by the one-sided corrected t-test on the same folds.

    Parameters
    ----------
    ensemble_scores, champion_scores : (n folds,), n >= 2
        Honest scores, see `cross_fitted_scores`.
    test_train_ratio : non-negative
        Validation rows / training rows of a fold.
    alpha : in (0, 1]
        Below one half the ensemble must be better than the champion, the more so the smaller;
        above, it replaces a champion from which the test cannot tell it.

    Raises
    ------
    SettingsError
        If `alpha` is outside its range.
    ValueError
        If the scores are not usable.
    """
    if not 0 < alpha <= 1:
        raise SettingsError(f"alpha must lie in (0, 1]; got {alpha}")
    ensemble = np.asarray(ensemble_scores, dtype=np.float64)
    champion = np.asarray(champion_scores, dtype=np.float64)
    result = corrected_t(
        ensemble, champion, test_train_ratio=test_train_ratio, alternative="greater"
    )
    difference = float(ensemble.mean() - champion.mean())
    is_better = result.pvalue < alpha and not np.array_equal(ensemble, champion)
    reason = (
        f"the ensemble {'replaces' if is_better else 'does not replace'} the champion: difference "
        f"{difference:+.4g}, corrected t, p = {result.pvalue:.3g}, alpha {alpha:g}"
    )
    return EnsembleDecision(
        is_better,
        difference,
        result.statistic,
        result.pvalue,
        alpha,
        test_train_ratio,
        tuple(map(float, ensemble)),
        tuple(map(float, champion)),
        reason,
    )
