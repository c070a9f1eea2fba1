"""The list of all settings as text, for ``docs/settings.md``.

``python -m automl.settings.reference docs/settings.md`` writes it anew between its two marks.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from automl.generated_lists import renew_page
from automl.settings.all_settings import SECTIONS, Settings
from automl.settings.fields import DEFAULT_PRESET, Section, Setting, account_of
from automl.settings.presets import PRESETS, usual_value

_HEAD = "| setting | option | values | default | what it does |\n|---|---|---|---|---|"
_KINDS = {str: "text", int: "whole number", float: "number", bool: "true, false"}
_BOUNDS = {"ge": "≥ {}", "gt": "> {}", "le": "≤ {}", "lt": "< {}"}


def section_tables() -> str:
    """A Markdown table for each section."""
    return "\n\n".join(_table(name, section) for name, section in SECTIONS.items()) + "\n"


def _table(name: str, section: type[Section]) -> str:
    rows = [_row(field, account_of(info)) for field, info in section.model_fields.items()]
    return "\n".join([f"## {section.title}: `{name}`", "", _HEAD, *rows])


def _row(name: str, account: Setting) -> str:
    cells = (
        f"`{name}`",
        _option(name, account),
        _values(name, account),
        default_text(name, account),
        _words(account),
    )
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _option(name: str, account: Setting) -> str:
    option = account.option
    return "" if option is None else f"`{f'{option.flag_of(name)} {option.metavar}'.rstrip()}`"


def _values(name: str, account: Setting) -> str:
    """Allowed values: names, words, or a number with its bounds and unit."""
    if account.names is not None:
        return _names(account)
    info = Settings.model_fields[name]
    bounds = [
        pattern.format(value_text(getattr(bound, key)))
        for bound in info.metadata
        for key, pattern in _BOUNDS.items()
        if getattr(bound, key, None) not in (None, float("inf"))
    ]
    parts = [*_kinds(info.annotation), *bounds, *([account.unit] if account.unit else [])]
    return ", ".join(parts)


def _names(account: Setting) -> str:
    """Where the names are listed, or the names."""
    if account.names is None or account.names.command:
        return f"a name of `{account.names.command}`" if account.names else ""
    return ", ".join(f"`{name}`" for name in account.names.known())


def _kinds(annotation: Any) -> Iterator[str]:
    if get_origin(annotation) in (Union, UnionType):
        for part in get_args(annotation):
            yield from _kinds(part)
    elif get_origin(annotation) is Literal:
        yield from (f"`{word}`" for word in get_args(annotation))
    elif annotation in _KINDS:
        yield _KINDS[annotation]
    elif get_origin(annotation) is dict:
        yield "values by name"
    elif annotation is not NoneType:
        yield "list"


def default_text(name: str, account: Setting) -> str:
    """The default of a setting, and the values of presets."""
    if Settings.model_fields[name].is_required():
        return "must be given"
    usual = usual_value(DEFAULT_PRESET, name)
    others: dict[str, list[str]] = {}
    for preset in PRESETS:
        if (value := usual_value(preset, name)) != usual:
            others.setdefault(value_text(value), []).append(f"`{preset}`")
    own = account.usual or value_text(usual)
    return "; ".join([own, *(f"{', '.join(names)}: {value}" for value, names in others.items())])


def value_text(value: Any) -> str:
    """A value as a settings file writes it."""
    if value in (None, "", (), {}):
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        given = {key: inner for key, inner in value.items() if inner not in (None, "", (), [], {})}
        return ", ".join(f"{key} {value_text(inner)}" for key, inner in given.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,g}" if isinstance(value, float) else str(value)


def _words(account: Setting) -> str:
    idle = "; *or where* ".join(condition.reason for condition in account.idle)
    return f"{account.description}." + (f" *No effect where* {idle}." if idle else "")


if __name__ == "__main__":
    renew_page(section_tables)
