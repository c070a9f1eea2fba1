"""Which rows do what: test rows, the halves S and H, and the folds (B14, section 3.3).

Everything here deals out rows to *bins* (folds, halves, training and test rows) by one rule: groups stay
whole, every class is spread in proportion, and bin sizes stay as equal as the groups allow.
In time order the bins are consecutive blocks instead, and training rows always lie before validation rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from automl.data.allotment import allot
from automl.data.findings import listed
from automl.errors import AutoMLWarning, DataError, SettingsError
from automl.randomness import Purpose, stream
from automl.records import BoolArray, FloatArray, IntArray, Task

TRAINING_ONLY = -1


class HalvesMode(StrEnum):
    """How the halves S and H of B14, section 3.3, share the rows."""

    DISJOINT = "disjoint"
    BOOTSTRAP = "bootstrap"
    ALL = "all"


@dataclass(frozen=True)
class Halves:
    """Rows for optimizing (S) and rows for model selection (H), as positions in the table.

    Parameters
    ----------
    search : (n_search,), sorted; with repeats in bootstrap mode
    selection : (n_selection,), sorted, without repeats
    mode
        `all` means that both are all rows, and only out-of-fold predictions may be compared.
    """

    search: IntArray
    selection: IntArray
    mode: HalvesMode


def make_folds(
    y: NDArray[Any],
    task: Task,
    *,
    n_folds: int,
    repeat: int,
    seed: int,
    groups: IntArray | None = None,
    time: FloatArray | None = None,
    holdout: bool = False,
    target_bins: int | None = None,
    labels: Sequence[str] | None = None,
) -> IntArray:
    """Fold number of each row.

    Parameters
    ----------
    y : (n_rows,)
        Class codes, or values of a regression target.
    n_folds : at least 2
    repeat : from 0
        Repeats differ by their random stream only. In time order repeat 0 has equal blocks, and later
        repeats begin their first validation block elsewhere; so does their only one with `holdout`.
    groups : (n_rows,), codes from 0
        Rows with equal codes are never separated.
    time : (n_rows,)
        Gives folds in time order; `groups` is not looked at then.
    holdout
        Keep one validation fold only, fold 0, with 1 / `n_folds` of the rows (in time order the last).
    target_bins : at least 2
        Stratify a regression target by this many quantile bins; default: plain folds.
    labels : (n_classes,)
        What a warning calls the classes; default: their codes.

    Returns
    -------
    (n_rows,), in [-1, n_folds)
        `TRAINING_ONLY` marks rows that are never validated.

    Raises
    ------
    SettingsError
        If there are fewer rows than folds, or `n_folds` or `repeat` is out of range.
    DataError
        If there are fewer groups, or distinct times, than folds.

    Warns
    -----
    AutoMLWarning
        If a class has fewer rows than folds.

    Notes
    -----
    Rows of a class with fewer rows than folds are never validated, so that every fold trains on them; but as many
    classes are validated as there are with the rows of the second largest one (`least_rows`). With groups
    this holds for groups of such rows only. In time order rows stay where they are.
    """
    _check_folds(len(y), n_folds, repeat)
    if time is not None:
        return _time_folds(time, n_folds=n_folds, repeat=repeat, seed=seed, holdout=holdout)
    strata = _strata(y, task, target_bins)
    _check_groups(groups, n_folds)
    _warn_of_small_classes(y, task, n_folds, labels, has_groups=groups is not None)
    shares = np.full(n_folds, 1.0 / n_folds)
    rng = stream(seed, Purpose.FOLDS, repeat)
    kept = _rows_of_small_classes(strata, task, groups, n_folds)
    folds = _allot_others(strata, groups, shares, kept, rng=rng)
    return np.where(folds == 0, 0, TRAINING_ONLY).astype(folds.dtype) if holdout else folds


def least_rows(counts: IntArray, n_folds: int) -> int:
    """Rows that a class needs for a row in every fold; so many that two classes at least have them.

    Parameters
    ----------
    counts : (n_classes,)
    """
    second = int(np.sort(counts)[-2]) if len(counts) > 1 else 0
    return min(n_folds, second)


def fold_rows(folds: IntArray, fold: int, *, time: bool = False) -> tuple[IntArray, IntArray]:
    """Training rows and validation rows of one fold, sorted positions.

    Parameters
    ----------
    folds : (n_rows,)
        From `make_folds`.
    time
        Train on earlier folds only; must be set where the folds are in time order.
    """
    training = folds < fold if time else folds != fold
    return np.flatnonzero(training), np.flatnonzero(folds == fold)


def distinct_rows(rows: IntArray) -> IntArray:
    """Sorted positions without repeats; the rows themselves where they are so already."""
    return rows if bool((rows[1:] > rows[:-1]).all()) else np.unique(rows)


def share_of_rows(
    n_rows: int, share: float, *, y: IntArray | None = None, rng: np.random.Generator
) -> IntArray:
    """Sorted positions of some rows, every class in proportion and with at least one row.

    With equal generators the rows of a smaller share are among those of a greater one.

    Parameters
    ----------
    share : in (0, 1]
    y : (n_rows,), class codes
        None for a target without classes.
    """
    order = rng.permutation(n_rows)
    n_kept = max(2, round(share * n_rows))
    if y is not None:
        codes = y[order]
        counts = np.bincount(codes)
        by_class = np.argsort(codes, kind="stable")
        rank = np.empty(n_rows)
        rank[by_class] = np.arange(n_rows) - np.repeat(np.cumsum(counts) - counts, counts)
        order = order[np.argsort(rank / counts[codes], kind="stable")]
        n_kept = max(n_kept, int(np.count_nonzero(counts)))
    return np.sort(order[:n_kept])


def split_test(
    y: NDArray[Any],
    task: Task,
    *,
    share: float,
    seed: int,
    groups: IntArray | None = None,
    time: FloatArray | None = None,
    n_folds: int = 2,
) -> tuple[IntArray, IntArray]:
    """Training rows and test rows: stratified, groups whole; in time order the last rows.

    Parameters
    ----------
    share : in (0, 1)
        Share of the rows that become test rows.
    n_folds
        Classes with fewer rows than this stay among the training rows, as in `make_folds`.

    Returns
    -------
    (n_training,), (n_test,)
        Sorted positions.

    Raises
    ------
    SettingsError
        If `share` is not between 0 and 1, or leaves no row on one side.
    DataError
        If all rows belong to one group, or have the same time.
    """
    if not 0 < share < 1:
        raise SettingsError(f"the share of test rows must be between 0 and 1; got {share}")
    rng = stream(seed, Purpose.SPLIT, 0)
    training, test = _two_parts(y, task, share, groups=groups, time=time, n_folds=n_folds, rng=rng)
    if not len(training) or not len(test):
        raise SettingsError(
            f"a test share of {share} of {len(y)} rows leaves no row on one side; change the share"
        )
    return training, test


def split_halves(
    y: NDArray[Any],
    task: Task,
    *,
    seed: int,
    mode: HalvesMode | str = HalvesMode.DISJOINT,
    share: float = 0.5,
    groups: IntArray | None = None,
    time: FloatArray | None = None,
) -> Halves:
    """S for optimizing and H for model selection (B14, section 3.3).

    Parameters
    ----------
    mode
        `disjoint`: two parts, stratified, groups whole, H after S in time order.
        `bootstrap`: S is drawn with replacement within each class (whole groups where there are groups),
        H is what was not drawn, about 37 % of the rows. `all`: both are all rows.
    share : in (0, 1)
        Share of the rows in S; only for `disjoint`.

    Raises
    ------
    SettingsError
        If `mode` is unknown, `share` is out of range, or rows in time order shall be drawn by bootstrap.
    DataError
        If all rows belong to one group, or have the same time.
    """
    try:
        mode = HalvesMode(mode)
    except ValueError:
        allowed = ", ".join(HalvesMode)
        raise SettingsError(
            f"the mode of the halves must be one of {allowed}; got {mode!r}"
        ) from None
    rows = np.arange(len(y))
    if mode is HalvesMode.ALL:
        return Halves(rows, rows, mode)
    rng = stream(seed, Purpose.SPLIT, 1)
    if mode is HalvesMode.BOOTSTRAP:
        if time is not None:
            raise SettingsError("halves by bootstrap cannot keep the order of time; use disjoint")
        return _bootstrap_halves(_strata(y, task, None), groups, rng)
    if not 0 < share < 1:
        raise SettingsError(f"the share of rows in half S must be between 0 and 1; got {share}")
    search, selection = _two_parts(y, task, 1.0 - share, groups=groups, time=time, rng=rng)
    return Halves(search, selection, mode)


def _two_parts(
    y: NDArray[Any],
    task: Task,
    second_share: float,
    *,
    groups: IntArray | None,
    time: FloatArray | None,
    rng: np.random.Generator,
    n_folds: int = 1,
) -> tuple[IntArray, IntArray]:
    if time is not None:
        starts = _block_of_rows(time, np.array([len(y) * (1.0 - second_share)]))
        if starts.min() == starts.max():
            raise DataError("all rows have the same time; a split in time order needs two times")
        return np.flatnonzero(starts == 0), np.flatnonzero(starts == 1)
    _check_groups(groups, 2)
    shares = np.array([1.0 - second_share, second_share])
    strata = _strata(y, task, None)
    kept = _rows_of_small_classes(strata, task, groups, n_folds)
    part = _allot_others(strata, groups, shares, kept, rng=rng)
    return np.flatnonzero(part != 1), np.flatnonzero(part == 1)


def _rows_of_small_classes(
    strata: IntArray, task: Task, groups: IntArray | None, n_folds: int
) -> BoolArray:
    """Rows of classes with too few rows to be judged, (n_rows,); of groups only where the whole group is."""
    if not task.is_classification:
        return np.zeros(len(strata), dtype=bool)
    counts = np.bincount(strata)
    small: BoolArray = (counts < least_rows(counts, n_folds))[strata]
    n_others = int(np.count_nonzero(~small))
    if groups is not None:
        codes = np.unique(groups, return_inverse=True)[1]
        is_other = np.bincount(codes, weights=~small) > 0
        small, n_others = ~is_other[codes], int(np.count_nonzero(is_other))
    return small if n_others >= n_folds else np.zeros(len(strata), dtype=bool)


def _allot_others(
    strata: IntArray,
    groups: IntArray | None,
    shares: FloatArray,
    kept: BoolArray,
    *,
    rng: np.random.Generator,
) -> IntArray:
    """Bin of each row; `TRAINING_ONLY` for those kept out."""
    if not kept.any():
        return allot(strata, groups, shares, rng=rng)
    bins = np.full(len(strata), TRAINING_ONLY, dtype=np.int32)
    others = None if groups is None else groups[~kept]
    bins[~kept] = allot(strata[~kept], others, shares, rng=rng)
    return bins


def _bootstrap_halves(
    strata: IntArray, groups: IntArray | None, rng: np.random.Generator
) -> Halves:
    if groups is not None:
        n_groups = int(groups.max()) + 1
        times = np.bincount(rng.integers(n_groups, size=n_groups), minlength=n_groups)[groups]
    else:
        times = np.zeros(len(strata), dtype=np.intp)
        for stratum in np.unique(strata):
            members = np.flatnonzero(strata == stratum)
            times += np.bincount(rng.choice(members, len(members)), minlength=len(strata))
    search = np.repeat(np.arange(len(strata)), times)
    return Halves(search, np.flatnonzero(times == 0), HalvesMode.BOOTSTRAP)


def _time_folds(
    time: FloatArray, *, n_folds: int, repeat: int, seed: int, holdout: bool
) -> IntArray:
    n_distinct = len(np.unique(time))
    needed = 2 if holdout else n_folds + 1
    if n_distinct < needed:
        raise DataError(
            f"{n_folds} folds in time order need at least {needed} distinct times; found {n_distinct}"
        )
    n_rows, first = len(time), 1.0
    if repeat:
        first = float(stream(seed, Purpose.FOLDS, repeat).uniform(0.5, 1.5))
    if holdout:
        return _block_of_rows(time, np.array([n_rows * (1.0 - 1.0 / (first + n_folds - 1))])) - 1
    edges = n_rows * (first + np.arange(n_folds)) / (first + n_folds)
    return _block_of_rows(time, edges) - 1


def _block_of_rows(time: FloatArray, edges: FloatArray) -> IntArray:
    """Block of each row when the rows in time order are cut at `edges`; equal times stay together.

    Each cut moves to the nearest change of time that leaves no block empty.
    """
    distinct, position = np.unique(time, return_inverse=True)
    rows_before = np.concatenate([[0], np.cumsum(np.bincount(position))])
    cuts = np.zeros(len(edges), dtype=np.intp)
    lowest = 1
    for i, edge in enumerate(edges):
        highest = max(len(distinct) - (len(edges) - i), lowest)
        allowed = rows_before[lowest : highest + 1]
        cuts[i] = lowest + int(np.argmin(np.abs(allowed - edge)))
        lowest = int(cuts[i]) + 1
    return np.searchsorted(cuts, position, side="right").astype(np.int32)


def _strata(y: NDArray[Any], task: Task, target_bins: int | None) -> IntArray:
    if task.is_classification:
        return np.unique(y, return_inverse=True)[1].astype(np.intp)
    if target_bins is None:
        return np.zeros(len(y), dtype=np.intp)
    edges = np.quantile(y, np.linspace(0, 1, target_bins + 1)[1:-1])
    return np.searchsorted(edges, y).astype(np.intp)


def _check_folds(n_rows: int, n_folds: int, repeat: int) -> None:
    if n_folds < 2:
        raise SettingsError(f"the number of folds must be at least 2; got {n_folds}")
    if repeat < 0:
        raise SettingsError(f"the repeat must not be negative; got {repeat}")
    if n_rows < n_folds:
        raise SettingsError(f"{n_folds} folds need at least {n_folds} rows; got {n_rows}")


def _check_groups(groups: IntArray | None, n_bins: int) -> None:
    if groups is None:
        return
    n_groups = len(np.unique(groups))
    if n_groups < n_bins:
        raise DataError(f"{n_bins} folds or parts need at least {n_bins} groups; found {n_groups}")


def _warn_of_small_classes(
    y: NDArray[Any], task: Task, n_folds: int, labels: Sequence[str] | None, *, has_groups: bool
) -> None:
    if not task.is_classification:
        return
    codes, counts = np.unique(y, return_counts=True)
    few, n_rows = codes[counts < n_folds], counts[counts < n_folds]
    if not len(few):
        return
    names = listed(int(code) if labels is None else labels[code] for code in few)
    is_never = n_rows.max() < least_rows(counts, n_folds) and not has_groups
    judged = "never judged" if is_never else "not judged in every fold"
    rows = f"{n_rows.max()} row{'' if n_rows.max() == 1 else 's'}"
    if len(few) == 1:
        text = f"class {names} has {rows}, fewer than {n_folds} folds; it is learned, but {judged}"
    else:
        text = (
            f"{len(few)} classes ({names}) have at most {rows} each, fewer than {n_folds} folds; they are "
            f"learned, but {judged}"
        )
    warnings.warn(text, AutoMLWarning, stacklevel=3)
