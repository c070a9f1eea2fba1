"""The one place that says what became of a run; every list, page and store repeats it.

It is read from the run folder alone: `run.json`, the lock, and the record of the result. Every
process that drives a run adds an attempt to `run.json`: when it began, and where it could still say
so, when and how it ended. An attempt without an end that nobody drives any more was killed; it ended
with the last thing that it wrote.

============ ============================================================= ======== ============
status       is                                                            MLflow   Prefect
============ ============================================================= ======== ============
finished     its result is written                                         FINISHED COMPLETED
failed       no usable model came out, or an error of the program          FAILED   FAILED
interrupted  an attempt ended with a signal, and the run can be resumed    KILLED   CANCELLED
interrupted  an attempt was killed, and the run can be resumed             KILLED   CRASHED
running      a process drives it                                           RUNNING  RUNNING
empty        it ended before its table was read; it can be resumed         no run   no flow run
============ ============================================================= ======== ============
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from automl.home import RunFolder

FINISHED, RUNNING, INTERRUPTED, FAILED, EMPTY = (
    "finished",
    "running",
    "interrupted",
    "failed",
    "empty",
)
KILLED = "killed"
HOST = "host"
"""Key of `run.json`: the machine whose process drives the run."""
"""Status of an attempt that could not say how it ended."""


@dataclass(frozen=True)
class Attempt:
    """One attempt: the part of a run that one process drove.

    Parameters
    ----------
    began : unix seconds
    ended : unix seconds; None while it goes on
    status : `running`, `finished`, `failed`, `interrupted` (by a signal) or `killed`
    """

    began: float
    ended: float | None = None
    status: str = RUNNING

    def to_json(self) -> dict[str, Any]:
        """Plain JSON form."""
        return asdict(self)

    @property
    def seconds(self) -> float:
        """How long it took; 0 while it goes on."""
        return 0.0 if self.ended is None else max(0.0, self.ended - self.began)


@dataclass(frozen=True)
class RunState:
    """Status of a run.

    Parameters
    ----------
    status : see the table of this module
    attempts : oldest first; at least one
    """

    status: str
    attempts: tuple[Attempt, ...]

    @property
    def started_at(self) -> float:
        """Unix seconds of the first attempt."""
        return self.attempts[0].began

    @property
    def ended_at(self) -> float | None:
        """Unix seconds of the last attempt's end; None while it goes on."""
        return self.attempts[-1].ended

    @property
    def seconds(self) -> float:
        """Seconds of all ended attempts together."""
        return sum(attempt.seconds for attempt in self.attempts)

    @property
    def down_seconds(self) -> float:
        """Seconds between the attempts, in which no process drove the run."""
        pairs = pairwise(self.attempts)
        gaps = (later.began - (earlier.ended or later.began) for earlier, later in pairs)
        return sum(max(0.0, gap) for gap in gaps)


def state_of(folder: RunFolder, facts: Mapping[str, Any] | None = None) -> RunState:
    """State of a run.

    Parameters
    ----------
    facts
        Content of `run.json`, where it was read already.

    Raises
    ------
    SettingsError
        If there is no `run.json`, or it is damaged.
    """
    is_driven = folder.is_driven()  # before the facts: who ends in between has written them
    facts = folder.read_facts() if facts is None else facts
    *earlier, last = attempts_of(facts)
    if is_driven and last.ended is None:
        return RunState(RUNNING, (*earlier, last))
    status, ended, how = _status(folder, facts), last.ended, last.status
    if ended is None:
        ended, how = max(last.began, last_activity(folder)), KILLED
    if status in (FINISHED, FAILED):
        how = status
    return RunState(status, (*earlier, Attempt(last.began, ended, how)))


def attempts_of(facts: Mapping[str, Any]) -> list[Attempt]:
    """Attempts that `run.json` names; a run of an earlier version had one."""
    named = [Attempt(**entry) for entry in facts.get("attempts") or ()]
    return named or [Attempt(float(facts.get("started_at") or 0.0))]


def last_activity(folder: RunFolder) -> float:
    """Unix seconds of the last thing that a process driving the run wrote."""
    written = [folder.facts_file, *_files(folder.journal), *_files(folder.stages)]
    return max((path.stat().st_mtime for path in written if path.exists()), default=0.0)


def read_stage(folder: RunFolder, name: str) -> dict[str, Any]:
    """Record of a finished stage; empty while it is not finished."""
    try:
        content = json.loads((folder.stages / f"{name}.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _status(folder: RunFolder, facts: Mapping[str, Any]) -> str:
    """Status of a run that no process drives; one with a result lacks at most its registration."""
    if facts.get("status") == FINISHED or read_stage(folder, "result"):
        return FINISHED
    if facts.get("status") == FAILED:
        return FAILED
    return INTERRUPTED if "data" in facts else EMPTY


def _files(folder: Path) -> list[Path]:
    return list(folder.iterdir()) if folder.is_dir() else []
