"""The stages as the files of a run tell them: plain JSON in and plain JSON out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from automl.records import Trial
from automl.run.session import Session
from automl.run.stage_table import stage_named
from automl.run_records.candidates import CandidatesRecord
from automl.run_records.champion import ChampionRecord
from automl.run_records.ensemble import EnsembleRecord
from automl.run_records.final import FinalRecord
from automl.run_records.honest import HonestRecord
from automl.stage_record import plain_json
from automl.stages import candidates, champion, ensembling, finishing, result
from automl.stages.line import Line

Json = dict[str, Any]


def choose_candidates(session: Session, trials: Sequence[Trial]) -> Json:
    chosen: Json = plain_json(candidates.choose_candidates(session, trials))
    return chosen


def score_candidates(session: Session, trials: Sequence[Trial], chosen: Sequence[str]) -> Json:
    scored: Json = plain_json(candidates.score_candidates(session, trials, chosen))
    return scored


def select_champion(session: Session, trials: Sequence[Trial], record: Mapping[str, Any]) -> Json:
    found = CandidatesRecord.from_json(record)
    return champion.select_champion(session, trials, found).to_json()


def build_ensemble(session: Session, trials: Sequence[Trial], champion_id: str) -> Json:
    selection: Any = SimpleNamespace(champion=champion_id)
    return ensembling.build_ensemble(session, trials, selection).to_json()


def build_final(session: Session, trials: Sequence[Trial], record: Mapping[str, Any]) -> Json:
    return finishing.build_final(session, trials, EnsembleRecord.from_json(record)).to_json()


def leaderboard(trials: Sequence[Trial], selection: Json, members: Sequence[Json]) -> list[Json]:
    final = FinalRecord.from_json({"members": members})
    decided = ChampionRecord.from_json(selection)
    rows: list[Json] = plain_json(result.leaderboard(trials, decided, HonestRecord(), final))
    return rows


def record(line: Line, stage: str) -> Json:
    return line.record(stage_named(stage).record).to_json()
