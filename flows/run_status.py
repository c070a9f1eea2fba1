"""What is known of a run from its folder alone, while it runs as well as after."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from automl.errors import SettingsError
from automl.home import RunFolder
from automl.problem_names import problem_name

FINISHED, PREPARING, RUNNING, INTERRUPTED, FAILED, EMPTY, DAMAGED = (
    "finished",
    "preparing",
    "running",
    "interrupted",
    "failed",
    "empty",
    "damaged",
)


@dataclass(frozen=True)
class RunStatus:
    """One line about a run.

    Parameters
    ----------
    status
        `running` (a process drives it), `interrupted` (it can be resumed), `finished`, `failed`,
        `empty` (it ended before its table was read), or `damaged` (its `run.json` cannot be read).
    started_at : unix seconds
    seconds : of the finished run, or since the start of a running one
    registration
        `done`, `pending`, `off`, or "" before the end.
    """

    run_id: str
    status: str
    problem: str = ""
    task: str = ""
    rows: int | None = None
    trials: int | None = None
    score: float | None = None
    started_at: float | None = None
    seconds: float | None = None
    registration: str = ""
    registered: str = ""

    @property
    def is_resumable(self) -> bool:
        """Whether `automl resume` can continue it."""
        return self.status == INTERRUPTED

    def to_json(self) -> dict[str, Any]:
        """Plain JSON form."""
        return {**asdict(self), "resumable": self.is_resumable}


def describe(folder: RunFolder) -> RunStatus:
    """Status of a run; reads small files only."""
    is_driven = folder.is_driven()
    try:
        facts = folder.read_facts()
    except SettingsError:
        unread = DAMAGED if folder.facts_file.exists() else EMPTY
        return RunStatus(folder.run_id, RUNNING if is_driven else unread)
    status = RUNNING if is_driven else str(facts.get("status", RUNNING))
    if status in (RUNNING, PREPARING) and not is_driven:
        status = INTERRUPTED if "data" in facts else EMPTY
    result = read_stage(folder, "result")
    data = facts.get("data") or {}
    registration, registered = registration_of(folder, result.get("model") or {})
    started = facts.get("started_at")
    return RunStatus(
        run_id=folder.run_id,
        status=status,
        problem=result.get("problem") or facts.get("problem") or problem_of(facts),
        task=str(data.get("task", "")),
        rows=data.get("rows"),
        trials=result.get("trials") if result else _trials_so_far(folder),
        score=result.get("score"),
        started_at=started,
        seconds=time.time() - started if status == RUNNING and started else result.get("seconds"),
        registration=registration,
        registered=registered,
    )


def problem_of(facts: dict[str, Any]) -> str:
    """Problem name from the settings in `run.json`; "" when they are not usable."""
    settings = facts.get("settings") or {}
    return problem_name(settings) if {"table", "target"} <= settings.keys() else ""


def read_stage(folder: RunFolder, name: str) -> dict[str, Any]:
    """Record of a finished stage, else empty."""
    try:
        content = json.loads((folder.stages / f"{name}.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _trials_so_far(folder: RunFolder) -> int | None:
    if not folder.journal.is_dir():
        return None
    from automl.evaluation.journal import Journal

    return [record.get("type") for record in Journal.read(folder.journal)].count("trial")


def registration_of(folder: RunFolder, model: Mapping[str, Any]) -> tuple[str, str]:
    """Status of the registration and ``name/version@alias``, as far as they are known.

    `automl sync` updates the outbox, not the result.
    """
    if not (folder.stages / "final.json").exists() or model.get("registration") == "off":
        return str(model.get("registration", "")), str(model.get("registered") or "")
    from automl.tracking.process import registration

    known = registration(folder)
    return known.status, known.registered or ""
