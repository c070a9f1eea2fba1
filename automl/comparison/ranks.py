"""Expected ranks and winning frequencies of methods on many data sets (L14, section 6.2).

Notation of this package: K methods, P places (a data set with one seed), L data sets, T trials.
Risks are minimized; a method that failed in a place has the risk infinity there. The places of one
data set are averaged first, so every data set counts the same however many seeds it has.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata

from automl.records import FloatArray, IntArray


@dataclass(frozen=True)
class ExpectedRank:
    """Mean ranks over data sets; lower is better.

    Parameters
    ----------
    expected : (K,), in [1, K], sum K (K + 1) / 2
    ranks : (K, L)
        Mean over the places of each data set.
    """

    expected: FloatArray
    ranks: FloatArray


@dataclass(frozen=True)
class WinningFrequency:
    """How often each method beats each other one.

    Parameters
    ----------
    frequency : (K, K), in [0, 1], ½ on the diagonal
        Row beats column; ``frequency + frequency.T`` is 1.
    wins : (K, K, L)
        The same by data set: mean over its places.
    """

    frequency: FloatArray
    wins: FloatArray

    @property
    def expected_rank(self) -> FloatArray:
        """Expected rank of each method, (K,): 1 + Σ over the others of (1 - frequency).

        L14 prints it for K = 2; with average ranks at ties it holds for any K.
        """
        return np.asarray(0.5 + (1.0 - self.frequency).sum(axis=1))


def check_risks(risks: ArrayLike, *, n_dimensions: int = 2) -> FloatArray:
    """Risks as an array of 64-bit numbers; infinite ones are failures.

    Raises
    ------
    ValueError
        If the array is empty, of another dimension, or has NaN or minus infinity.
    """
    given = np.asarray(risks, dtype=np.float64)
    if given.ndim != n_dimensions or not given.size:
        raise ValueError(
            f"risks must have {n_dimensions} dimensions and not be empty; got shape {given.shape}"
        )
    if np.isnan(given).any() or np.isneginf(given).any():
        raise ValueError(
            "risks must be numbers, or infinite where a method failed; got NaN or -inf"
        )
    return given


def data_set_means(values: FloatArray, data_sets: ArrayLike | None) -> FloatArray:
    """Means over the places of each data set, in the order in which the data sets first appear.

    Parameters
    ----------
    values : (..., P)
    data_sets : (P,), or None
        Data set of each place; None: every place is a data set of its own.

    Returns
    -------
    (..., L)

    Raises
    ------
    ValueError
        If there is not one data set for each place.
    """
    if data_sets is None:
        return values
    codes = data_set_codes(data_sets, values.shape[-1])
    return np.stack(
        [values[..., codes == code].mean(axis=-1) for code in range(codes.max() + 1)], axis=-1
    )


def data_set_codes(data_sets: ArrayLike, n_places: int) -> IntArray:
    """Number of each place's data set, (P,), in the order in which the data sets first appear.

    Raises
    ------
    ValueError
        If there is not one data set for each place.
    """
    names = np.asarray(data_sets)
    if names.shape != (n_places,):
        raise ValueError(
            f"there must be one data set for each of {n_places} places; got shape {names.shape}"
        )
    _, first, codes = np.unique(names, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[codes])


def method_ranks(risks: ArrayLike) -> FloatArray:
    """Ranks of the methods in each place, 1 for the lowest risk, average ranks at ties.

    Parameters
    ----------
    risks : (K, ...)

    Returns
    -------
    (K, ...), in [1, K]

    References
    ----------
    .. [1] L14, section 6.2, whose printed ≤ would give ties the worst rank; average ranks as in
       S15, section 4.3 (0.9, 0.8, 0.8, 0.7 have the ranks 1, 2.5, 2.5, 4).
    """
    return np.asarray(rankdata(np.asarray(risks, dtype=np.float64), axis=0))


def expected_rank(risks: ArrayLike, *, data_sets: ArrayLike | None = None) -> ExpectedRank:
    """Mean rank of each method over the data sets.

    Parameters
    ----------
    risks : (K, P), infinite for failures
    data_sets : (P,), or None
        Data set of each place; None: every place is a data set of its own.

    Raises
    ------
    ValueError
        As `check_risks` and `data_set_means`.

    References
    ----------
    .. [1] L14, section 6.2, E[Rank].
    """
    ranks = data_set_means(method_ranks(check_risks(risks)), data_sets)
    return ExpectedRank(ranks.mean(axis=1), ranks)


def winning_frequency(risks: ArrayLike, *, data_sets: ArrayLike | None = None) -> WinningFrequency:
    """Share of data sets in which one method has a lower risk than another; a tie counts ½.

    Parameters
    ----------
    risks : (K, P), infinite for failures
    data_sets : (P,), or None
        Data set of each place; None: every place is a data set of its own.

    Raises
    ------
    ValueError
        As `check_risks` and `data_set_means`.

    References
    ----------
    .. [1] L14, section 6.2, winning frequency and footnote 4.
    """
    given = check_risks(risks)
    row, column = given[:, np.newaxis], given[np.newaxis]
    wins = data_set_means((row < column) + 0.5 * (row == column), data_sets)
    return WinningFrequency(wins.mean(axis=2), wins)
