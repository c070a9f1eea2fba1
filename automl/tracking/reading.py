"""A run folder as the mirror reads it; nothing here writes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from automl.evaluation import journal
from automl.home import RunFolder
from automl.records import Trial
from automl.run_records.candidates import CandidatesRecord
from automl.run_records.champion import ChampionRecord
from automl.run_records.ensemble import EnsembleRecord
from automl.run_records.final import FinalRecord
from automl.run_records.result import RunResult
from automl.run_state import FINISHED, RUNNING, state_of
from automl.selection.dispositions import Disposition
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
    is_at_its_end = state.status == RUNNING and RunResult.read(folder) is not None
    status = run_status(FINISHED if is_at_its_end else state.status)
    return Ending(status, None if state.ended_at is None else round(1000 * state.ended_at))


def stage_files(folder: RunFolder) -> list[Path]:
    """Files of all finished stages, by name."""
    return sorted(folder.stages.glob("*.json")) if folder.stages.is_dir() else []


def report_mark(folder: RunFolder) -> str:
    """Text that changes when the report is made or replaced; empty without one."""
    return str(folder.report.stat().st_mtime_ns) if folder.report.is_file() else ""


def records_mark(folder: RunFolder, n_trials: int) -> str:
    """Text that changes when a stage record or a trial is added or replaced.

    Only the presence of the result counts: it is written again to tell of the registration.
    """
    marks = (
        file.name if file.stem == "result" else f"{file.name}:{file.stat().st_mtime_ns}"
        for file in stage_files(folder)
    )
    return " ".join([*marks, str(n_trials)])


def champion(folder: RunFolder) -> str:
    """Trial id of the champion; empty before the selection."""
    selection = ChampionRecord.read(folder)
    return "" if selection is None else selection.champion


def finalists(folder: RunFolder) -> list[str]:
    """Trial ids that matter most: champion, ensemble members, candidates; without repeats."""
    ids: dict[str, None] = dict.fromkeys([champion(folder)])
    if ensemble := EnsembleRecord.read(folder):
        ids |= dict.fromkeys(member.trial_id for member in ensemble.members)
    if final := FinalRecord.read(folder):
        ids |= dict.fromkeys(member.trial_id for member in final.members)
    if record := CandidatesRecord.read(folder):
        ids |= dict.fromkeys(candidate.trial_id for candidate in record.candidates)
    return [identity for identity in ids if identity]


def dispositions(folder: RunFolder) -> dict[str, dict[str, str]]:
    """Tags by trial id: what became of it, and the test and p-value behind it."""
    tags: dict[str, dict[str, str]] = {}
    for trial_id, own in _late_tags(folder):
        tags.setdefault(trial_id, {}).update(own)
    return tags


def _late_tags(folder: RunFolder) -> Iterator[tuple[str, dict[str, str]]]:
    """Trial ids with what each record says of them, in the order of the stages."""
    if selection := ChampionRecord.read(folder):
        for trial_id, disposition in selection.dispositions.items():
            yield trial_id, _disposition_tags(disposition)
    if ensemble := EnsembleRecord.read(folder):
        yield from _ensemble_tags(ensemble)
    if result := RunResult.read(folder):
        for row in result.leaderboard:
            yield row.trial_id, {"automl.rank": str(row.rank)}


def _ensemble_tags(ensemble: EnsembleRecord) -> Iterator[tuple[str, dict[str, str]]]:
    for trial in ensemble.stack:
        yield trial.id, {"automl.disposition": "second layer"}
    for trial_id in ensemble.base if ensemble.stack else ():
        yield trial_id, {"automl.role": "input of the second layer"}
    for member in ensemble.members if ensemble.replaced_champion else ():
        role = {"automl.role": "ensemble member", "automl.ensemble_weight": str(member.weight)}
        yield member.trial_id, role


def _disposition_tags(disposition: Disposition) -> dict[str, str]:
    named = {"automl.disposition": "status", "automl.cluster": "cluster"}
    named |= {f"automl.disposition_{key}": key for key in DISPOSITION_KEYS}
    told = disposition.to_json()
    return {tag: str(told[key])[:1000] for tag, key in named.items() if key in told}
