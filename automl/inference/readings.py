"""How one column is read: the form of its values, the words among them, and what that makes of any rows.

A `Reading` is decided once from the training table, kept in the schema, and gives the same numbers for
the same values at any later time. Missing markers (`NUMBER_MARKERS`) are missing in every form. A text of
no such form is refused, unless the training table had words among its values: then it is missing.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from automl.errors import DataError
from automl.inference.columns import NUMBER_MARKERS, category_text, short
from automl.inference.forms import DateForm, FloatArray, Form, NumberForm, form_from_json

PLAIN_NUMBER = NumberForm()


@dataclass(frozen=True)
class Reading:
    """How a column is read.

    Parameters
    ----------
    form
        Form of its values.
    words
        Texts of the training table that are no such values, the most frequent ones: missing, and marked in a
        column of their own. Where there are any, other texts are missing too.
    marks_infinite
        Whether infinite numbers, which are missing, are marked: the training table had some.
    """

    form: Form = PLAIN_NUMBER
    words: tuple[str, ...] = ()
    marks_infinite: bool = False

    def to_json(self) -> dict[str, Any]:
        """Plain JSON form."""
        return {
            "form": asdict(self.form),
            "words": list(self.words),
            "marks_infinite": self.marks_infinite,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Reading:
        """Inverse of `to_json`."""
        return cls(form_from_json(data["form"]), tuple(data["words"]), data["marks_infinite"])


@dataclass(frozen=True)
class ReadValues:
    """Values of a column by its reading.

    Parameters
    ----------
    values : (n_rows,)
        Missing is NaN; infinite numbers are still there.
    is_word : (n_rows,)
        Rows with a word of the reading.
    n_unmarked
        Rows with texts that are neither values nor words of the reading, which are taken as missing.
    """

    values: FloatArray
    is_word: NDArray[np.bool_]
    n_unmarked: int = 0


def read_distinct(
    values: tuple[NDArray[np.intp], list[Any]], reading: Reading, *, name: str
) -> ReadValues:
    """Values of a column of which each distinct one is read once.

    Parameters
    ----------
    values
        Position of each row's value among the distinct ones (-1 is missing), and these.

    Raises
    ------
    DataError
        If a value is neither of the reading's form, nor a word that it allows, nor missing.
    """
    codes, distinct = values
    texts = [_text_of(value, reading.form) for value in distinct]
    table = _table(distinct, texts, reading.form)
    strange = np.isnan(table) & np.array([_is_strange(t) for t in texts], dtype=bool)
    if strange.any() and not reading.words:
        bad = distinct[int(strange.argmax())]
        raise DataError(f"column {name!r} must hold {reading.form.expected}; found {short(bad)}")
    marked = set(reading.words)
    words = strange & np.array([text in marked for text in texts], dtype=bool)
    n_unmarked = int(np.append(strange & ~words, False)[codes].sum())
    return ReadValues(np.append(table, np.nan)[codes], np.append(words, False)[codes], n_unmarked)


def _text_of(value: object, form: Form) -> str | None:
    """Text to be parsed without outer blanks; None if the value is missing or needs no parsing."""
    if isinstance(value, str):
        return value.strip()
    if _is_number(value, form):
        return None
    if isinstance(form, DateForm) and isinstance(value, dt.date | np.datetime64):
        return pd.Timestamp(value).isoformat()
    return None if _is_missing(value) else category_text(value, "text")


def _table(distinct: list[Any], texts: list[str | None], form: Form) -> FloatArray:
    """Value of each distinct raw value; NaN for markers and for what is not of the form."""
    table = np.full(len(distinct), np.nan)
    numeric = [
        i for i, value in enumerate(distinct) if texts[i] is None and _is_number(value, form)
    ]
    table[numeric] = [_number(distinct[i]) for i in numeric]
    parsed = [i for i, text in enumerate(texts) if text and text.lower() not in NUMBER_MARKERS]
    if parsed:
        table[parsed] = form.parse([str(texts[i]) for i in parsed])
    if isinstance(form, DateForm):  # dates among texts of dates
        for i in (i for i in parsed if isinstance(distinct[i], dt.date | np.datetime64)):
            table[i] = DateForm().parse([str(texts[i])])[0]
    return table


def _number(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _is_strange(text: str | None) -> bool:
    return text is not None and text.lower() not in NUMBER_MARKERS


def _is_number(value: object, form: Form) -> bool:
    kinds = bool | np.bool_ | int | np.integer | float | np.floating | Decimal
    return isinstance(value, kinds) and not isinstance(form, DateForm)


def _is_missing(value: object) -> bool:
    return value is None or value is pd.NaT or value is pd.NA or value != value  # noqa: PLR0124
