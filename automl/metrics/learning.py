"""Scores of many predictions, or under many weightings, by which ensembles learn their weights.

Each is that of `PerformanceIndex.learned_scores`: the decision rule is learned together with the weights.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from automl.metrics.index import PerformanceIndex
from automl.records import FloatArray

MANY_CELLS = 1 << 17
"""Rows times classes of the predictions that are scored together: what they need stays in the cache."""

StackedScores = Callable[[NDArray[Any], NDArray[Any], FloatArray | None], FloatArray]
ManyScores = Callable[[NDArray[Any], NDArray[Any], FloatArray], FloatArray]


def stacked_scores(index: PerformanceIndex) -> StackedScores:
    """Scores of many predictions.

    Returns
    -------
    Function of y, (n,), predictions, (m, n, K) probabilities or (m, n) values, and sample weights,
    (n,) or None; it gives (m,) and raises the ValueError of `PerformanceIndex.score`.
    """

    def scores(
        y: NDArray[Any], predictions: NDArray[Any], sample_weight: FloatArray | None = None
    ) -> FloatArray:
        size = max(1, MANY_CELLS // max(predictions[0].size, 1))
        weights = None if sample_weight is None else sample_weight[None]
        parts = [
            index.learned_scores(y, predictions[start : start + size], weights)
            for start in range(0, len(predictions), size)
        ]
        return np.concatenate(parts)

    return scores


def many_scores(index: PerformanceIndex) -> ManyScores | None:
    """Scores of one prediction under many weightings.

    Returns
    -------
    Function of y, (n,), a prediction, (n, K) or (n,), and weights, (N, n), non-negative, whose rows
    have positive sums; it gives (N,). None for an index with a user's scorer, which takes no weights.
    """
    if not index.takes_weights:
        return None
    return lambda y, prediction, weights: index.learned_scores(y, prediction[None], weights)
