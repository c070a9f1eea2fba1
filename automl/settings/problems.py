"""Problems of given settings, in sentences: the setting, where it was given, why, and the value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from automl.errors import SettingsError

_UNION_PARTS = ("str", "dict[str,float]")
_WORDS = {
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "finite_number": "must be a finite number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "string_type": "must be a text",
    "string_too_short": "must not be empty",
    "list_type": "must be a list",
    "tuple_type": "must be a list",
    "dict_type": "must hold names and values",
}
"""Sentences for kinds of error whose own words are about Python."""


def subject_of(name: str, called: Mapping[str, str]) -> str:
    """``option --budget`` where the caller writes a setting so, else ``setting budget_seconds``."""
    return f"option {called[name]}" if name in called else f"setting {name}"


def error_of(
    error: ValidationError,
    *,
    of: str = "",
    places: Mapping[str, str],
    called: Mapping[str, str] | None = None,
) -> SettingsError:
    """Every problem that was found, as one error.

    Parameters
    ----------
    of
        Whose settings they are, such as ``run 20260101-000000-aaaa``.
    places
        Where a setting was given, such as ``AUTOML_SEED``, by its name.
    called
        What the caller calls a setting, such as ``--budget``, by its name.
    """
    nearest = list(_nearest(error))
    sentences = [_sentence(details, of, places, called or {}) for details in nearest]
    setting = _name(nearest[0]) or "settings"
    if len(sentences) > 1:
        text = f"{len(sentences)} settings cannot be used: {'; '.join(sentences)}"
        return SettingsError(text, setting=setting)
    return SettingsError(sentences[0], setting=setting)


def _nearest(error: ValidationError) -> Iterator[ErrorDetails]:
    """One error of each setting; where it may be one of several types, that of the nearest type."""
    for _, details in groupby(error.errors(), key=lambda details: details["loc"][:1]):
        yield max(details, key=lambda each: len(each["loc"]))


def _name(details: ErrorDetails) -> str:
    return ".".join(str(part) for part in details["loc"] if part not in _UNION_PARTS)


def _sentence(
    details: ErrorDetails, of: str, places: Mapping[str, str], called: Mapping[str, str]
) -> str:
    if not (name := _name(details)):
        return f"{of}: {reason_of(details)}" if of else reason_of(details)
    place = places.get(str(details["loc"][0]), "")
    subject = (
        subject_of(name, called) + (f" ({place})" if place else "") + (f" of {of}" if of else "")
    )
    if details["type"] == "missing":
        return f"{subject} is missing"
    return f"{subject}: {requirement_of(details)}"


def requirement_of(details: ErrorDetails) -> str:
    """The requirement for a value, and what was found."""
    return f"{reason_of(details)}{_value(details['type'], details['input'])}"


def reason_of(details: ErrorDetails) -> str:
    """The requirement for a value, in words that follow its name."""
    words = details["msg"].removeprefix("Value error, ").replace("Input should be", "must be")
    words = words.replace("greater than or equal to", "at least").replace(
        "less than or equal to", "at most"
    )
    return _WORDS.get(details["type"], words)


def _value(kind: str, value: Any) -> str:
    if kind == "value_error":  # whose words have the value
        return ""
    hint = (
        ", write it in quotes" if kind == "string_type" and isinstance(value, int | float) else ""
    )
    return f"; got {value!r}{hint}"
