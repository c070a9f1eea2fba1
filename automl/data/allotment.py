"""Dealing out rows to bins: groups whole, classes in proportion, sizes as equal as possible."""

from __future__ import annotations

import numpy as np

from automl.records import FloatArray, IntArray


def allot(
    strata: IntArray, groups: IntArray | None, shares: FloatArray, *, rng: np.random.Generator
) -> IntArray:
    """Bin of each row.

    Groups of several rows go first, the greatest first, each to the bin where it disturbs the proportions
    of the strata least. Rows that are alone in their group then fill each stratum up to its share;
    without groups every bin gets its proportional number of every stratum within one row.

    Parameters
    ----------
    strata : (n_rows,), codes from 0
        Rows with equal codes are spread over the bins in proportion to `shares`.
    groups : (n_rows,), codes from 0
        Rows with equal codes get the same bin.
    shares : (n_bins,), positive, sum 1

    Returns
    -------
    (n_rows,), int32, in [0, n_bins)
        O(n_rows log n_rows + n_groups * n_bins * n_strata) time, where groups of one row do not count.
    """
    bins = np.full(len(strata), -1, dtype=np.int32)
    filled = np.zeros((int(strata.max()) + 1, len(shares)))
    single = np.ones(len(strata), dtype=bool)
    if groups is not None:
        codes = np.unique(groups, return_inverse=True)[1]
        single = np.bincount(codes)[codes] == 1
        if not single.all():
            bins[~single] = _allot_groups(strata[~single], codes[~single], shares, filled, rng)
    labels = rng.permutation(len(shares))
    for stratum in range(len(filled)):
        rows = rng.permutation(np.flatnonzero(single & (strata == stratum)))
        counts = _fill(filled, stratum, len(rows), shares, labels)
        bins[rows] = np.repeat(np.arange(len(shares)), counts)
    return bins


def _allot_groups(
    strata: IntArray,
    groups: IntArray,
    shares: FloatArray,
    filled: FloatArray,
    rng: np.random.Generator,
) -> IntArray:
    """Bins of the rows of groups; `filled` (n_strata, n_bins) is updated with their counts."""
    codes = np.unique(groups, return_inverse=True)[1]
    sizes = np.bincount(codes)
    n_strata = len(filled)
    order = np.argsort(codes, kind="stable")
    starts = np.concatenate([[0], np.cumsum(sizes)])
    # the cost is the sum of load**2 / (rows**2 * share), per stratum and over all rows:
    # least where load / share is equal
    weight = 1.0 / (np.bincount(strata, minlength=n_strata).clip(1)[:, None] ** 2 * shares)
    size_weight = 1.0 / (len(strata) ** 2 * shares)
    bin_of_group = np.zeros(len(sizes), dtype=np.int32)
    tie = rng.permutation(len(sizes))
    for group in np.lexsort((tie, -sizes)):
        rows = order[starts[group] : starts[group + 1]]
        present, counts = np.unique(strata[rows], return_counts=True)
        growth = (2 * filled[present] + counts[:, None]) * counts[:, None]
        size_growth = (2 * filled.sum(axis=0) + sizes[group]) * sizes[group]
        cost = (growth * weight[present]).sum(axis=0) + size_growth * size_weight
        best = np.flatnonzero(cost <= cost.min() * (1 + 1e-12))
        chosen = int(best[0]) if len(best) == 1 else int(rng.choice(best))
        filled[present, chosen] += counts
        bin_of_group[group] = chosen
    bins: IntArray = bin_of_group[codes]
    return bins


def _fill(
    filled: FloatArray, stratum: int, n_rows: int, shares: FloatArray, labels: IntArray
) -> IntArray:
    """How many of `n_rows` more rows of a stratum each bin gets; `filled` is updated."""
    level = _water_level(filled[stratum], shares, n_rows)
    wanted = np.maximum(level * shares - filled[stratum], 0.0)
    counts: IntArray = np.floor(wanted + 1e-9).astype(np.intp)
    total = filled.sum() + n_rows
    for _ in range(n_rows - int(counts.sum())):
        # the rest goes to the bins furthest below their size, each one row at most while possible
        lacking = total * shares - filled.sum(axis=0) - counts
        lacking = np.where((counts <= wanted) & (wanted > 0), lacking, -np.inf)
        best = np.flatnonzero(lacking >= lacking.max() - 1e-9)
        counts[best[np.argmin(labels[best])]] += 1
    filled[stratum] += counts
    return counts


def _water_level(heights: FloatArray, widths: FloatArray, volume: float) -> float:
    """Level at which `volume` fills tubs of these widths that hold `heights` already.

    Solves sum(max(0, level * width - height)) = volume.
    """
    order = np.argsort(heights / widths)
    level = 0.0
    for count in range(1, len(order) + 1):
        open_tubs = order[:count]
        level = (volume + heights[open_tubs].sum()) / widths[open_tubs].sum()
        if count == len(order) or level <= heights[order[count]] / widths[order[count]]:
            break
    return float(level)
