"""What the raw columns of a table look like, and how any raw frame becomes a *typed frame*.

A typed frame has a RangeIndex and two kinds of columns only: ``float64`` (missing is NaN) and ``category``
with string categories (missing is NaN). Dates become float parts. The frame has the same columns,
in the same order, with the same category lists, for the training table and for all later rows.

Unknown values. The last category of every nominal column is the reserved `UNSEEN`. It never occurs in the
table that the schema was fitted on; later rows get it where their category is new. It is not the same as
missing: a learner treats it like a category that its training rows did not contain, so that
validation folds and new rows are handled alike.

Equal numbers are equal categories: ``1``, ``1.0`` and, where the column held numbers, ``"1"`` are all ``"1"``.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from automl.errors import AutoMLWarning, DataError
from automl.inference.columns import (
    category_codes,
    category_texts,
    date_numbers,
    date_parts,
    detect_date_format,
    numbers,
    stored_kind,
    value_type,
    values_of,
)

UNSEEN = "<unseen>"
USED_ROLES = ("numeric", "nominal", "date")


@dataclass(frozen=True)
class ColumnSchema:
    """One used raw column.

    Parameters
    ----------
    name
        Name in the raw table, as text.
    role : one of `USED_ROLES`
        How the column is used.
    stored : ``number``, ``boolean``, ``text`` or ``date``
        What the column held when the schema was fitted.
    categories
        Nominal: the known categories in order, without `UNSEEN`.
    date_format
        Date stored as text: the format that reads it, ``ISO8601``, ``mixed`` or one for ``strptime``.
    date_origin : days since 1970-01-01
        Date: the first day seen; ``elapsed_days`` counts from here.
    outputs
        Names of the typed columns made from this one; a date makes several.
    value_type : ``integer``, ``float``, ``boolean``, ``text``, ``date`` or ``any``
        Plain type of the values when the schema was fitted (`automl.inference.columns.value_type`). Predictions
        do not depend on it.
    is_optional
        Whether values were missing when the schema was fitted; a service may then leave the column out.
    """

    name: str
    role: str
    stored: str
    categories: tuple[str, ...] = ()
    date_format: str | None = None
    date_origin: float = 0.0
    outputs: tuple[str, ...] = ()
    value_type: str = "any"
    is_optional: bool = True

    @cached_property
    def dtype(self) -> pd.CategoricalDtype:
        """Category type of the typed column, `UNSEEN` last."""
        return pd.CategoricalDtype(pd.Index([*self.categories, UNSEEN], dtype=object))

    @cached_property
    def codes(self) -> dict[str, int]:
        """Category code by text."""
        return {text: code for code, text in enumerate(self.categories)}

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k not in ("dtype", "codes")}

    def to_json(self) -> dict[str, Any]:
        """Plain JSON form."""
        return {
            "name": self.name,
            "role": self.role,
            "stored": self.stored,
            "categories": list(self.categories),
            "date_format": self.date_format,
            "date_origin": self.date_origin,
            "outputs": list(self.outputs),
            "value_type": self.value_type,
            "is_optional": self.is_optional,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ColumnSchema:
        """Inverse of `to_json`."""
        lists = {name: tuple(data[name]) for name in ("categories", "outputs")}
        return cls(**{**data, **lists})


@dataclass(frozen=True)
class TableSchema:
    """The used columns of a table, in order, and the names of those seen and not used.

    Parameters
    ----------
    columns
        One entry per used raw column.
    ignored
        Raw columns that were there and are not used; they may be absent later, without a word.
    """

    columns: tuple[ColumnSchema, ...]
    ignored: tuple[str, ...] = field(default=())

    @classmethod
    def fit(cls, frame: pd.DataFrame, roles: Mapping[str, str]) -> TableSchema:
        """Learn the schema of a raw frame.

        Parameters
        ----------
        frame : (n_rows, n_columns)
            Raw columns; duplicate names are refused.
        roles
            Role by column name; columns without an entry, or with a role that is not one of
            `USED_ROLES`, are ignored.

        Raises
        ------
        DataError
            With every column whose values do not fit its role.
        """
        by_name = _by_name(frame)
        problems = [
            f"column {name!r} has a role but is not in the table"
            for name in map(str, roles)
            if name not in by_name
        ]
        used: list[ColumnSchema] = []
        taken = set(by_name)
        role_of = {str(name): str(role) for name, role in roles.items()}
        for name, position in by_name.items():
            if role_of.get(name) not in USED_ROLES:
                continue
            try:
                used.append(_fit_column(name, role_of[name], frame.iloc[:, position], taken))
            except DataError as error:
                problems.extend(error.problems)
        _raise_all(problems)
        names = {column.name for column in used}
        return cls(tuple(used), tuple(name for name in by_name if name not in names))

    def transform(self, frame: pd.DataFrame) -> pd.DataFrame:
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
        by_name = _by_name(frame)
        self._warn_of_extra(by_name)
        problems: list[str] = []
        typed: dict[str, Any] = {}
        for column in self.columns:
            if column.name not in by_name:
                problems.append(f"column {column.name!r} ({column.role}) is missing from the table")
                continue
            try:
                typed.update(_transform_column(column, frame.iloc[:, by_name[column.name]]))
            except DataError as error:
                problems.extend(error.problems)
        _raise_all(problems)
        return pd.DataFrame(typed, index=pd.RangeIndex(len(frame)), columns=self.feature_names)

    @property
    def feature_names(self) -> list[str]:
        """Names of the typed columns."""
        return [output for column in self.columns for output in column.outputs]

    @property
    def names(self) -> list[str]:
        """Names of the raw columns that must be there."""
        return [column.name for column in self.columns]

    @property
    def numeric_names(self) -> list[str]:
        """Names of the ``float64`` columns of the typed frame."""
        return [
            out for column in self.columns if column.role != "nominal" for out in column.outputs
        ]

    @property
    def nominal_names(self) -> list[str]:
        """Names of the ``category`` columns of the typed frame."""
        return [
            out for column in self.columns if column.role == "nominal" for out in column.outputs
        ]

    @property
    def nominal_dtypes(self) -> dict[str, pd.CategoricalDtype]:
        """Category type of each nominal column of the typed frame."""
        return {c.outputs[0]: c.dtype for c in self.columns if c.role == "nominal"}

    def to_json(self) -> dict[str, Any]:
        """Plain JSON form."""
        return {
            "columns": [column.to_json() for column in self.columns],
            "ignored": list(self.ignored),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> TableSchema:
        """Inverse of `to_json`."""
        columns = tuple(ColumnSchema.from_json(column) for column in data["columns"])
        return cls(columns, tuple(data["ignored"]))

    def _warn_of_extra(self, names: Iterable[str]) -> None:
        known = {*self.names, *self.ignored}
        extra = [name for name in names if name not in known]
        if extra:
            shown = ", ".join(repr(name) for name in extra[:5])
            more = f" and {len(extra) - 5} more" if len(extra) > 5 else ""
            text = f"columns that the model does not know are ignored: {shown}{more}"
            warnings.warn(text, AutoMLWarning, stacklevel=3)


def _by_name(frame: pd.DataFrame) -> dict[str, int]:
    if not isinstance(frame, pd.DataFrame):
        raise DataError(
            f"a pandas DataFrame with named columns is expected; got {type(frame).__name__}"
        )
    names = [str(name) for name in frame.columns]
    by_name = {name: position for position, name in enumerate(names)}
    if len(by_name) < len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        _raise_all([f"column name {name!r} occurs more than once" for name in twice])
    return by_name


def _raise_all(problems: list[str]) -> None:
    if problems:
        raise DataError.of(problems)


def _fit_column(name: str, role: str, series: pd.Series, taken: set[str]) -> ColumnSchema:
    stored = stored_kind(series)
    facts: dict[str, Any] = {"outputs": (name,)}
    if role == "nominal":
        texts = category_texts(series, stored)
        facts["categories"] = tuple(text for text in texts if text != UNSEEN)
        missing = category_codes(values_of(series), {}, stored, 0) < 0
    elif role == "numeric":
        missing = np.isnan(numbers(series, name=name, stored=stored))
    else:
        facts, missing = _date_facts(name, series, taken)
    is_optional = bool(missing.any())
    return ColumnSchema(
        name, role, stored, **facts, value_type=value_type(series), is_optional=is_optional
    )


def _date_facts(
    name: str, series: pd.Series, taken: set[str]
) -> tuple[dict[str, Any], NDArray[np.bool_]]:
    """Format, first day and outputs of a column of dates, and its missing rows."""
    date_format = detect_date_format(series, name=name)
    days = date_numbers(series, name=name, date_format=date_format)
    missing = np.isnan(days)
    seen = days[~missing]
    origin = float(np.floor(seen.min())) if len(seen) else 0.0
    parts = date_parts(days, origin=origin, with_hour=bool(np.any(seen % 1.0)))
    outputs = tuple(_free_name(f"{name}.{part}", taken) for part in parts)
    return {"date_format": date_format, "date_origin": origin, "outputs": outputs}, missing


def _free_name(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def _transform_column(column: ColumnSchema, series: pd.Series) -> dict[str, Any]:
    if column.role == "nominal":
        codes = category_codes(
            values_of(series), column.codes, column.stored, len(column.categories)
        )
        values = pd.Categorical.from_codes(codes, dtype=column.dtype, validate=False)
        return {column.outputs[0]: values}
    if column.role == "numeric":
        return {
            column.outputs[0]: _finite(
                numbers(series, name=column.name, stored=column.stored), column
            )
        }
    days = date_numbers(series, name=column.name, date_format=column.date_format)
    # year, month, day, dayofweek, dayofyear and elapsed_days are always there; the hour makes seven
    parts = date_parts(days, origin=column.date_origin, with_hour=len(column.outputs) == 7)
    return dict(zip(column.outputs, parts.values(), strict=True))


def _finite(values: NDArray[np.float64], column: ColumnSchema) -> NDArray[np.float64]:
    infinite = np.isinf(values)
    if not infinite.any():
        return values
    text = f"column {column.name!r}: {int(infinite.sum())} infinite values are taken as missing"
    warnings.warn(text, AutoMLWarning, stacklevel=5)
    return np.where(infinite, np.nan, values)
