"""Tail of the studentized range distribution, quick enough for hundreds of comparisons.

scipy's adaptive integration takes some milliseconds for one value; two fixed Gauss-Legendre rules
give all values of one comparison at once, to about eight digits.
"""

from __future__ import annotations

import numpy as np
from scipy import special, stats

from automl.records import FloatArray

NODES, WEIGHTS = np.polynomial.legendre.leggauss(96)
"""Gauss-Legendre rule on [-1, 1]."""


def studentized_range_tail(statistics: FloatArray, k: int, freedom: float) -> FloatArray:
    """P(studentized range of `k` groups >= statistic).

    The range of k standard normals, divided by an independent s with nu s² ~ chi-square(nu):
    P(Q < q) = E_s[G(q s)], G(w) = k ∫ φ(z) (Φ(z) - Φ(z - w))^(k-1) dz. Two groups are computed by
    Student's t, q = √2 |t|.

    Parameters
    ----------
    statistics : (n,), non-negative or infinite
    k : >= 2
    freedom : nu, positive or infinite

    Returns
    -------
    (n,), in [0, 1]
        Absolute error below 1e-7.
    """
    values = np.asarray(statistics, dtype=np.float64)
    if k == 2:
        return np.asarray(2.0 * stats.t.sf(values / np.sqrt(2.0), freedom))
    finite = np.where(np.isfinite(values), values, 0.0)
    if np.isinf(freedom):
        inside = _range_distribution(finite, k)
    else:
        inside = _mean_over_deviation(finite, k, freedom)
    return np.asarray(np.where(np.isfinite(values), np.clip(1.0 - inside, 0.0, 1.0), 0.0))


def _range_distribution(width: FloatArray, k: int) -> FloatArray:
    """G(w): probability that the range of k standard normals is below `width`, any shape."""
    z, weights = 8.5 * NODES, 8.5 * WEIGHTS
    density = weights * np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi)
    covered = special.ndtr(z) - special.ndtr(z - width[..., None])
    return np.asarray(k * (covered ** (k - 1) @ density))


def _mean_over_deviation(statistics: FloatArray, k: int, freedom: float) -> FloatArray:
    """E_s[G(q s)] for each q, (n,)."""
    deviation, weights = deviation_rule(freedom)
    return np.asarray(_range_distribution(np.outer(statistics, deviation), k) @ weights)


def deviation_rule(freedom: float) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights (96,) of E[f(s)] where nu s² ~ chi-square(nu)."""
    low = np.sqrt(stats.chi2.ppf(1e-13, freedom) / freedom)
    high = np.sqrt(stats.chi2.isf(1e-13, freedom) / freedom)
    deviation = low + (high - low) * (NODES + 1.0) / 2.0
    density = 2.0 * freedom * deviation * stats.chi2.pdf(freedom * deviation**2, freedom)
    return deviation, density * WEIGHTS * (high - low) / 2.0
