"""What single rows cost a score where errors are numbers without a limit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from automl.metrics.batch import ValueBatch
from automl.metrics.index import PerformanceIndex
from automl.records import FloatArray

UNBOUNDED: Mapping[str, str] = MappingProxyType(
    {"r2": "mse", "mse": "mse", "rmse": "mse", "mae": "mae"}
)
"""Metrics whose rows have no greatest loss, and what their row loss is. The log loss has none to speak
of either, but a logarithm has no heavy tail."""

ROW_LOSSES: Mapping[str, Callable[[FloatArray], FloatArray]] = MappingProxyType(
    {"mse": np.square, "mae": np.abs}
)
"""Losses of rows by their errors."""

RowLosses = Callable[[NDArray[Any], NDArray[Any]], FloatArray]


def unbounded_losses(index: PerformanceIndex) -> RowLosses | None:
    """Losses of rows by those metrics of an index that set no limit to them.

    Returns
    -------
    Function of y, (n,), and a prediction, (n,), that gives (n,), non-negative: what each
    row takes from the index, times n. None where no metric of the index is one of `UNBOUNDED`.
    """
    names = [name for name in index.weights if name in UNBOUNDED]
    if not names:
        return None

    def losses(y: NDArray[Any], prediction: NDArray[Any]) -> FloatArray:
        batch = index.batch(y, prediction[None])
        assert isinstance(batch, ValueBatch)
        total = np.zeros(len(y))
        for name in names:
            rows = ROW_LOSSES[UNBOUNDED[name]](batch.error[0])
            total += abs(index.factor(name)) * _slope(name, index, rows) * rows
        return total

    return losses


def _slope(name: str, index: PerformanceIndex, rows: FloatArray) -> float:
    """Derivative of a metric by its mean row loss, absolute."""
    if name == "r2":
        return 1.0 / (index.baselines["mse"] or 1.0)
    if name == "rmse":
        return 0.5 / float(np.sqrt(rows.mean()) or 1.0)
    return 1.0
