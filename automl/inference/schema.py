"""Schema of the raw columns of a table, and how any raw frame becomes a *typed frame*.

A typed frame has a RangeIndex and three kinds of columns only: ``float64`` (missing is NaN), ``category``
with string categories (missing is NaN), and ``object`` with texts of at most `MOST_LETTERS` letters (missing is None).
Dates become float parts, and the days between two of them. The frame has the same columns, in the same order, with the same
category lists, for the training table and for all later rows. `automl.inference.column_schema` has what concerns one column.

Unknown values. The last category of every nominal column is the reserved `UNSEEN`. It never occurs in the
table that the schema was fitted on; later rows get it where their category is new. It is not the same as
missing: a learner treats it like a category that its training rows did not contain, so that
validation folds and new rows are handled alike.

Equal numbers are equal categories: ``1``, ``1.0`` and, where the column held numbers, ``"1"`` are all ``"1"``.
Blanks around a category do not count.

Numbers and dates are read by the column's `Reading`. Where the training table had words among them, or infinite
numbers, these are missing, and further ``float64`` columns mark them: ``NAME.is_word`` (1 or 0) and
``NAME.is_infinite`` (1, -1 or 0).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from automl.errors import AutoMLWarning, DataError
from automl.inference.column_schema import (
    NOT_NUMERIC,
    USED_ROLES,
    ColumnSchema,
    fit_column,
    free_name,
    transform_column,
)
from automl.inference.dates import (
    MOST_DIFFERENCES,
    DateDifference,
    difference_of,
    nearest_pairs,
    varies,
)
from automl.inference.raw_table import RawTable
from automl.inference.readings import Reading
from automl.listing import first_few


@dataclass(frozen=True)
class TableSchema:
    """The used columns of a table, in order, and the names of those seen and not used.

    Parameters
    ----------
    columns
        One entry per used raw column.
    ignored
        Raw columns that were there and are not used; they may be absent later, without a word.
    differences
        Of pairs of date columns; their typed columns come last.
    """

    columns: tuple[ColumnSchema, ...]
    ignored: tuple[str, ...] = field(default=())
    differences: tuple[DateDifference, ...] = field(default=())

    @classmethod
    def fit(
        cls,
        frame: pd.DataFrame | RawTable,
        roles: Mapping[str, str],
        readings: Mapping[str, Reading] | None = None,
    ) -> TableSchema:
        """Learn the schema of a raw frame.

        Parameters
        ----------
        frame : (n_rows, n_columns)
            Raw columns; names that occur again get a number.
        roles
            Role by column name; columns without an entry, or with a role that is not one of
            `USED_ROLES`, are ignored.
        readings
            Reading by column name; default: plain numbers, ISO dates, categories.

        Raises
        ------
        DataError
            With every column whose values do not fit its role.
        """
        raw = RawTable.of(frame)
        problems = [
            f"column {name!r} has a role but is not in the table"
            for name in map(str, roles)
            if name not in raw
        ]
        used: list[ColumnSchema] = []
        taken = set(raw)
        role_of = {str(name): str(role) for name, role in roles.items()}
        for name, column in raw.items():
            if role_of.get(name) not in USED_ROLES:
                continue
            try:
                reading = (readings or {}).get(name)
                used.append(fit_column(column, role_of[name], reading, taken))
            except DataError as error:
                problems.extend(error.problems)
        _raise_all(problems)
        names = {column.name for column in used}
        schema = cls(tuple(used), tuple(name for name in raw if name not in names))
        return replace(schema, differences=_fit_differences(schema, raw, taken))

    def transform(self, frame: pd.DataFrame | RawTable) -> pd.DataFrame:
        """Typed frame of raw rows.

        Parameters
        ----------
        frame : (n_rows, any number of columns)
            Raw columns in any order.

        Returns
        -------
        (n_rows, len(feature_names))
            See the module's text.

        Raises
        ------
        DataError
            With every missing column and every column with values of a wrong type, by name.

        Warns
        -----
        AutoMLWarning
            About columns that the schema does not know, and infinite numbers (taken as missing).
        """
        raw = RawTable.of(frame)
        self._warn_of_extra(raw)
        problems: list[str] = []
        typed: dict[str, Any] = {}
        for column in self.columns:
            if column.name not in raw:
                problems.append(f"column {column.name!r} ({column.role}) is missing from the table")
                continue
            try:
                typed.update(transform_column(column, raw[column.name]))
            except DataError as error:
                problems.extend(error.problems)
        _raise_all(problems)
        typed.update(self.differences_of(typed))
        return pd.DataFrame(typed, index=pd.RangeIndex(raw.n_rows), columns=self.feature_names)

    @property
    def feature_names(self) -> list[str]:
        """Names of the typed columns."""
        return [out for column in self.columns for out in column.outputs] + self._difference_names

    @property
    def names(self) -> list[str]:
        """Names of the raw columns that must be there."""
        return [column.name for column in self.columns]

    @property
    def numeric_names(self) -> list[str]:
        """Names of the ``float64`` columns of the typed frame."""
        return [
            out
            for column in self.columns
            if column.role not in NOT_NUMERIC
            for out in column.outputs
        ] + self._difference_names

    @property
    def nominal_names(self) -> list[str]:
        """Names of the ``category`` columns of the typed frame."""
        return [
            out for column in self.columns if column.role == "nominal" for out in column.outputs
        ]

    @property
    def text_names(self) -> list[str]:
        """Names of the ``object`` columns of the typed frame."""
        return [column.outputs[0] for column in self.columns if column.role == "text"]

    @property
    def nominal_dtypes(self) -> dict[str, pd.CategoricalDtype]:
        """Category type of each nominal column of the typed frame."""
        return {c.outputs[0]: c.dtype for c in self.columns if c.role == "nominal"}

    def to_json(self) -> dict[str, Any]:
        """Plain JSON form."""
        return {
            "columns": [column.to_json() for column in self.columns],
            "ignored": list(self.ignored),
            "differences": [asdict(difference) for difference in self.differences],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> TableSchema:
        """Inverse of `to_json`."""
        columns = tuple(ColumnSchema.from_json(column) for column in data["columns"])
        differences = tuple(DateDifference(**each) for each in data.get("differences", ()))
        return cls(columns, tuple(data["ignored"]), differences)

    @property
    def dates(self) -> dict[str, ColumnSchema]:
        """Columns of dates by name."""
        return {column.name: column for column in self.columns if column.role == "date"}

    @property
    def _difference_names(self) -> list[str]:
        return [difference.output for difference in self.differences]

    def differences_of(self, typed: Mapping[str, Any]) -> dict[str, NDArray[np.float64]]:
        dates = self.dates
        elapsed = {name: typed[column.elapsed_output] for name, column in dates.items()}
        origins = {name: column.date_origin for name, column in dates.items()}
        return {
            each.output: difference_of(elapsed, origins, each.first, each.second)
            for each in self.differences
        }

    def _warn_of_extra(self, names: Iterable[str]) -> None:
        expected = {*self.names, *self.ignored}
        extra = [name for name in names if name not in expected]
        if extra:
            shown = first_few(map(repr, extra))
            text = f"columns that the model does not know are ignored: {shown}"
            warnings.warn(text, AutoMLWarning, stacklevel=3)


def _raise_all(problems: list[str]) -> None:
    if problems:
        raise DataError.of(problems)


def _fit_differences(
    schema: TableSchema, raw: RawTable, taken: set[str]
) -> tuple[DateDifference, ...]:
    """Differences that vary, of the `MOST_DIFFERENCES` closest pairs."""
    dates = schema.dates
    pairs = nearest_pairs(list(dates))[:MOST_DIFFERENCES]
    if not pairs:
        return ()
    candidates = tuple(
        DateDifference(first, second, free_name(f"{second}.days_since.{first}", taken))
        for first, second in pairs
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AutoMLWarning)  # said when the table is typed
        dated = RawTable({name: raw[name] for name in dates}, raw.n_rows)
        typed = TableSchema(tuple(dates.values()), differences=candidates).transform(dated)
    return tuple(each for each in candidates if varies(typed[each.output].to_numpy()))
