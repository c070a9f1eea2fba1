"""How many training rows have the same number: further columns beside those of numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from automl.preprocessing.blocks import BlockTransformer, Numbers

FEW_VALUES = 50
"""Most different numbers of a column that is not counted: trees tell so few apart themselves (by judgement)."""
MOST_DIFFERENT = 0.9
"""Least share of different numbers in a column that is not counted: hardly any repeats (by judgement)."""


class ValueCounts(BlockTransformer):
    """Adds a column for each column of numbers that repeat: how many training rows have the number.

    A number that no training row has counts as one that a single row has, and so does a missing one.
    A column is counted if it has more than `FEW_VALUES` different numbers, and less than
    `MOST_DIFFERENT` of its present numbers are different.
    """

    def fit_block(self, values: Numbers, y: ArrayLike | None = None) -> Self:  # noqa: ARG002
        """Learn from a block of numbers (n_rows, n_columns)."""
        found = [_repeated(column) for column in values.T]
        kept = [each for each in found if each is not None]
        self.is_counted_ = np.array([each is not None for each in found], dtype=bool)
        self.lengths_ = np.array([len(known) for known, _ in kept], dtype=np.int64)
        self.values_ = np.concatenate([np.empty(0), *(known for known, _ in kept)])
        self.counts_ = np.concatenate([np.empty(0), *(counts for _, counts in kept)])
        return self

    def transform_block(self, values: Numbers) -> Numbers:
        """(n_rows, n_columns + n_counted): the numbers, then their counts."""
        return np.hstack([values, self.counts_of(values)])

    def counts_of(self, values: Numbers) -> Numbers:
        """(n_rows, n_counted), at least 1, for a block with the columns of the training rows."""
        counts = np.ones((len(values), len(self.lengths_)))
        for place, (column, known, known_counts) in enumerate(self._tables()):
            numbers = values[:, column]
            at = np.minimum(np.searchsorted(known, numbers), len(known) - 1)
            is_known = known[at] == numbers
            counts[is_known, place] = known_counts[at[is_known]]
        return counts

    def block_names(self, names: list[str]) -> list[str]:
        """The names, then those of the counts."""
        return [*names, *self.count_names(names)]

    def count_names(self, names: list[str]) -> list[str]:
        """Names of the counts, of all columns called `names`."""
        return [f"{names[column]}.count" for column in np.flatnonzero(self.is_counted_)]

    def _tables(self) -> Iterator[tuple[int, Numbers, Numbers]]:
        """Position, repeated numbers and their counts of each counted column."""
        ends = np.cumsum(self.lengths_)
        for column, start, end in zip(
            np.flatnonzero(self.is_counted_), ends - self.lengths_, ends, strict=True
        ):
            yield int(column), self.values_[start:end], self.counts_[start:end]


def _repeated(column: NDArray[np.float64]) -> tuple[Numbers, Numbers] | None:
    """Numbers that more than one row has, ascending, and how many have each; None if the column is not counted."""
    present = column[~np.isnan(column)]
    values, counts = np.unique(present, return_counts=True)
    if not FEW_VALUES < len(values) < MOST_DIFFERENT * len(present):
        return None
    is_repeated = counts > 1
    return values[is_repeated], counts[is_repeated].astype(np.float64)
