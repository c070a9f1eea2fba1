"""The decision threshold of a two-class model, tuned on out-of-fold probabilities."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from automl.metrics.counted import label_metric
from automl.metrics.custom import is_scorer_name
from automl.metrics.index import PerformanceIndex
from automl.metrics.metrics import METRICS
from automl.records import FloatArray

MAX_CANDIDATES = 256


def tune_threshold(
    index: PerformanceIndex,
    y: ArrayLike,
    probability: ArrayLike,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Threshold that maximizes the index; class 1 is predicted where its probability is greater.

    Only the index's label-based metrics depend on it. Candidates lie half-way between
    neighboring probabilities (at most `MAX_CANDIDATES`, evenly over the rows); equal scores go to
    the candidate nearest to one half.

    Parameters
    ----------
    index
        Index of a two-class target.
    y : (n,), codes
    probability : (n, 2), or (n,) of class 1
        Out-of-fold probabilities.
    sample_weight : (n,), non-negative

    Returns
    -------
    in (0, 1); 0.5 where the index does not depend on it, or the target has not two classes
    """
    if index.n_classes != 2 or not index.depends_on_threshold:
        return 0.5
    positive = np.asarray(probability)
    positive = positive[:, 1] if positive.ndim == 2 else positive
    candidates = _candidates(positive)
    weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    scores = _label_scores(index, _counts(y, positive, weight, candidates))
    best = np.flatnonzero(scores >= scores.max() - 1e-12)
    return float(candidates[best[np.argmin(np.abs(candidates[best] - 0.5))]])


def _candidates(positive: FloatArray) -> FloatArray:
    """Half-way points between neighboring distinct probabilities, and one half."""
    values = np.unique(positive.astype(np.float64))
    middles = (values[1:] + values[:-1]) / 2.0
    if len(middles) > MAX_CANDIDATES:
        middles = np.unique(np.quantile(positive, np.linspace(0, 1, MAX_CANDIDATES + 2)[1:-1]))
    inside = middles[(middles > 0) & (middles < 1)]
    return np.append(inside, 0.5)


def _counts(
    y: ArrayLike, positive: FloatArray, weight: FloatArray | None, candidates: FloatArray
) -> FloatArray:
    """(n candidates, 2, 2) confusion counts, [true, predicted]."""
    is_one = np.asarray(y) == 1
    sizes = np.ones(len(is_one)) if weight is None else weight
    order = np.argsort(positive)
    ones = np.r_[0.0, np.cumsum(np.where(is_one, sizes, 0.0)[order])]
    zeros = np.r_[0.0, np.cumsum(np.where(is_one, 0.0, sizes)[order])]
    at = np.searchsorted(positive[order].astype(np.float64), candidates, side="right")
    return np.array(
        [[zeros[at], zeros[-1] - zeros[at]], [ones[at], ones[-1] - ones[at]]]
    ).transpose(2, 0, 1)


def _label_scores(index: PerformanceIndex, counts: FloatArray) -> FloatArray:
    """(n candidates,) the part of the index that depends on the labels."""
    total = np.zeros(len(counts))
    for name, weight in index.weights.items():
        if not is_scorer_name(name) and METRICS[name].needs == "labels":
            total += weight * index.homogenize(name, label_metric(name, index, counts))
    return total
