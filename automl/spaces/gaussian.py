"""Truncated normal mathematics that stays accurate in the tails.

Notation: ``z`` is a standardized position, ``alpha < beta`` are the standardized bounds (infinite
if there is none), ``Phi`` the standard normal distribution function. Differences of `Phi` are
taken in log space on the left of zero, because ``Phi(40) - Phi(39)`` is zero in floating point
while ``Phi(-39) - Phi(-40)`` has a finite logarithm; intervals on the right are mirrored.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

LOG_SQRT_TWO_PI = 0.5 * math.log(2.0 * math.pi)


@cache
def _special() -> Any:
    """Load scipy.special at the first use; most spaces hold no normal distribution."""
    import scipy.special

    return scipy.special


def log_mass(alpha: ArrayLike, beta: ArrayLike) -> Floats:
    """Logarithm of ``Phi(beta) - Phi(alpha)`` for ``alpha <= beta``, any tail; elementwise.

    Valid for every pair of extended reals; ``-inf`` where the interval is empty.
    """
    a, b = np.broadcast_arrays(np.asarray(alpha, dtype=float), np.asarray(beta, dtype=float))
    mirrored = a > 0.0
    left, right = np.where(mirrored, -b, a), np.where(mirrored, -a, b)
    upper = _special().log_ndtr(right)
    with np.errstate(divide="ignore", invalid="ignore"):
        result: Floats = upper + np.log(-np.expm1(_special().log_ndtr(left) - upper))
    return np.where(left < right, result, -np.inf)


def truncated_cdf(z: ArrayLike, alpha: Any, beta: Any) -> Floats:
    """Probability below `z` of the standard normal restricted to [alpha, beta]; elementwise."""
    inside = np.clip(np.asarray(z, dtype=float), alpha, beta)
    total = log_mass(alpha, beta)
    mirrored = np.asarray(alpha) > 0.0
    below = np.exp(log_mass(alpha, inside) - total)
    above = np.exp(log_mass(inside, beta) - total)
    return np.where(mirrored, 1.0 - above, below)


def truncated_ppf(u: ArrayLike, alpha: Any, beta: Any) -> Floats:
    """Inverse of `truncated_cdf` in its first argument, for `u` in [0, 1]; elementwise."""
    position = np.asarray(u, dtype=float)
    mirrored = np.asarray(alpha) > 0.0
    left, right = np.where(mirrored, -beta, alpha), np.where(mirrored, -alpha, beta)
    share = np.where(mirrored, 1.0 - position, position)
    with np.errstate(divide="ignore"):
        log_share = np.log(share)
    z = _special().ndtri_exp(
        np.minimum(np.logaddexp(_special().log_ndtr(left), log_share + log_mass(left, right)), 0.0)
    )
    return np.asarray(np.clip(np.where(mirrored, -z, z), alpha, beta))


def log_normal_density(z: Floats) -> Floats:
    """Logarithm of the standard normal density at `z`."""
    return -0.5 * z * z - LOG_SQRT_TWO_PI


@dataclass(frozen=True)
class TruncatedNormal:
    """A truncated standard normal for single numbers, many times faster than the arrays.

    The same mathematics as `truncated_cdf` and `truncated_ppf` with its constants computed once.
    """

    alpha: float
    beta: float

    @cached_property
    def _constants(self) -> tuple[bool, float, float]:
        mirrored = self.alpha > 0.0
        left = -self.beta if mirrored else self.alpha
        return mirrored, float(_special().log_ndtr(left)), float(log_mass(self.alpha, self.beta))

    def cdf(self, z: float) -> float:
        """Probability below `z`."""
        mirrored, below, total = self._constants
        if z <= self.alpha:
            return 0.0
        if z >= self.beta:
            return 1.0
        upper = float(_special().log_ndtr(-z if mirrored else z))
        share = -math.exp(upper - total) * math.expm1(below - upper)
        return 1.0 - share if mirrored else share

    def density(self, z: float) -> float:
        """Density at `z` inside the bounds."""
        return math.exp(-0.5 * z * z - LOG_SQRT_TWO_PI - self._constants[2])

    def ppf(self, u: float) -> float:
        """Standardized value at the position `u`, strictly between 0 and 1."""
        mirrored, below, total = self._constants
        inside = math.log1p(-u) if mirrored else math.log(u)
        first, second = max(below, inside + total), min(below, inside + total)
        log_share = first + math.log1p(math.exp(second - first))
        z = float(_special().ndtri_exp(min(log_share, 0.0)))
        return min(max(-z if mirrored else z, self.alpha), self.beta)
