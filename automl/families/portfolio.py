"""A hand-ordered list of configurations that a run tries first (`portfolio.yaml`)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from automl.errors import SettingsError
from automl.families.family import kind_of
from automl.families.registry import get_family
from automl.records import Configuration, Task

if TYPE_CHECKING:
    from automl.spaces.grammar import Place

PORTFOLIO = Path(__file__).parent / "portfolio.yaml"

_KEYS = ("name", "family", "values", "min_rows", "max_rows", "min_columns", "max_columns", "wide")


def portfolio(
    task: Task | str, n_rows: int, n_columns: int, *, path: Path = PORTFOLIO
) -> list[Configuration]:
    """Configurations for a table of this size, best first, no two equal.

    Parameters
    ----------
    task
        Task or kind of target.
    n_rows : of the training part
    n_columns : before encoding
    path
        Text file; two lists of mappings with the keys `name`, `family`, `values` and limits.

    Raises
    ------
    SettingsError
        If an entry is malformed or not legal in its family's space.
    """
    chosen: dict[str, Configuration] = {}
    for place, entry in _entries(path, kind_of(task)):
        family = get_family(entry["family"])
        if not _fits(entry, n_rows, n_columns) or family.supports(task, n_rows, n_columns):
            continue
        configuration = _configuration(place, entry, task)
        chosen.setdefault(configuration.id, configuration)
    return list(chosen.values())


def whole_portfolio(task: Task | str, *, path: Path = PORTFOLIO) -> list[Configuration]:
    """Every entry for a task or kind of target, whatever tables it is meant for; no two equal.

    Raises
    ------
    SettingsError
        As `portfolio`.
    """
    configurations = (_configuration(*entry, task) for entry in _entries(path, kind_of(task)))
    return list({configuration.id: configuration for configuration in configurations}.values())


def _configuration(place: Place, entry: Mapping[str, Any], task: Task | str) -> Configuration:
    try:
        return get_family(entry["family"]).space(task).complete(entry.get("values") or {})
    except SettingsError as error:
        place.adopt(error)


@cache
def _entries(path: Path, kind: str) -> tuple[tuple[Place, Mapping[str, Any]], ...]:
    from automl.spaces.grammar import Place
    from automl.spaces.yaml_loader import read_yaml

    place = Place(path.name)
    lists = place.mapping(read_yaml(path), ("classification", "regression"))
    entries = []
    for number, body in enumerate(lists.get(kind) or ()):
        here = place.at(kind, number)
        entry = here.mapping(body, _KEYS)
        for key in ("name", "family"):
            if key not in entry:
                here.at(key).fail("is missing")
        entries.append((here, entry))
    return tuple(entries)


def _fits(entry: Mapping[str, Any], n_rows: int, n_columns: int) -> bool:
    """Whether a table is within an entry's limits; `wide` means more columns than rows."""
    if "wide" in entry and entry["wide"] != (n_columns > n_rows):
        return False
    return bool(
        entry.get("min_rows", 0) <= n_rows <= entry.get("max_rows", n_rows)
        and entry.get("min_columns", 0) <= n_columns <= entry.get("max_columns", n_columns)
    )
