"""Evidence for an ensemble: honest scores, and the paired test against the champion.

The weights of an ensemble are learned from the same out-of-fold predictions that score it, so its
score on them is optimistic. Here they are learned on all folds but one, by the same work as those
that go into the model, and scored on that one.
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

Judge = Callable[[NDArray[Any], IntArray, IntArray], float]


def cross_fitted_scores(
    predictions: Sequence[NDArray[Any]],
    judge: Judge,
    folds: IntArray,
    weights: FloatArray,
    *,
    combine: Combine = "mean",
) -> FloatArray:
    """Per-fold scores, (n folds,), of an ensemble whose weights never saw the fold.

    Parameters
    ----------
    predictions : n members of (n, K) or (n,)
        Out-of-fold predictions.
    judge
        Score of a blend, (n, K) or (n,), on the rows at some positions; the other positions that it is given are those
        that the weights, and so the decision rule, are learned from.
    folds : (n,)
        Fold of each row, -1 for rows without predictions. At least two folds.
    weights : (n folds, n members)
        Learned from the rows that `other_rows` gives, in its order.
    combine
        How the members' predictions become one.
    """
    numbers, scores = np.unique(folds[folds >= 0]), []
    for own, fold, others in zip(weights, numbers, other_rows(folds), strict=True):
        blended = combined(predictions, own, combine)
        scores.append(judge(blended, np.flatnonzero(folds == fold), others))
    return np.array(scores)


def other_rows(folds: IntArray) -> list[IntArray]:
    """For each fold the rows of all others.

    Parameters
    ----------
    folds : (n,)
        Fold of each row, -1 for rows that are in none.

    Raises
    ------
    ValueError
        If there are fewer than two folds.
    """
    numbers = np.unique(folds[folds >= 0])
    if len(numbers) < 2:
        raise ValueError(f"cross-fitting needs at least two folds; got {len(numbers)}")
    return [np.flatnonzero((folds >= 0) & (folds != fold)) for fold in numbers]


@dataclass(frozen=True)
class EnsembleDecision:
    """Whether the ensemble replaces the champion, and why.

    Parameters
    ----------
    is_replaced
        True if p < `alpha`, and the weights that go into the model are not worse than the champion
        on all rows; never where all scores are equal.
    difference
        Mean score of the ensemble minus that of the champion.
    statistic, pvalue
        Corrected t-test on the same folds, one-sided: the ensemble is better.
    alpha : in (0, 1)
    test_train_ratio : non-negative
    ensemble_scores, champion_scores : (n folds,)
    learned_score, replaced_score
        On all rows: of the weights that go into the model, and of what they would replace.
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
    learned_score: float
    replaced_score: float
    reason: str

    @property
    def objection(self) -> str:
        """What spoke against an ensemble that passed the test; empty where nothing did, or the test failed."""
        has_passed = self.pvalue < self.alpha
        if self.is_replaced or not has_passed or not self.learned_score < self.replaced_score:
            return ""
        return (
            f"with the weights for the model it scores {self.learned_score:.4f} on all rows, where the champion "
            f"has {self.replaced_score:.4f}"
        )

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
    learned_score: float,
    replaced_score: float,
    test_train_ratio: float,
    alpha: float = 0.05,
) -> EnsembleDecision:
    """Decision by the one-sided corrected t-test on the same folds, and by what would be deployed.

    Parameters
    ----------
    ensemble_scores, champion_scores : (n folds,), n >= 2
        Honest scores, see `cross_fitted_scores`.
    learned_score, replaced_score
        On all rows, of the ensemble and of the champion; the champion stays where its own is greater.
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
    from automl.statistics.paired import corrected_t  # slow: imports scipy

    if not 0 < alpha <= 1:
        raise SettingsError(f"alpha must lie in (0, 1]; got {alpha}")
    ensemble = np.asarray(ensemble_scores, dtype=np.float64)
    champion = np.asarray(champion_scores, dtype=np.float64)
    result = corrected_t(
        ensemble, champion, test_train_ratio=test_train_ratio, alternative="greater"
    )
    difference = float(ensemble.mean() - champion.mean())
    has_evidence = result.pvalue < alpha and not np.array_equal(ensemble, champion)
    is_better = bool(has_evidence and learned_score >= replaced_score)
    reason = (
        f"the ensemble {'replaces' if is_better else 'does not replace'} the champion: difference "
        f"{difference:+.4g}, corrected t, p = {result.pvalue:.3g}, alpha {alpha:g}"
    )
    if has_evidence and not is_better:
        reason += (
            f"; but {learned_score:.4g} on all rows, where the champion has {replaced_score:.4g}"
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
        float(learned_score),
        float(replaced_score),
        reason,
    )
