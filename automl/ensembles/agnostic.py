"""Agnostic Bayes by bootstrap: members weighted by how often each is the best (SPEC K1, K2).

Each bootstrap of the validation rows stands for a draw of the true risks; the member with the
least risk on it is drawn into the ensemble (L14 section 3, eq. 5 and 6). The weight of a member is
the share of the bootstraps that it wins. Over the configurations of a random search this is the
document's ERS; over those of its ESMBO, each history's best of all trained models.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from automl.ensembles.deadline import Deadline
from automl.metrics.bootstraps import bootstrap_multiplicities, repeated_scores, weights_of
from automl.metrics.learning import ManyScores
from automl.records import FloatArray, IntArray

N_BOOTSTRAPS = 50
TIE = 1e-9
"""Scores this near to the best one are equal to it: sums in another order differ by less."""


def agnostic_bayes(
    predictions: Sequence[NDArray[Any]],
    y: NDArray[Any],
    score: Callable[..., float],
    *,
    rng: np.random.Generator,
    n_bootstraps: int = N_BOOTSTRAPS,
    rows: IntArray | None = None,
    sample_weight: FloatArray | None = None,
    many_scores: ManyScores | None = None,
    deadline: float | None = None,
) -> FloatArray:
    """Share of the bootstraps on which each member is the best.

    Scores within `TIE` of the best are equal to it: then the member that is better on the rows
    themselves wins, then the first.

    Parameters
    ----------
    predictions : n members of (n, K) or (n,)
        Out-of-fold predictions.
    y : (n,), codes or values
    score
        Called as ``score(y, prediction)``, and with the sample weights third if there are any;
        maximized.
    n_bootstraps : positive
    rows : positions, or None for all
        Rows to learn from; a position may occur several times.
    sample_weight : (n,), non-negative
    many_scores
        The same score under many weightings at once, which is faster; see
        `automl.metrics.learning.many_scores`.
    deadline : seconds of `time.monotonic`, or None
        Members that are not scored by then take no part; the result depends on the clock.

    Returns
    -------
    (n members,), sum 1, multiples of 1 / `n_bootstraps`

    Raises
    ------
    ValueError
        If there are no predictions.
    """
    if not predictions:
        raise ValueError("an ensemble needs at least one prediction; got none")
    clock = Deadline(deadline)
    chosen = _rows_with_weight(rows, len(y), sample_weight)
    multiplicities = bootstrap_multiplicities(len(chosen), n_bootstraps, rng)
    truth = y[chosen]
    weight = None if sample_weight is None else sample_weight[chosen]
    weights = None if many_scores is None else weights_of(multiplicities, weight)
    alone: list[float] = []
    scores: list[FloatArray] = []
    for prediction in predictions:
        if scores and not clock.has_time():
            break
        part = np.asarray(prediction[chosen])
        alone.append(score(truth, part, *(() if weight is None else (weight,))))
        if many_scores is not None and weights is not None:
            scores.append(many_scores(truth, part, weights))
        else:
            scores.append(repeated_scores(part, truth, score, multiplicities, weight))
    wins = winners(np.stack(scores), np.asarray(alone))
    return np.bincount(wins, minlength=len(predictions)) / n_bootstraps


def winners(scores: FloatArray, alone: FloatArray) -> IntArray:
    """Best member of each bootstrap.

    Parameters
    ----------
    scores : (n members, N), maximized
    alone : (n members,)
        Score on the rows themselves, which decides among equal ones.

    Returns
    -------
    (N,)
    """
    order = np.argsort(-alone, kind="stable")
    ordered = scores[order]
    is_best = ordered >= ordered.max(axis=0) - TIE
    return np.asarray(order[is_best.argmax(axis=0)])


def _rows_with_weight(
    rows: IntArray | None, n_rows: int, sample_weight: FloatArray | None
) -> IntArray:
    """Rows to learn from; without those of no weight, of which a bootstrap might consist."""
    chosen = np.arange(n_rows) if rows is None else np.asarray(rows)
    return chosen if sample_weight is None else chosen[sample_weight[chosen] > 0]
