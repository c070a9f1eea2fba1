"""Hsu's multiple comparisons with the best, on scores of the same folds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from automl.records import FloatArray
from automl.statistics.adjustment import holm
from automl.statistics.dunnett import dunnett_quantile, dunnett_tail
from automl.statistics.paired import (
    check_ratio,
    corrected_statistics,
    least_pvalue,
    ratio_to_error,
)
from automl.statistics.results import check_blocks

Variance = Literal["pairwise", "pooled"]


@dataclass(frozen=True)
class BestResult:
    """Result of a multiple comparison with the best.

    Parameters
    ----------
    name
        Name of the test.
    statistic : (k,)
        Greatest standardized lead of another group; not positive for the group with the highest mean.
    pvalue : (k,), in [0, 1]
        Smallest alpha at which the group is no longer among the possible best.
    low, high : (k,), low <= 0 <= high
        Simultaneous intervals of the mean minus the highest mean of the others. ``high`` is 0 where
        the group is excluded from the best.
    df
        Degrees of freedom.
    """

    name: str
    statistic: FloatArray
    pvalue: FloatArray
    low: FloatArray
    high: FloatArray
    df: tuple[float, ...]

    def __str__(self) -> str:
        excluded = int((self.high <= 0).sum())
        k = len(self.pvalue)
        return f"{self.name}: {k} groups, {excluded} of them not the best, lowest p = {self.pvalue.min():.4g}"


def mcb(
    groups: Sequence[ArrayLike],
    *,
    test_train_ratio: float,
    alpha: float = 0.05,
    variance: Variance = "pairwise",
    n_candidates: int | None = None,
) -> BestResult:
    """Which groups may be the best one, by Hsu's constrained intervals with the corrected variance.

    Null hypothesis of a group: its mean is at least that of every other. A group that is truly
    among the best is excluded with a probability of at most `alpha`; that *any* of several equally
    good ones is excluded is more probable than that (`corrected_t_all_pairs` bounds it). Assumes
    normal differences. The variance of a mean difference is that of Nadeau and Bengio, see
    `corrected_t`.

    Parameters
    ----------
    groups : k of (n,), k >= 2, n >= 2
        Scores on the same folds.
    test_train_ratio : non-negative
        See `corrected_t`.
    alpha : in (0, 1)
        Of the intervals.
    variance
        `pairwise`: each difference has its own, n - 1 degrees of freedom, Bonferroni over the
        others: holds its level whatever the variances are; no p-value is below 2^-n, that of n
        equal signs. `pooled`: the residual variance of the
        two-way layout, (k - 1)(n - 1) degrees of freedom, Dunnett's distribution: exact where all
        differences have the same variance, else up to 13 % instead of 5 % (deviations of 0.2 to 3).
    n_candidates : >= k or None
        Number of groups from which these were picked by their means; None: k.

    Raises
    ------
    ValueError
        If the groups are too small, of different lengths or not finite, or a parameter is outside
        its range.

    References
    ----------
    .. [1] Hsu (1984), Constrained simultaneous confidence intervals for multiple comparisons with
       the best, Annals of Statistics 12.
    .. [2] Hsu (1996), Multiple Comparisons: Theory and Methods, chapter 4.
    """
    blocks = check_blocks(groups)
    check_ratio(test_train_ratio)
    k, n = blocks.shape
    others = _n_others(k, n_candidates)
    means = blocks.mean(axis=1)
    lead = means[None, :] - means[:, None]  # of j over i at [i, j]
    if variance == "pooled":
        freedom = float((k - 1) * (n - 1))
        error = np.sqrt(2.0 * _residual_variance(blocks) * (1.0 / n + test_train_ratio))
        quantile = dunnett_quantile(alpha, others, freedom)
        errors = np.full((k, k), error)
    else:
        freedom = float(n - 1)
        deviation = (blocks[:, None, :] - blocks[None, :, :]).std(axis=2, ddof=1)
        errors = deviation * np.sqrt(1.0 / n + test_train_ratio)
        quantile = float(stats.t.isf(alpha / others, freedom))
    ratios = ratio_to_error(lead, errors)
    np.fill_diagonal(ratios, -np.inf)
    statistic = ratios.max(axis=1)
    if variance == "pooled":
        pvalue = dunnett_tail(statistic, others, freedom)
    else:
        adjusted = np.minimum(others * stats.t.sf(statistic, freedom), 1.0)
        pvalue = np.maximum(adjusted, least_pvalue(n))
    low, high = _intervals(lead, quantile * errors)
    return BestResult(f"MCB, {variance} variance", statistic, pvalue, low, high, (freedom,))


@dataclass(frozen=True)
class ClosedResult:
    """Result of a closed test of which groups are among the best.

    Parameters
    ----------
    name
        Name of the test.
    statistic : (k,)
        Greatest corrected t of another group over this one; not positive for the group with the
        highest mean.
    pvalue : (k,), in [0, 1]
        Smallest alpha at which the group is no longer among the best, whatever other group is.
    df
        Degrees of freedom.
    """

    name: str
    statistic: FloatArray
    pvalue: FloatArray
    df: tuple[float, ...]


def closed_best(
    groups: Sequence[ArrayLike],
    *,
    test_train_ratio: float,
    beside: Sequence[ArrayLike] = (),
    further: ArrayLike = (),
) -> ClosedResult:
    """Which groups are worse than another one, with one alpha for all groups.

    Null hypothesis of a group, H_i: its mean is at least that of every other. With probability
    1 - alpha *no* group whose H_i is true is excluded, however many there are and whatever the
    means of the others. This is Holm's procedure over the H_i, which is the closed test of all
    their intersections [1]_ with the p-values of `not_best_pvalues`. The others of all groups are
    counted where a group is tested, but only those of `groups` may exclude it: leaving some out
    makes a p-value greater, and Holm's procedure then excludes fewer.

    Beside Holm over the pairs (`corrected_t_all_pairs`): the first step asks for as little or less,
    since k (k - 1) one-sided tests are k (k - 1) / 2 two-sided ones; so where pairs are told
    apart, a group is excluded. Each group that is excluded spares k - 1 tests at once, each pair
    that is told apart two: which needs less later depends on how many pairs are.

    No p-value is below 2^(1-n), as in `corrected_t_all_pairs`.

    Parameters
    ----------
    groups : k of (n,), n >= 2
        Scores on the same folds; k and the number of `beside` make at least 2.
    test_train_ratio : non-negative
        See `corrected_t`.
    beside : of (n,)
        Scores of further groups, which are tested by the same alpha and exclude none of `groups`.
    further : (m,), in [0, 1]
        p-values of other hypotheses that are to share the same alpha.

    Raises
    ------
    ValueError
        As `corrected_t`.

    References
    ----------
    .. [1] Marcus, Peritz and Gabriel (1976), On closed testing procedures with special reference to
       ordered analysis of variance, Biometrika 63; Holm (1979), Scandinavian Journal of Statistics
       6; Finner and Strassburger (2002), The partitioning principle, Annals of Statistics 30.
    """
    k, everyone = len(groups), [*groups, *beside]
    statistics, pvalues = not_best_pvalues(everyone, test_train_ratio=test_train_ratio, among=k)
    _, others = not_best_pvalues(everyone, test_train_ratio=test_train_ratio)
    shared = [*pvalues[:k], *others[k:], *np.asarray(further, dtype=np.float64)]
    n = check_blocks(everyone).shape[1]
    adjusted = np.maximum(holm(shared)[:k], 2.0 * least_pvalue(n))
    return ClosedResult("corrected t, closed test", statistics[:k], adjusted, (float(n - 1),))


def not_best_pvalues(
    groups: Sequence[ArrayLike], *, test_train_ratio: float, among: int | None = None
) -> tuple[FloatArray, FloatArray]:
    """Greatest corrected t over each group, and the p-value of its being among the best.

    The one-sided p-values of the k - 1 others' being better are joined by Simes' rule, the least
    of (k - 1) / l times the l-th smallest. It is never more than Bonferroni's (l = 1), and less
    for a group that several others beat. It holds for p-values that are independent or positively
    dependent [2]_, as differences to one and the same group are; with negative dependence the
    error is greater by next to nothing (``benchmarks/evidence``).

    Parameters
    ----------
    groups : k of (n,), k >= 2, n >= 2
        Scores on the same folds.
    test_train_ratio : non-negative
        See `corrected_t`.
    among : in [1, k] or None
        Only the first so many groups count as better ones, among k - 1 that might; None: all.

    Returns
    -------
    each (k,)

    References
    ----------
    .. [1] Simes (1986), An improved Bonferroni procedure, Biometrika 73.
    .. [2] Sarkar (1998), Some probability inequalities for ordered MTP2 random variables,
       Annals of Statistics 26.
    """
    blocks = check_blocks(groups)
    check_ratio(test_train_ratio)
    k, n = blocks.shape
    rivals = k if among is None else among
    leads = blocks[:rivals, None] - blocks[None, :]
    statistics = corrected_statistics(leads.reshape(-1, n), test_train_ratio).reshape(rivals, k)
    np.fill_diagonal(statistics, -np.inf)
    ordered = -np.sort(-statistics, axis=0)
    factors = (k - 1) / np.minimum(np.arange(1, rivals + 1), k - 1)  # the last is the group itself
    joined = (factors[:, None] * stats.t.sf(ordered, n - 1)).min(axis=0)
    return ordered[0], np.minimum(joined, 1.0)


def _n_others(k: int, n_candidates: int | None) -> int:
    if n_candidates is None:
        return k - 1
    if n_candidates < k:
        raise ValueError(
            f"n_candidates must be at least {k}, the number of groups; got {n_candidates}"
        )
    return n_candidates - 1


def _residual_variance(blocks: FloatArray) -> float:
    """Mean square of what remains without the means of groups and folds."""
    k, n = blocks.shape
    residuals = blocks - blocks.mean(axis=1, keepdims=True) - blocks.mean(axis=0) + blocks.mean()
    return float((residuals**2).sum() / ((k - 1) * (n - 1)))


def _intervals(lead: FloatArray, margin: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Hsu's intervals: upper ends first; only groups whose upper end is above 0 bound the lower ends."""
    k = len(lead)
    other = ~np.eye(k, dtype=bool)
    upper = np.array([(margin[i] - lead[i])[other[i]].min() for i in range(k)])
    high = np.maximum(upper, 0.0)
    possible = upper > 0
    low = np.zeros(k)
    for i in range(k):
        rivals = possible & other[i]
        if rivals.any():
            low[i] = min(float((-lead[i] - margin[i])[rivals].min()), 0.0)
    return low, high
