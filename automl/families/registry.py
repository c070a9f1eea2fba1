"""The families that exist: one text file each in `definitions/`, and folders of the user's own."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from automl.errors import SettingsError
from automl.families.family import Family, kind_of
from automl.records import Task

DEFINITIONS = Path(__file__).parent / "definitions"

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
    found = {**_shipped(), **_own}
    return {
        name: family
        for name, family in sorted(found.items(), key=lambda item: (item[1].cost.order, item[0]))
        if (task is None or kind_of(task) in family.kinds)
        and (include_extras or not family.is_extra)
        and (include_floors or name not in WITHOUT_MODEL)
    }


WITHOUT_MODEL = ("constant", "stump")
"""Families that a choice is measured against, and that no ensemble takes: they learn next to nothing."""


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
    from automl.spaces.text import nearest

    raise SettingsError(f"there is no family {name!r}{nearest(name, {*_names(), *_own})}")


def load_families(folder: str | Path) -> dict[str, Family]:
    """Read every ``*.yaml`` of a folder and add its families; equal names replace ours.

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
    found: dict[str, Family] = {}
    for path in sorted((*folder.glob("*.yaml"), *folder.glob("*.yml"))):
        family = _read(path)
        if family.name in found:
            other = found[family.name].text.path.name
            raise SettingsError(f"{path.name}: name: {family.name!r} is also the name in {other}")
        found[family.name] = family
    _own.update(found)
    return found


def is_from_outside(name: str) -> bool:
    """Whether a family came from a folder of the user's own."""
    return name in _own


def forget_families() -> None:
    """Drop what `load_families` added."""
    _own.clear()


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
