"""The stages of a run in their order: what each takes, what makes its record, and what it needs of the tail.

Whatever begins, resumes, shows or explains a run reads this table.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from automl.run_records.candidates import CandidatesRecord
from automl.run_records.champion import ChampionRecord
from automl.run_records.ensemble import EnsembleRecord
from automl.run_records.final import FinalRecord
from automl.run_records.honest import HonestRecord
from automl.run_records.promotion import PromotionRecord
from automl.run_records.report import ReportRecord
from automl.run_records.result import RunResult
from automl.run_records.search import SearchRecord
from automl.settings import Settings
from automl.stage_record import StageRecord

REGISTRATION = "registration"
"""What follows the last stage: it may be made up for later, so that it has no record of its own."""
REGISTRATION_SECONDS = 6.0
"""Kept before anything is known: four to open a store, one and a half for a small model
(`automl.stages.outlook`)."""


@dataclass(frozen=True)
class Stage:
    """A function from typed inputs to a record.

    Parameters
    ----------
    record : type of what it makes
    function
        ``module:name``, imported when the stage is made; takes the session, the trials of the search, and
        each record of `inputs` by the name of its stage. Empty for the search, which makes its record itself.
    inputs : types of the records that it takes; those of stages before it
    title : for pages and logs
    tail_seconds
        What the ledger keeps for it before any trial has shown more; None if nothing has to be kept.
    applies : whether runs of these settings have it
    """

    record: type[StageRecord]
    function: str
    title: str
    inputs: tuple[type[StageRecord], ...] = ()
    tail_seconds: float | None = None
    applies: Callable[[Settings], bool] = lambda _: True

    @property
    def name(self) -> str:
        """Name of the stage, and of its record's file."""
        return self.record.stage

    def load(self) -> Callable[..., Any]:
        """The function."""
        module, _, name = self.function.partition(":")
        function: Callable[..., Any] = getattr(importlib.import_module(module), name)
        return function


STAGES: Final = (
    Stage(SearchRecord, "", "end of search"),
    Stage(
        CandidatesRecord,
        "automl.stages.candidates:find_candidates",
        "score candidates",
        tail_seconds=0.0,
    ),
    Stage(
        ChampionRecord,
        "automl.stages.champion:select_champion",
        "select champion",
        (CandidatesRecord,),
    ),
    Stage(
        EnsembleRecord,
        "automl.stages.ensembling:build_ensemble",
        "build ensemble",
        (ChampionRecord,),
        tail_seconds=2.0,
    ),
    Stage(
        HonestRecord,
        "automl.stages.honesty:estimate",
        "honest score",
        (ChampionRecord, EnsembleRecord),
        tail_seconds=1.0,
    ),
    Stage(
        FinalRecord,
        "automl.stages.finishing:build_final",
        "build final model",
        (EnsembleRecord,),
        tail_seconds=2.0,
    ),
    Stage(
        PromotionRecord,
        "automl.stages.promotion:decide_promotion",
        "compare with champion",
        (FinalRecord,),
        applies=lambda settings: settings.challenge,
    ),
    Stage(
        RunResult,
        "automl.stages.result:make_result",
        "write result",
        (SearchRecord, ChampionRecord, EnsembleRecord, HonestRecord, FinalRecord, PromotionRecord),
    ),
    Stage(
        ReportRecord,
        "automl.reports.run_report:make_report",
        "write report",
        tail_seconds=1.0,
    ),
)


def stage_of(record: type[StageRecord]) -> Stage:
    """The stage that makes records of a type."""
    return next(stage for stage in STAGES if stage.record is record)


def stage_named(name: str) -> Stage:
    """The stage of a name."""
    return next(stage for stage in STAGES if stage.name == name)


def stages_of(settings: Settings) -> list[Stage]:
    """Stages that runs of these settings have, in their order."""
    return [stage for stage in STAGES if stage.applies(settings)]


def unknown_tail() -> dict[str, float]:
    """Seconds kept for what follows the search before any trial has shown more, in its order."""
    claims = {s.name: s.tail_seconds for s in STAGES if s.tail_seconds is not None}
    return {**claims, REGISTRATION: REGISTRATION_SECONDS}
