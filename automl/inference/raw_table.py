"""A raw table as columns that are each looked at once, however many ask.

A `Column` makes what is asked of it at the first question and keeps it: its kind, its distinct values, its numbers.
Whoever reads a table makes one `RawTable` and hands it on; roles, checks, schema and digests share its columns. What
they keep goes with the table: nothing typed refers to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from automl.errors import DataError
from automl.inference.columns import stored_kind, unique_names, values_of
from automl.inference.forms import DateForm, FloatArray, Form, days_of_dates
from automl.inference.readings import Reading, ReadValues, read_distinct

PLAIN = Reading()


class Column:
    """One raw column.

    Parameters
    ----------
    series : (n_rows,)
        Its index gives the positions of the rows in messages.
    name
        Default: that of the series.
    whole
        The column of which these are some rows, and which (`where`).
    """

    def __init__(
        self,
        series: pd.Series,
        name: str | None = None,
        *,
        whole: tuple[Column, NDArray[np.bool_]] | None = None,
    ) -> None:
        self.series = series
        self.name = str(series.name) if name is None else name
        self._whole = whole
        self._read: dict[Reading, ReadValues] = {}

    def __len__(self) -> int:
        return len(self.series)

    @cached_property
    def kind(self) -> str:
        """``number``, ``boolean``, ``date`` or ``text``; see `stored_kind`."""
        return stored_kind(self.series)

    @cached_property
    def missing(self) -> NDArray[np.bool_]:
        """Rows that pandas takes for missing, (n_rows,)."""
        return self.series.isna().to_numpy()

    @cached_property
    def distinct(self) -> tuple[NDArray[np.intp], list[Any]]:
        """Position of each row's value among the distinct values (-1 is missing), and these values.

        Raises
        ------
        DataError
            If a value is not plain.
        """
        return values_of(self.series)

    @cached_property
    def stored_numbers(self) -> FloatArray | None:
        """Values as they are stored, missing as NaN; None if pandas does not store numbers or booleans."""
        dtype = self.series.dtype
        if not pd.api.types.is_numeric_dtype(dtype) or pd.api.types.is_complex_dtype(dtype):
            return None
        if self._whole is not None and dtype != np.float64:
            whole, kept = self._whole
            return None if whole.stored_numbers is None else whole.stored_numbers[kept]
        if isinstance(dtype, np.dtype):
            return self.series.to_numpy(dtype=np.float64)
        return self.series.to_numpy(dtype=np.float64, na_value=np.nan)

    def read(self, reading: Reading | None = None) -> ReadValues:
        """Values by a reading; default: plain numbers, without words.

        Raises
        ------
        DataError
            If a value is neither of the reading's form, nor a word that it allows, nor missing.
        """
        reading = reading or PLAIN
        values = self._read.get(reading)
        if values is None:
            stored = self._stored(reading.form)
            values = (
                read_distinct(self.distinct, reading, name=self.name)
                if stored is None
                else ReadValues(stored, np.zeros(len(stored), dtype=bool))
            )
            self._read[reading] = values
        return values

    def where(self, kept: NDArray[np.bool_]) -> Column:
        """The column of some rows."""
        return Column(self.series[kept], self.name, whole=(self, kept))

    def head(self, n_rows: int) -> Column:
        """The column of the first rows."""
        return Column(self.series.iloc[:n_rows], self.name)

    def _stored(self, form: Form) -> FloatArray | None:
        """Values of a column that pandas stores as numbers, dates or durations; None for others."""
        dtype = self.series.dtype
        if isinstance(form, DateForm):
            if self.kind != "date" or isinstance(dtype, pd.CategoricalDtype):
                return None
            return days_of_dates(pd.to_datetime(self.series, utc=True))
        if pd.api.types.is_timedelta64_dtype(dtype) and form.kind == "duration":
            return np.asarray(self.series.dt.total_seconds(), dtype=np.float64)
        if pd.api.types.is_datetime64_any_dtype(dtype) or pd.api.types.is_timedelta64_dtype(dtype):
            raise DataError(f"column {self.name!r} must hold {form.expected}; found {dtype}")
        return self.stored_numbers


class RawTable(Mapping[str, Column]):
    """Columns of a raw table by name, in order.

    Parameters
    ----------
    columns
        Each with a value for every row.
    """

    def __init__(self, columns: Mapping[str, Column], n_rows: int) -> None:
        self._columns = dict(columns)
        self.n_rows = n_rows

    @classmethod
    def of(cls, frame: pd.DataFrame | RawTable) -> RawTable:
        """The columns of a frame; names that occur again get a number.

        Raises
        ------
        DataError
            If it is no frame.
        """
        if isinstance(frame, RawTable):
            return frame
        if not isinstance(frame, pd.DataFrame):
            raise DataError(
                f"a pandas DataFrame with named columns is expected; got {type(frame).__name__}"
            )
        names = unique_names([str(name) for name in frame.columns])
        series = zip(names, frame.items(), strict=True)
        return cls({name: Column(values, name) for name, (_, values) in series}, len(frame))

    def __getitem__(self, name: str) -> Column:
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def where(self, kept: NDArray[np.bool_]) -> RawTable:
        """The table of some rows."""
        parts = {name: column.where(kept) for name, column in self.items()}
        return RawTable(parts, int(np.count_nonzero(kept)))

    def replaced(self, column: Column) -> RawTable:
        """The table with another column of the same name."""
        return RawTable({**self._columns, column.name: column}, self.n_rows)
