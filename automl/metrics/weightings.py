"""The performance index of one prediction under many weightings of its rows at once.

Bootstraps of the rows are weightings by how often each row occurs. Metrics that are means over
rows are one matrix product, those of the confusion counts need the counts alone; only the areas
under curves are computed anew for each weighting.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from automl.metrics.classification import brier_rows, log_rows
from automl.metrics.counted import label_metric
from automl.metrics.custom import is_scorer_name
from automl.metrics.index import PerformanceIndex
from automl.metrics.metrics import METRICS
from automl.metrics.outcomes import ClassificationOutcome, Outcome
from automl.records import FloatArray

ROW_LOSSES: Mapping[str, Callable[[Any], FloatArray]] = MappingProxyType(
    {
        "brier": lambda outcome: brier_rows(outcome).astype(np.float64) + 1.0,
        "log_loss": lambda outcome: -log_rows(outcome),
        "mae": lambda outcome: np.abs(outcome.error),
        "mse": lambda outcome: outcome.error**2,
    }
)
"""Losses of single rows whose weighted mean is the metric."""

ManyScores = Callable[[NDArray[Any], NDArray[Any], FloatArray], FloatArray]


def many_scores(index: PerformanceIndex) -> ManyScores | None:
    """Scores of one prediction under many weightings.

    Returns
    -------
    Function of y, (n,), a prediction, (n, K) or (n,), and weights, (N, n), non-negative, whose rows
    have positive sums; it gives (N,): ``index.score(y, prediction, weights[i])`` for each i. None
    for an index with a user's scorer, which takes no weights.
    """
    if any(is_scorer_name(name) for name in index.weights):
        return None

    def scores(y: NDArray[Any], prediction: NDArray[Any], weights: FloatArray) -> FloatArray:
        outcome = index.outcome(y, prediction)
        values = _Values(index, outcome, weights)
        total = np.zeros(len(weights))
        for name, share in index.weights.items():
            total += share * index.homogenize(name, values.of(name))
        return total

    return scores


class _Values:
    """Metrics of one outcome, each under every weighting, (N,)."""

    def __init__(self, index: PerformanceIndex, outcome: Outcome, weights: FloatArray) -> None:
        self._index, self._outcome = index, outcome
        self._weights, self._sums = weights, weights.sum(axis=1)
        self._counts: FloatArray | None = None

    def of(self, name: str) -> FloatArray:
        """Metric in its natural sign."""
        if name in ROW_LOSSES:
            return self._mean(name)
        if name == "rmse":
            return np.sqrt(self._mean("mse"))
        if name == "r2":
            return self._r2(self._index.baselines["mse"])
        function = METRICS[name].function
        if METRICS[name].needs == "labels":
            return label_metric(name, self._index, self._counted())
        found = np.empty(len(self._weights))
        for place, weight in enumerate(self._weights):
            self._outcome.weight = weight
            found[place] = function(self._outcome)
        return found

    def _r2(self, variance: float) -> FloatArray:
        errors = self._mean("mse")
        return 1.0 - errors / variance if variance > 0 else (errors == 0).astype(np.float64)

    def _mean(self, name: str) -> FloatArray:
        return np.asarray(self._weights @ ROW_LOSSES[name](self._outcome) / self._sums)

    def _counted(self) -> FloatArray:
        """(N, K, K) confusion counts under each weighting."""
        if self._counts is None:
            outcome = self._outcome
            assert isinstance(outcome, ClassificationOutcome)
            n_classes = outcome.n_classes
            cells = outcome.y * n_classes + outcome.labels
            found = [np.bincount(cells, weight, n_classes**2) for weight in self._weights]
            counts = np.array(found, dtype=np.float64)
            self._counts = counts.reshape(-1, n_classes, n_classes)
        return self._counts
