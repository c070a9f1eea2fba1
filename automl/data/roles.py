"""What each column is: number, category, date, free text, identifier, or nothing to use.

The rules, in this order, on the values that are not missing:

1. no value, or the same value in every row: ignored;
2. booleans and categories are nominal; dates are dates;
3. numbers are numeric, except identifiers: whole, (nearly) all different, and either named like one or
   counting the rows up by one;
4. texts that are all numbers or missing markers (``-``, ``n/a``, ``?`` …) are numeric;
   texts of which at least 95 % are ISO dates (``2026-11-20``, ``2026/11/20 14:30``) are dates;
5. other texts are free text where they are mostly different and long, identifiers where they are
   (nearly) all different, else nominal.

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
from numpy.typing import NDArray

from automl.data.findings import nearest
from automl.errors import SettingsError
from automl.inference.columns import NUMBER_MARKERS, stored_kind

NEARLY_UNIQUE = 0.95
DATE_SHARE = 0.95
MIN_ROWS_FOR_ID = 20
MIN_ROWS_FOR_COUNTER = 20
TEXT_WORDS = 4.0
TEXT_LETTERS = 50.0

_ID_NAME = re.compile(
    r"^(id|uid|uuid|guid|key|index|idx|row|row_?(id|nr|no|num|number)|record|nr|no|unnamed: \d+)$"
    r"|[_\-. ](id|uid|uuid|guid|key|nr|no|idx|number|num)$"
    r"|^(id|uuid|guid)[_\-. ]"
    r"|(phone|passport|account|serial)[_\-. ]?(no|nr|num|number)?$",
    re.IGNORECASE,
)
_CAMEL_ID = re.compile(r"[a-z](Id|ID|Uid|UID|Key)$")
_DATE = re.compile(
    r"\s*\d{4}([-/])(0?[1-9]|1[0-2])\1(0?[1-9]|[12]\d|3[01])"
    r"([T ]\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?\s*(Z|[+-]\d{2}:?\d{2})?)?\s*"
)


class Role(StrEnum):
    """How a column is used; the last three are not."""

    NUMERIC = "numeric"
    NOMINAL = "nominal"
    DATE = "date"
    TEXT = "text"
    ID = "id"
    IGNORED = "ignored"

    @property
    def is_used(self) -> bool:
        """Whether the model sees the column."""
        return self in (Role.NUMERIC, Role.NOMINAL, Role.DATE)


@dataclass(frozen=True)
class ColumnRole:
    """Role of a column and why it has it.

    Parameters
    ----------
    reason
        Part of a sentence; ``given`` for an override.
    """

    name: str
    role: Role
    reason: str

    @property
    def is_given(self) -> bool:
        """Whether the user said so."""
        return self.reason == "given"


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
    """
    given = check_overrides(overrides or {}, frame.columns)
    return {
        str(name): ColumnRole(str(name), given[str(name)], "given")
        if str(name) in given
        else ColumnRole(str(name), *_detect(frame[name]))
        for name in frame.columns
    }


def check_overrides(overrides: Mapping[str, str], names: Any) -> dict[str, Role]:
    """Overrides as roles.

    Raises
    ------
    SettingsError
        If a column is not among `names`, or a role does not exist.
    """
    known = [str(name) for name in names]
    roles = {}
    for name, role in overrides.items():
        if name not in known:
            raise SettingsError(
                f"a role is given for column {name!r}, which is not in the table{nearest(name, known)}"
            )
        try:
            roles[name] = Role(role)
        except ValueError:
            raise SettingsError(
                f"the role of column {name!r} must be one of {', '.join(Role)}; got {role!r}"
                f"{nearest(str(role), Role)}"
            ) from None
    return roles


def _detect(series: pd.Series) -> tuple[Role, str]:
    present = series.dropna()
    if not len(present) or is_nested(present.iloc[0]):
        return Role.IGNORED, "its values are not plain" if len(present) else "it is empty"
    kind = stored_kind(present)
    if kind == "text":
        return _detect_text(present, len(series))
    if len(present) == len(series) and _is_constant(present):
        return Role.IGNORED, f"it has the value {_shown(present.iloc[0])} in every row"
    if kind == "boolean" or isinstance(present.dtype, pd.CategoricalDtype):
        return Role.NOMINAL, "booleans" if kind == "boolean" else "categories"
    return (Role.DATE, "dates") if kind == "date" else _detect_number(present, len(series))


def _is_constant(present: pd.Series) -> bool:
    first = present.iloc[0]
    try:
        return bool((present == first).all())
    except (TypeError, ValueError):
        return False


def _detect_number(present: pd.Series, n_rows: int) -> tuple[Role, str]:
    values = present.to_numpy(dtype=np.float64)
    if n_rows < MIN_ROWS_FOR_ID or not np.array_equal(values, np.floor(values)):
        return Role.NUMERIC, "numbers"
    distinct = len(np.unique(values)) / len(values)
    if distinct >= NEARLY_UNIQUE and is_id_name(str(present.name)):
        return Role.ID, "its numbers are nearly all different and its name is that of an identifier"
    if len(values) == n_rows and np.array_equal(values, values[0] + np.arange(n_rows)):
        return Role.ID, "it counts the rows"
    return Role.NUMERIC, "numbers"


def is_id_name(name: str) -> bool:
    """Whether a column's name is that of an identifier: ``id``, ``user_id``, ``orderId``, ``row nr``."""
    return bool(_ID_NAME.search(name.strip()) or _CAMEL_ID.search(name.strip()))


def _detect_text(present: pd.Series, n_rows: int) -> tuple[Role, str]:
    counts = text_counts(present)
    values = counts.index.to_numpy(dtype=object)
    if len(values) == 1 and counts.iloc[0] == n_rows:
        return Role.IGNORED, f"it has the value {values[0]!r} in every row"
    shares = text_shares(values, counts.to_numpy())
    if shares.numbers and shares.other == 0:
        return Role.NUMERIC, "texts of numbers"
    n_values = len(present) - shares.marker_rows
    if n_values and shares.dates >= DATE_SHARE * n_values:
        return Role.DATE, "texts of dates"
    if isinstance(present.dtype, pd.CategoricalDtype):
        return Role.NOMINAL, "categories"
    return _detect_words(counts, values)


def _detect_words(counts: pd.Series, values: NDArray[Any]) -> tuple[Role, str]:
    n_present = int(counts.sum())
    distinct = len(values) / n_present
    sample = [str(value) for value in values[:2000]]
    words = float(np.mean([len(text.split()) for text in sample]))
    letters = float(np.mean([len(text) for text in sample]))
    wordy = words >= TEXT_WORDS or letters >= TEXT_LETTERS
    if n_present >= MIN_ROWS_FOR_ID and distinct > 0.5 and wordy:
        return Role.TEXT, f"free text, {words:.0f} words on average, mostly different"
    if n_present >= MIN_ROWS_FOR_ID and distinct >= NEARLY_UNIQUE:
        return Role.ID, "its texts are nearly all different"
    return Role.NOMINAL, f"{len(values)} categories"


def text_counts(present: pd.Series) -> pd.Series:
    """Rows of each distinct value, in order of appearance, indexed by the value."""
    if isinstance(present.dtype, pd.CategoricalDtype):
        counts = present.value_counts(sort=False)
        return counts[counts > 0]
    return present.astype(object).value_counts(sort=False)


@dataclass(frozen=True)
class TextShares:
    """How many rows of a text column are numbers, dates, missing markers or anything else.

    Parameters
    ----------
    numbers, dates, marker_rows, other
        Rows; dates are among `other`.
    distinct_numbers
        Distinct values among the numbers.
    """

    numbers: int
    dates: int
    marker_rows: int
    other: int
    distinct_numbers: int


def text_shares(values: NDArray[Any], counts: NDArray[Any]) -> TextShares:
    """Count the rows of each kind.

    Parameters
    ----------
    values : (n_distinct,), objects
    counts : (n_distinct,)
        Rows with each value.
    """
    sample = values[:: len(values) // 500 + 1] if len(values) > 5000 else values
    if not any(is_number(value) or is_marker(value) or is_date(value) for value in sample):
        return TextShares(0, 0, 0, int(counts.sum()), 0)
    numbers = np.array([is_number(value) for value in values], dtype=bool)
    markers = np.array([is_marker(value) for value in values], dtype=bool) & ~numbers
    dates = np.array([is_date(value) for value in values], dtype=bool)
    return TextShares(
        int(counts[numbers].sum()),
        int(counts[dates].sum()),
        int(counts[markers].sum()),
        int(counts[~numbers & ~markers].sum()),
        int(numbers.sum()),
    )


def is_number(value: object) -> bool:
    """Whether a value is a number or the text of one; booleans and ``nan`` are not."""
    if isinstance(value, bool | np.bool_):
        return False
    try:
        return not np.isnan(float(value))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False


def is_nested(value: object) -> bool:
    """Whether a value is a list, a mapping, bytes or the like instead of a plain one."""
    return isinstance(value, list | dict | set | tuple | bytes | np.ndarray)


def is_marker(value: object) -> bool:
    """Whether a text stands for a missing number."""
    return isinstance(value, str) and value.strip().lower() in NUMBER_MARKERS


def is_date(value: object) -> bool:
    """Whether a text is an ISO-like date, with or without a time; or a value is a date."""
    if isinstance(value, str):
        return _DATE.fullmatch(value) is not None
    return hasattr(value, "year") and hasattr(value, "month")


def _shown(value: object) -> str:
    return repr(value.item() if isinstance(value, np.generic) else value)
