"""Learns the calibration of a blend from out-of-fold probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from automl.inference.calibration import Calibration, logarithms
from automl.records import FloatArray

PENALTY = 10.0
"""Rows' worth of the sum of squares of log power and biases: few rows of a class move little (by judgement;
so learned, they were better than none on 7 of 9 tables of classes and worse on none, see
benchmarks/ensembles)."""
MOST_ROWS = 20_000
"""Rows that are learned from, evenly spaced: a few numbers are known well enough then."""


def learn_calibration(
    probability: NDArray[Any], y: NDArray[Any], sample_weight: FloatArray | None = None
) -> Calibration:
    """Power and biases with the least log loss, drawn to 1 and 0 by a penalty.

    Parameters
    ----------
    probability : (n, K)
        Out-of-fold predictions.
    y : (n,), codes
    sample_weight : (n,), non-negative, not all zero, or None
    """
    from scipy.optimize import minimize  # slow to import

    if len(y) > MOST_ROWS:
        chosen = np.linspace(0, len(y) - 1, MOST_ROWS).astype(np.intp)
        weight = None if sample_weight is None else sample_weight[chosen]
        return learn_calibration(probability[chosen], y[chosen], weight)
    logs = logarithms(probability)
    weight = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, np.float64)
    weight = weight / weight.sum()
    truth = np.eye(logs.shape[1])[y]
    penalty = PENALTY / len(y)

    def loss(x: FloatArray) -> tuple[float, FloatArray]:
        power = np.exp(x[0])
        log_shares = log_softmax(power * logs + x[1:], axis=1)
        residual = (np.exp(log_shares) - truth) * weight[:, None]
        value = float(-weight @ log_shares[np.arange(len(y)), y] + penalty * (x @ x))
        slope = np.r_[power * (residual * logs).sum(), residual.sum(axis=0)]
        return value, slope + 2.0 * penalty * x

    found = minimize(loss, np.zeros(1 + logs.shape[1]), jac=True, method="L-BFGS-B").x
    return Calibration(float(np.exp(found[0])), tuple(map(float, found[1:])))
