"""Entries that installed packages add to registries, by their own entry points (``docs/extending.md``).

A registry asks for its group of entry points when the first of its entries is asked for; a process that asks for none
reads nothing. What a package gets wrong is one sentence that names the package, never an entry that is missing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from automl.errors import SettingsError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Entry = TypeVar("Entry")
PREFIX = "automl."
"""How the groups of entry points begin."""
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_LOADING: ContextVar[bool] = ContextVar("_LOADING", default=False)


@dataclass(frozen=True)
class Extension:
    """Content of one entry point of an installed package.

    Parameters
    ----------
    group
        Such as ``automl.optimizers``.
    name
        Of the entry point.
    package
        Name of the distribution.
    value
        The object that it refers to.
    """

    group: str
    name: str
    package: str
    value: Any

    def refusal(self, reason: str) -> SettingsError:
        """Error about the package, to be raised."""
        return SettingsError(
            f"package {self.package}: {self.group}: {self.name}: {reason}; "
            "fix the package, or uninstall it",
            package=self.package,
        )


@cache
def installed() -> tuple[EntryPoint, ...]:
    """Entry points for registries of all distributions on the path, by package and name; read once in a process."""
    from importlib.metadata import entry_points  # slow, only where a registry is read

    entries = entry_points()
    groups = [group for group in entries.groups if group.startswith(PREFIX)]
    points = [point for group in groups for point in entries.select(group=group)]
    return tuple(sorted(points, key=lambda point: (_package_of(point), point.name)))


def extensions(group: str) -> list[Extension]:
    """Entry points of a group with the objects that they refer to, by package and name.

    Raises
    ------
    SettingsError
        If an object cannot be imported; names the package.
    """
    return [_loaded(point) for point in installed() if point.group == group]


def _package_of(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else point.module


def _loaded(point: EntryPoint) -> Extension:
    extension = Extension(point.group, point.name, _package_of(point), None)
    try:
        value = point.load()
    except (Exception, SystemExit) as error:
        reason = f"{point.value} cannot be loaded: {type(error).__name__}: {error}"
        raise extension.refusal(reason) from error
    return Extension(point.group, point.name, extension.package, value)


def _no_others(_: object) -> tuple[str, ...]:
    return ()


class Registry(Mapping[str, Entry]):
    """Entries by name: ours, then those that installed packages add.

    Parameters
    ----------
    group
        Group of entry points; the name of an entry point is that of its entry.
    kind
        What every entry is.
    ours
        The entries that every installation has.
    reserved
        Further names that no entry may have.
    others
        Other names of an entry, which must be new as well.
    """

    def __init__(
        self,
        group: str,
        kind: type[Entry],
        ours: Mapping[str, Entry],
        *,
        reserved: Collection[str] = (),
        others: Callable[[Entry], Collection[str]] = _no_others,
    ) -> None:
        self._group, self._kind, self._ours = group, kind, dict(ours)
        self._reserved, self._others = reserved, others
        self._entries: dict[str, Entry] | None = None
        self._packages: dict[str, str] = {}

    @property
    def entries(self) -> dict[str, Entry]:
        """All entries; a package that is just being imported for its entries sees ours.

        Raises
        ------
        SettingsError
            If an entry of a package cannot be imported, is of another type, or has a name that is
            taken; names the package.
        """
        if self._entries is not None:
            return self._entries
        if _LOADING.get():
            return self._ours
        token = _LOADING.set(True)
        try:
            added = self._of_packages(extensions(self._group))
        finally:
            _LOADING.reset(token)
        self._entries = {**self._ours, **added}
        return self._entries

    @property
    def packages(self) -> Mapping[str, str]:
        """Package of each entry that an installed package adds; raises as `entries`."""
        return self._packages if self.entries else {}

    def __getitem__(self, name: str) -> Entry:
        return self.entries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def _of_packages(self, found: list[Extension]) -> dict[str, Entry]:
        added: dict[str, Entry] = {}
        holders = dict.fromkeys(self._reserved, "automl")
        for name, entry in self._ours.items():
            holders |= dict.fromkeys((name, *self._others(entry)), "automl")
        for extension in found:
            entry = self._checked(extension)
            if (
                self._ours.get(extension.name) is entry
            ):  # it registered itself while it was imported
                continue
            for name in (extension.name, *self._others(entry)):
                if name in holders:
                    raise extension.refusal(
                        f"the name {name!r} is already taken by {holders[name]}"
                    )
                holders[name] = extension.package
            added[extension.name] = entry
            self._packages[extension.name] = extension.package
        return added

    def _checked(self, extension: Extension) -> Entry:
        entry = extension.value
        if not isinstance(entry, self._kind):
            expected = f"{self._kind.__module__}.{self._kind.__qualname__}"
            raise extension.refusal(f"must be a {expected}; got a {type(entry).__qualname__}")
        own = getattr(entry, "name", extension.name)
        if own != extension.name:
            raise extension.refusal(f"must be called as its entry point is; got {own!r}")
        for name in (extension.name, *self._others(entry)):
            if not _NAME.fullmatch(name):
                raise extension.refusal(
                    f"the name {name!r} must be lower-case letters, digits and underscores"
                )
        return entry
