"""The tracking store: where it is, how it is opened, and who may write."""

from __future__ import annotations

import hashlib
import os
import socket
import sqlite3
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from filelock import FileLock, Timeout

from automl.addresses import public_address, public_text
from automl.errors import ServiceError, SettingsError, StoreBusyError
from automl.privacy import make_private_file, make_private_folder
from automl.remembered_schema import REVISIONS, make_database, remember_schema
from automl.tracking.moved_home import ARTIFACTS, DATABASE, take_along

if TYPE_CHECKING:
    from mlflow import MlflowClient

CONNECT_SECONDS = 3.0
"""Until a server on the network counts as away (by judgement)."""
TRIES = 5
"""Of a database that refuses, with 2.6 s between them; MLflow's own 10 take 102 s (by judgement)."""
LOCK_SECONDS = 60.0
"""For another writer of the store to end its batch, on a busy machine."""
PAGE = 1000
"""Runs or experiments asked for at once: MLflow's own default."""

_ENVIRONMENT = {
    "DO_NOT_TRACK": "true",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_LOGGING_LEVEL": "WARNING",
    "MLFLOW_UV_AUTO_DETECT": "false",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
    "MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR": "1",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "20",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    "MLFLOW_ENABLE_ASYNC_LOGGING": "false",
    "GIT_PYTHON_REFRESH": "quiet",
}

SERVICE = "mlflow"
"""Whose schema of a new database is remembered."""

_PORTS = {"http": 80, "https": 443, "postgresql": 5432, "mysql": 3306, "mssql": 1433}
"""Where a server listens whose address names no port."""
_LOCKED = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_BROKEN = (OSError, ImportError)
"""Of the machine; a database whose driver is not installed is an `ImportError`."""
_PRIMARY_CODE = 0xFF
"""Part of SQLite's extended codes that says what went wrong; the rest says where."""


@dataclass(frozen=True)
class StoreAddress:
    """Where tracking data go.

    Parameters
    ----------
    uri
        Tracking URI as MLflow understands it; a SQLite path in it is absolute.
    home
        Home folder; holds the lock and, unless a server decides, the artifacts.
    """

    uri: str
    home: Path

    @property
    def is_own(self) -> bool:
        """Whether the store is the one in the home."""
        return self.uri == own_store(self.home)

    @property
    def shown(self) -> str:
        """The address without user, password and query."""
        return self.uri if self.is_own else public_address(self.uri)

    @property
    def has_secret(self) -> bool:
        """Whether it names a user, a password or a query."""
        return self.uri != self.shown

    @property
    def is_server(self) -> bool:
        """Whether an MLflow server is between us and the database."""
        return self.uri.startswith(("http://", "https://"))

    @property
    def sqlite_file(self) -> Path | None:
        """Database file of a SQLite store."""
        if not self.uri.startswith("sqlite:///"):
            return None
        return Path(self.uri.removeprefix("sqlite:///"))

    @property
    def registry_uri(self) -> str:
        """`MLFLOW_REGISTRY_URI`, else the tracking store."""
        return os.environ.get("MLFLOW_REGISTRY_URI") or self.uri

    @property
    def artifact_root(self) -> str | None:
        """Absolute folder of artifacts; None when a server decides."""
        return None if self.is_server else str(self.home / ARTIFACTS)

    @contextmanager
    def lock(self, seconds: float = LOCK_SECONDS) -> Iterator[None]:
        """Be the only writer of this store.

        Parameters
        ----------
        seconds : longest wait

        Raises
        ------
        StoreBusyError
            If another process keeps the store longer than that.
        """
        file = self.sqlite_file
        name = hashlib.blake2b(self.shown.encode(), digest_size=6).hexdigest()
        path = Path(f"{file}.lock") if file else self.home / f"tracking-{name}.lock"
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(path)
        try:
            lock.acquire(timeout=max(0.0, seconds), poll_interval=0.02)
        except Timeout:
            raise StoreBusyError(
                f"tracking store {self.shown} is kept busy by another process", uri=self.shown
            ) from None
        try:
            yield
        finally:
            lock.release()


def own_store(home: Path) -> str:
    """Tracking URI of the store in a home folder."""
    return f"sqlite:///{home.resolve() / DATABASE}"


def store_address(home: Path, *, uri: str | None = None) -> StoreAddress:
    """Address from `uri`, else `MLFLOW_TRACKING_URI`, else a SQLite file in the home folder."""
    home = home.resolve()
    text = uri or os.environ.get("MLFLOW_TRACKING_URI") or ""
    if not text:
        text = own_store(home)
    elif text.startswith("sqlite:///"):
        text = f"sqlite:///{Path(text.removeprefix('sqlite:///')).resolve()}"
    return StoreAddress(text.rstrip("/"), home)


def open_store(address: StoreAddress) -> MlflowClient:
    """Client of a store that exists and answers; a new SQLite store is created first.

    Importing mlflow costs about 3 s of CPU time, creating the first SQLite store of an installation 2 s more.

    Raises
    ------
    ServiceError
        If the store cannot be reached within a few seconds or cannot be used.
    """
    _require_listener(address)
    for key, value in _ENVIRONMENT.items():
        os.environ.setdefault(key, value)
    if address.artifact_root:
        # read by MLflow's store when it creates the experiment "Default", otherwise ./mlruns
        os.environ.setdefault("_MLFLOW_SERVER_ARTIFACT_ROOT", address.artifact_root)
    with quiet():
        from mlflow import MlflowClient
    if not address.is_server:
        _limit_tries()

    with quiet(), service_errors(address), address.lock():
        make_private_folder(address.home)
        if address.artifact_root:
            make_private_folder(Path(address.artifact_root))
        if address.sqlite_file and _is_unmade(address.sqlite_file):
            _make_database(address.sqlite_file)
        client = MlflowClient(tracking_uri=address.uri, registry_uri=address.registry_uri)
        client.search_experiments(max_results=1)
        if address.sqlite_file:
            _use_write_ahead_log(address.sqlite_file)
        if address.is_own:
            take_along(address.home)
    return client


@contextmanager
def quiet() -> Iterator[None]:
    """Hide what MLflow and its libraries warn about among themselves at import and at opening."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@contextmanager
def service_errors(address: StoreAddress) -> Iterator[None]:
    """Turn what MLflow, its database and its connection raise into `ServiceError`.

    Raises
    ------
    StoreBusyError
        If another process keeps the database locked.
    ServiceError
        If anything else is wrong with the store.
    """
    from mlflow.exceptions import MlflowException
    from requests import RequestException
    from sqlalchemy.exc import SQLAlchemyError

    try:
        yield
    except (MlflowException, RequestException, SQLAlchemyError, sqlite3.Error, *_BROKEN) as error:
        reason = public_text(" ".join(str(error).split()))[:300]
        kind = StoreBusyError if _is_locked(error) else ServiceError
        raise kind(f"tracking store {address.shown} failed: {reason}", uri=address.shown) from error


def _is_locked(error: BaseException | None) -> bool:
    """Whether an error, or one that it came from, says that another process holds a lock."""
    while error is not None:
        if isinstance(error, sqlite3.OperationalError):
            return getattr(error, "sqlite_errorcode", 0) & _PRIMARY_CODE in _LOCKED
        if getattr(error, "error_code", "") == "TEMPORARILY_UNAVAILABLE" and not error.__cause__:
            return True  # an MLflow server's answer
        error = error.__cause__ or getattr(error, "orig", None)
    return False


def _require_listener(address: StoreAddress) -> None:
    """Raise if nothing listens where the address of a server, or of a database on one, leads to."""
    shown = address.shown
    parts = urlsplit(shown)
    kind = parts.scheme.partition("+")[0]
    if kind not in _PORTS or not (parts.hostname or address.is_server):
        return
    try:
        port = parts.port or _PORTS[kind]
    except ValueError as error:
        raise SettingsError(f"tracking server {shown}: {error}", uri=shown) from None
    try:
        socket.create_connection((parts.hostname or "", port), CONNECT_SECONDS).close()
    except OSError as error:
        raise ServiceError(f"tracking server {shown} does not answer: {error}", uri=shown) from None


def _limit_tries() -> None:
    """Let MLflow ask a database that refuses, such as for its password, for seconds instead of minutes."""
    from mlflow.store.db import utils

    utils.MAX_RETRY_COUNT = TRIES


def _is_unmade(file: Path) -> bool:
    """Whether there is no store yet, or one whose maker was killed before its first row."""
    if not file.exists():
        return True
    try:
        tables = _tables(file)
        if tables and "experiments" not in tables:
            return False  # not MLflow's: its own words are the best
        return not any(has_rows for name, has_rows in tables.items() if name != REVISIONS)
    except sqlite3.DatabaseError:
        return False


def _make_database(file: Path) -> None:
    """Make the tables beside their place: a half-made store could never be opened again."""
    from mlflow import MlflowClient

    draft, whole = (file.with_name(f"{file.name}.{suffix}") for suffix in ("draft", "whole"))
    for path in (draft, whole):
        _remove_database(path)
        make_private_file(path)
    if not _is_made_as_remembered(draft):
        MlflowClient(tracking_uri=f"sqlite:///{draft}").search_experiments(max_results=1)
        filled = [name for name, has_rows in _tables(draft).items() if has_rows]
        filled.remove("experiments")  # its row names the home
        remember_schema(SERVICE, draft, filled)
    with closing(sqlite3.connect(draft)) as source, closing(sqlite3.connect(whole)) as target:
        source.backup(target)
    _remove_database(file)
    whole.replace(file)
    _remove_database(draft)


def _is_made_as_remembered(draft: Path) -> bool:
    """Whether an earlier home of this installation spares the migrations, which take 1.7 s of a processor."""
    try:
        return make_database(SERVICE, draft)
    except sqlite3.Error:
        _remove_database(draft)
        make_private_file(draft)
        return False


def _tables(file: Path) -> dict[str, bool]:
    """Whether each table of a database has rows, by name."""
    with closing(sqlite3.connect(file, timeout=10)) as connection:
        found = connection.execute("select name from sqlite_master where type = 'table'").fetchall()
        return {
            name: connection.execute(f'select 1 from "{name}" limit 1').fetchone() is not None  # noqa: S608
            for (name,) in found
            if name != "sqlite_sequence"
        }


def _remove_database(file: Path) -> None:
    for suffix in ("", "-journal", "-wal", "-shm"):
        Path(f"{file}{suffix}").unlink(missing_ok=True)


def _use_write_ahead_log(file: Path) -> None:
    connection = sqlite3.connect(file, timeout=10)
    try:
        connection.execute("pragma journal_mode=wal")
    finally:
        connection.close()


def pages(page_of: Callable[[str | None], Any]) -> Iterator[Any]:
    """What a store gives page by page; `page_of` asks for the one of a token."""
    token: str | None = None
    while True:
        page = page_of(token)
        yield from page
        token = page.token
        if not token:
            return
