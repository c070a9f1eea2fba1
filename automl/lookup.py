"""Named entries: the one of a name, or an error that proposes the nearest."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import TypeVar

from automl.errors import SettingsError

Entry = TypeVar("Entry")


def entry_of(entries: Mapping[str, Entry], name: str, setting: str) -> Entry:
    """Entry of a registry.

    Parameters
    ----------
    setting
        What the name is given for, such as `optimizer`.

    Raises
    ------
    SettingsError
        If there is none of this name; lists all and proposes the nearest one.
    """
    if name in entries:
        return entries[name]
    near = difflib.get_close_matches(name, entries, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise SettingsError(
        f"{setting} must be one of {', '.join(entries)}; got {name!r}{hint}", setting=setting
    )
