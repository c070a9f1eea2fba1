"""Named entries: the one of a name, or an error that proposes the nearest."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import TypeVar

from automl.errors import SettingsError

Entry = TypeVar("Entry")


def entry_of(
    entries: Mapping[str, Entry], name: str, setting: str, *, also: Sequence[str] = ()
) -> Entry:
    """Entry of a registry.

    Parameters
    ----------
    setting
        What the name is given for, such as `optimizer`.
    also
        Other names that the setting takes, for the error.

    Raises
    ------
    SettingsError
        If there is none of this name; lists all and proposes the nearest one.
    """
    if name in entries:
        return entries[name]
    names = [*also, *entries]
    near = difflib.get_close_matches(name, names, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise SettingsError(
        f"{setting} must be one of {', '.join(names)}; got {name!r}{hint}", setting=setting
    )
