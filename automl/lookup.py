"""Names that somebody gives: the entry of a name, or a hint at the nearest known one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from automl.errors import SettingsError

Entry = TypeVar("Entry")
CUTOFF = 0.6
"""Least likeness, in [0, 1], of a name that is proposed."""


def nearest_names(
    name: object, known: Iterable[object], *, most: int = 1, cutoff: float = CUTOFF
) -> list[str]:
    """Known names that are most like a name, the nearest first; one that differs by case alone counts.

    Parameters
    ----------
    most : positive
        How many at most.
    cutoff : in [0, 1]
        Least likeness, as of `difflib.SequenceMatcher.ratio`.
    """
    names = [str(one) for one in known]
    close = difflib.get_close_matches(str(name), names, n=most, cutoff=cutoff)
    folded = str(name).casefold()
    return close or [one for one in names if one.casefold() == folded][:most]


def did_you_mean(name: object, known: Iterable[object], otherwise: str = "") -> str:
    """``; did you mean 'x'?`` for the known name most like `name`, to end a sentence with.

    Parameters
    ----------
    otherwise
        What is said where none is near.
    """
    near = nearest_names(name, known)
    return f"; did you mean {near[0]!r}?" if near else otherwise


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
    raise SettingsError(
        f"{setting} must be one of {', '.join(names)}; got {name!r}{did_you_mean(name, names)}",
        setting=setting,
    )
