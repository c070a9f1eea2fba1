"""The library that an ensemble chooses from, kept diverse if it cannot hold all trials."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from automl.records import FloatArray, IntArray

BEST_SHARE = 0.5
"""Share of 12 among 24 to 78 trials of nine tables: a library of half the best and half the best of each
family and preprocessing was ahead of one of the best alone by 0.007 of the index, standard error
0.004; with 24 they did not differ."""


def diverse_library(
    scores: FloatArray,
    families: Sequence[Hashable],
    preprocessing: Sequence[Hashable],
    size: int | None,
) -> IntArray:
    """Positions of the trials that an ensemble chooses from, best first.

    A share of `BEST_SHARE` are the best trials. The rest are the best of each family, then the best
    of each family with each kind of preprocessing, then again the best. Different models err on
    different rows. Equal scores keep their order.

    Parameters
    ----------
    scores : (n,), maximized
    families, preprocessing : (n,)
        Family of each trial, and how it preprocesses the table.
    size : positive, or None for all

    Returns
    -------
    at most `size`
    """
    order = [int(i) for i in np.argsort(-np.asarray(scores), kind="stable")]
    if size is None or len(order) <= size:
        return np.array(order, dtype=int)
    kinds = list(zip(families, preprocessing, strict=True))
    leaders = [*_first_of_each(order, families), *_first_of_each(order, kinds)]
    ranked = [*order[: round(BEST_SHARE * size)], *leaders, *order]
    taken = set(list(dict.fromkeys(ranked))[:size])
    return np.array([i for i in order if i in taken], dtype=int)


def _first_of_each(order: Sequence[int], groups: Sequence[Hashable]) -> list[int]:
    """First position of each group, in the given order."""
    firsts: dict[Hashable, int] = {}
    for i in order:
        firsts.setdefault(groups[i], i)
    return list(firsts.values())
