"""What the raw columns of a table look like, and how any raw frame becomes a *typed frame*.

A typed frame has a RangeIndex and three kinds of columns only: ``float64`` (missing is NaN), ``category``
with string categories (missing is NaN), and ``object`` with texts of at most `MOST_LETTERS` letters (missing is None). Dates become float parts, and the days between two of them. The frame has the same columns,
in the same order, with the same category lists, for the training table and for all later rows.

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
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from automl.errors import AutoMLWarning, DataError
from automl.inference.columns import (
    NO_ALIASES,
    category_codes,
    category_text,
    category_texts,
    value_type,
)
from automl.inference.dates import (
    ELAPSED,
    MOST_DIFFERENCES,
    PARTS,
    DateDifference,
    date_parts,
    difference_of,
    nearest_pairs,
    varies,
    varying_parts,
)
from automl.inference.forms import BooleanForm, DateForm, NumberForm
from automl.inference.raw_table import Column, RawTable
from automl.inference.readings import Reading
from automl.listing import first_few

UNSEEN = "<unseen>"
USED_ROLES = ("numeric", "nominal", "date", "text")
NOT_NUMERIC = ("nominal", "text")
MOST_LETTERS = 2000
"""Of a text that are kept."""


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
    reading
        How values become numbers or dates, or words become booleans; None for other categories.
    date_format
        Before format 5 of bundles: the format of dates, instead of a reading.
    date_origin : days since 1970-01-01
        Date: the first day seen; ``elapsed_days`` counts from here.
    parts : of `automl.inference.dates.PARTS`
        Date: the parts that are made; before format 6 of bundles none are named.
    outputs
        Names of the typed columns made from this one; a date makes several. Marks of words and of
        infinite numbers come last.
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
    reading: Reading | None = None
    date_format: str | None = None
    date_origin: float = 0.0
    parts: tuple[str, ...] = ()
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
            "reading": None if self.reading is None else self.reading.to_json(),
            "date_format": self.date_format,
            "date_origin": self.date_origin,
            "parts": list(self.parts),
            "outputs": list(self.outputs),
            "value_type": self.value_type,
            "is_optional": self.is_optional,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ColumnSchema:
        """Inverse of `to_json`."""
        lists = {name: tuple(data.get(name, ())) for name in ("categories", "parts", "outputs")}
        given = data.get("reading")
        reading = None if given is None else Reading.from_json(given)
        return cls(**{**data, **lists, "reading": reading})

    @property
    def read_by(self) -> Reading | None:
        """The reading, also of a column from before format 5 of bundles; None for categories."""
        date_format = self.date_format or "ISO8601"
        return self.reading or default_reading(self.role, self.stored, date_format)

    @property
    def date_parts(self) -> tuple[str, ...]:
        """Parts of a date, also of a column from before format 6: all without the minute, the hour where it has one."""
        if self.parts or self.role != "date":
            return self.parts
        return PARTS[: len(self.outputs) - self.n_marks]

    @property
    def n_marks(self) -> int:
        """Typed columns that mark words and infinite numbers."""
        reading = self.read_by
        return 0 if reading is None else bool(reading.words) + reading.marks_infinite

    @property
    def elapsed_output(self) -> str:
        """Date: name of the typed column of elapsed days."""
        return self.outputs[self.date_parts.index(ELAPSED)]

    @property
    def aliases(self) -> Mapping[str, str]:
        """Categories by words, where the words are booleans."""
        is_boolean = self.reading is not None and isinstance(self.reading.form, BooleanForm)
        return self.reading.form.aliases if is_boolean else NO_ALIASES  # type: ignore[union-attr]


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
                used.append(_fit_column(column, role_of[name], reading, taken))
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
                typed.update(_transform_column(column, raw[column.name]))
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


def default_reading(role: str, stored: str, date_format: str = "ISO8601") -> Reading | None:
    """Reading of a column of which nothing else is known."""
    if role in NOT_NUMERIC:
        return None
    if role == "date":
        return Reading(DateForm(date_format))
    return Reading(BooleanForm() if stored == "boolean" else NumberForm())


def _fit_column(raw: Column, role: str, reading: Reading | None, taken: set[str]) -> ColumnSchema:
    name, stored = raw.name, raw.kind
    reading = reading or default_reading(role, stored)
    column = ColumnSchema(
        name, role, stored, reading=reading, outputs=(name,), value_type=value_type(raw.series)
    )
    if role == "nominal":
        texts = category_texts(raw.distinct, stored, column.aliases)
        missing = category_codes(raw.distinct, {}, stored, 0) < 0
        categories = tuple(text for text in texts if text != UNSEEN)
        return replace(column, categories=categories, is_optional=bool(missing.any()))
    if role == "text":
        return replace(column, is_optional=None in _texts(raw, stored))
    assert reading is not None
    values = raw.read(reading)
    facts: dict[str, Any] = {"is_optional": bool(np.isnan(values.values).any())}
    if role == "date":
        facts |= _date_facts(name, values.values, taken)
    marks = [f"{name}.is_word"] * bool(reading.words)
    marks += [f"{name}.is_infinite"] * reading.marks_infinite
    outputs = facts.pop("outputs", (name,)) + tuple(_free_name(mark, taken) for mark in marks)
    return replace(column, outputs=outputs, **facts)


def _date_facts(name: str, days: NDArray[np.float64], taken: set[str]) -> dict[str, Any]:
    """First day and outputs of a column of dates."""
    seen = days[~np.isnan(days)]
    origin = float(np.floor(seen.min())) if len(seen) else 0.0
    parts = varying_parts(days)
    return {
        "date_origin": origin,
        "parts": parts,
        "outputs": tuple(_free_name(f"{name}.{part}", taken) for part in parts),
    }


def _fit_differences(
    schema: TableSchema, raw: RawTable, taken: set[str]
) -> tuple[DateDifference, ...]:
    """Differences that vary, of the `MOST_DIFFERENCES` pairs that stand nearest to each other."""
    dates = schema.dates
    pairs = nearest_pairs(list(dates))[:MOST_DIFFERENCES]
    if not pairs:
        return ()
    candidates = tuple(
        DateDifference(first, second, _free_name(f"{second}.days_since.{first}", taken))
        for first, second in pairs
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AutoMLWarning)  # said when the table is typed
        dated = RawTable({name: raw[name] for name in dates}, raw.n_rows)
        typed = TableSchema(tuple(dates.values()), differences=candidates).transform(dated)
    return tuple(each for each in candidates if varies(typed[each.output].to_numpy()))


def _free_name(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def _transform_column(column: ColumnSchema, raw: Column) -> dict[str, Any]:
    if column.role == "nominal":
        codes = category_codes(
            raw.distinct, column.codes, column.stored, len(column.categories), column.aliases
        )
        values = pd.Categorical.from_codes(codes, dtype=column.dtype, validate=False)
        return {column.outputs[0]: values}
    if column.role == "text":
        return {column.outputs[0]: pd.Series(_texts(raw, column.stored), dtype=object)}
    reading = column.read_by or Reading()
    parsed = raw.read(reading)
    _warn_of_new(parsed.values, parsed.n_new_words, column)
    infinite = np.isinf(parsed.values)
    finite = np.where(infinite, np.nan, parsed.values) if infinite.any() else parsed.values
    typed = [finite]
    if column.role == "date":
        parts = date_parts(finite, column.date_parts, origin=column.date_origin)
        typed = list(parts.values())
    if reading.words:
        typed.append(parsed.is_word.astype(np.float64))
    if reading.marks_infinite:
        typed.append(np.where(infinite, np.sign(parsed.values), 0.0))
    return dict(zip(column.outputs, typed, strict=True))


def _texts(raw: Column, stored: str) -> NDArray[np.object_]:
    """Text of each row without outer blanks, at most `MOST_LETTERS` letters of it; None is missing."""
    codes, values = raw.distinct
    texts = [category_text(value, stored) for value in values]
    table = np.array([*(text and text[:MOST_LETTERS] for text in texts), None], dtype=object)
    return np.asarray(table[codes])


def _warn_of_new(values: NDArray[np.float64], n_new_words: int, column: ColumnSchema) -> None:
    """Say what is taken as missing that the training table did not have."""
    infinite = np.isinf(values)
    marked = column.read_by is not None and column.read_by.marks_infinite
    for count, what in (
        (0 if marked else int(infinite.sum()), "infinite values"),
        (n_new_words, "words that the training table lacks"),
    ):
        if count:
            text = f"column {column.name!r}: {count} {what} are taken as missing"
            warnings.warn(text, AutoMLWarning, stacklevel=5)
