"""Begins a run for every new content that arrives in a folder, and says what became of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from automl.errors import ServiceError
from automl_flows.services.arrivals import Arrival, Arrivals, FolderWatch

LOOK_AFTER_SECONDS = 5.0
"""Between looks after runs under way, each of which asks the server."""

_TEXTS = {
    "running": "a run has begun",
    "done": "trained",
    "unchanged": "nothing new in it",
    "refused": "the file cannot be used",
    "failed": "the run failed",
    "interrupted": "the run was stopped",
}


class Watcher:
    """One look after the other at a folder; `step` is called about once a second.

    Parameters
    ----------
    begin
        Begins a run for a file and its digest and returns the flow run's id; raises
        `ServiceError` if it cannot.
    ended
        How a flow run of this id ended, one sentence; empty while it is under way.
    say
        Told of every change once.
    """

    def __init__(
        self,
        watch: FolderWatch,
        arrivals: Arrivals,
        *,
        begin: Callable[[Path, str], str],
        ended: Callable[[str], str],
        say: Callable[[str], None],
    ) -> None:
        self._watch = watch
        self._arrivals = arrivals
        self._begin = begin
        self._ended = ended
        self._say = say
        self._told = dict(arrivals.entries())
        self._looked_at = time.monotonic()

    def step(self) -> None:
        """Begin what is due, notice what has ended, and tell of both."""
        self._tell()  # of a failure before it is tried again
        for path, digest in self._watch.complete_files():
            if self._arrivals.claim(digest, path):
                try:
                    self._arrivals.begun(digest, self._begin(path, digest))
                except ServiceError as error:
                    self._arrivals.end(digest, "failed", error.message)
        if time.monotonic() - self._looked_at >= LOOK_AFTER_SECONDS:
            self._looked_at = time.monotonic()
            self._end_lost_runs()
        self._tell()

    def close(self) -> None:
        """Remember that runs under way are stopped together with the service."""
        self._arrivals.recover()
        self._tell()

    def _end_lost_runs(self) -> None:
        """Runs that ended without a word: their process was killed, or never came up."""
        for digest, entry in self._arrivals.entries().items():
            if entry.status != "running" or not entry.flow_run:
                continue
            ending = self._ended(entry.flow_run)
            now = self._arrivals.entries()[digest]
            if ending and now.status == "running" and now.flow_run == entry.flow_run:
                self._arrivals.end(digest, "failed", ending)

    def _tell(self) -> None:
        entries = self._arrivals.entries()
        for digest, entry in entries.items():
            if _state(entry) != _state(self._told.get(digest)):
                reason = f": {entry.reason}" if entry.reason and entry.status != "running" else ""
                self._say(f"{Path(entry.file).name}: {_TEXTS[entry.status]}{reason}")
        self._told = entries


def _state(entry: Arrival | None) -> tuple[object, ...]:
    return () if entry is None else (entry.status, entry.attempts, entry.interruptions)
