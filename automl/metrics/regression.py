"""Regression metrics of a batch (B14, table 3.1)."""

from __future__ import annotations

import numpy as np

from automl.metrics.batch import ValueBatch
from automl.records import FloatArray


def r2(batch: ValueBatch) -> FloatArray:
    """(B,) coefficient of determination, 1 - Σ(y - f)² / Σ(y - ȳ)².

    The denominator is the fixed variance if there is one: R² of a fold of a few rows is
    unbounded below. Without variance, 1 for a perfect prediction and 0 for any other.
    """
    return explained(batch.mean_squared_error, _variance(batch))


def explained(mean_squared_error: FloatArray, variance: FloatArray) -> FloatArray:
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


def mae(batch: ValueBatch) -> FloatArray:
    """(B,) mean absolute error."""
    return batch.mean(np.abs(batch.error))


def mse(batch: ValueBatch) -> FloatArray:
    """(B,) mean squared error."""
    return batch.mean_squared_error


def rmse(batch: ValueBatch) -> FloatArray:
    """(B,) root of the mean squared error."""
    return np.sqrt(batch.mean_squared_error)
