"""A table as meta-features see it: bounded samples of it, and what several features need of them.

The sizes are bounded whatever the table's: that, and no clock, keeps the time short, so that equal
tables and streams give equal numbers. Rows stay in their order.

Notation
--------
r : rows of the sample for statistics; q, k : its numeric and its nominal columns
n : rows of the sample that models are fitted to; K : classes
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from automl.data.splits import share_of_rows
from automl.data.table import Table
from automl.meta_features.time_limit import Deadline, TooLateError, UndefinedError
from automl.records import BoolArray, FloatArray, IntArray

MOST_CELLS = 500_000
"""Most cells of the sample for statistics: bounds its time on wide tables."""
MOST_ROWS = 10_000
"""Most rows of that sample: a mean of 10,000 rows is exact to a hundredth of the deviation."""
FEWEST_ROWS = 500
"""Fewest rows of that sample, whatever the number of columns: correlations need some hundred rows."""
MOST_COLUMNS = 1_000
"""Most columns of that sample; wider tables give this many."""
MOST_CORRELATED = 100
"""Numeric columns whose correlations with each other are looked at."""
MODEL_ROWS = 1_000
"""Rows of the sample that small models are fitted to, the same for all tables."""
MODEL_COLUMNS = 100
"""Columns of that sample: the models' time grows with it."""
MOST_DEALT = 100_000
"""Rows of which that sample is drawn in proportion to the classes; of more rows, random ones."""
N_BINS = 10
"""Bins of equal frequency that replace numbers in entropies."""


T = TypeVar("T")


class View:
    """Samples of a table and intermediate results, each made when it is first asked for.

    Parameters
    ----------
    table
        The rows that may be looked at.
    rng
        Gives streams for the sample for statistics, for that of models and for their folds, so that
        none depends on which features are asked for.

    Attributes
    ----------
    deadline
        Looked at between the steps of what takes long; the caller sets it.
    """

    def __init__(self, table: Table, rng: np.random.Generator) -> None:
        self.table = table
        self.deadline = Deadline()
        self._made: dict[str, Any] = {}
        self._rows_rng, self._model_rng, self._column_rng, self.fold_rng = rng.spawn(4)

    def memo(self, name: str, make: Callable[[], T]) -> T:
        """An intermediate result by name, computed at the first call; an error is raised at every call.

        Raises
        ------
        UndefinedError, TooLateError
            If making it did.
        """
        if name not in self._made:
            try:
                self._made[name] = make()
            except (UndefinedError, TooLateError) as error:
                self._made[name] = error
        made = self._made[name]
        if isinstance(made, UndefinedError | TooLateError):
            raise made
        value: T = made
        return value

    # --- the table ----------------------------------------------------------------------------

    @property
    def n_rows(self) -> int:
        """Rows of the table."""
        return len(self.table)

    @property
    def n_columns(self) -> int:
        """Columns of the table, without the target."""
        return self.table.frame.shape[1]

    @property
    def has_classes(self) -> bool:
        """Whether the target is of classes."""
        return self.table.task.is_classification

    @cached_property
    def numeric_columns(self) -> IntArray:
        """Positions of the numeric columns of the table."""
        kinds = [dtype.kind == "f" for dtype in self.table.frame.dtypes]
        return np.flatnonzero(kinds)

    @cached_property
    def nominal_columns(self) -> IntArray:
        """Positions of the columns of categories; texts are of neither kind."""
        kinds = self.table.frame.dtypes
        return np.flatnonzero([isinstance(kind, pd.CategoricalDtype) for kind in kinds])

    @cached_property
    def class_shares(self) -> FloatArray:
        """(K,) share of the rows of each class that occurs, over the whole table."""
        counts = np.bincount(self.table.y.astype(np.intp))
        return counts[counts > 0] / len(self.table)

    @cached_property
    def y(self) -> FloatArray:
        """The whole target as numbers, in the order of the rows."""
        return np.asarray(self.table.y, dtype=float)

    # --- the sample for statistics --------------------------------------------------------------

    @cached_property
    def _columns(self) -> IntArray:
        """Positions of the sampled columns, sorted."""
        n = self.n_columns
        if n <= MOST_COLUMNS:
            return np.arange(n)
        return _drawn(n, MOST_COLUMNS, self._rows_rng)

    @cached_property
    def rows(self) -> IntArray:
        """(r,) positions of the sampled rows, sorted."""
        columns = self._columns
        most = min(max(MOST_CELLS // max(len(columns), 1), FEWEST_ROWS), MOST_ROWS)
        if self.n_rows <= most:
            return np.arange(self.n_rows)
        return _drawn(self.n_rows, most, self._rows_rng)

    @cached_property
    def numeric(self) -> FloatArray:
        """(r, q) numbers of the numeric columns, NaN where missing."""
        columns = np.intersect1d(self._columns, self.numeric_columns)
        return self._numbers(self.rows, columns)

    @cached_property
    def nominal(self) -> IntArray:
        """(r, k) category codes of the nominal columns, -1 where missing."""
        columns = np.intersect1d(self._columns, self.nominal_columns)
        return self._codes(self.rows, columns)

    @cached_property
    def missing(self) -> BoolArray:
        """(r, q + k) which values are missing."""
        return np.concatenate([np.isnan(self.numeric), self.nominal < 0], axis=1)

    @cached_property
    def levels(self) -> IntArray:
        """(k,) number of categories of each nominal column that occur in the sample."""
        return np.array([len(np.unique(c[c >= 0])) for c in self.nominal.T], dtype=int)

    @cached_property
    def target_codes(self) -> IntArray:
        """(r,) class codes, or bins of equal frequency of a numeric target."""
        target = self.table.y[self.rows]
        if self.has_classes:
            return np.asarray(target, dtype=np.intp)
        return binned(np.asarray(target, dtype=float)[:, None])[:, 0]

    def _numbers(self, rows: IntArray, columns: IntArray) -> FloatArray:
        frame = self.table.frame.iloc[:, columns]
        if len(rows) < self.n_rows:
            frame = frame.iloc[rows]
        return np.asarray(frame.to_numpy(dtype=float)).reshape(len(rows), len(columns))

    def _codes(self, rows: IntArray, columns: IntArray) -> IntArray:
        matrix = np.empty((len(rows), len(columns)), dtype=np.intp)
        for position, column in enumerate(columns):
            codes = self.table.frame.iloc[:, int(column)].cat.codes.to_numpy()
            matrix[:, position] = codes[rows]
        return matrix

    # --- the sample for models ------------------------------------------------------------------

    @cached_property
    def model_rows(self) -> IntArray:
        """(n,) positions of the rows that models learn from, sorted; classes in proportion."""
        if self.n_rows <= MODEL_ROWS:
            return np.arange(self.n_rows)
        rows: IntArray = np.arange(self.n_rows)
        if self.n_rows > MOST_DEALT:
            rows = _drawn(self.n_rows, MOST_DEALT, self._model_rng)
        y = self.table.y[rows] if self.has_classes else None
        share = MODEL_ROWS / len(rows)
        rows = rows[share_of_rows(len(rows), share, y=y, rng=self._model_rng)]
        if len(rows) > MODEL_ROWS:  # more classes than rows
            rows = rows[_drawn(len(rows), MODEL_ROWS, self._model_rng)]
        return rows

    @cached_property
    def _model_columns(self) -> IntArray:
        n = self.n_columns
        if n <= MODEL_COLUMNS:
            return np.arange(n)
        return _drawn(n, MODEL_COLUMNS, self._column_rng)

    @cached_property
    def model_numbers(self) -> FloatArray:
        """(n, …) numeric columns, standardized, the mean where missing."""
        columns = np.intersect1d(self._model_columns, self.numeric_columns)
        return standardized_columns(self._numbers(self.model_rows, columns))

    @cached_property
    def model_codes(self) -> IntArray:
        """(n, …) codes of the nominal columns from 0, those of the sample alone; missing is one."""
        columns = np.intersect1d(self._model_columns, self.nominal_columns)
        codes = self._codes(self.model_rows, columns)
        if codes.shape[1] == 0:
            return codes
        return np.column_stack([np.unique(c, return_inverse=True)[1] for c in codes.T])

    @cached_property
    def model_y(self) -> NDArray[Any]:
        """(n,) class codes from 0 without gaps, or numbers."""
        y = self.table.y[self.model_rows]
        if self.has_classes:
            return np.unique(y, return_inverse=True)[1]
        return np.asarray(y, dtype=float)

    @cached_property
    def model_groups(self) -> IntArray | None:
        """(n,) rows with equal numbers are never in different folds."""
        groups = self.table.groups
        return None if groups is None else groups[self.model_rows]


def _drawn(n: int, size: int, rng: np.random.Generator) -> IntArray:
    """(size,) sorted positions below n."""
    return np.sort(rng.choice(n, size, replace=False, shuffle=False))


def standardized_columns(X: FloatArray) -> FloatArray:
    """Columns less their mean over their standard deviation; 0 where missing or constant."""
    is_present = ~np.isnan(X)
    counts = np.maximum(is_present.sum(axis=0), 1)
    filled = np.where(is_present, X, 0.0)
    centered = np.where(is_present, filled - filled.sum(axis=0) / counts, 0.0)
    spread = np.sqrt((centered**2).sum(axis=0) / counts)
    return np.asarray(np.where(spread > 0.0, centered / np.where(spread > 0.0, spread, 1.0), 0.0))


def binned(X: FloatArray, n_bins: int = N_BINS) -> IntArray:
    """(r, q) bins of equal frequency from 0, per column; equal values share one, missing is -1."""
    if X.shape[1] == 0:
        return np.zeros(X.shape, dtype=np.intp)
    is_present = ~np.isnan(X)
    inner = np.linspace(0.0, 1.0, n_bins + 1)[1:-1]
    edges = np.zeros((len(inner), X.shape[1]))
    whole = is_present.all(axis=0)
    edges[:, whole] = np.quantile(X[:, whole], inner, axis=0)
    for column in np.flatnonzero(~whole & is_present.any(axis=0)):
        edges[:, column] = np.quantile(X[is_present[:, column], column], inner)
    codes = np.zeros(X.shape, dtype=np.intp)
    for edge in edges:
        codes += edge < X
    return np.where(is_present, codes, -1)
