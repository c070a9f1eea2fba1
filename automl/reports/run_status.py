"""What is known of a run from its folder alone, while it runs as well as after."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from automl.errors import SettingsError
from automl.home import RunFolder
from automl.metrics.words import headline
from automl.problem_names import problem_name
from automl.run_state import EMPTY, INTERRUPTED, RUNNING, RunState, read_stage, state_of
from automl.tracking.holders import CHAMPION, Registry

DAMAGED = "damaged"


@dataclass(frozen=True)
class RunStatus:
    """One line about a run.

    Parameters
    ----------
    status
        `running` (a process drives it), `interrupted` (it can be resumed), `finished`, `failed`,
        `empty` (it ended before its table was read), or `damaged` (its `run.json` cannot be read).
    metric : that stands for all in natural units; "" before the end
    value : validated, of that metric
    started_at : unix seconds
    seconds : in which it was driven
    registration
        `done`, `pending`, `off`, or "" before the end.
    registered
        Version of the registered model, with the alias that it holds now: ``beans/2@champion``.
    was_champion
        Whether that version had the alias `champion` once and has it no more.
    """

    run_id: str
    status: str
    problem: str = ""
    task: str = ""
    rows: int | None = None
    trials: int | None = None
    score: float | None = None
    metric: str = ""
    value: float | None = None
    started_at: float | None = None
    seconds: float | None = None
    registration: str = ""
    registered: str = ""
    was_champion: bool = False

    @property
    def model(self) -> str:
        """The registered version and what it is or was, else how far the registration is."""
        past = ", was champion" if self.was_champion else ""
        return f"{self.registered}{past}" if self.registered else self.registration

    @property
    def is_resumable(self) -> bool:
        """Whether `automl resume` can continue it."""
        return self.status == INTERRUPTED

    def to_json(self) -> dict[str, Any]:
        """Plain JSON form."""
        return {**asdict(self), "resumable": self.is_resumable}


def describe(folder: RunFolder, registry: Registry | None = None) -> RunStatus:
    """Status of a run; reads small files only.

    Parameters
    ----------
    registry
        Says who holds the aliases now; None leaves them out.
    """
    try:
        facts = folder.read_facts()
    except SettingsError:
        unread = DAMAGED if folder.facts_file.exists() else EMPTY
        return RunStatus(folder.run_id, RUNNING if folder.is_driven() else unread)
    state = state_of(folder, facts)
    result = read_stage(folder, "result")
    data = facts.get("data") or {}
    metrics = result.get("metrics") or {}
    metric = headline(str(result.get("metric")), metrics)
    registration, registered, was_champion = registration_of(
        folder, result.get("model") or {}, registry
    )
    return RunStatus(
        run_id=folder.run_id,
        status=state.status,
        problem=result.get("problem") or facts.get("problem") or problem_of(facts),
        task=str(data.get("task", "")),
        rows=data.get("rows"),
        trials=result.get("trials") if result else _trials_so_far(folder),
        score=result.get("score"),
        metric=metric,
        value=metrics.get(metric),
        started_at=state.started_at or None,
        seconds=_seconds(state, result),
        registration=registration,
        registered=registered,
        was_champion=was_champion,
    )


def problem_of(facts: dict[str, Any]) -> str:
    """Problem name from the settings in `run.json`; "" when they are not usable."""
    settings = facts.get("settings") or {}
    return problem_name(settings) if {"table", "target"} <= settings.keys() else ""


def _seconds(state: RunState, result: Mapping[str, Any]) -> float | None:
    """What the run has taken so far, without the time in which nobody drove it."""
    if state.status == RUNNING:
        return state.seconds + time.time() - state.attempts[-1].began
    return result.get("seconds") or state.seconds


def _trials_so_far(folder: RunFolder) -> int | None:
    if not folder.journal.is_dir():
        return None
    from automl.evaluation.journal import Journal

    return [record.get("type") for record in Journal.read(folder.journal)].count("trial")


def registration_of(
    folder: RunFolder, model: Mapping[str, Any], registry: Registry | None
) -> tuple[str, str, bool]:
    """Status of the registration, the version with its alias, and whether it was the champion.

    `automl sync` updates the outbox, not the result, and later runs and rollbacks neither.
    """
    if not (folder.stages / "final.json").exists() or model.get("registration") == "off":
        return str(model.get("registration", "")), str(model.get("registered") or ""), False
    from automl.tracking.mirror_process import registration

    registered = registration(folder)
    label = (registered.registered or "").partition("@")[0]
    if not label or registry is None:
        return registered.status, label, False
    name, _, version = label.rpartition("/")
    holders = registry.of(name)
    held = holders.of(version)
    was_champion = holders.was_champion(version) or (
        registered.registered == f"{label}@{CHAMPION}" and holders.champion != version
    )
    return registered.status, f"{label}@{held[0]}" if held else label, was_champion
