"""Comparisons of scores on the same folds (SPEC J4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from automl.records import FloatArray
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
        p-value 1; a constant difference says nothing about the variance, gives an infinite
        statistic and the p-value of n equal signs, 2^(1-n) (one-sided 2^-n): scores that are counts
        of few rows differ by the same amount on two or three folds more often than alpha.

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
    check_ratio(test_train_ratio)
    difference = blocks[0] - blocks[1]
    n = len(difference)
    mean = float(difference.mean())
    deviation = 0.0 if is_constant(difference) else float(difference.std(ddof=1))
    error = deviation * float(np.sqrt(1.0 / n + test_train_ratio))
    statistic = float(ratio_to_error(np.array(mean), np.array(error)))
    return TestResult("corrected t", statistic, _t_tail(statistic, n, alternative), (float(n - 1),))


def check_ratio(test_train_ratio: float) -> None:
    """Refuse a negative ratio.

    Raises
    ------
    ValueError
        If it is negative or NaN.
    """
    if not test_train_ratio >= 0:
        raise ValueError(f"test_train_ratio must not be negative; got {test_train_ratio}")


def ratio_to_error(difference: FloatArray, error: FloatArray) -> FloatArray:
    """Difference / error; without error infinite with the difference's sign, 0 for none."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = difference / error
    without = np.where(np.abs(difference) > 1e-12, np.copysign(np.inf, difference), 0.0)
    return np.asarray(np.where(error > 1e-12, ratio, without))


def degenerate_pvalue(n: int) -> float:
    """One-sided p-value of a constant difference on n folds: that of n equal signs."""
    return float(2.0**-n)


def _t_tail(statistic: float, n: int, alternative: Alternative) -> float:
    """p-value of Student's t; 1 for a zero statistic without evidence in any direction."""
    if alternative == "two-sided":
        return 2.0 * _upper_tail(abs(statistic), n)
    return _upper_tail(statistic if alternative == "greater" else -statistic, n)


def _upper_tail(statistic: float, n: int) -> float:
    if np.isposinf(statistic):
        return degenerate_pvalue(n)
    return float(stats.t.sf(statistic, n - 1))


def corrected_t_all_pairs(
    groups: Sequence[ArrayLike], *, test_train_ratio: float, further: ArrayLike = ()
) -> PairwiseResult:
    """Corrected t-tests of all pairs of models, adjusted by Holm over all pairs.

    All pairs, not only those with the best: the best is chosen from the same scores, and Holm over
    k - 1 comparisons with it drops an equal model too often. Whatever the dependence of the pairs,
    the probability that any pair of equal models is told apart is at most alpha.

    Parameters
    ----------
    groups : k of (n,), k >= 2, n >= 2
        Scores on the same folds.
    test_train_ratio : non-negative
        See `corrected_t`.
    further : (m,), in [0, 1]
        p-values of other comparisons that are to share the same alpha.

    Returns
    -------
    PairwiseResult
        Absolute t statistics, df = (n - 1,).

    Raises
    ------
    ValueError
        As `corrected_t`.
    """
    k = len(check_blocks(groups))
    results = pairwise_corrected_t(groups, test_train_ratio=test_train_ratio)
    statistics = np.array([abs(result.statistic) for result in results])
    raw = [result.pvalue for result in results]
    pvalues = holm([*raw, *np.asarray(further, dtype=np.float64)])[: len(raw)]
    return PairwiseResult(
        "corrected t, Holm over all pairs",
        symmetric(statistics, k, 0.0),
        symmetric(pvalues, k, 1.0),
        results[0].df,
    )


def pairwise_corrected_t(
    groups: Sequence[ArrayLike], *, test_train_ratio: float
) -> list[TestResult]:
    """Corrected t-tests of all pairs, not adjusted, in the order of ``np.triu_indices(k, 1)``.

    Raises
    ------
    ValueError
        As `corrected_t`.
    """
    blocks = check_blocks(groups)
    return [
        corrected_t(blocks[i], blocks[j], test_train_ratio=test_train_ratio)
        for i, j in zip(*np.triu_indices(len(blocks), 1), strict=True)
    ]


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
