"""Whether two samples have the same distribution."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import chi2, ks_2samp

from automl.records import FloatArray

LEAST_EXPECTED = 5.0
"""Rows; below it the statistic of a cell is not chi-squared (Cochran, 1954), so that such bins become one."""


def kolmogorov_smirnov(first: ArrayLike, second: ArrayLike) -> float:
    """p-value of the two-sample test of Kolmogorov and Smirnov; 1 where a sample is empty.

    Parameters
    ----------
    first, second : (n,), (m,)
        NaN is left out. With ties the p-value is too great.
    """
    seen = [_finite(sample) for sample in (first, second)]
    if not all(map(len, seen)):
        return 1.0
    return float(ks_2samp(*seen, method="asymp").pvalue)


def homogeneity(first: ArrayLike, second: ArrayLike) -> float:
    """p-value of Pearson's chi-squared test that two rows of counts have the same distribution.

    Bins that expect fewer than `LEAST_EXPECTED` rows in either sample are put together.

    Parameters
    ----------
    first, second : (n_bins,), not negative
        Rows in the same bins; 1 where fewer than two bins are left, or a sample is empty.
    """
    counts = np.array([first, second], dtype=np.float64)
    totals = counts.sum(axis=1, keepdims=True)
    if not totals.all():
        return 1.0
    is_rare = (_expected(counts) < LEAST_EXPECTED).any(axis=0)
    pooled = np.column_stack([counts[:, ~is_rare], counts[:, is_rare].sum(axis=1)])
    pooled = pooled[:, pooled.sum(axis=0) > 0]
    if pooled.shape[1] < 2:
        return 1.0
    expected = _expected(pooled)
    statistic = ((pooled - expected) ** 2 / expected).sum()
    return float(chi2.sf(statistic, pooled.shape[1] - 1))


def _finite(sample: ArrayLike) -> FloatArray:
    values = np.asarray(sample, dtype=np.float64)
    return values[np.isfinite(values)]


def _expected(counts: FloatArray) -> FloatArray:
    return np.asarray(counts.sum(axis=1, keepdims=True) * counts.sum(axis=0) / counts.sum())
