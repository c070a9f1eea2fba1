"""Which version holds which alias now; loads no mlflow where the registry can be asked without it.

Aliases move after a run has ended, by a later run, a rollback or somebody's hand, so that what a run
knows of its own version is out of date. The registry is asked, and its last answer is kept in
``home/aliases/NAME.json`` for the time when it is away. The record also remembers which versions
have been champions, which no registry does.
"""

from __future__ import annotations

import json
import os
import sqlite3
import urllib.error
import urllib.request
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import quote

from automl.addresses import basic, request_to
from automl.durable import write_whole
from automl.errors import AutoMLError, ServiceError
from automl.problem_names import clean_name
from automl.tracking.store import StoreAddress, open_store, service_errors, store_address

CHAMPION = "champion"
ASK_SECONDS = 3.0
"""For one answer; without it lists are shown all the same."""
_ASK_SQLITE = "SELECT alias, version FROM registered_model_aliases WHERE name = ?"
_TAGS_OF_SQLITE = "SELECT version, key, value FROM model_version_tags WHERE name = ?"
_ASK_SQLITE_VERSION = "SELECT 1 FROM model_versions WHERE name = ? AND version = ? AND current_stage != 'Deleted_Internal'"
_ASK_SERVER = "{}/api/2.0/mlflow/registered-models/get?name={}"
_ASK_SERVER_VERSION = "{}/api/2.0/mlflow/model-versions/get?name={}&version={}"


@dataclass(frozen=True)
class Holders:
    """Aliases of one registered model.

    Parameters
    ----------
    versions : version by alias
    champions : versions that are or were the champion, as far as this home knows
    is_current : whether the registry said so just now
    """

    versions: Mapping[str, str] = field(default_factory=dict)
    champions: tuple[str, ...] = ()
    is_current: bool = True

    @property
    def champion(self) -> str:
        """Version that holds the alias `champion`; empty if none does."""
        return self.versions.get(CHAMPION, "")

    def of(self, version: str) -> list[str]:
        """Aliases of a version, the champion's first."""
        held = [alias for alias, holder in self.versions.items() if holder == version]
        return sorted(held, key=lambda alias: (alias != CHAMPION, alias))

    def was_champion(self, version: str) -> bool:
        """Whether a version had the alias and has lost it."""
        return version in self.champions and version != self.champion


def holders(name: str, home: Path) -> Holders:
    """Holders of a model's aliases, from the registry, or else from the home's last record of it."""
    try:
        versions = _ask(clean_name(name), store_address(home))
    except (OSError, ValueError, KeyError, sqlite3.Error, AutoMLError):
        return _recorded(name, home)
    return remember_aliases(name, home, versions)


def has_version(name: str, version: str, home: Path) -> bool:
    """Whether the registry has a version now; False where it cannot be asked without mlflow."""
    address = store_address(home)
    registry = StoreAddress(address.registry_uri, address.home)
    try:
        if registry.sqlite_file is not None:
            return _has_row(registry.sqlite_file, clean_name(name), version)
        return registry.is_server and _server_has(registry.uri, clean_name(name), version)
    except (OSError, ValueError, sqlite3.Error):
        return False


class Registry:
    """Models of a home in the registry; asked once for each, and not if it cannot be reached."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._known: dict[str, Holders] = {}
        self._is_away = False

    def of(self, name: str) -> Holders:
        """Holders of a model's aliases."""
        if name not in self._known:
            holders_of_name = (
                _recorded(name, self._home) if self._is_away else holders(name, self._home)
            )
            self._is_away = self._is_away or not holders_of_name.is_current
            self._known[name] = holders_of_name
        return self._known[name]


def remember_aliases(name: str, home: Path, versions: Mapping[str, str]) -> Holders:
    """Keep what the registry says now; a home that cannot be written goes without."""
    recorded = _recorded(name, home)
    champion = versions.get(CHAMPION)
    champions = dict.fromkeys((*recorded.champions, *([champion] if champion else [])))
    remembered = Holders(dict(versions), tuple(champions))
    if remembered.versions != recorded.versions or remembered.champions != recorded.champions:
        text = json.dumps({"versions": remembered.versions, "champions": remembered.champions})
        try:
            write_whole(_file(name, home), [text.encode()], "the record", makes_folder=True)
        except ServiceError:
            return remembered
    return remembered


def _recorded(name: str, home: Path) -> Holders:
    try:
        content = json.loads(_file(name, home).read_text(encoding="utf-8"))
        return Holders(dict(content["versions"]), tuple(content["champions"]), is_current=False)
    except (OSError, ValueError, KeyError, TypeError):
        return Holders(is_current=False)


def _file(name: str, home: Path) -> Path:
    return home / "aliases" / f"{clean_name(name)}.json"


def _ask(name: str, address: StoreAddress) -> dict[str, str]:
    """Version by alias; empty if there is no such model.

    Raises
    ------
    OSError, ValueError, KeyError, sqlite3.Error, AutoMLError
        If the registry cannot be asked, or answers something else.
    """
    registry = StoreAddress(address.registry_uri, address.home)
    if registry.sqlite_file is not None:
        return _ask_sqlite(name, registry.sqlite_file)
    if registry.is_server:
        return _ask_server(name, registry.uri)
    return _ask_client(name, address)


def _ask_sqlite(name: str, file: Path) -> dict[str, str]:
    with _opened(file) as connection:
        return {str(a): str(v) for a, v in connection.execute(_ASK_SQLITE, (name,))}


def version_tags(name: str, home: Path) -> list[dict[str, str]]:
    """Tags of every registered version of a model; none if there is no such model.

    Raises
    ------
    OSError, ValueError, KeyError, sqlite3.Error, AutoMLError
        If the registry cannot be asked, or answers something else.
    """
    address = store_address(home)
    registry = StoreAddress(address.registry_uri, address.home)
    if registry.sqlite_file is not None:
        return _tags_of_sqlite(clean_name(name), registry.sqlite_file)
    client = open_store(address)
    with service_errors(address):
        found = client.search_model_versions(f"name = '{clean_name(name)}'")
    return [dict(version.tags) for version in found]


def _tags_of_sqlite(name: str, file: Path) -> list[dict[str, str]]:
    found: dict[int, dict[str, str]] = {}
    with _opened(file) as connection:
        for version, key, value in connection.execute(_TAGS_OF_SQLITE, (name,)):
            found.setdefault(version, {})[key] = value
    return list(found.values())


def _has_row(file: Path, name: str, version: str) -> bool:
    with _opened(file) as connection:
        return connection.execute(_ASK_SQLITE_VERSION, (name, version)).fetchone() is not None


def _opened(file: Path) -> closing[sqlite3.Connection]:
    """Connection that reads only, and closes at the end of its block."""
    return closing(sqlite3.connect(f"file:{quote(str(file))}?mode=ro", uri=True))


def _ask_server(name: str, uri: str) -> dict[str, str]:
    content = _got(_ASK_SERVER.format(uri, quote(name)))
    aliases = [] if content is None else content["registered_model"].get("aliases", ())
    return {str(entry["alias"]): str(entry["version"]) for entry in aliases}


def _server_has(uri: str, name: str, version: str) -> bool:
    return _got(_ASK_SERVER_VERSION.format(uri, quote(name), quote(version))) is not None


def _got(address: str) -> dict[str, Any] | None:
    """Answer of a server; None if it has no such thing."""
    request = request_to(address)
    if not request.has_header("Authorization"):
        user, password, token = (
            os.environ.get(f"MLFLOW_TRACKING_{part}") for part in ("USERNAME", "PASSWORD", "TOKEN")
        )
        if user:
            request.add_header("Authorization", basic(f"{user}:{password or ''}"))
        elif token:
            request.add_header("Authorization", f"Bearer {token}")
    try:
        with urllib.request.urlopen(request, timeout=ASK_SECONDS) as response:  # noqa: S310 http only
            found: dict[str, Any] = json.load(response)
    except urllib.error.HTTPError as error:
        if error.code == HTTPStatus.NOT_FOUND:
            return None
        raise
    return found


def _ask_client(name: str, address: StoreAddress) -> dict[str, str]:
    """Another kind of database, which MLflow's own client knows how to read."""
    client = open_store(address)
    with service_errors(address):
        models = client.search_registered_models(f"name = '{name}'")
        aliases = client.get_registered_model(name).aliases if models else {}
    return {alias: str(version) for alias, version in aliases.items()}
