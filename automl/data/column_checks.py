"""Checks of single feature columns: mixed types, what was made of odd values, unused columns."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from numbers import Number

import numpy as np
import pandas as pd

from automl.data.findings import Findings, listed
from automl.data.roles import ColumnRole, Role, is_nested
from automl.inference.columns import half_character, short
from automl.inference.forms import DateForm, DurationForm, NumberForm
from automl.inference.raw_table import Column

PLAIN_NUMBERS = "write them like 1234.5, without separators, units or currencies"
MAY_MIX = ({"a number", "a text"}, {"a boolean", "a text"})
"""Kinds of values that one column may hold: they are read as texts."""


def value_problem(column: Column, *, is_given: bool = False) -> str | None:
    """What is wrong with the kinds of values in a column; None if all is well.

    Parameters
    ----------
    is_given
        The user gave the column's role, so that texts beside numbers are meant.
    """
    series, dtype = column.series, column.series.dtype
    if pd.api.types.is_complex_dtype(dtype):
        return f"column {series.name!r} holds complex numbers; real numbers are expected"
    if not pd.api.types.is_object_dtype(dtype):
        return None
    present = series.dropna()
    kinds = present.map(_kind)
    nested = kinds.eq("nested").to_numpy()
    if nested.any():
        row = int(nested.argmax())
        return (
            f"column {series.name!r} must hold plain values; found the "
            f"{type(present.iloc[row]).__name__} {short(present.iloc[row])} "
            f"in row {present.index[row] + 1}"
        )
    halves = kinds.eq("half a text").to_numpy()
    if halves.any():
        row = int(halves.argmax())
        return (
            f"column {series.name!r} holds {half_character(present.iloc[row])} in row {present.index[row] + 1}, "
            "half a character, which no text can hold; write both halves, or leave it out"
        )
    if is_given or kinds.nunique() < 2 or set(kinds.unique()) in MAY_MIX:
        return None
    other = int(kinds.ne(kinds.iloc[0]).to_numpy().argmax())
    return (
        f"column {series.name!r} mixes types: {kinds.iloc[0]} ({short(present.iloc[0])} in row "
        f"{present.index[0] + 1}) and {kinds.iloc[other]} ({short(present.iloc[other])} in row "
        f"{present.index[other] + 1}); make them one type, or give the column a role"
    )


def _kind(value: object) -> str:
    if is_nested(value):
        return "nested"
    if isinstance(value, bool | np.bool_):
        return "a boolean"
    if isinstance(value, str):
        return "half a text" if half_character(value) else "a text"
    if isinstance(value, Number | Decimal):
        return "a number"
    return "a date" if isinstance(value, date | np.datetime64) else type(value).__name__


def check_finite(column: Column, role: ColumnRole, findings: Findings) -> None:
    """Say what was made of infinite numbers."""
    if role.reading is None or not role.reading.marks_infinite:
        return
    infinite = np.isinf(column.read(role.reading).values)
    sentence = (
        f"column {role.name!r} holds {int(infinite.sum())} infinite values, the first in row "
        f"{column.series.index[int(infinite.argmax())] + 1}"
    )
    findings.take(
        f"{sentence}; they are taken as missing and marked in a column of their own",
        f"{sentence}; replace them by numbers or leave them empty",
    )


def take_reading(column: Column, role: ColumnRole, findings: Findings) -> None:
    """Note what a column was read as; with `strict` say what to write instead."""
    check_finite(column, role, findings)
    if role.note:
        findings.take(role.note, _refusal(column.series, role))
    elif role.reading is not None and isinstance(role.reading.form, DurationForm):
        findings.take(
            f"column {role.name!r} is read as durations, in seconds",
            f"column {role.name!r} holds durations; write them as numbers, such as seconds",
        )


def _refusal(series: pd.Series, role: ColumnRole) -> str:
    name, reading = role.name, role.reading
    if reading is None or not (reading.words or isinstance(reading.form, NumberForm | DateForm)):
        return f"{role.note}; write them the same way, or give the column the role {role.role}"
    if reading.words:
        row = _row_of(series, reading.words[0])
        what = "dates" if isinstance(reading.form, DateForm) else "numbers"
        return (
            f"column {name!r} mixes {what} and texts: {short(reading.words[0])} in row {row}; correct the "
            "value, leave it empty, or give the column the role nominal"
        )
    if isinstance(reading.form, DateForm):
        return (
            f"column {name!r} looks like dates that are not ISO; give it the role date to use it so"
        )
    shown = short(str(series.dropna().iloc[0]))
    return (
        f"column {name!r} holds numbers with commas or other characters, such as {shown}; {PLAIN_NUMBERS}, "
        "or give the column the role nominal"
    )


def _row_of(series: pd.Series, word: str) -> int:
    is_word = series.map(lambda value: isinstance(value, str) and value.strip() == word)
    return int(series.index[int(is_word.to_numpy(dtype=bool).argmax())]) + 1


def note_unused(roles: Mapping[str, ColumnRole], findings: Findings) -> None:
    """Say which columns are left out and why."""
    reasons: dict[str, list[ColumnRole]] = {}
    for role in roles.values():
        if not role.role.is_used and not role.is_given:
            kind = "constant" if role.reason.startswith("it has the value") else str(role.role)
            reasons.setdefault(kind, []).append(role)
    for kind, unused in reasons.items():
        if len(unused) > 3:
            names = listed(role.name for role in unused)
            what = "empty" if kind == Role.IGNORED else kind
            findings.notes.append(f"{len(unused)} columns are not used ({what}): {names}")
            continue
        label = f" ({kind})" if kind == Role.ID else ""
        findings.notes.extend(
            f"column {role.name!r} is not used{label}: {role.reason}" for role in unused
        )
