"""Schema of one raw column, and how its later values become typed columns; see `automl.inference.schema`."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from automl.errors import AutoMLWarning
from automl.inference.columns import (
    NO_ALIASES,
    category_codes,
    category_text,
    category_texts,
    value_type,
)
from automl.inference.dates import ELAPSED, PARTS, date_parts, varying_parts
from automl.inference.forms import BooleanForm, DateForm, NumberForm
from automl.inference.raw_table import Column
from automl.inference.readings import Reading

UNSEEN = "<unseen>"
USED_ROLES = ("numeric", "nominal", "date", "text")
NOT_NUMERIC = ("nominal", "text")
MOST_LETTERS = 2000
"""Most letters of a text that are kept."""


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

    def category_words(self, category: str) -> str:
        """A category as the table has it, in lower case where its two words are booleans."""
        form = None if self.reading is None else self.reading.form
        if not isinstance(form, BooleanForm):
            return category
        return {"False": form.no, "True": form.yes}.get(category, category)


def default_reading(role: str, stored: str, date_format: str = "ISO8601") -> Reading | None:
    """Reading of a column of which nothing else is known."""
    if role in NOT_NUMERIC:
        return None
    if role == "date":
        return Reading(DateForm(date_format))
    return Reading(BooleanForm() if stored == "boolean" else NumberForm())


def fit_column(raw: Column, role: str, reading: Reading | None, taken: set[str]) -> ColumnSchema:
    """Schema of a raw column.

    Parameters
    ----------
    taken
        Names of columns that are in use; those of new typed columns are added.

    Raises
    ------
    DataError
        If the values do not fit the role.
    """
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
    outputs = facts.pop("outputs", (name,)) + tuple(free_name(mark, taken) for mark in marks)
    return replace(column, outputs=outputs, **facts)


def _date_facts(name: str, days: NDArray[np.float64], taken: set[str]) -> dict[str, Any]:
    """First day and outputs of a column of dates."""
    seen = days[~np.isnan(days)]
    origin = float(np.floor(seen.min())) if len(seen) else 0.0
    parts = varying_parts(days)
    return {
        "date_origin": origin,
        "parts": parts,
        "outputs": tuple(free_name(f"{name}.{part}", taken) for part in parts),
    }


def free_name(name: str, taken: set[str]) -> str:
    """A name that is not taken, and is from now on."""
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def transform_column(column: ColumnSchema, raw: Column) -> dict[str, Any]:
    """Typed columns of a raw column, by name.

    Raises
    ------
    DataError
        If values are of a wrong type.
    """
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
    _warn_of_unmarked(parsed.values, parsed.n_unmarked, column)
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


def _warn_of_unmarked(values: NDArray[np.float64], n_unmarked: int, column: ColumnSchema) -> None:
    """Say what is taken as missing without a mark."""
    infinite = np.isinf(values)
    marked = column.read_by is not None and column.read_by.marks_infinite
    for count, what in (
        (0 if marked else int(infinite.sum()), "infinite values"),
        (n_unmarked, "words that are not marked"),
    ):
        if count:
            text = f"column {column.name!r}: {count} {what} are taken as missing"
            warnings.warn(text, AutoMLWarning, stacklevel=5)
