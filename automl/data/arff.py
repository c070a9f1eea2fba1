"""Attribute-relation files (Weka's arff), dense ones, read strictly."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from automl.data.findings import Oddity
from automl.errors import DataError
from automl.inference.columns import short

_ATTRIBUTE = re.compile(
    r"""@attribute\s+(?P<name>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^\s{]+)\s*(?P<type>\{.*\}|\S+.*)$""",
    re.IGNORECASE,
)
_FIELD = re.compile(
    r"""\s*(?P<value>'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*"|[^,]*?)\s*(?P<end>,|$)"""
)
_WEIGHT = re.compile(r"(?<=[^\s{]),\s*\{\s*[\d.eE+-]+\s*\}\s*$")
_NUMERIC = ("numeric", "real", "integer")


@dataclass(frozen=True)
class _Attribute:
    name: str
    kind: str
    categories: tuple[str, ...] = ()


def read_arff(text: str, *, name: str) -> tuple[pd.DataFrame, list[Oddity]]:
    """Frame of an arff text, and what was odd: numbers as float64 or int64, nominal values as categories.

    A sparse row ``{1 x, 4 2.5}`` has zeros, and the first declared category, where it names nothing. Weights of
    rows, as in ``1,x,{0.5}``, are left out.

    Parameters
    ----------
    name
        File name for messages.

    Raises
    ------
    DataError
        If the header is damaged, or a row does not fit the header.
    """
    lines = iter(enumerate(text.splitlines(), start=1))
    attributes = _header(lines, name)
    if not attributes:
        raise DataError(f"{name} is not an arff file: no @attribute line was found")
    data = list(_data_lines(lines))
    weighted = sum(_WEIGHT.search(line) is not None for _, line in data)
    rows = [_row(_WEIGHT.sub("", line), number, attributes, name) for number, line in data]
    if not rows:
        raise DataError(f"{name} has a header but no rows")
    columns = {
        position: _column(attribute, [fields[position] for _, fields in rows], rows, name)
        for position, attribute in enumerate(attributes)
    }
    frame = pd.DataFrame(columns)
    frame.columns = pd.Index([attribute.name for attribute in attributes])
    if not weighted:
        return frame, []
    note = f"weights of {weighted} rows, in braces at their end, are not used"
    return frame, [Oddity(note, f"{note}; make them a column")]


def _header(lines: Iterator[tuple[int, str]], name: str) -> list[_Attribute]:
    attributes = []
    for number, line in lines:
        stripped = line.strip()
        lowered = stripped.lower()
        if lowered.startswith("@attribute"):
            attributes.append(_attribute(stripped, number, name))
        elif lowered.startswith("@data"):
            return attributes
        elif stripped and not lowered.startswith(("%", "@relation")):
            raise DataError(
                f"{name}, line {number}: @relation, @attribute or @data is expected; "
                f"found {stripped[:40]!r}"
            )
    raise DataError(f"{name} is not a complete arff file: the line @data is missing")


def _attribute(line: str, number: int, name: str) -> _Attribute:
    match = _ATTRIBUTE.match(line)
    if match is None:
        raise DataError(f"{name}, line {number}: an attribute needs a name and a type")
    kind = match["type"].strip()
    title = _unquoted(match["name"])
    if kind.startswith("{"):
        return _Attribute(title, "nominal", tuple(_fields(kind[1 : kind.rindex("}")])))
    word = kind.split()[0].lower()
    if word in _NUMERIC:
        return _Attribute(title, "numeric")
    if word in ("string", "date"):
        return _Attribute(title, word)
    raise DataError(
        f"{name}, line {number}: the type of attribute {title!r} must be numeric, nominal, string or "
        f"date; found {kind[:40]!r}"
    )


def _data_lines(lines: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    return ((number, line) for number, line in lines if line.strip() and line.strip()[0] != "%")


def _row(
    line: str, number: int, attributes: list[_Attribute], name: str
) -> tuple[int, list[str | None]]:
    if line.lstrip().startswith("{"):
        return number, _sparse_row(line, number, attributes, name)
    fields = _fields(line)
    if len(fields) != len(attributes):
        raise DataError(
            f"{name}, line {number}: {len(fields)} fields, but the header has {len(attributes)}"
        )
    return number, [None if field == "?" else field for field in fields]


def _sparse_row(
    line: str, number: int, attributes: list[_Attribute], name: str
) -> list[str | None]:
    values: list[str | None] = [
        attribute.categories[0] if attribute.categories else "0" for attribute in attributes
    ]
    for field in _fields(line.strip().removeprefix("{").removesuffix("}")):
        if not field:
            continue
        place, _, value = field.partition(" ")
        if not place.isdigit() or int(place) >= len(attributes) or not value.strip():
            raise DataError(
                f"{name}, line {number}: a sparse row has positions below {len(attributes)} and values, such "
                f"as {{0 1.5}}; found {short(field)}"
            )
        entry = _unquoted(value.strip())
        values[int(place)] = None if entry == "?" else entry
    return values


def _fields(line: str) -> list[str]:
    """Values of a comma-separated line; both kinds of quotation marks, doubled or after a backslash."""
    if "'" not in line and '"' not in line:
        return [field.strip() for field in line.split(",")]
    fields = []
    position = 0
    while True:
        match = _FIELD.match(line, position)
        if match is None:
            return []
        fields.append(_unquoted(match["value"].strip()))
        position = match.end()
        if not match["end"]:
            return fields


def _unquoted(text: str) -> str:
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        plain = re.sub(r"\\(.)", r"\1", text[1:-1])
        return plain.replace(text[0] * 2, text[0])
    return text


def _column(
    attribute: _Attribute,
    values: list[str | None],
    rows: list[tuple[int, list[str | None]]],
    name: str,
) -> Any:
    if attribute.kind == "string":
        return pd.Series(values, dtype="str")
    if attribute.kind == "date":
        return pd.Series(values, dtype="str").str.replace("T", " ")
    allowed = set(attribute.categories)
    bad = (
        (row, value)
        for (row, _), value in zip(rows, values, strict=True)
        if value is not None
        and (value not in allowed if attribute.kind == "nominal" else not _is_number(value))
    )
    for line, value in bad:
        wanted = "a number" if attribute.kind == "numeric" else "a declared value"
        raise DataError(
            f"{name}, line {line}: attribute {attribute.name!r} must be {wanted}; found {short(value)}"
        )
    if attribute.kind == "nominal":
        return pd.Categorical(values, categories=list(dict.fromkeys(attribute.categories)))
    numbers = np.array([np.nan if value is None else float(value) for value in values])
    whole = bool(np.isfinite(numbers).all() and np.all(numbers % 1 == 0))
    return numbers.astype(np.int64) if whole and np.abs(numbers).max() < 2**53 else numbers


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True
