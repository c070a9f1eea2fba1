"""Regression metrics of a batch (B14, table 3.1)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from automl.metrics.batch import MetricParameters, ValueBatch
from automl.records import FloatArray


def r2(batch: ValueBatch) -> FloatArray:
    """(B,) coefficient of determination, 1 - Σ(y - f)² / Σ(y - ȳ)².

    The denominator is the fixed variance if there is one: R² of a fold of a few rows is
    unbounded below. Without variance, 1 for a perfect prediction and 0 for any other.
    """
    return _explained(batch.mean_squared_error, _variance(batch))


def r2_of_reported(metrics: Mapping[str, float], parameters: MetricParameters) -> float:
    """R² by the fixed variance; that of the rows is what is reported."""
    assert parameters.variance is not None
    return float(_explained(np.array(metrics["mse"]), np.array(parameters.variance)))


def r2_losses(batch: ValueBatch) -> FloatArray:
    """(m, n) squared errors beside the fixed variance."""
    return mse_losses(batch) / (batch.parameters.variance or 1.0)


def mae(batch: ValueBatch) -> FloatArray:
    """(B,) mean absolute error."""
    return batch.mean(mae_losses(batch))


def mae_losses(batch: ValueBatch) -> FloatArray:
    """(m, n) absolute errors."""
    return np.abs(batch.error)


def mse(batch: ValueBatch) -> FloatArray:
    """(B,) mean squared error."""
    return batch.mean_squared_error


def mse_losses(batch: ValueBatch) -> FloatArray:
    """(m, n) squared errors."""
    return batch.error * batch.error


def rmse(batch: ValueBatch) -> FloatArray:
    """(B,) root of the mean squared error."""
    return np.sqrt(batch.mean_squared_error)


def rmse_losses(batch: ValueBatch) -> FloatArray:
    """(m, n) squared errors times the slope of the root at their mean."""
    losses = mse_losses(batch)
    root = np.sqrt(losses.mean(axis=1, keepdims=True))
    return np.asarray(0.5 / np.where(root > 0, root, 1.0) * losses)


def _explained(mean_squared_error: FloatArray, variance: FloatArray) -> FloatArray:
    """R² of mean squared errors, beside variances of the same shape or (1,)."""
    is_flat = variance <= 0
    share = 1.0 - mean_squared_error / np.where(is_flat, 1.0, variance)
    return np.where(is_flat, mean_squared_error == 0, share)


def _variance(batch: ValueBatch) -> FloatArray:
    """(B,) or (1,)."""
    if batch.parameters.variance is not None:
        return np.array([batch.parameters.variance])
    deviations = batch.y - batch.mean(batch.y[None])[:, None]
    if len(deviations) == 1:
        return batch.mean(deviations**2)
    assert batch.weights is not None
    return np.asarray((batch.weights * deviations**2).sum(axis=1) / batch.weights.sum(axis=1))
