"""What is compared: methods, data sets and seeds, and the settings of each cell.

A method is a set of settings of a run; a data set is a table with its target and whatever else
belongs to the table. A cell is one method on one data set with one seed. The seed decides which
rows are test rows, so that all methods of a seed are judged on the same rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from automl.errors import SettingsError
from automl.problem_names import name_problem
from automl.settings import Settings, resolve_settings

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
"""Settings that belong to a table and not to a method."""
CELL_SETTINGS = ("seed", "test_share", "name", "challenge")
"""Settings that a comparison sets itself."""


@dataclass(frozen=True)
class Cell:
    """One method on one data set with one seed."""

    method: str
    data_set: str
    seed: int

    def __str__(self) -> str:
        return f"{self.method} on {self.data_set}, seed {self.seed}"


@dataclass(frozen=True)
class ComparisonPlan:
    """Methods, data sets and seeds of a comparison.

    Parameters
    ----------
    methods
        Settings by name of the method.
    data_sets
        Settings by name of the data set, among `DATA_SETTINGS`.
    n_seeds : >= 1
        The seeds are 0, 1, ...
    test_share : in (0, 0.9)
        Share of the rows that are test rows, where a data set has no test table of its own.
    metric
        By which test rows are judged: as the setting of that name.
    digests
        Of the content of each table, where it is known.
    """

    methods: Mapping[str, Mapping[str, Any]]
    data_sets: Mapping[str, Mapping[str, Any]]
    n_seeds: int = 1
    test_share: float = 0.3
    metric: str | Mapping[str, float] = "index"
    digests: Mapping[str, str] = field(default_factory=dict)

    def cells(self) -> Iterator[Cell]:
        """Every cell: seed by seed and data set by data set, so that methods come abreast."""
        for seed in range(self.n_seeds):
            for data_set in self.data_sets:
                for method in self.methods:
                    yield Cell(method, data_set, seed)

    def settings(self, cell: Cell) -> Settings:
        """Settings of the run of a cell; the environment plays no part.

        Raises
        ------
        SettingsError
            If a value is not usable; names the method.
        """
        data = self.data_sets[cell.data_set]
        given = {**self.methods[cell.method], **data, "seed": cell.seed}
        if "test" not in data:
            given["test_share"] = self.test_share
        try:
            return resolve_settings(given, environment={})
        except SettingsError as error:
            raise SettingsError(f"method {cell.method}: {error.message}", **error.fields) from None

    def to_json(self) -> dict[str, Any]:
        """Plain JSON form."""
        return {
            "methods": {name: dict(settings) for name, settings in self.methods.items()},
            "data_sets": {name: dict(settings) for name, settings in self.data_sets.items()},
            "n_seeds": self.n_seeds,
            "test_share": self.test_share,
            "metric": self.metric if isinstance(self.metric, str) else dict(self.metric),
            "digests": dict(self.digests),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Inverse of `to_json`."""
        return cls(**data)

    def joined(self, later: ComparisonPlan, where: str) -> ComparisonPlan:
        """The plan with what a later one adds: methods, data sets, seeds.

        Parameters
        ----------
        where
            Folder of the comparison, for messages.

        Raises
        ------
        SettingsError
            If the later plan gives a known name another meaning.
        """
        for name in ("test_share", "metric"):
            _refuse_change(name, getattr(self, name), getattr(later, name), where)
        for kind, mine, theirs in (
            ("method", self.methods, later.methods),
            ("data set", self.data_sets, later.data_sets),
            ("table of data set", self.digests, later.digests),
        ):
            for name in set(mine) & set(theirs):
                _refuse_change(f"{kind} {name}", mine[name], theirs[name], where)
        return ComparisonPlan(
            {**self.methods, **later.methods},
            {**self.data_sets, **later.data_sets},
            max(self.n_seeds, later.n_seeds),
            self.test_share,
            self.metric,
            {**self.digests, **later.digests},
        )


def _refuse_change(what: str, known: Any, given: Any, where: str) -> None:
    if known != given:
        raise SettingsError(
            f"{what} is another one than in {where}: {_shown(known)} there, {_shown(given)} now; "
            "compare under another name, or in another folder"
        )


def _shown(value: Any) -> str:
    text = str(dict(value) if isinstance(value, Mapping) else value)
    return text if len(text) <= 200 else f"{text[:197]}..."


def read_methods(path: Path) -> tuple[dict[str, dict[str, Any]], str | dict[str, float]]:
    """Methods of a YAML or JSON file, and the metric by which they are judged.

    The file has the key `methods`, with the settings of each method by its name, and may have the
    key `common`, with settings of all methods. The metric is that of `common`; a method with a
    metric of its own optimizes that one and is judged by the common one.

    Raises
    ------
    SettingsError
        If the file cannot be read, or holds anything else.
    """
    content = _read_yaml(path, "methods file")
    if not isinstance(content, dict) or not set(content) <= {"methods", "common"}:
        raise SettingsError(
            f"methods file {path} must have the key methods, and may have the key common; "
            f"got {_keys(content)}"
        )
    common, methods = content.get("common") or {}, content.get("methods")
    if not isinstance(methods, dict) or not methods:
        raise SettingsError(
            f"methods file {path}: methods must hold the settings of each method by its name"
        )
    _check_settings(common, f"methods file {path}: common")
    found = {}
    for name, own in methods.items():
        _check_name(str(name), "method")
        _check_settings(own or {}, f"methods file {path}: method {name}")
        found[str(name)] = {**common, **(own or {})}
    return found, common.get("metric", "index")


def _check_name(name: str, kind: str) -> None:
    if problem := name_problem(name):
        raise SettingsError(f"{kind} {name!r}: {problem}")


def _check_settings(settings: Any, where: str) -> None:
    if not isinstance(settings, dict):
        raise SettingsError(f"{where} must hold settings and their values; got {settings!r}")
    for key in settings:
        if key in DATA_SETTINGS:
            raise SettingsError(
                f"{where}: {key} belongs to a data set; write it into a list of them"
            )
        if key in CELL_SETTINGS:
            raise SettingsError(f"{where}: {key} is set by the comparison and cannot be given")


def _read_yaml(path: Path, kind: str) -> Any:
    from automl.spaces.yaml_loader import parse_yaml  # slow

    try:
        return parse_yaml(path.read_text(encoding="utf-8"), f"{kind} {path}")
    except FileNotFoundError:
        raise SettingsError(f"{kind} {path} does not exist") from None
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{kind} {path} cannot be read: {error}") from None


def _keys(content: Any) -> str:
    if isinstance(content, dict):
        return ", ".join(map(str, content)) or "no keys"
    return type(content).__name__


def find_data_sets(sources: list[str], *, target: str | None = None) -> dict[str, dict[str, Any]]:
    """Data sets by name from what a command was given.

    Parameters
    ----------
    sources
        Files, URIs, ``sklearn:NAME``, ``openml:NAME``; folders, of which every table is taken; and
        lists, which are YAML files with one entry for each table: its source, or its settings
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
    found: dict[str, dict[str, Any]] = {}
    for source in sources:
        for name, settings in _tables(source):
            if target is not None:
                settings.setdefault("target", target)
            if name in found:
                raise SettingsError(
                    f"two data sets are called {name}: {found[name]['table']} and "
                    f"{settings['table']}; give one of them another name in a list of data sets"
                )
            found[name] = settings
    if not found:
        raise SettingsError(
            "no data set is given: files, folders, lists, sklearn:NAME or openml:NAME"
        )
    return found


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
    from automl.data.readers import EXTENSIONS

    files = sorted(
        file
        for file in folder.iterdir()
        if file.is_file() and file.name.removesuffix(".gz").endswith(EXTENSIONS)
    )
    if not files:
        raise SettingsError(f"folder {folder} holds no table: no {', '.join(EXTENSIONS)}")
    for file in files:
        yield _name_of(str(file)), {"table": str(file.resolve())}


def _tables_of_list(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    entries = _read_yaml(path, "list of data sets")
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
        _check_name(name, "data set")
        yield name, own


def _absolute(source: str, folder: Path) -> str:
    path = folder / Path(source).expanduser()
    if ":" in source and not path.exists():
        return source
    return str(path.resolve())


def _name_of(source: str) -> str:
    """Stem of a file, name in a collection."""
    from automl.problem_names import clean_name

    stem = source.rstrip("/").replace("\\", "/").rsplit("/", 1)[-1].rsplit(":", 1)[-1]
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
