"""Plan of a comparison: methods, data sets and seeds, and the settings of each cell.

A method is a set of settings of a run; a data set is a table with its target and whatever else
belongs to the table. A cell is one method on one data set with one seed. The seed decides which
rows are test rows, so that all methods of a seed are judged on the same rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from automl.addresses import public_address
from automl.data.collections import DATA_SETTINGS, check_name, read_yaml_file
from automl.errors import SettingsError
from automl.settings import Settings
from automl.settings.idle import idle_settings
from automl.settings.sources import flat_settings, resolve_settings

ADDRESSES = ("table", "test")
"""Settings of a data set that may hold a password or a token."""

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

    @property
    def beta(self) -> float:
        """Weight of recall in the F-beta that all methods are judged by: theirs, or 1 where they differ."""
        betas = {float(settings.get("beta", 1.0)) for settings in self.methods.values()}
        return betas.pop() if len(betas) == 1 else 1.0

    @property
    def public(self) -> ComparisonPlan:
        """The same without what may be a secret in the addresses of the tables."""
        return replace(self, data_sets={k: _public(v) for k, v in self.data_sets.items()})

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
            ("data set", self.public.data_sets, later.public.data_sets),
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


def _public(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of a data set or a method without what may be a secret in an address."""
    return {
        key: public_address(value) if key in ADDRESSES and isinstance(value, str) else value
        for key, value in settings.items()
    }


def _refuse_change(what: str, before: Any, given: Any, where: str) -> None:
    if before != given:
        raise SettingsError(
            f"{what} differs from that in {where}: {_shown(before)} there, {_shown(given)} now; "
            "use another name or another folder"
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
    content = read_yaml_file(path, "methods file")
    if not isinstance(content, dict) or not set(content) <= {"methods", "common"}:
        raise SettingsError(
            f"methods file {path} must have the key methods, and may have the key common; "
            f"got {_keys(content)}"
        )
    common, methods = content.get("common") or {}, content.get("methods")
    if not isinstance(methods, dict) or not methods:
        raise SettingsError(
            f"methods file {path}: methods must map the name of each method to its settings"
        )
    common = _settings_of(common, f"methods file {path}: common")
    by_name = {}
    for name, own in methods.items():
        check_name(str(name), "method")
        by_name[str(name)] = _method(
            common, _settings_of(own or {}, f"methods file {path}: method {name}")
        )
    return by_name, common.get("metric", "index")


def _method(common: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of a method: its own, and those of all that have an effect beside them."""
    given = {**common, **own}
    try:
        settings = resolve_settings(
            {"table": "t", "target": "y", **given}, environment={}, allows_idle=True
        )
        idle = idle_settings(settings)
    except SettingsError:  # said with the name of the method where its cells are checked
        return given
    return {name: value for name, value in given.items() if name in own or name not in idle}


def _settings_of(given: Any, where: str) -> dict[str, Any]:
    """Settings by name, in sections or not; those of others are refused."""
    if not isinstance(given, dict):
        raise SettingsError(f"{where} must hold settings and their values; got {given!r}")
    settings = flat_settings(given, where)
    for key in settings:
        if key in DATA_SETTINGS:
            raise SettingsError(
                f"{where}: {key} belongs to a data set; give it in a list of data sets"
            )
        if key in CELL_SETTINGS:
            raise SettingsError(f"{where}: the comparison sets {key} itself; leave it out")
    return settings


def _keys(content: Any) -> str:
    if isinstance(content, dict):
        return ", ".join(map(str, content)) or "no keys"
    return type(content).__name__
