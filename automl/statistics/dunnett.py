"""Greatest of correlated t statistics: Dunnett's one-sided distribution with equal group sizes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, special, stats

from automl.records import FloatArray
from automl.statistics.studentized_range import NODES, WEIGHTS, deviation_rule


def dunnett_tail(statistics: ArrayLike, n_comparisons: int, freedom: float) -> FloatArray:
    """P(max of `n_comparisons` t statistics against one control >= statistic).

    The statistics are T_j = (Z_j - Z_0) / (√2 s) with independent standard normal Z and
    nu s² ~ chi-square(nu), so they correlate by 1/2:
    P(max T < t) = E_s[∫ φ(z) Φ(z + √2 t s)^m dz].

    Parameters
    ----------
    statistics : (n,), infinite ones allowed
    n_comparisons : m, >= 1
    freedom : nu, positive or infinite

    Returns
    -------
    (n,), in [0, 1]
        Absolute error below 1e-7. A single comparison is Student's t.

    References
    ----------
    .. [1] Dunnett (1955), A multiple comparison procedure for comparing several treatments with a
       control, equation 12 and table 1.
    """
    values = np.asarray(statistics, dtype=np.float64)
    if n_comparisons == 1:
        return np.asarray(stats.t.sf(values, freedom))
    finite = np.where(np.isfinite(values), values, 0.0)
    if np.isinf(freedom):
        inside = _greatest_below(finite, n_comparisons)
    else:
        deviation, weights = deviation_rule(freedom)
        inside = _greatest_below(np.multiply.outer(finite, deviation), n_comparisons) @ weights
    tail = np.clip(1.0 - inside, 0.0, 1.0)
    return np.asarray(np.where(np.isfinite(values), tail, values < 0))


def dunnett_quantile(alpha: float, n_comparisons: int, freedom: float) -> float:
    """Value that the greatest statistic exceeds with probability `alpha`; see `dunnett_tail`.

    Parameters
    ----------
    alpha : in (0, 1)

    Raises
    ------
    ValueError
        If `alpha` is outside its range.
    """
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must lie between 0 and 1; got {alpha}")
    low = float(stats.t.isf(alpha, freedom))  # of one comparison
    high = float(stats.t.isf(alpha / n_comparisons, freedom))  # Bonferroni
    if n_comparisons == 1:
        return low
    quantile = optimize.brentq(
        lambda value: float(dunnett_tail(value, n_comparisons, freedom)) - alpha,
        low - 1e-6,
        high + 1e-6,
        xtol=1e-9,
    )
    return float(quantile)


def _greatest_below(shift: FloatArray, n_comparisons: int) -> FloatArray:
    """P(Z_j - Z_0 < √2 shift for all j), any shape."""
    z = 8.5 * NODES
    density = 8.5 * WEIGHTS * np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi)
    covered = special.ndtr(z + np.sqrt(2.0) * np.asarray(shift)[..., None])
    return np.asarray(covered**n_comparisons @ density)
