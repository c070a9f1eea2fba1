"""Many tables at once: files, folders, catalogs, lists, and what belongs to each table."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from automl.addresses import public_address
from automl.errors import SettingsError, reason_of
from automl.problem_names import name_problem

DATA_SETTINGS = (
    "table",
    "target",
    "task",
    "test",
    "groups",
    "time",
    "weights",
    "positive",
    "roles",
    "cost_matrix",
)
"""Settings that belong to a table and not to how it is searched."""
CATALOG, SCHEMA = "catalog.csv", "schema.json"
ROLES = {"numeric": "numeric", "nominal": "nominal", "datetime": "date", "date": "date"}
"""Roles of columns by the kinds that a schema file knows; of texts and ids the reader judges itself."""


def find_data_sets(sources: list[str], *, target: str | None = None) -> dict[str, dict[str, Any]]:
    """Data sets by name from what a command was given.

    Parameters
    ----------
    sources
        Files, URIs, ``sklearn:NAME``, ``openml:NAME``; folders, of which every table is taken, or
        those of its ``catalog.csv`` (see `_tables_of_catalog`); and lists, which are YAML files with one entry for each table: its source, or its settings
        among `DATA_SETTINGS` and `name`. Paths in a list are relative to the list.
    target
        Column to predict in tables for which no list says it; None: see `target_of`.

    Raises
    ------
    SettingsError
        If there is no table, an entry is not understood, or two tables have one name.
    DataError
        If a file does not exist.
    """
    data_sets: dict[str, dict[str, Any]] = {}
    for source in sources:
        for name, settings in _tables(source):
            if target is not None:
                settings.setdefault("target", target)
            if name in data_sets:
                first, second = (
                    public_address(str(x["table"])) for x in (data_sets[name], settings)
                )
                raise SettingsError(
                    f"two data sets are called {name}: {first} and {second}; give one of them another name in a list of data sets"
                )
            data_sets[name] = settings
    if not data_sets:
        raise SettingsError(
            "no data set is given: files, folders, lists, sklearn:NAME or openml:NAME"
        )
    return data_sets


def _tables(source: str) -> Iterator[tuple[str, dict[str, Any]]]:
    path = Path(source).expanduser()
    if path.is_dir():
        yield from _tables_of_folder(path)
    elif path.suffix in {".yaml", ".yml"}:
        yield from _tables_of_list(path)
    else:
        table = _absolute(source, Path.cwd())
        yield _name_of(table), {"table": table}


def _tables_of_folder(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    from automl.data.readers import FOLDER_EXTENSIONS

    if (folder / CATALOG).is_file():
        yield from _tables_of_catalog(folder)
        return
    files = sorted(
        file
        for file in folder.iterdir()
        if file.is_file() and file.name.removesuffix(".gz").endswith(FOLDER_EXTENSIONS)
    )
    if not files:
        raise SettingsError(f"folder {folder} holds no table: no {', '.join(FOLDER_EXTENSIONS)}")
    for file in files:
        yield _name_of(str(file)), {"table": str(file.resolve())}


def _tables_of_catalog(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Tables of a folder that says itself what it holds.

    ``catalog.csv`` has the column ``file``, and may have ``name``, ``target`` and ``task``; of what
    else it has nothing is read. ``schema.json``, where there is one, holds for some names the kinds
    of the columns: ``{"NAME": {"columns": {"COLUMN": "nominal"}}}``.
    """
    path = folder / CATALOG
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise SettingsError(f"{path} cannot be read: {reason_of(error)}") from None
    if not lines or "file" not in lines[0]:
        raise SettingsError(f"{path} must have a column called file, with a line for each table")
    kinds = _kinds_of_columns(folder / SCHEMA)
    for number, line in enumerate(lines, start=2):
        if not line["file"]:
            raise SettingsError(f"{path}, line {number}: there is no file")
        table = folder / line["file"]
        name = line.get("name") or _name_of(str(table))
        check_name(name, f"{path}, line {number}: data set")
        settings: dict[str, Any] = {"table": str(table.resolve())}
        settings |= {key: line[key] for key in ("target", "task") if line.get(key)}
        if name in kinds:
            roles = {c: role for c, role in kinds[name].items() if c != settings.get("target")}
            settings["roles"] = roles
        yield name, settings


def _kinds_of_columns(path: Path) -> dict[str, dict[str, str]]:
    """Roles that a schema file states, by data set and column; kinds that are no role are left out."""
    if not path.is_file():
        return {}
    content = read_yaml_file(path, "schema")
    try:
        return {
            name: {
                column: ROLES[kind] for column, kind in entry["columns"].items() if kind in ROLES
            }
            for name, entry in content.items()
        }
    except (AttributeError, KeyError, TypeError):
        raise SettingsError(
            f"schema {path} must hold columns and their kinds for each data set"
        ) from None


def _tables_of_list(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    entries = read_yaml_file(path, "list of data sets")
    if not isinstance(entries, list) or not entries:
        raise SettingsError(f"list of data sets {path} must be a list with an entry for each table")
    for number, entry in enumerate(entries, start=1):
        settings = {"table": entry} if isinstance(entry, str) else entry
        where = f"list of data sets {path}, entry {number}"
        if not isinstance(settings, dict) or not isinstance(settings.get("table"), str):
            raise SettingsError(f"{where}: a source, or settings with the key table are expected")
        if unknown := set(settings) - {*DATA_SETTINGS, "name"}:
            raise SettingsError(
                f"{where}: {min(map(str, unknown))} is no setting of a data set; use name, "
                f"{', '.join(DATA_SETTINGS)}"
            )
        own = dict(settings)
        for key in ("table", "test"):
            if key in own:
                own[key] = _absolute(str(own[key]), path.parent)
        name = str(own.pop("name", "") or _name_of(own["table"]))
        check_name(name, "data set")
        yield name, own


def _absolute(source: str, folder: Path) -> str:
    path = folder / Path(source).expanduser()
    if ":" in source and not path.exists():
        return source
    return str(path.resolve())


def _name_of(source: str) -> str:
    """Stem of a file, name in a collection."""
    from automl.problem_names import clean_name

    stem = (
        public_address(source).rstrip("/").replace("\\", "/").rsplit("/", 1)[-1].rsplit(":", 1)[-1]
    )
    return clean_name(stem.split(".")[0])


def target_of(columns: list[str], source: str) -> str:
    """Column to predict where none is named: the one called ``target``, else the last one.

    Raises
    ------
    SettingsError
        If there are no columns.
    """
    if not columns:
        raise SettingsError(f"{source} has no columns")
    return "target" if "target" in columns else columns[-1]


def check_name(name: str, kind: str) -> None:
    """Refuse a name that cannot be that of a file.

    Raises
    ------
    SettingsError
        With the kind of thing that is named.
    """
    if problem := name_problem(name):
        raise SettingsError(f"{kind} {name!r}: {problem}")


def read_yaml_file(path: Path, kind: str) -> Any:
    """Content of a YAML or JSON file.

    Parameters
    ----------
    kind
        What messages call the file.

    Raises
    ------
    SettingsError
        If it does not exist, or cannot be read.
    """
    from automl.spaces.yaml_loader import parse_yaml  # slow

    try:
        return parse_yaml(path.read_text(encoding="utf-8"), f"{kind} {path}")
    except FileNotFoundError:
        raise SettingsError(f"{kind} {path} does not exist") from None
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{kind} {path} cannot be read: {reason_of(error)}") from None
