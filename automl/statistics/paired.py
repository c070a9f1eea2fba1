"""Comparisons of scores on the same folds (SPEC J4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from automl.statistics.adjustment import holm
from automl.statistics.results import (
    PairwiseResult,
    TestResult,
    check_blocks,
    is_constant,
    symmetric,
)
from automl.statistics.studentized_range import studentized_range_tail

Alternative = Literal["two-sided", "greater", "less"]


def corrected_t(
    first: ArrayLike,
    second: ArrayLike,
    *,
    test_train_ratio: float,
    alternative: Alternative = "two-sided",
) -> TestResult:
    """Corrected resampled t-test of two models on the same folds (Nadeau and Bengio).

    Null hypothesis: the mean difference, first - second, is zero (or has the other sign). The
    training sets overlap, so the variance of the mean difference is s² (1/n + n_test/n_train)
    instead of s²/n. Assumes normal differences.

    Parameters
    ----------
    first, second : (n,), n >= 2
        Scores on the same folds.
    test_train_ratio : non-negative
        Validation rows / training rows of a fold: 1 / (k - 1) in k-fold cross-validation, with
        any number of repeats.
    alternative
        `greater`: the first is better.

    Returns
    -------
    TestResult
        t statistic, df = n - 1. Differences without spread: no difference gives statistic 0 and
        p-value 1; a constant difference gives an infinite statistic.

    Raises
    ------
    ValueError
        If the samples are too small, of different lengths or not finite, or the ratio is negative.

    References
    ----------
    .. [1] Nadeau and Bengio (2003), Inference for the generalization error, section 3.
    .. [2] Bouckaert and Frank (2004), repeated cross-validation.
    """
    blocks = check_blocks([first, second])
    if not test_train_ratio >= 0:
        raise ValueError(f"test_train_ratio must not be negative; got {test_train_ratio}")
    difference = blocks[0] - blocks[1]
    n = len(difference)
    mean = float(difference.mean())
    if is_constant(difference):
        statistic = 0.0 if abs(mean) <= 1e-12 else float(np.copysign(np.inf, mean))
    else:
        variance = float(difference.var(ddof=1)) * (1.0 / n + test_train_ratio)
        statistic = mean / float(np.sqrt(variance))
    return TestResult(
        "corrected t", statistic, _t_tail(statistic, n - 1, alternative), (float(n - 1),)
    )


def _t_tail(statistic: float, freedom: int, alternative: Alternative) -> float:
    """p-value of Student's t; 1 for a zero statistic without evidence in any direction."""
    if alternative == "two-sided":
        return float(2.0 * stats.t.sf(abs(statistic), freedom))
    return float(stats.t.sf(statistic if alternative == "greater" else -statistic, freedom))


def corrected_t_all_pairs(
    groups: Sequence[ArrayLike], *, test_train_ratio: float
) -> PairwiseResult:
    """Corrected t-tests of all pairs of models, adjusted by Holm over all pairs.

    All pairs, not only those with the best: the best is chosen from the same scores, and Holm over
    k - 1 comparisons with it drops an equal model too often.

    Parameters
    ----------
    groups : k of (n,), k >= 2, n >= 2
        Scores on the same folds.
    test_train_ratio : non-negative
        See `corrected_t`.

    Returns
    -------
    PairwiseResult
        Absolute t statistics, df = (n - 1,).

    Raises
    ------
    ValueError
        As `corrected_t`.
    """
    blocks = check_blocks(groups)
    k = len(blocks)
    results = [
        corrected_t(blocks[i], blocks[j], test_train_ratio=test_train_ratio)
        for i, j in zip(*np.triu_indices(k, 1), strict=True)
    ]
    statistics = np.array([abs(result.statistic) for result in results])
    pvalues = holm([result.pvalue for result in results])
    return PairwiseResult(
        "corrected t, Holm over all pairs",
        symmetric(statistics, k, 0.0),
        symmetric(pvalues, k, 1.0),
        results[0].df,
    )


def friedman(groups: Sequence[ArrayLike]) -> TestResult:
    """Friedman test on the ranks inside each fold, corrected for ties.

    Null hypothesis: all models have the same distribution of ranks. Assumes independent folds.

    Parameters
    ----------
    groups : k of (n,), k >= 2, n >= 2
        Scores on the same folds.

    Returns
    -------
    TestResult
        Chi-square statistic, df = k - 1. All scores of every fold equal: 0, p-value 1.

    Raises
    ------
    ValueError
        If the groups are too small, of different lengths or not finite.
    """
    blocks = check_blocks(groups)
    k, n = blocks.shape
    ranks = stats.rankdata(blocks, axis=0)
    spread = float(((ranks - (k + 1) / 2.0) ** 2).sum())
    df = (float(k - 1),)
    if spread <= 0:
        return TestResult("Friedman", 0.0, 1.0, df)
    between = float(((ranks.sum(axis=1) - n * (k + 1) / 2.0) ** 2).sum())
    statistic = (k - 1) * between / spread
    return TestResult("Friedman", statistic, float(stats.chi2.sf(statistic, k - 1)), df)


def nemenyi_friedman(groups: Sequence[ArrayLike]) -> PairwiseResult:
    """Nemenyi's test of all pairs of mean ranks inside folds, the companion of Friedman.

    Null hypothesis of a pair: both models have the same mean rank.

    Parameters
    ----------
    groups : k of (n,), k >= 2, n >= 2
        Scores on the same folds.

    Returns
    -------
    PairwiseResult
        Studentized range statistics with infinite degrees of freedom, df = (k,).

    Raises
    ------
    ValueError
        As `friedman`.

    References
    ----------
    .. [1] Demsar (2006), Statistical comparisons of classifiers over multiple data sets, 3.2.2.
    """
    blocks = check_blocks(groups)
    k, n = blocks.shape
    means = stats.rankdata(blocks, axis=0).mean(axis=1)
    first, second = np.triu_indices(k, 1)
    statistics = np.abs(means[first] - means[second]) / np.sqrt(k * (k + 1) / (12.0 * n))
    pvalues = studentized_range_tail(statistics, k, float("inf"))
    return PairwiseResult(
        "Nemenyi on Friedman ranks",
        symmetric(statistics, k, 0.0),
        symmetric(pvalues, k, 1.0),
        (float(k),),
    )
