"""What each column is: number, category, date, free text, identifier, or nothing to use.

The rules, in this order, on the values that are not missing:

1. no value, the same value in every row, or values that are not plain (lists, mappings, bytes): ignored;
2. booleans and categories are nominal; dates are dates;
3. numbers are numeric, except identifiers: whole, (nearly) all different, and either named like one or
   counting the rows up by one;
4. texts are read by evidence (`automl.data.column_readings`): numbers in any writing, times of day and
   durations are numeric, dates are dates, boolean words nominal;
5. other texts are free text where they are mostly different and long, identifiers where they are
   (nearly) all different and not long or of one word, else nominal.

Numbers are never taken for dates, and whole numbers with few values stay numeric: both are for the user to say.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
import pandas as pd

from automl.data.column_readings import (
    DATE_SHARE,
    LEAST_NUMBER_SHARE,
    NUMBER_SHARE,
    Evidence,
    boolean_form,
    check_ambiguous,
    date_fits,
    describe,
    is_number_column,
    number_fit,
    order_of,
    span_fit,
    with_order,
)
from automl.data.findings import nearest
from automl.errors import DataError, SettingsError
from automl.inference.column_schema import default_reading
from automl.inference.columns import SAMPLE, are_whole, category_texts, short
from automl.inference.forms import BooleanForm, DurationForm, NumberForm
from automl.inference.raw_table import Column, RawTable
from automl.inference.readings import Reading
from automl.inference.schema import TableSchema
from automl.lookup import did_you_mean

NEARLY_UNIQUE = 0.95
"""Share of different values of what names rows: identifiers of ``benchmarks/preflight`` repeat 3 % of
theirs."""
MIN_ROWS_FOR_ID = 20
"""In fewer rows the values of any column may all differ."""
MIN_CATEGORIES = 2
"""A column of one text says nothing."""
TEXT_WORDS = 4.0
"""Words of a value from which on a column of different values is free text; names and labels have fewer (by
judgement)."""
ONE_WORD = 1.5
"""Words of a value up to which a column holds single words: identifiers, not text (by judgement)."""
TEXT_LETTERS = 50.0
"""Letters of a value from which on it is free text, for languages without blanks (by judgement)."""

_ID_NAME = re.compile(
    r"^(id|uid|uuid|guid|key|index|idx|row|row_?(id|nr|no|num|number)|record|nr|no|unnamed: \d+)$"
    r"|[_\-. ](id|uid|uuid|guid|key|nr|no|idx|number|num)$"
    r"|^(id|uuid|guid)[_\-. ]"
    r"|(phone|passport|account|serial)[_\-. ]?(no|nr|num|number)?$",
    re.IGNORECASE,
)
_CAMEL_ID = re.compile(r"[a-z](Id|ID|Uid|UID|Key)$")
ORDERS = ("day_first", "month_first")
"""What may follow the role date, after a colon."""


class Role(StrEnum):
    """How a column is used; the last two are not."""

    NUMERIC = "numeric"
    NOMINAL = "nominal"
    DATE = "date"
    TEXT = "text"
    ID = "id"
    IGNORED = "ignored"

    @property
    def is_used(self) -> bool:
        """Whether the model sees the column."""
        return self in (Role.NUMERIC, Role.NOMINAL, Role.DATE, Role.TEXT)


@dataclass(frozen=True)
class ColumnRole:
    """Role of a column and why it has it.

    Parameters
    ----------
    reason
        Part of a sentence; ``given`` for an override.
    reading
        How its values are read; None for categories and for columns that are not used.
    note
        Sentence on what was made of odd values; empty if there are none.
    """

    name: str
    role: Role
    reason: str
    reading: Reading | None = None
    note: str = ""

    @property
    def is_given(self) -> bool:
        """Whether the user said so."""
        return self.reason == "given"


@dataclass(frozen=True)
class GivenRole:
    """Role that the user gives a column.

    Parameters
    ----------
    order : one of `ORDERS` or nothing
        Of day and month in dates.
    """

    role: Role
    order: str = ""


def detect_roles(
    frame: pd.DataFrame, overrides: Mapping[str, str] | None = None
) -> dict[str, ColumnRole]:
    """Role of every column.

    Parameters
    ----------
    frame : (n_rows, n_columns)
        Raw columns with unique names.
    overrides
        Role by column name, instead of detection.

    Raises
    ------
    SettingsError
        If an override names a column that is not there or a role that does not exist.
    DataError
        As `column_role`.
    """
    given = check_overrides(overrides or {}, frame.columns)
    raw = RawTable.of(frame)
    return {name: column_role(column, given.get(name)) for name, column in raw.items()}


def fit_schema(frame: pd.DataFrame, roles: Mapping[str, str]) -> TableSchema:
    """Schema of a training frame.

    Parameters
    ----------
    roles
        From `detect_roles`, as texts; columns without an entry, such as the target, are left out.

    Raises
    ------
    DataError
        With every column whose values do not fit its role.
    """
    given = check_overrides(roles, frame.columns)
    raw = RawTable.of(frame)
    readings = {}
    for name, wanted in given.items():
        if not wanted.role.is_used:
            continue
        role = column_role(raw[name])
        role = role if role.role is wanted.role else column_role(raw[name], wanted)
        if role.reading is not None:
            readings[name] = role.reading
    plain = {name: str(wanted.role) for name, wanted in given.items()}
    return TableSchema.fit(raw, plain, readings)


def column_role(column: Column, given: GivenRole | None = None) -> ColumnRole:
    """Role and reading of a column.

    Raises
    ------
    DataError
        If the column does not hold what its given role needs, or its dates can be read in two ways.
    """
    if given is None:
        return _detect(column)
    if given.role is Role.NUMERIC:
        return _given_numbers(column)
    if given.role is Role.DATE:
        return _given_dates(column, given.order)
    return ColumnRole(column.name, given.role, "given")


def check_overrides(overrides: Mapping[str, str], names: Any) -> dict[str, GivenRole]:
    """Overrides as roles.

    Raises
    ------
    SettingsError
        If a column is not among `names`, or a role does not exist.
    """
    columns = [str(name) for name in names]
    roles = {}
    for name, text in overrides.items():
        if name not in columns:
            raise SettingsError(
                f"a role is given for column {name!r}, which is not in the table{nearest(name, columns)}"
            )
        role, _, order = str(text).partition(":")
        try:
            roles[name] = GivenRole(Role(role), order)
        except ValueError:
            raise SettingsError(
                f"the role of column {name!r} must be one of {', '.join((*Role, *_dates()))}; "
                f"got {text!r}{did_you_mean(role, Role)}"
            ) from None
        if order and (role != Role.DATE or order not in ORDERS):
            raise SettingsError(
                f"the role of column {name!r} may have an order of day and month: "
                f"{', '.join(_dates())}; got {text!r}"
            )
    return roles


def _dates() -> list[str]:
    return [f"{Role.DATE}:{order}" for order in ORDERS]


def _given_numbers(column: Column) -> ColumnRole:
    name, kind = column.name, column.kind
    if pd.api.types.is_timedelta64_dtype(column.series.dtype):
        return ColumnRole(name, Role.NUMERIC, "given", Reading(DurationForm()))
    if kind == "number" and np.isinf(column.read().values).any():
        return ColumnRole(name, Role.NUMERIC, "given", Reading(marks_infinite=True))
    if kind != "text":
        return ColumnRole(name, Role.NUMERIC, "given", default_reading("numeric", kind))
    evidence = Evidence.of(column)
    fits = [fit for fit in (number_fit(evidence), span_fit(evidence)) if fit is not None]
    fit = max(fits, key=lambda fit: fit.n_read, default=None)
    if fit is None and not evidence.texts:
        return ColumnRole(name, Role.NUMERIC, "given", Reading())
    if fit is None or fit.share < LEAST_NUMBER_SHARE:
        bad = evidence.texts[0] if fit is None else fit.words[0]
        raise DataError(f"column {name!r} must hold numbers; found {short(bad)}")
    return ColumnRole(name, Role.NUMERIC, "given", fit.reading, describe(fit, name))


def _given_dates(column: Column, order: str) -> ColumnRole:
    name = column.name
    if column.kind == "date":
        return ColumnRole(name, Role.DATE, "given", default_reading("date", "date"))
    evidence = Evidence.of(column)
    fits = date_fits(evidence, is_given=True)
    if order and fits and order_of(fits[0].form) != order:
        fits = [with_order(fits[0], order)]
    if not order:
        check_ambiguous(fits, name)
    if not fits and not evidence.texts:
        return ColumnRole(name, Role.DATE, "given", default_reading("date", "text"))
    if not fits or fits[0].share < LEAST_NUMBER_SHARE:
        bad = fits[0].words[0] if fits else evidence.texts[0]
        raise DataError(f"column {name!r} must hold dates; found {short(bad)}")
    return ColumnRole(name, Role.DATE, "given", fits[0].reading, describe(fits[0], name))


def _detect(column: Column) -> ColumnRole:
    name, kind, dtype = column.name, column.kind, column.series.dtype
    useless = _useless(column)
    if useless:
        return ColumnRole(name, Role.IGNORED, useless)
    if pd.api.types.is_timedelta64_dtype(dtype):
        return ColumnRole(name, Role.NUMERIC, "durations", Reading(DurationForm()))
    if kind == "text":
        return _detect_text(column)
    if kind == "boolean" or isinstance(dtype, pd.CategoricalDtype):
        return ColumnRole(name, Role.NOMINAL, "booleans" if kind == "boolean" else "categories")
    if kind == "date":
        return ColumnRole(name, Role.DATE, "dates", default_reading("date", "date"))
    return _detect_number(column)


def _useless(column: Column) -> str:
    """Why no model can use these values; empty if it can."""
    if column.missing.all():
        return "it is empty"
    if column.kind != "text" and not column.missing.any() and _is_constant(column.series):
        return f"it has the value {short(column.series.iloc[0])} in every row"
    return unusable_kind(column.series)


def unusable_kind(series: pd.Series) -> str:
    """Why the values are nothing that a model can use; empty if they are."""
    if pd.api.types.is_complex_dtype(series.dtype):
        return "it holds complex numbers"
    if pd.api.types.is_object_dtype(series.dtype):
        nested = next((value for value in series if is_nested(value)), None)
        if nested is not None:
            return f"its values are not plain; found the {type(nested).__name__} {short(nested)}"
    return ""


def _is_constant(present: pd.Series) -> bool:
    first = present.iloc[0]
    try:
        return bool((present.iloc[:SAMPLE] == first).all() and (present == first).all())
    except (TypeError, ValueError):
        return False


def _detect_number(column: Column) -> ColumnRole:
    name, values, n_rows = column.name, column.read().values, len(column)
    if np.isinf(values).any():
        reading = Reading(NumberForm(), marks_infinite=True)
        return ColumnRole(name, Role.NUMERIC, "numbers", reading)
    values = values[~np.isnan(values)]
    if n_rows < MIN_ROWS_FOR_ID or not are_whole(values):
        return ColumnRole(name, Role.NUMERIC, "numbers", Reading())
    if is_id_name(name) and len(pd.unique(values)) / len(values) >= NEARLY_UNIQUE:
        why = "its numbers are nearly all different and its name is that of an identifier"
        return ColumnRole(name, Role.ID, why)
    if len(values) == n_rows and np.array_equal(values, values[0] + np.arange(n_rows)):
        return ColumnRole(name, Role.ID, "it counts the rows")
    return ColumnRole(name, Role.NUMERIC, "numbers", Reading())


def is_id_name(name: str) -> bool:
    """Whether a column's name is that of an identifier: ``id``, ``user_id``, ``orderId``, ``row nr``."""
    return bool(_ID_NAME.search(name.strip()) or _CAMEL_ID.search(name.strip()))


def _detect_text(column: Column) -> ColumnRole:
    name, evidence = column.name, Evidence.of(column)
    if len(evidence.texts) == 1 and evidence.n_rows == len(column):
        return ColumnRole(
            name, Role.IGNORED, f"it has the value {short(evidence.texts[0])} in every row"
        )
    if not evidence.texts and len(category_texts(column.distinct, "text")) < MIN_CATEGORIES:
        return ColumnRole(name, Role.IGNORED, "it is empty")
    return (
        _as_numbers(evidence, name)
        or _as_dates(evidence, name)
        or _as_spans(evidence, name)
        or _as_categories(evidence, column)
    )


def _as_numbers(evidence: Evidence, name: str) -> ColumnRole | None:
    fit = number_fit(evidence)
    if fit is None or not is_number_column(fit):
        return None
    return ColumnRole(name, Role.NUMERIC, "texts of numbers", fit.reading, describe(fit, name))


def _as_dates(evidence: Evidence, name: str) -> ColumnRole | None:
    fits = [fit for fit in date_fits(evidence) if fit.share >= DATE_SHARE]
    check_ambiguous(fits, name)
    if not fits:
        return None
    return ColumnRole(name, Role.DATE, "texts of dates", fits[0].reading, describe(fits[0], name))


def _as_spans(evidence: Evidence, name: str) -> ColumnRole | None:
    fit = span_fit(evidence)
    if fit is None or fit.share < DATE_SHARE:
        return None
    what = "times of day" if fit.form.kind == "time" else "durations"
    return ColumnRole(name, Role.NUMERIC, what, fit.reading, describe(fit, name))


def _as_categories(evidence: Evidence, column: Column) -> ColumnRole:
    name, words = column.name, boolean_form(evidence)
    if words is not None:
        reading = Reading(words)
        return ColumnRole(
            name, Role.NOMINAL, "boolean words", reading, _boolean_note(evidence, words, name)
        )
    if isinstance(column.series.dtype, pd.CategoricalDtype):
        return ColumnRole(name, Role.NOMINAL, "categories")
    return ColumnRole(name, *_detect_words(evidence), note=_few_numbers_note(evidence, name))


def _boolean_note(evidence: Evidence, words: BooleanForm, name: str) -> str:
    """Something to say where a word is written in several ways."""
    if len(evidence.texts) == 2:
        return ""
    return f"column {name!r} holds {words.expected}, written in {len(evidence.texts)} ways: read as booleans"


def _few_numbers_note(evidence: Evidence, name: str) -> str:
    """Something to say where most values are numbers and are taken as categories."""
    fit = number_fit(evidence)
    if fit is None or fit.share < NUMBER_SHARE:
        return ""
    return (
        f"column {name!r} holds {fit.n_distinct} different numbers beside texts such as "
        f"{short(fit.words[0])}; they are taken as categories"
    )


def _detect_words(evidence: Evidence) -> tuple[Role, str]:
    n_present = evidence.n_rows
    distinct = len(evidence.texts) / max(n_present, 1)
    sample = evidence.texts[:2000] or [""]
    words = float(np.mean([len(text.split()) for text in sample]))
    letters = float(np.mean([len(text) for text in sample]))
    wordy = words >= TEXT_WORDS or letters >= TEXT_LETTERS
    is_one_word = words < ONE_WORD and distinct >= NEARLY_UNIQUE
    if n_present >= MIN_ROWS_FOR_ID and distinct > 0.5 and wordy and not is_one_word:
        return Role.TEXT, f"free text, {words:.0f} words on average, mostly different"
    if n_present >= MIN_ROWS_FOR_ID and distinct >= NEARLY_UNIQUE:
        return Role.ID, "its texts are nearly all different"
    return Role.NOMINAL, f"{len(evidence.texts)} categories"


def is_nested(value: object) -> bool:
    """Whether a value is a list, a mapping, bytes or the like instead of a plain one."""
    return isinstance(value, list | dict | set | tuple | bytes | np.ndarray)
