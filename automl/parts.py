"""Parts of a composition: named kinds of objects with options, as a user writes them in settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Generic, TypeVar

from automl.errors import SettingsError
from automl.lookup import entry_of

T_co = TypeVar("T_co", covariant=True)
Option = bool | int | float | str


@dataclass(frozen=True)
class Kind(Generic[T_co]):
    """A named kind of part.

    Parameters
    ----------
    make
        A dataclass; its fields with defaults are the options.
    summary, source
        A line about it, and the document it comes from.
    options
        Options that differ from the dataclass's own defaults.
    """

    make: Callable[..., T_co]
    summary: str
    source: str
    options: Mapping[str, Option] = field(default_factory=dict)

    def defaults(self) -> dict[str, Option]:
        """Every option and its default."""
        own: Any = self.make
        values: dict[str, Any] = {entry.name: entry.default for entry in fields(own) if entry.init}
        return {**values, **self.options}


@dataclass(frozen=True)
class Part:
    """The name of a kind and the options that are given."""

    name: str
    options: tuple[tuple[str, Option], ...] = ()

    @classmethod
    def parse(cls, given: Any, setting: str) -> Part:
        """Part from a name, or from a mapping with the key `name` and options.

        Raises
        ------
        SettingsError
            If it is neither.
        """
        if isinstance(given, str):
            return cls(given)
        if not isinstance(given, Mapping) or not isinstance(given.get("name"), str):
            raise SettingsError(
                f"{setting} must be a name, or a mapping with `name` and options; got {given!r}",
                setting=setting,
            )
        return cls(given["name"], tuple((str(k), v) for k, v in given.items() if k != "name"))


def build(kinds: Mapping[str, Kind[T_co]], part: Part, setting: str) -> T_co:
    """New object of a part.

    Raises
    ------
    SettingsError
        If the name or an option is unknown (the nearest one is proposed), or an option's value is
        not of its type or out of range.
    """
    kind = entry_of(kinds, part.name, setting)
    defaults = kind.defaults()
    options = dict(kind.options)
    for name, value in part.options:
        where = f"{setting} {part.name}"
        entry_of(defaults, name, f"an option of {where}")
        options[name] = _of_type(value, defaults[name], f"{where}: {name}")
    return kind.make(**options)


def _of_type(value: Any, default: Option, where: str) -> Option:
    """`value`, if it has the type of the default; whole numbers are numbers as well."""
    wanted = type(default)
    if wanted is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if type(value) is not wanted:
        kind = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}
        raise SettingsError(f"{where} must be {kind[wanted]}; got {value!r}", setting=where)
    option: Option = value
    return option
