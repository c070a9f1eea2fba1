"""Improvement over the best score, as closed forms of a normal prediction (X20, section V-B).

Notation
--------
mean, std : (m,) prediction and its standard deviation, std >= 0
best : f*, the best score so far; scores are maximized
margin : xi >= 0, by how much the best must be exceeded
z : (mean - best - margin) / std
phi, Phi : density and distribution function of the standard normal
h(z) : phi(z) + z Phi(z), so that EI = std h(z)

Where std is 0 the formulas take their limits.
"""

from __future__ import annotations

import math

import numpy as np

from automl.records import FloatArray

_LOG_SQRT_TWO_PI = 0.5 * math.log(2.0 * math.pi)
_SQRT_HALF_PI = math.sqrt(0.5 * math.pi)
_FAR = -1e4


def standardized(mean: FloatArray, std: FloatArray, best: float, margin: float = 0.0) -> FloatArray:
    """z; infinite where std is 0, and ``-inf`` where the difference is 0 as well: nothing is won."""
    difference = np.asarray(mean, dtype=float) - best - margin
    with np.errstate(divide="ignore", invalid="ignore"):
        z = difference / std
    return np.where((difference == 0.0) & (np.asarray(std) == 0.0), -np.inf, z)


def probability_of_improvement(
    mean: FloatArray, std: FloatArray, best: float, margin: float = 0.0
) -> FloatArray:
    """PI = Phi(z), in [0, 1]; without uncertainty 1 above the best and 0 otherwise.

    References
    ----------
    .. [1] Xiang (2020), section V-B.
    """
    from scipy.special import ndtr

    z = standardized(mean, std, best, margin)
    return np.where(np.asarray(std) > 0.0, ndtr(z), (np.asarray(mean) > best + margin) * 1.0)


def expected_improvement(
    mean: FloatArray, std: FloatArray, best: float, margin: float = 0.0
) -> FloatArray:
    """EI = (mean - best - xi) Phi(z) + std phi(z) >= 0; max(mean - best - xi, 0) without std.

    The outer factor of phi is std: both L14 eq. 3 and X20 print its square.

    References
    ----------
    .. [1] Lacoste et al. (2014), equation 3; Xiang (2020), section V-B.
    """
    from scipy.special import ndtr

    difference = np.asarray(mean, dtype=float) - best - margin
    z = np.clip(standardized(mean, std, best, margin), -1e8, 1e8)
    gain = difference * ndtr(z) + std * np.exp(-0.5 * z * z - _LOG_SQRT_TWO_PI)
    return np.where(np.asarray(std) > 0.0, np.maximum(gain, 0.0), np.maximum(difference, 0.0))


def log_expected_improvement(
    mean: FloatArray, std: FloatArray, best: float, margin: float = 0.0
) -> FloatArray:
    """Logarithm of EI, accurate where EI itself vanishes in rounding; ``-inf`` where EI is 0.

    Orders points as EI does, and has a usable slope where EI is flat.

    References
    ----------
    .. [1] Ament et al. (2023), Unexpected improvements to expected improvement, equation 9.
    """
    difference = np.asarray(mean, dtype=float) - best - margin
    is_sure = np.asarray(std) <= 0.0
    safe = np.where(is_sure, 1.0, std)
    with np.errstate(divide="ignore"):
        sure = np.log(np.maximum(difference, 0.0))
    return np.where(is_sure, sure, np.log(safe) + log_h(difference / safe))


def log_h(z: FloatArray) -> FloatArray:
    """Logarithm of h(z) = phi(z) + z Phi(z) for every finite z.

    Three ranges: as it stands above -1; with the scaled complementary error function below, where
    the terms cancel; and by its expansion phi(z) / z**2 (1 - 3 / z**2) far below, where that one
    cancels as well.
    """
    from scipy.special import erfcx, ndtr

    z = np.asarray(z, dtype=float)
    near, below, far = np.maximum(z, -1.0), np.clip(z, _FAR, -1.0), np.minimum(z, _FAR)
    density = -_LOG_SQRT_TWO_PI - 0.5 * z * z
    direct = np.log(np.exp(-0.5 * near * near - _LOG_SQRT_TWO_PI) + near * ndtr(near))
    scaled = density + np.log1p(below * _SQRT_HALF_PI * erfcx(-below / math.sqrt(2.0)))
    series = density - 2.0 * np.log(-far) + np.log1p(-3.0 / far**2)
    return np.where(z > -1.0, direct, np.where(z > _FAR, scaled, series))


def log_expected_improvement_slopes(
    mean: FloatArray, std: FloatArray, best: float, margin: float = 0.0
) -> tuple[FloatArray, FloatArray]:
    """Derivatives of log EI by mean, Phi(z) / EI, and by std, phi(z) / EI; std > 0."""
    from scipy.special import log_ndtr

    z = (np.asarray(mean, dtype=float) - best - margin) / std
    log_ei = np.log(std) + log_h(z)
    return np.exp(log_ndtr(z) - log_ei), np.exp(-_LOG_SQRT_TWO_PI - 0.5 * z * z - log_ei)


def upper_confidence_bound(mean: FloatArray, std: FloatArray, width: float) -> FloatArray:
    """UCB = mean + width std."""
    return np.asarray(mean) + width * np.asarray(std)
