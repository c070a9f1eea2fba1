"""The performance index of many predictions of the same rows at once.

The counterpart of `automl.metrics.weightings`: there one prediction under many weightings of its
rows, here many predictions under one. The values are those of `PerformanceIndex.score`, the same to
the last bit without sample weights.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from automl.metrics.classification import brier_rows, log_rows
from automl.metrics.counted import COUNTED, label_metric
from automl.metrics.index import PerformanceIndex
from automl.metrics.outcomes import ClassificationOutcome, Outcome, RegressionOutcome
from automl.records import BoolArray, FloatArray

MANY_CELLS = 1 << 17
"""Rows times classes of the predictions that are scored together: what they need stays in the cache."""

StackedScores = Callable[[NDArray[Any], NDArray[Any], FloatArray | None], FloatArray]

ROW_VALUES: Mapping[str, Callable[[Any], FloatArray]] = MappingProxyType(
    {
        "brier": brier_rows,
        "log_loss": lambda outcome: -log_rows(outcome),
        "mae": lambda outcome: np.abs(outcome.error),
        "mse": lambda outcome: outcome.error * outcome.error,
    }
)
"""Values of single rows, (m, n), whose mean makes the metric; that of `brier` lacks 1."""

OF_SQUARES = frozenset({"rmse", "r2"})


def stacked_scores(index: PerformanceIndex) -> StackedScores | None:
    """Scores of many predictions.

    Returns
    -------
    Function of y, (n,), predictions, (m, n, K) probabilities or (m, n) values, and sample weights,
    (n,) or None; it gives (m,): ``index.score(y, predictions[i], weights)`` for each i, and raises the
    same ValueError. None for an index with an area under a curve or a user's scorer, which have to be
    computed one at a time.
    """
    if not set(index.weights) <= {*COUNTED, *ROW_VALUES, *OF_SQUARES}:
        return None

    def scores(
        y: NDArray[Any], predictions: NDArray[Any], sample_weight: FloatArray | None = None
    ) -> FloatArray:
        size = max(1, MANY_CELLS // max(predictions[0].size, 1))
        parts = [
            _scores(index, y, predictions[start : start + size], sample_weight)
            for start in range(0, len(predictions), size)
        ]
        return np.concatenate(parts)

    return scores


def _scores(
    index: PerformanceIndex, y: NDArray[Any], predictions: NDArray[Any], weight: FloatArray | None
) -> FloatArray:
    if not np.isfinite(predictions.sum()) and not np.isfinite(predictions).all():
        raise ValueError("predictions must be finite; found NaN or infinity")
    outcome: Outcome
    if index.task.is_classification:
        outcome = ClassificationOutcome(y, predictions, weight)
    else:
        outcome = RegressionOutcome(y, predictions, weight)
    values = _Values(index, outcome)
    total = np.zeros(len(predictions))
    for name in index.weights:
        total += index.factor(name) * (values.of(name) - index.baselines[name])
    if not np.isfinite(total).all():
        raise ValueError(f"performance index {index.name} is not finite")
    return total


class _Values:
    """Metrics of a stack of predictions, (m,) each.

    Parameters
    ----------
    outcome
        With probabilities (m, n, K), or errors (m, n).
    """

    def __init__(self, index: PerformanceIndex, outcome: Outcome) -> None:
        self._index, self._outcome = index, outcome
        self._counts: FloatArray | None = None

    def of(self, name: str) -> FloatArray:
        """Metric in its natural sign."""
        if name in COUNTED:
            return label_metric(name, self._index, self._counted())
        if name == "brier":
            return self._mean(name) + 1.0
        if name == "rmse":
            return np.sqrt(self._mean("mse"))
        if name == "r2":
            return self._r2(self._index.baselines["mse"])
        return self._mean(name)

    def _r2(self, variance: float) -> FloatArray:
        errors = self._mean("mse")
        return 1.0 - errors / variance if variance > 0 else (errors == 0).astype(np.float64)

    def _mean(self, name: str) -> FloatArray:
        # in this order in memory, each row of `values` is summed as if it were alone
        values = np.ascontiguousarray(ROW_VALUES[name](self._outcome))
        weight = self._outcome.weight
        if weight is None:
            return np.asarray(values.mean(axis=1, dtype=np.float64))
        total = weight.sum(dtype=np.float64)
        return np.asarray((values.astype(np.float64) * weight).sum(axis=1) / total)

    def _counted(self) -> FloatArray:
        """(m, K, K) confusion counts of the predictions."""
        if self._counts is None:
            outcome = self._outcome
            assert isinstance(outcome, ClassificationOutcome)
            weight = 1.0 if outcome.weight is None else outcome.weight
            classes = np.arange(outcome.n_classes)[:, None]
            true = np.where(outcome.y == classes, weight, 0.0).T
            if outcome.weight is None:
                true = true.astype(np.float32)  # holds whole numbers, which are exact in 32 bits
            found = [is_label.astype(true.dtype) @ true for is_label in _labels(outcome)]
            self._counts = np.stack(found, axis=2).astype(np.float64)
        return self._counts


def _labels(outcome: ClassificationOutcome) -> Iterator[BoolArray]:
    """For each class (m, n) whether it is the most probable, the first one at ties."""
    probability = outcome.probability
    if outcome.n_classes == 2:
        is_second = probability[..., 1] > probability[..., 0]
        yield ~is_second
        yield is_second
        return
    by_class = np.ascontiguousarray(np.moveaxis(probability, -1, 0))
    greatest = by_class.max(axis=0)
    is_open = np.ones(greatest.shape, dtype=bool)
    for label in range(outcome.n_classes):
        is_label = is_open & (by_class[label] == greatest)
        is_open &= ~is_label
        yield is_label
