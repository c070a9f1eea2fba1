"""Regression metrics on one outcome (B14, table 3.1)."""

from __future__ import annotations

import numpy as np

from automl.metrics.outcomes import RegressionOutcome


def r2(outcome: RegressionOutcome) -> float:
    """Coefficient of determination, 1 - Σ(y - f)² / Σ(y - ȳ)².

    The denominator is the outcome's fixed variance if it has one: R² of a fold of a few rows is
    unbounded below. Without variance, 1 for a perfect prediction and 0 for any other.
    """
    variance = outcome.variance
    if variance is None:
        center = outcome.mean(outcome.y)
        variance = outcome.mean((outcome.y - center) ** 2)
    if variance <= 0:
        return float(outcome.mean_squared_error == 0)
    return 1.0 - outcome.mean_squared_error / variance


def mae(outcome: RegressionOutcome) -> float:
    """Mean absolute error."""
    return outcome.mean(np.abs(outcome.error))


def mse(outcome: RegressionOutcome) -> float:
    """Mean squared error."""
    return outcome.mean_squared_error


def rmse(outcome: RegressionOutcome) -> float:
    """Root of the mean squared error."""
    return float(np.sqrt(outcome.mean_squared_error))
