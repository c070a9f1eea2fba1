"""Comparisons of scores on the same folds."""

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
        t statistic, df = n - 1. Without any difference the statistic is 0 and the p-value
        1. A constant difference says nothing about the variance. Its statistic is infinite, and its
        p-value is that of n equal signs, 2^(1-n) (one-sided 2^-n): scores that count few rows differ
        by the same amount on two or three folds more often than alpha.

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
    n = blocks.shape[1]
    statistic = corrected_statistics(blocks[:1] - blocks[1:], test_train_ratio)
    is_constant_lead = bool(np.isinf(statistic[0]))
    sides = 2.0 if alternative == "two-sided" else 1.0
    least = sides * least_pvalue(n) if is_constant_lead else 0.0
    pvalue = max(float(_t_tail(statistic, n - 1, alternative)[0]), least)
    return TestResult("corrected t", float(statistic[0]), pvalue, (float(n - 1),))


def corrected_statistics(differences: FloatArray, test_train_ratio: float) -> FloatArray:
    """(m,) corrected t of (m, n) differences; infinite for a constant one, 0 for none."""
    n = differences.shape[1]
    rounding = 1e-12 * np.maximum(1.0, np.abs(differences).max(axis=1))
    is_flat = np.ptp(differences, axis=1) <= rounding
    deviation = np.where(is_flat, 0.0, differences.std(axis=1, ddof=1))
    error = deviation * np.sqrt(1.0 / n + test_train_ratio)
    return ratio_to_error(differences.mean(axis=1), error)


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


def least_pvalue(n: int) -> float:
    """One-sided p-value of n equal signs, the smallest that n differences allow without normality."""
    return float(2.0**-n)


def _t_tail(statistics: FloatArray, freedom: int, alternative: Alternative) -> FloatArray:
    """p-values of Student's t; 1 for a zero statistic without evidence in any direction."""
    if alternative == "two-sided":
        return np.asarray(2.0 * stats.t.sf(np.abs(statistics), freedom))
    return np.asarray(stats.t.sf(statistics if alternative == "greater" else -statistics, freedom))


def corrected_t_all_pairs(
    groups: Sequence[ArrayLike], *, test_train_ratio: float, further: ArrayLike = ()
) -> PairwiseResult:
    """Corrected t-tests of all pairs of models, adjusted by Holm over all pairs.

    All pairs, not only those with the best: the best is chosen from the same scores, and Holm over
    k - 1 comparisons with it drops an equal model too often. Whatever the dependence of the pairs,
    the probability that any pair of equal models is told apart is at most alpha.

    No adjusted p-value is below 2^(1-n), that of n equal signs: on a few folds, scores that are
    counts of rows often differ by nearly the same amount, which has no variance to go by. Five
    scores or fewer therefore prove nothing at alpha 0.05.

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
    k, n = check_blocks(groups).shape
    statistics, raw = corrected_t_of_pairs(groups, test_train_ratio=test_train_ratio)
    adjusted = holm([*raw, *np.asarray(further, dtype=np.float64)])[: len(raw)]
    pvalues = np.maximum(adjusted, 2.0 * least_pvalue(n))
    return PairwiseResult(
        "corrected t, Holm over all pairs",
        symmetric(np.abs(statistics), k, 0.0),
        symmetric(pvalues, k, 1.0),
        (float(n - 1),),
    )


def corrected_t_of_pairs(
    groups: Sequence[ArrayLike], *, test_train_ratio: float
) -> tuple[FloatArray, FloatArray]:
    """Statistics and two-sided p-values of all pairs, not adjusted; 0 for a constant difference.

    Returns
    -------
    each (k (k - 1) / 2,), in the order of ``np.triu_indices(k, 1)``

    Raises
    ------
    ValueError
        As `corrected_t`.
    """
    blocks = check_blocks(groups)
    check_ratio(test_train_ratio)
    first, second = np.triu_indices(len(blocks), 1)
    statistics = corrected_statistics(blocks[first] - blocks[second], test_train_ratio)
    return statistics, _t_tail(statistics, blocks.shape[1] - 1, "two-sided")


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
