"""A watcher of a place, with a ledger of runs and a clock that the test moves."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import fsspec

from automl.errors import ServiceError
from automl.home import Home
from automl_flows.services.drop_place import DropPlace
from automl_flows.services.drop_runs import (
    RunNow,
)
from automl_flows.services.drop_store import DropStore
from automl_flows.services.watching import Completeness, Watcher


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


class Ledger:
    """Runs as Prefect keeps them: one for each key; the test says how they stand."""

    def __init__(self) -> None:
        self.tables: dict[str, str] = {}
        self.now: dict[str, RunNow] = {}
        self.again_of: list[str] = []
        self.is_away = False

    def begin(self, digest: str, parameters: dict[str, Any], *, n_set_aside: int) -> str:
        self._reach()
        run = f"{digest} {n_set_aside}" if n_set_aside else digest
        if run not in self.tables:
            self.tables[run] = parameters["table"].rpartition("/")[2]
            self.set(run, "scheduled")
        return run

    def state(self, run: str) -> RunNow | None:
        self._reach()
        return self.now.get(run)

    def again(self, run: str) -> None:
        self.again_of.append(run)
        self.set(run, "scheduled", "AwaitingRetry")

    def set(self, run: str, kind: str, name: str = "", message: str = "") -> None:
        state = RunNow(kind, name or kind.title(), message, 1, 1, datetime.now(UTC))
        self.now[run] = state

    def end(self, file: str, kind: str, name: str = "", message: str = "") -> str:
        run = next(run for run, table in reversed(self.tables.items()) if table == file)
        self.set(run, kind, name, message)
        return run

    def _reach(self) -> None:
        if self.is_away:
            raise ServiceError("the Prefect server cannot be used: away")


class Service:
    """A watcher of a place, its home, and what it said."""

    def __init__(self, home: Path, address: str, *, pattern: str | None = None) -> None:
        self.home, self.address, self.pattern = Home(home), address, pattern
        self.system, self.root = fsspec.core.url_to_fs(address)
        self.runs, self.clock = Ledger(), Clock()
        self.said: list[str] = []
        self.events: list[tuple[str, dict[str, str]]] = []
        self.completeness = Completeness(settle_seconds=5.0)
        self.start()

    def start(self) -> None:
        self.store = DropStore(self.home, "beans")
        self.watcher = Watcher(
            DropPlace(self.address, pattern=self.pattern),
            self.store,
            self.runs,
            self.completeness,
            lambda event, payload: self.events.append((event, payload)),
            self.said.append,
            self.clock,
        )

    def put(self, name: str, content: str | bytes = "a\n1\n") -> None:
        self.system.pipe_file(f"{self.root}/{name}", content.encode() if isinstance(content, str) else content)  # fmt: skip

    def look(self, seconds: float = 6.0) -> None:
        self.watcher.step()
        self.clock.now += seconds
        self.watcher.step()

    @property
    def begun(self) -> list[str]:
        return list(self.runs.tables.values())

    @property
    def files(self) -> set[str]:
        return {
            path.removeprefix(self.root.rstrip("/") + "/") for path in self.system.find(self.root)
        }

    def reason(self, name: str) -> str:
        return str(self.system.cat_file(f"{self.root}/failed/{name}.reason.txt").decode())


def no_route(*_: Any, **__: Any) -> Any:
    """In place of what asks a place that is away."""
    raise ConnectionError("no route")
