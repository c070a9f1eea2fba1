"""A run folder as the mirror reads it; nothing here writes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from automl.evaluation import journal
from automl.home import RunFolder
from automl.records import Trial
from automl.run_state import FINISHED, RUNNING, state_of
from automl.run_state import read_stage as read_stage
from automl.tracking.layout import run_status

DISPOSITION_KEYS = (
    "reason",
    "place",
    "node",
    "test",
    "against",
    "statistic",
    "pvalue",
    "probability",
    "rank",
)
"""What of a disposition becomes a tag of its own, besides its status."""


@dataclass
class JournalView:
    """Trials of the journal, read on from where the last call ended."""

    folder: RunFolder
    trials: dict[str, Trial] = field(default_factory=dict)
    decisions: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    _cursor: journal.Cursor | None = None

    def refresh(self) -> None:
        """Take in what was appended."""
        for cursor, record in journal.follow(self.folder.journal, self._cursor):
            self._cursor = cursor
            if record.get("type") == "trial":
                trial = Trial.from_json(record["trial"])
                self.trials.setdefault(trial.id, trial)
                self.decisions.setdefault(trial.id, record.get("decision") or {})


@dataclass(frozen=True)
class Ending:
    """How a run ended, in MLflow's words.

    Parameters
    ----------
    status : `FINISHED`, `FAILED`, `KILLED`; `RUNNING` if it goes on
    at_ms : unix milliseconds; None for now
    """

    status: str
    at_ms: int | None

    @property
    def goes_on(self) -> bool:
        """Whether a process drives the run, and has no result yet."""
        return self.status == "RUNNING"


def ending(folder: RunFolder) -> Ending:
    """How a run ended; with its result it is finished, also while its driver registers the model."""
    state = state_of(folder)
    is_at_its_end = state.status == RUNNING and bool(read_stage(folder, "result"))
    status = run_status(FINISHED if is_at_its_end else state.status)
    return Ending(status, None if state.ended_at is None else round(1000 * state.ended_at))


def stage_files(folder: RunFolder) -> list[Path]:
    """Files of all finished stages, by name."""
    return sorted(folder.stages.glob("*.json")) if folder.stages.is_dir() else []


def records_mark(folder: RunFolder, n_trials: int) -> str:
    """Text that changes when a stage record or a trial is added or replaced.

    Only the presence of the result counts: it is written again to tell of the registration.
    """
    files = stage_files(folder)
    marks = (
        file.name if file.stem == "result" else f"{file.name}:{file.stat().st_mtime_ns}"
        for file in files
    )
    return " ".join([*marks, str(n_trials)])


def champion(folder: RunFolder) -> str:
    """Trial id of the champion; empty before the selection."""
    selection = read_stage(folder, "selection")
    return str(selection.get("champion") or selection.get("winner") or "")


def untouched_rows(folder: RunFolder) -> dict[str, Any]:
    """Number, score and metrics of the test rows; empty where there are none."""
    return read_stage(folder, "final").get("test") or {}


def finalists(folder: RunFolder) -> list[str]:
    """Trial ids that matter most: champion, ensemble members, candidates; without repeats."""
    found: dict[str, None] = dict.fromkeys([champion(folder)])
    for name, key in (("ensemble", "members"), ("final", "members"), ("candidates", "candidates")):
        for entry in read_stage(folder, name).get(key) or []:
            identity = entry.get("trial_id") if isinstance(entry, dict) else entry
            found[str(identity or "")] = None
    return [identity for identity in found if identity]


def dispositions(folder: RunFolder) -> dict[str, dict[str, str]]:
    """Tags by trial id: what became of it, and the test and p-value behind it."""
    tags: dict[str, dict[str, str]] = {}
    found = read_stage(folder, "selection").get("dispositions") or {}
    for identity, disposition in found.items():
        tags[str(identity)] = _disposition_tags(disposition)
    ensemble = read_stage(folder, "ensemble")
    for data in ensemble.get("stack") or []:
        own = tags.setdefault(Trial.from_json(data).id, {})
        own["automl.disposition"] = "second layer"
        for identity in ensemble["base"]:
            tags.setdefault(str(identity), {})["automl.role"] = "input of the second layer"
    members = ensemble["members"] if ensemble.get("replaced_champion") else ()
    for member in members:
        own = tags.setdefault(str(member["trial_id"]), {})
        own["automl.role"] = "ensemble member"
        own["automl.ensemble_weight"] = str(member.get("weight", ""))
    for entry in read_stage(folder, "result").get("leaderboard") or []:
        tags.setdefault(str(entry["trial_id"]), {})["automl.rank"] = str(entry.get("rank", ""))
    return tags


def _disposition_tags(disposition: Mapping[str, Any]) -> dict[str, str]:
    named = {"automl.disposition": "status", "automl.cluster": "cluster"}
    named |= {f"automl.disposition_{key}": key for key in DISPOSITION_KEYS}
    return {
        tag: str(disposition[key])[:1000]
        for tag, key in named.items()
        if disposition.get(key) not in (None, "")
    }
