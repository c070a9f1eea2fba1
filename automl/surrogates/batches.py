"""Mini-batches of rows in groups of one data set each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from automl.records import FloatArray, IntArray
from automl.surrogates.network import Groups


@dataclass(frozen=True)
class Examples:
    """All rows that networks learn from.

    Parameters
    ----------
    X : (n, d)
    y : (n,)
    task : (n,), in [0, t)
    meta : (t, p)
        Meta-features of the data sets.
    """

    X: FloatArray
    y: FloatArray
    task: IntArray
    meta: FloatArray

    def groups(self, rows: IntArray) -> Groups:
        """Rows (G, n), all of a group from one data set; -1 means none."""
        task = self.task[rows.max(axis=1)]
        return Groups(self.X[rows], task, self.meta[task])


@dataclass(frozen=True)
class Batch:
    """Groups with their targets.

    Parameters
    ----------
    y, weight : (B,)
        The weight is 0 where a group has no row.
    """

    groups: Groups
    y: FloatArray
    weight: FloatArray


def batch_of(examples: Examples, rows: IntArray) -> Batch:
    """Batch of rows (G, n)."""
    flat = rows.ravel()
    weight = (flat >= 0).astype(examples.X.dtype)
    return Batch(examples.groups(rows), examples.y[flat], weight)


def grouped(task: IntArray, size: int, rng: np.random.Generator) -> IntArray:
    """(G, size) rows in random order, each group of one data set; -1 fills incomplete groups."""
    order = np.lexsort((rng.random(len(task)), task))
    ordered = task[order]
    counts = np.bincount(ordered)
    begins = np.concatenate([[0], np.cumsum(counts)[:-1]])
    n_groups = -(-counts // size)
    first = np.concatenate([[0], np.cumsum(n_groups)[:-1]])
    inside = np.arange(len(order)) - begins[ordered]
    groups = np.full((int(n_groups.sum()), size), -1)
    groups[first[ordered] + inside // size, inside % size] = order
    return rng.permutation(groups)


def epoch(
    task: IntArray, *, size: int, n_groups: int, rng: np.random.Generator
) -> Iterator[IntArray]:
    """Rows (G, size) of the batches of one pass over all rows, G at most `n_groups`."""
    groups = grouped(task, size, rng)
    for begin in range(0, len(groups), n_groups):
        yield groups[begin : begin + n_groups]
