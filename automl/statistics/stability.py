"""Population stability index: how far the shares of rows in bins have moved, and how far they move by chance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import chi2

LEAST_ROWS = 0.5
"""Rows that an empty bin is counted with, so that the logarithm is finite; the least half of one row."""


def stability_index(
    expected: Sequence[float], found: Sequence[float], *, n_expected: int, n_found: int
) -> float:
    """Population stability index, sum of (found - expected) log(found / expected).

    0 where the shares are equal. By custom 0.1 is a small and 0.25 a large move.

    Parameters
    ----------
    expected, found : (n_bins,), each sums to 1
        Shares of rows in the same bins.
    n_expected, n_found : positive
        Rows behind them; an empty bin counts as `LEAST_ROWS` of these.

    References
    ----------
    B. Yurdakul, Statistical properties of the population stability index, 2018, equation 1.1.
    """
    e = np.maximum(np.asarray(expected, dtype=float), LEAST_ROWS / n_expected)
    a = np.maximum(np.asarray(found, dtype=float), LEAST_ROWS / n_found)
    return float(((a - e) * np.log(a / e)).sum())


def stability_by_chance(
    n_bins: int, *, n_expected: int, n_found: int, confidence: float = 0.99
) -> float:
    """Upper limit of the index, with this confidence, if nothing has moved.

    The index is (1/n + 1/m) times a chi-squared variable with n_bins - 1 degrees of freedom.

    Parameters
    ----------
    n_bins : at least 1
        Bins that are not empty in both.

    References
    ----------
    B. Yurdakul, Statistical properties of the population stability index, 2018, section 3.2.
    """
    if n_bins < 2:
        return 0.0
    return float(chi2.ppf(confidence, n_bins - 1) * (1.0 / n_expected + 1.0 / n_found))
