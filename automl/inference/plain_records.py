"""Untrusted JSON, read into frozen records by the types of their fields.

Known types: ``str``, ``bool``, ``int``, ``float``, ``None``, ``Literal``, unions, ``tuple[X, ...]`` (a list),
``Mapping[str, X]`` (an object), records, and ``Any`` (plain JSON of limited depth). A trailing underscore of a
field's name is not part of its name in JSON. Every number is finite, every text can be written as UTF-8.
"""

from __future__ import annotations

import dataclasses
import math
import types
import typing
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Literal, TypeVar

MOST_ENTRIES = 2_000_000
"""Most entries of one list: more than the categories of any column that a model was trained on here."""
MOST_CHARACTERS = 2**20
MOST_DEPTH = 24
"""Greatest depth of values that are kept as they are; what is written here has three levels."""
LARGEST_INTEGER = 2**64 - 1
"""Of the whole numbers that numpy has, which may be labels."""
_SHOWN_CHARACTERS = 60
"""Limit for untrusted text in a message: enough to find it in its file."""

T = TypeVar("T")


class ShapeError(ValueError):
    """A value is not what its place asks for.

    Parameters
    ----------
    place : such as ``members[0].weight``
    expected
        Words after "must be".
    """

    def __init__(self, place: str, expected: str, found: object) -> None:
        where = place or "the whole"
        super().__init__(f"{where} must be {expected}; got {shown(found)}")


def read_record(kind: type[T], value: object, place: str = "") -> T:
    """The record of type `kind` that a value is.

    Parameters
    ----------
    value
        From `json.loads`.
    place
        Of the value, for errors.

    Raises
    ------
    ShapeError
        At the first field that is missing, unknown or not of its type.
    """
    if not isinstance(value, dict):
        raise ShapeError(place, "an object with fields", value)
    readers = _readers(kind)  # type: ignore[arg-type] # a class is hashable
    for name in value:
        if name not in readers:
            raise ShapeError(_inside(place, name), "absent: no field has this name", value[name])
    given = {}
    for name, (field, read) in readers.items():
        if name in value:
            given[field.name] = read(value[name], _inside(place, name))
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise ShapeError(_inside(place, name), "there", "nothing")
    return kind(**given)


def shown(value: object) -> str:
    """A few characters of a value."""
    if isinstance(value, (list, dict)):
        return f"{'a list' if isinstance(value, list) else 'an object'} of {len(value)} entries"
    text = ascii(value)
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}…"


Reader = Callable[[object, str], Any]


@cache
def _readers(kind: type) -> dict[str, tuple[dataclasses.Field[Any], Reader]]:
    """Field and reader by the field's name in JSON."""
    hints = typing.get_type_hints(kind)
    return {
        field.name.rstrip("_"): (field, _reader(hints[field.name]))
        for field in dataclasses.fields(kind)
    }


def _reader(hint: Any) -> Reader:
    """Function that reads values of a type."""
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if hint in _SCALARS:
        return _SCALARS[hint]
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return lambda value, place: read_record(hint, value, place)
    if origin is Literal:
        return lambda value, place: _choice(value, place, parts)
    if origin in (typing.Union, types.UnionType):
        return _union_reader(parts)
    if origin is tuple and parts[1:] == (...,):
        return _list_reader(_reader(parts[0]))
    if origin is Mapping:
        return _mapping_reader(_reader(parts[1]))
    raise TypeError(f"fields of type {hint} cannot be read from JSON")


def _union_reader(kinds: tuple[Any, ...]) -> Reader:
    """The first type that the value has; None goes first, so that the last word is about the others."""
    readers = [_reader(kind) for kind in sorted(kinds, key=lambda kind: kind is not type(None))]

    def read(value: object, place: str) -> Any:
        for reader in readers[:-1]:
            try:
                return reader(value, place)
            except ShapeError:
                continue
        return readers[-1](value, place)

    return read


def _list_reader(read: Reader) -> Reader:
    def read_all(value: object, place: str) -> tuple[Any, ...]:
        if not isinstance(value, list) or len(value) > MOST_ENTRIES:
            raise ShapeError(place, f"a list of at most {MOST_ENTRIES} entries", value)
        return tuple(read(entry, f"{place}[{number}]") for number, entry in enumerate(value))

    return read_all


def _mapping_reader(read: Reader) -> Reader:
    def read_all(value: object, place: str) -> dict[str, Any]:
        if not isinstance(value, dict) or len(value) > MOST_ENTRIES:
            raise ShapeError(place, f"an object of at most {MOST_ENTRIES} entries", value)
        for name in value:
            _text(name, f"a name in {place}")
        return {name: read(entry, _inside(place, name)) for name, entry in value.items()}

    return read_all


def _text(value: object, place: str) -> str:
    if not isinstance(value, str) or len(value) > MOST_CHARACTERS:
        raise ShapeError(place, f"a text of at most {MOST_CHARACTERS} characters", value)
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ShapeError(place, "text that UTF-8 can hold", value) from None
    return value


def _truth(value: object, place: str) -> bool:
    if not isinstance(value, bool):
        raise ShapeError(place, "true or false", value)
    return value


def _whole(value: object, place: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > LARGEST_INTEGER:
        raise ShapeError(place, "a whole number", value)
    return value


def _number(value: object, place: str) -> float:
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, float):
        raise ShapeError(place, "a finite number", value)
    try:
        return float(_whole(value, place))
    except ShapeError:
        raise ShapeError(place, "a finite number", value) from None


def _nothing(value: object, place: str) -> None:
    if value is not None:
        raise ShapeError(place, "null", value)


def _choice(value: object, place: str, allowed: tuple[Any, ...]) -> Any:
    for each in allowed:
        if type(value) is type(each) and value == each:
            return each
    raise ShapeError(place, f"one of {', '.join(map(str, allowed))}", value)


def _plain(value: object, place: str, depth: int = MOST_DEPTH) -> object:
    """Any plain JSON, as it is."""
    if not depth:
        raise ShapeError(place, f"nested at most {MOST_DEPTH} deep", "more")
    deeper: Reader = lambda entry, where: _plain(entry, where, depth - 1)  # noqa: E731
    if isinstance(value, list):
        return list(_list_reader(deeper)(value, place))
    if isinstance(value, dict):
        return _mapping_reader(deeper)(value, place)
    return _PLAIN_SCALAR(value, place)


def _inside(place: str, name: str) -> str:
    shown_name = (
        name if name.isidentifier() and len(name) <= _SHOWN_CHARACTERS else f"[{shown(name)}]"
    )
    return f"{place}.{shown_name}" if place else shown_name


_SCALARS: dict[Any, Reader] = {
    str: _text,
    bool: _truth,
    int: _whole,
    float: _number,
    type(None): _nothing,
    Any: _plain,
}
_PLAIN_SCALAR = _union_reader((bool, int, float, type(None), str))
