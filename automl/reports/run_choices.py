"""What is known of a run's choices, from its folder alone, while it runs as well as after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from automl.errors import SettingsError
from automl.home import RunFolder
from automl.lookup import nearest_names
from automl.records import Trial, short_id
from automl.reports.run_status import RunStatus, describe
from automl.run.stage_table import STAGES
from automl.run_records.candidates import CandidatesRecord
from automl.run_records.champion import ChampionRecord
from automl.run_records.ensemble import EnsembleRecord
from automl.run_records.final import FinalRecord
from automl.run_records.honest import HonestRecord
from automl.run_records.promotion import PromotionRecord
from automl.run_records.report import ReportRecord
from automl.run_records.result import RunResult
from automl.run_records.search import SearchRecord
from automl.run_state import read_stage
from automl.selection.dispositions import Disposition
from automl.selection.selection_records import LevelDecision
from automl.stage_record import StageRecord

NEAR = 3
"""Trials that are named where a wrong id was given."""


@dataclass(frozen=True)
class RunChoices:
    """A run as far as it got.

    Parameters
    ----------
    status
        One line about it.
    facts
        `run.json`; empty where it cannot be read.
    trials
        All trials of the journal by id, those on fresh folds and of a second layer included.
    given_up
        What the finished stages shortened or left out, one sentence each.
    search, candidates, selection, ensemble, honest, final, promotion, result, report
        Record of each stage; None while it is not finished, or where it cannot be read.
    """

    status: RunStatus
    facts: Mapping[str, Any]
    trials: Mapping[str, Trial]
    given_up: Sequence[str] = ()
    search: SearchRecord | None = None
    candidates: CandidatesRecord | None = None
    selection: ChampionRecord | None = None
    ensemble: EnsembleRecord | None = None
    honest: HonestRecord | None = None
    final: FinalRecord | None = None
    promotion: PromotionRecord | None = None
    result: RunResult | None = None
    report: ReportRecord | None = None

    def record(self, kind: type[StageRecord]) -> StageRecord | None:
        """Record of a stage by its type."""
        record: StageRecord | None = getattr(self, kind.stage)
        return record

    @property
    def run_id(self) -> str:
        """Identifier of the run."""
        return self.status.run_id

    @cached_property
    def searched(self) -> list[Trial]:
        """Trials of the search, in the order of the decisions."""
        trials = [trial for trial in self.trials.values() if trial.stage == "search"]
        return sorted(trials, key=lambda trial: trial.index)

    @cached_property
    def complete(self) -> list[Trial]:
        """Complete trials of the search, best first."""
        trials = [trial for trial in self.searched if trial.is_complete]
        return sorted(trials, key=lambda trial: (-trial.achieved, trial.index))

    @cached_property
    def dispositions(self) -> dict[str, Disposition]:
        """By trial id, those that tell a place; empty before the selection."""
        dispositions = {} if self.selection is None else self.selection.dispositions
        return {trial_id: told for trial_id, told in dispositions.items() if told.place}

    @cached_property
    def weights(self) -> dict[str, float]:
        """Weight of each member of the model, by trial id."""
        if self.final is not None:
            return {member.trial_id: member.weight for member in self.final.members}
        return {} if self.ensemble is None else self.ensemble.shares

    @property
    def has_ensemble(self) -> bool:
        """Whether an ensemble replaced the champion."""
        return self.ensemble is not None and self.ensemble.replaced_champion

    @property
    def root(self) -> LevelDecision | None:
        """The last decision of the selection; None before it."""
        decisions = () if self.selection is None else self.selection.decisions
        return decisions[-1] if decisions else None

    @property
    def champion(self) -> str:
        """Trial id of the champion; empty before the selection."""
        return "" if self.selection is None else self.selection.champion

    def shortened(self, text: str) -> str:
        """A text with the short forms of the run's trial ids."""
        return text.replace(f"{self.run_id}-", "")

    def trial(self, name: str) -> Trial:
        """Trial by its id, its short form, or its number in the search.

        Raises
        ------
        SettingsError
            If there is none; the message names near ones.
        """
        by_short = {short_id(trial_id): trial for trial_id, trial in self.trials.items()}
        numbered = f"s{int(name):05d}" if name.isdecimal() else name
        match = self.trials.get(name) or by_short.get(name) or by_short.get(numbered)
        if match is None:
            near = nearest_names(short_id(numbered), by_short, most=NEAR, cutoff=0.0)
            nearest = (
                f"; near ones are {', '.join(sorted(near))}" if near else ", nor any other yet"
            )
            raise SettingsError(f"run {self.run_id} has no trial {name!r}{nearest}", trial=name)
        return match


def choices_of(folder: RunFolder) -> RunChoices:
    """What is known of a run."""
    from automl.tracking.reading import JournalView

    try:
        facts = folder.read_facts()
    except SettingsError:
        facts = {}
    view = JournalView(folder)
    if folder.journal.is_dir():
        view.refresh()
    ensemble, result = EnsembleRecord.read(folder), RunResult.read(folder)
    stack = {} if ensemble is None else {trial.id: trial for trial in ensemble.stack}
    return RunChoices(
        status=describe(folder),
        facts=facts,
        trials=dict(view.trials)
        | {key: trial for key, trial in stack.items() if key not in view.trials},
        given_up=_given_up(folder) if result is None else result.given_up,
        search=SearchRecord.read(folder),
        candidates=CandidatesRecord.read(folder),
        selection=ChampionRecord.read(folder),
        ensemble=ensemble,
        honest=HonestRecord.read(folder),
        final=FinalRecord.read(folder),
        promotion=PromotionRecord.read(folder),
        result=result,
        report=ReportRecord.read(folder),
    )


def _given_up(folder: RunFolder) -> list[str]:
    """What the finished stages say of it; the run adds it to their records."""
    records = (read_stage(folder, stage.name) for stage in STAGES)
    return [text for record in records for text in record.get("stage_given_up") or ()]
