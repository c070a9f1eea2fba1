"""Comparisons of independent groups of scores: does any differ, and which pairs (B14, algorithm 2)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from automl.records import FloatArray
from automl.statistics.results import (
    PairwiseResult,
    TestResult,
    check_groups,
    is_constant,
    symmetric,
)
from automl.statistics.studentized_range import studentized_range_tail


def anova(groups: Sequence[ArrayLike]) -> TestResult:
    """One-way analysis of variance.

    Null hypothesis: all groups have the same mean. Assumes 1. independent values, 2. normal
    values, 3. equal variances.

    Parameters
    ----------
    groups : k of (n_i,), k >= 2, n_i >= 2

    Returns
    -------
    TestResult
        F statistic, df = (k - 1, N - k). Without spread inside the groups: equal means give
        statistic 0, p-value 1; different means give infinity, p-value 0.

    Raises
    ------
    ValueError
        If a group is too small or not finite.
    """
    samples = check_groups(groups)
    n_total = sum(map(len, samples))
    df = (float(len(samples) - 1), float(n_total - len(samples)))
    if all(map(is_constant, samples)):
        equal = is_constant(np.concatenate(samples))
        return TestResult("ANOVA", 0.0 if equal else float("inf"), float(equal), df)
    statistic = max(float(stats.f_oneway(*samples).statistic), 0.0)  # rounding of equal means
    return TestResult("ANOVA", statistic, float(stats.f.sf(statistic, *df)), df)


def kruskal_wallis(groups: Sequence[ArrayLike]) -> TestResult:
    """Kruskal-Wallis test on joint ranks, corrected for ties.

    Null hypothesis: all groups have the same distribution. Assumes independent values.

    Parameters
    ----------
    groups : k of (n_i,), k >= 2, n_i >= 2

    Returns
    -------
    TestResult
        H statistic, df = k - 1, chi-square approximation. All values equal: 0, p-value 1.

    Raises
    ------
    ValueError
        If a group is too small or not finite.
    """
    samples = check_groups(groups)
    df = (float(len(samples) - 1),)
    joint = np.concatenate(samples)
    if (joint == joint[0]).all():
        return TestResult("Kruskal-Wallis", 0.0, 1.0, df)
    statistic = max(float(stats.kruskal(*samples).statistic), 0.0)  # rounding of equal rank sums
    return TestResult("Kruskal-Wallis", statistic, float(stats.chi2.sf(statistic, *df)), df)


def tukey(groups: Sequence[ArrayLike], *, reference: int | None = None) -> PairwiseResult:
    """Tukey-Kramer honest significance test of all pairs of means.

    Null hypothesis of a pair: both groups have the same mean. Assumes what `anova` assumes.

    Parameters
    ----------
    groups : k of (n_i,), k >= 2, n_i >= 2
    reference : group or None
        Only the pairs with this group are computed (the others are NaN); the p-values are the
        same as without it, adjusted for all pairs.

    Returns
    -------
    PairwiseResult
        Studentized range statistics q, df = (k, N - k). Without spread inside the groups: p-value
        1 for equal means, 0 for different ones.

    Raises
    ------
    ValueError
        If a group is too small or not finite.
    """
    samples = check_groups(groups)
    sizes = np.array([len(sample) for sample in samples], dtype=np.float64)
    means = np.array([sample.mean() for sample in samples])
    freedom = float(sizes.sum() - len(samples))
    within = sum(float(((sample - sample.mean()) ** 2).sum()) for sample in samples) / freedom
    if all(map(is_constant, samples)):
        within = 0.0
    first, second = np.triu_indices(len(samples), 1)
    error = np.sqrt(within / 2.0 * (1.0 / sizes[first] + 1.0 / sizes[second]))
    statistics = _ratio(np.abs(means[first] - means[second]), error)
    return _studentized("Tukey", statistics, len(samples), freedom, reference)


def nemenyi_joint_ranks(
    groups: Sequence[ArrayLike], *, reference: int | None = None
) -> PairwiseResult:
    """Nemenyi's test of all pairs on joint ranks, the companion of Kruskal-Wallis.

    Null hypothesis of a pair: both groups have the same distribution. Assumes independent values.
    The variance of the mean ranks, N (N + 1) / 12, is multiplied by Kruskal and Wallis' correction
    for ties, 1 - Σ(t³ - t) / (N³ - N).

    Parameters
    ----------
    groups : k of (n_i,), k >= 2, n_i >= 2
    reference : group or None
        Only the pairs with this group are computed; the others are NaN.

    Returns
    -------
    PairwiseResult
        Studentized range statistics with infinite degrees of freedom, df = (k,). All values
        equal: statistics 0, p-values 1.

    Raises
    ------
    ValueError
        If a group is too small or not finite.

    References
    ----------
    .. [1] Nemenyi (1963), Distribution-free multiple comparisons.
    .. [2] Sachs (1997), Angewandte Statistik, pp. 395-397.
    """
    samples = check_groups(groups)
    joint = np.concatenate(samples)
    ranks = stats.rankdata(joint)
    n_total = float(len(joint))
    sizes = np.array([len(sample) for sample in samples], dtype=np.float64)
    means = np.array([part.mean() for part in np.split(ranks, np.cumsum(sizes)[:-1].astype(int))])
    _, ties = np.unique(joint, return_counts=True)
    correction = 1.0 - float((ties.astype(float) ** 3 - ties).sum()) / (n_total**3 - n_total)
    variance = max(correction, 0.0) * n_total * (n_total + 1.0) / 12.0
    first, second = np.triu_indices(len(samples), 1)
    error = np.sqrt(variance / 2.0 * (1.0 / sizes[first] + 1.0 / sizes[second]))
    statistics = _ratio(np.abs(means[first] - means[second]), error)
    return _studentized("Nemenyi", statistics, len(samples), float("inf"), reference)


def _ratio(difference: FloatArray, error: FloatArray) -> FloatArray:
    """Quotient difference / error; 0 / 0 is 0, x / 0 is infinite."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = difference / error
    return np.where(error > 0, ratio, np.where(difference > 1e-12, np.inf, 0.0))


def _studentized(
    name: str, statistics: FloatArray, k: int, freedom: float, reference: int | None = None
) -> PairwiseResult:
    """All pairs' p-values from the studentized range distribution of `k` groups."""
    first, second = np.triu_indices(k, 1)
    wanted = np.ones(len(first), dtype=bool)
    if reference is not None:
        wanted = (first == reference) | (second == reference)
    pvalues = np.full(len(first), np.nan)
    pvalues[wanted] = studentized_range_tail(statistics[wanted], k, freedom)
    df = (float(k),) if np.isinf(freedom) else (float(k), freedom)
    return PairwiseResult(name, symmetric(statistics, k, 0.0), symmetric(pvalues, k, 1.0), df)
