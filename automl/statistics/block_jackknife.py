"""Difference of two models' scores on the same new rows, judged by blocks of rows that belong together.

Notation: theta is the difference of the scores, new - old, on all rows; theta_(-j) the same without
block j; w_j the block's share of the rows; c_j what the block contributes to theta. Where a score is a
mean over rows, c_j is the sum of the block's differences divided by the number of rows, and the test is
Student's of the blocks. Any other smooth score, such as an area under a curve, is judged by the same
formula to first order (delete-a-group jackknife).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from automl.records import FloatArray, IntArray
from automl.statistics.paired import least_pvalue, ratio_to_error

LEAST_BLOCKS = 5
"""With fewer, Student's t has so few degrees of freedom that hardly any difference is evidence."""
MOST_BLOCKS = 200
"""Further blocks change the quantiles of Student's t by less than 1 % at the levels in use."""
MOST_TIME_BLOCKS = 15
"""Few and long: rows near in time resemble each other over spans that nobody has told. With 1,000 rows the
level is kept up to an autocorrelation of 0.9 from row to row, with 100 up to 0.5."""
LEAST_TIME_SPAN = 10
"""Units of a block in time order, unless that makes fewer than `LEAST_BLOCKS`."""


def blocks_of(
    units: ArrayLike, order: ArrayLike | None = None, *, rng: np.random.Generator
) -> IntArray:
    """Number of the block of each row; rows of one unit are in one block.

    Without an order each unit is a block, and above `MOST_BLOCKS` units are put together at random. In an
    order, as of time, blocks are neighbours in it: at most `MOST_TIME_BLOCKS` of at least
    `LEAST_TIME_SPAN` units, but `LEAST_BLOCKS` of fewer.

    Parameters
    ----------
    units : (n,)
        Equal where rows belong together, as by a group.
    order : (n,), numbers
        A unit has the position of its mean.

    Returns
    -------
    (n,), 0 to the number of blocks - 1
    """
    codes = np.unique(np.asarray(units), return_inverse=True)[1]
    n_units = int(codes.max()) + 1
    if order is None:
        place, n_blocks = rng.permutation(n_units), min(n_units, MOST_BLOCKS)
    else:
        counts = np.bincount(codes)
        mean = np.bincount(codes, weights=np.asarray(order, dtype=np.float64)) / counts
        place = np.argsort(np.argsort(mean, kind="stable"), kind="stable")
        n_blocks = int(np.clip(n_units // LEAST_TIME_SPAN, LEAST_BLOCKS, MOST_TIME_BLOCKS))
        n_blocks = min(n_blocks, n_units)
    return np.asarray(place[codes] * n_blocks // n_units)


def scores_without(score: Callable[[IntArray], float], blocks: IntArray) -> FloatArray:
    """A score of all rows, and of the rows without each block in turn.

    Parameters
    ----------
    score
        Of the rows at some positions; one that raises ValueError is not defined there.
    blocks : (n,), see `blocks_of`

    Returns
    -------
    (1 + b,)
        NaN where the score is not defined, as without any row of a class.
    """
    left_out = [np.flatnonzero(blocks != block) for block in range(int(blocks.max()) + 1)]
    return np.array([_if_defined(score, rows) for rows in (np.arange(len(blocks)), *left_out)])


def _if_defined(score: Callable[[IntArray], float], rows: IntArray) -> float:
    try:
        return score(rows)
    except ValueError:
        return float("nan")


def shares_of(blocks: IntArray, weights: FloatArray | None = None) -> FloatArray:
    """(b,) share of each block in the number of rows, or in their weight."""
    sizes = np.bincount(blocks, weights=weights)
    return np.asarray(sizes / sizes.sum(), dtype=np.float64)


def contributions(difference: float, without: ArrayLike, shares: ArrayLike) -> FloatArray:
    """Contribution of each block to a difference of scores; the sum is the difference.

    Parameters
    ----------
    difference : theta
    without : (b,), theta_(-j)
    shares : (b,), w_j, positive, sum 1

    Returns
    -------
    (b,)
        (1 - w_j) (theta - theta_(-j)) + w_j theta, all moved alike so that they sum to theta.

    References
    ----------
    .. [1] Busing, Meijer and van der Leeden (1999), Delete-m jackknife for unequal m, eq. 3.
    """
    share = np.asarray(shares, dtype=np.float64)
    found = (1.0 - share) * (difference - np.asarray(without, dtype=np.float64))
    found = found + share * difference
    return np.asarray(found + share * (difference - found.sum()))


@dataclass(frozen=True)
class BlockComparison:
    """Differences of two models' scores with their contributions by block, many at once.

    Parameters
    ----------
    parts : (m, b)
        See `contributions`.
    shares : (b,), positive, sum 1
    """

    parts: FloatArray
    shares: FloatArray

    @property
    def differences(self) -> FloatArray:
        """(m,) new - old."""
        return np.asarray(self.parts.sum(axis=1))

    @property
    def errors(self) -> FloatArray:
        """(m,) standard errors of the differences."""
        n_blocks = self.parts.shape[1]
        return np.asarray(np.sqrt(n_blocks / (n_blocks - 1) * (self._residuals**2).sum(axis=1)))

    def pvalues(self, bound: float = 0.0) -> FloatArray:
        """(m,) one-sided p-values; null hypothesis: the difference is not above `bound`.

        The greater of two: Student's t of the blocks, and the same of Hall's transformation. A new model
        that is a little better on most rows and much worse on a few has a difference that is skewed to the
        left, for which Student's t finds a lead in too many samples; Hall's transformation corrects that,
        and is itself wrong where few rows differ at all.

        References
        ----------
        .. [1] Hall (1992), On the removal of skewness by transformation, section 2.
        """
        n_blocks = self.parts.shape[1]
        statistic = ratio_to_error(self.differences - bound, self.errors)
        tails = stats.t.sf(statistic, n_blocks - 1), stats.t.sf(self._hall(statistic), n_blocks - 1)
        least = np.where(np.isinf(statistic), least_pvalue(n_blocks), 0.0)
        return np.asarray(np.clip(np.maximum.reduce([*tails, least]), 0.0, 1.0))

    def interval(self, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
        """(m,) lower and upper ends of Student's two-sided interval of the difference."""
        reach = stats.t.ppf(0.5 + level / 2, self.parts.shape[1] - 1) * self.errors
        return self.differences - reach, self.differences + reach

    @property
    def _residuals(self) -> FloatArray:
        """(m, b) contributions less what the block would have if all rows were alike."""
        return np.asarray(self.parts - self.shares * self.differences[:, None])

    def _hall(self, statistic: FloatArray) -> FloatArray:
        """(m,) of a studentized mean; rising in it, so that order is kept."""
        n = self.parts.shape[1]
        spread = np.sqrt((self._residuals**2).mean(axis=1))
        cubes = (self._residuals**3).mean(axis=1)
        skew = np.divide(cubes, spread**3, out=np.zeros_like(cubes), where=spread > 0)
        u = np.where(np.isfinite(statistic), statistic, 0.0) / np.sqrt(n)
        moved = u + skew * u**2 / 3 + skew**2 * u**3 / 27 + skew / (6 * n)
        return np.asarray(np.where(np.isfinite(statistic), np.sqrt(n) * moved, statistic))
