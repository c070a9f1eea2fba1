"""Plain-text forms of distributions: a YAML mapping and one line.

>>> from automl.spaces.distributions import LogUniform
>>> to_text(LogUniform(0.001, 1000))
'loguniform(low=0.001, high=1000)'
>>> to_mapping(LogUniform(0.001, 1000))
{'type': 'loguniform', 'low': 0.001, 'high': 1000}

Both forms come back equal through `from_text` and `from_mapping`.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields
from typing import Any

from automl.errors import SettingsError
from automl.lookup import did_you_mean
from automl.spaces.distributions import (
    NUMERICAL_TYPES,
    Categorical,
    Distribution,
    parameter_names,
)

_TYPES: dict[str, type[Any]] = {"categorical": Categorical, **NUMERICAL_TYPES}
_LISTS = {"weights", "means", "sds"}
_FLAGS = {"integer", "log"}
_WORDS = {"true": True, "false": False, "null": None, "inf": math.inf}


def nearest(name: object, known: Iterable[str]) -> str:
    """``; did you mean 'x'?`` for the closest known name, or the list of them."""
    names = sorted(known)
    return did_you_mean(name, names, f"; known: {', '.join(names) or 'none'}")


def to_mapping(distribution: Distribution) -> dict[str, Any]:
    """Plain mapping with ``type`` first; parameters at their defaults are left out."""
    mapping: dict[str, Any] = {"type": distribution.text_name}
    for entry in fields(distribution):
        value = getattr(distribution, entry.name)
        if entry.default is not MISSING and value == entry.default:
            continue
        mapping[entry.name] = _plain(value)
    if isinstance(distribution, Categorical) and set(distribution.weights) == {1.0}:
        del mapping["weights"]
    return mapping


def from_mapping(mapping: Mapping[str, Any]) -> Distribution:
    """Inverse of `to_mapping`; numbers may be written as strings (``"1e-5"``).

    Raises
    ------
    SettingsError
        With the field `key`: the parameter that is unknown, missing or wrong.
    """
    name = mapping.get("type")
    kind = _TYPES.get(name) if isinstance(name, str) else None
    if kind is None:
        raise SettingsError(
            f"must be a distribution; got {name!r}{nearest(name, _TYPES)}", key="type"
        )
    given = {key: value for key, value in mapping.items() if key != "type"}
    names = parameter_names(kind)
    for key in given:
        if key not in names:
            raise SettingsError(f"is no parameter of {name}{nearest(key, names)}", key=key)
    for entry in fields(kind):
        if entry.default is MISSING and entry.name not in given:
            raise SettingsError(f"is missing: {name} needs {', '.join(names)}", key=entry.name)
    if kind is Categorical:
        return _categorical(given)
    distribution: Distribution = kind(
        **{key: _parameter(key, value) for key, value in given.items()}
    )
    return distribution


def to_text(distribution: Distribution) -> str:
    """One line such as ``normal(mean=0.5, sd=0.1, low=0, high=1)``."""
    mapping = to_mapping(distribution)
    name = mapping.pop("type")
    return f"{name}({', '.join(f'{key}={_literal(value)}' for key, value in mapping.items())})"


def from_text(text: str) -> Distribution:
    """Inverse of `to_text`; ``true``, ``false``, ``null`` and ``inf`` may be written plainly.

    Raises
    ------
    SettingsError
        If the line is not of the form ``name(key=value, ...)`` or a parameter is wrong.
    """
    message = f"must be of the form loguniform(low=0.001, high=1000); got {text!r}"
    try:
        call = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise SettingsError(message) from None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.args:
        raise SettingsError(message)
    mapping: dict[str, Any] = {"type": call.func.id}
    for keyword in call.keywords:
        if keyword.arg is None:
            raise SettingsError(message)
        try:
            mapping[keyword.arg] = _read_literal(keyword.value)
        except ValueError:
            shown = ast.unparse(keyword.value)
            raise SettingsError(f"must be plain text; got {shown}", key=keyword.arg) from None
    return from_mapping(mapping)


def number(value: Any) -> float | None:
    """`value` as a float if it is a number or a string that reads as one, else None.

    Booleans are no numbers. A string is taken as a number where only a number is allowed, so that
    quoted numbers mean what they say.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        parsed = float(value)
    except (ValueError, OverflowError):
        return None
    return None if math.isnan(parsed) else parsed


def _categorical(given: Mapping[str, Any]) -> Categorical:
    values = given["values"]
    if not isinstance(values, list | tuple):
        raise SettingsError(f"must be a list; got {values!r}", key="values")
    for value in values:
        if not (value is None or isinstance(value, bool | int | float | str)):
            raise SettingsError(f"must hold plain values; got {value!r}", key="values")
    return Categorical(tuple(values), tuple(_parameter("weights", given.get("weights", ()))))


def _parameter(key: str, value: Any) -> Any:
    if key in _FLAGS:
        if not isinstance(value, bool):
            raise SettingsError(f"must be true or false; got {value!r}", key=key)
        return value
    if key in _LISTS:
        numbers = [number(item) for item in value] if isinstance(value, list | tuple) else [None]
        if None in numbers:
            raise SettingsError(f"must be a list of numbers; got {value!r}", key=key)
        return tuple(numbers)
    parsed = number(value)
    if parsed is None:
        raise SettingsError(f"must be a number; got {value!r}", key=key)
    return parsed


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return int(value)
    return value


def _literal(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(_literal(item) for item in value)}]"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return repr(value)


def _read_literal(node: ast.expr) -> Any:
    if isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float | str | None):
        return node.value
    if isinstance(node, ast.Name) and node.id in _WORDS:
        return _WORDS[node.id]
    if isinstance(node, ast.List | ast.Tuple):
        return [_read_literal(item) for item in node.elts]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        operand = _read_literal(node.operand)
        if isinstance(operand, int | float):
            return -operand
    raise ValueError(ast.unparse(node))
