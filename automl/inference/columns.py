"""Kinds of raw columns, their category texts and codes, whatever pandas type holds them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from automl.errors import DataError

MISSING_TEXTS = ("", "?", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NULL", "null")
"""Missing in every column."""
NOMINAL_MARKERS = frozenset(MISSING_TEXTS)
NUMBER_MARKERS = frozenset(
    {text.lower() for text in MISSING_TEXTS}
    | {
        "-",
        "--",
        "---",
        ".",
        "..",
        "...",
        "*",
        "none",
        "missing",
        "nil",
        "n.a.",
        "n.a",
        "nat",
        "-nan",
    }
    | {
        "(null)",
        "\\n",
        "#null!",
        "#value!",
        "#div/0!",
        "#ref!",
        "#num!",
        "#name?",
        "1.#qnan",
        "-1.#ind",
    }
)
"""Missing among numbers, dates and times, in any case."""
NO_ALIASES: Mapping[str, str] = MappingProxyType({})
SHOWN_LETTERS = 60
"""Letters of a value in a message, so that the sentence stays on one line."""
SAMPLE = 1000
"""Values that are looked at first, since most columns are settled by them."""
_PLAIN_KINDS = {"i": "integer", "u": "integer", "f": "float", "b": "boolean", "M": "date"}


def stored_kind(series: pd.Series) -> str:
    """``number``, ``boolean``, ``date`` or ``text``: what the values of a column are."""
    dtype = series.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return stored_kind(pd.Series(dtype.categories))
    if pd.api.types.is_bool_dtype(dtype):
        return "boolean"
    if pd.api.types.is_numeric_dtype(dtype):
        return "number"
    if pd.api.types.is_datetime64_any_dtype(dtype):
        return "date"
    if pd.api.types.is_object_dtype(dtype):
        inferred = pd.api.types.infer_dtype(series, skipna=True)
        return {
            "boolean": "boolean",
            "integer": "number",
            "floating": "number",
            "mixed-integer-float": "number",
            "decimal": "number",
            "datetime": "date",
            "datetime64": "date",
            "date": "date",
        }.get(inferred, "text")
    return "text"


def value_type(series: pd.Series) -> str:
    """``integer``, ``float``, ``boolean``, ``text`` or ``date``: the plain type that holds a column's values.

    ``any`` where MLflow has no type for it: whole numbers among which some are missing (as floats they would be
    refused as soon as none is missing), categories, dates with a time zone, values of several types.
    """
    dtype = series.dtype
    if isinstance(dtype, np.dtype) and dtype.kind != "O":
        is_any = dtype == np.uint64 or (dtype.kind == "f" and _holds_optional_integers(series))
        return "any" if is_any else _PLAIN_KINDS.get(dtype.kind, "any")
    if isinstance(dtype, pd.StringDtype):
        return "text"
    if pd.api.types.is_object_dtype(dtype):
        inferred = pd.api.types.infer_dtype(series, skipna=True)
        plain = {"string": "text", "boolean": "boolean"}
        return plain.get(inferred, "date" if inferred.startswith("date") else "any")
    if pd.api.types.is_numeric_dtype(dtype) and not series.isna().any():
        return value_type(pd.Series(series.to_numpy()))
    return "any"


def _holds_optional_integers(series: pd.Series) -> bool:
    values = series.to_numpy()
    missing = np.isnan(values)
    return bool(missing.any() and are_whole(values[~missing]))


def are_whole(values: NDArray[np.floating[Any]]) -> bool:
    """Whether no number has a fraction; infinite ones have one."""
    parts = (values[:SAMPLE], values)
    return all(bool(((np.floor(part) == part) & np.isfinite(part)).all()) for part in parts)


def values_of(series: pd.Series) -> tuple[NDArray[np.intp], list[Any]]:
    """Position of each row's value among the distinct values (-1 is missing), and these values."""
    if isinstance(series.dtype, pd.CategoricalDtype):
        return series.cat.codes.to_numpy().astype(np.intp), list(series.dtype.categories)
    try:
        codes, uniques = pd.factorize(series)
    except TypeError as error:
        raise DataError(f"column {series.name!r} must hold plain values; found {error}") from None
    return codes, list(uniques)


def category_text(
    value: object, stored: str, aliases: Mapping[str, str] = NO_ALIASES
) -> str | None:
    """Canonical text of a category without outer blanks; None if the value is a missing marker.

    Parameters
    ----------
    stored : see `stored_kind`
        What the column held at first; texts are read as this where they can be.
    aliases
        Canonical texts by case-folded text.
    """
    if isinstance(value, str):
        return aliases.get(value.strip().casefold()) or _read_text(value, stored)
    if isinstance(value, (bool, np.bool_, int, np.integer, float, np.floating)):
        return _number_text(value, stored)
    return str(value)


def category_texts(
    values: tuple[NDArray[np.intp], list[Any]],
    stored: str,
    aliases: Mapping[str, str] = NO_ALIASES,
) -> list[str]:
    """Distinct categories that occur, in order: numbers by size, texts by letters."""
    codes, distinct = values
    occurring = np.flatnonzero(np.bincount(codes[codes >= 0]))
    texts = {category_text(distinct[code], stored, aliases) for code in occurring} - {None}
    present = [text for text in texts if text is not None]
    return sorted(present, key=_number_first) if stored == "number" else sorted(present)


def category_codes(
    values: tuple[NDArray[np.intp], list[Any]],
    code_of: Mapping[str, int],
    stored: str,
    unseen: int,
    aliases: Mapping[str, str] = NO_ALIASES,
) -> NDArray[np.intp]:
    """Category code of each row: -1 for missing, `unseen` for a text that is not `code_of`.

    Parameters
    ----------
    values
        Position of each row's value among the distinct ones (-1 is missing), and these.
    """
    codes, distinct = values
    table = np.full(len(distinct) + 1, -1, dtype=np.intp)
    for position, value in enumerate(distinct):
        if isinstance(value, str) and value in code_of:
            table[position] = code_of[value]
            continue
        text = category_text(value, stored, aliases)
        if text is not None:
            table[position] = code_of.get(text, unseen)
    return table[codes]


def unique_names(names: Sequence[str]) -> list[str]:
    """Names of columns with a number behind those that occur again, and ``Unnamed: 3`` for empty ones.

    As pandas names them when it reads a text table, so that a table has the same names from every format.
    """
    taken = {name.strip() for name in names}
    seen: dict[str, int] = {}
    unique = []
    for position, name in enumerate(names):
        plain = name.strip() or f"Unnamed: {position}"
        numbered = plain
        while numbered in seen or (numbered != plain and numbered in taken):
            seen[plain] += 1
            numbered = f"{plain}.{seen[plain]}"
        seen.setdefault(numbered, 0)
        unique.append(numbered)
    return unique


def with_table_names(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with the names that its columns have in a table: texts without outer blanks, each once."""
    names = unique_names([str(name) for name in frame.columns])
    return frame if names == list(frame.columns) else frame.set_axis(names, axis=1)


def half_character(text: str) -> str:
    """The first lone surrogate of a text, escaped: half a character, which UTF-8 cannot hold; empty if there is none."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return ascii(text[error.start])[1:-1]
    return ""


def short(value: object) -> str:
    """A value in a message: quoted, its middle left out where it is long."""
    text = repr(value.item() if isinstance(value, np.generic) else value)
    if len(text) <= SHOWN_LETTERS:
        return text
    return f"{text[: SHOWN_LETTERS - 15]}... ({len(text)} letters)"


def _number_text(value: Any, stored: str) -> str | None:
    if type(value) is int and value not in (0, 1):
        return str(value)  # as large as it is
    if np.isnan(value):
        return None
    if value in (0, 1) and (stored == "boolean" or isinstance(value, (bool, np.bool_))):
        return str(int(value)) if stored == "number" else str(bool(value))
    is_whole = np.isfinite(value) and float(value).is_integer()
    return str(int(value)) if is_whole else str(value)


def _read_text(text: str, stored: str) -> str | None:
    bare = text.strip()
    if bare in NOMINAL_MARKERS:
        return None
    if stored == "boolean" and bare.lower() in ("true", "false"):
        return bare.capitalize()
    if stored == "number":
        try:
            return _number_text(float(bare), stored)
        except ValueError:
            return bare
    return bare


def _number_first(text: str) -> tuple[int, float, str]:
    try:
        return 0, float(text), text
    except ValueError:
        return 1, 0.0, text
