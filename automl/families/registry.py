"""The families that exist: one text file each in `definitions/`, in installed packages, in folders of the user's own."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from automl.errors import SettingsError
from automl.extensions import Extension, extensions
from automl.families.family import Family, kind_of
from automl.records import Task

DEFINITIONS = Path(__file__).parent / "definitions"
GROUP = "automl.families"
"""Entry points that name packages of family files."""

_own: dict[str, Family] = {}


def families(
    task: Task | str | None = None, *, include_extras: bool = True, include_floors: bool = True
) -> dict[str, Family]:
    """Families by name, in prior order.

    Parameters
    ----------
    task
        Only those with an estimator for this task or kind of target.
    include_extras
        Whether families with an optional dependency are listed, installed or not
        (`Family.unavailable` says which).
    include_floors
        Whether `constant` and `stump` are listed.
    """
    by_name = {**_shipped(), **families_of_packages(), **_own}
    return {
        name: family
        for name, family in sorted(by_name.items(), key=lambda item: (item[1].cost.order, item[0]))
        if (task is None or kind_of(task) in family.kinds)
        and (include_extras or not family.is_extra)
        and (include_floors or name not in WITHOUT_MODEL)
    }


CONSTANT = "constant"
"""Family of the floor that predicts the class frequencies, or the mean, for every row."""
WITHOUT_MODEL = (CONSTANT, "stump")
"""Families that a choice is measured against, and that no blend takes: they learn next to nothing."""


def get_family(name: str) -> Family:
    """One family by its name.

    Raises
    ------
    SettingsError
        If there is none; names the nearest one.
    """
    if name in _own:
        return _own[name]
    path = DEFINITIONS / f"{name}.yaml"
    if name in _names():
        return _load(path)
    added = families_of_packages()
    if name in added:
        return added[name]
    from automl.spaces.text import nearest

    raise SettingsError(f"there is no family {name!r}{nearest(name, {*_names(), *added, *_own})}")


def load_families(folder: str | Path) -> dict[str, Family]:
    """Read every ``*.yaml`` of a folder and add its families; equal names replace all others.

    Estimators may come from any importable module.

    Raises
    ------
    SettingsError
        If the folder does not exist, two files have one name, or a file is malformed; names the
        file, the key and the reason. Nothing is added then.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise SettingsError(f"the folder of families {folder} does not exist")
    read = _families_in(folder)
    _own.update(read)
    return read


@cache
def families_of_packages() -> dict[str, Family]:
    """Families that installed packages add, by name.

    Raises
    ------
    SettingsError
        If a package cannot be imported, holds no family file or a malformed one, or a name is
        taken; names the package.
    """
    added: dict[str, Family] = {}
    holders = dict.fromkeys(_names(), "automl")
    for extension in extensions(GROUP):
        for name, family in _families_of(extension).items():
            if name in holders:
                raise extension.refusal(f"the name {name!r} is already taken by {holders[name]}")
            added[name], holders[name] = family, extension.package
    return added


def is_from_outside(name: str) -> bool:
    """Whether a family came from an installed package or a folder of the user's own."""
    return name in _own or name not in _names()


def forget_families() -> None:
    """Drop what `load_families` added."""
    _own.clear()


def _families_of(extension: Extension) -> dict[str, Family]:
    folders = list(getattr(extension.value, "__path__", ()))
    try:
        pairs = [family for folder in folders for family in _families_in(Path(folder)).items()]
    except SettingsError as error:
        raise extension.refusal(error.message) from error
    if not pairs:
        raise extension.refusal("must be a package that holds family files, *.yaml; found none")
    return dict(pairs)


def _families_in(folder: Path) -> dict[str, Family]:
    by_name: dict[str, Family] = {}
    for path in sorted((*folder.glob("*.yaml"), *folder.glob("*.yml"))):
        family = _read(path)
        if family.name in by_name:
            other = by_name[family.name].text.path.name
            raise SettingsError(f"{path.name}: name: {family.name!r} is also the name in {other}")
        by_name[family.name] = family
    return by_name


def _read(path: Path) -> Family:
    from automl.spaces.yaml_loader import load_family_text

    return Family(load_family_text(path))


@cache
def _names() -> frozenset[str]:
    return frozenset(path.stem for path in DEFINITIONS.glob("*.yaml"))


_load = cache(_read)


@cache
def _shipped() -> dict[str, Family]:
    return {name: _load(DEFINITIONS / f"{name}.yaml") for name in sorted(_names())}
