"""Whole records of stages, as runs leave them, with as much changed as a test is about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from automl.ensembles.evidence import EnsembleDecision
from automl.home import RunFolder
from automl.record_files import StageRecords
from automl.records import Configuration
from automl.run_records.candidates import CandidatesRecord, ScoredCandidate
from automl.run_records.champion import ChampionRecord
from automl.run_records.ensemble import EnsembleEvidence, EnsembleRecord, Share
from automl.run_records.final import FinalMember, FinalRecord, UntouchedScore
from automl.run_records.honest import HonestRecord
from automl.run_records.result import (
    Baseline,
    DeployedModel,
    LeaderboardRow,
    ResultChampion,
    RunResult,
)
from automl.selection.clusters import Candidate
from automl.selection.correction import HonestScore
from automl.selection.preselection import ScoringRecord, ScreeningRecord
from automl.selection.selection_records import (
    Level,
    LevelDecision,
    Member,
    SelectionSettings,
    Verdict,
)
from automl.stage_record import StageRecord

TEST = UntouchedScore(30, 0.45, {"accuracy": 0.7})


def write(folder: RunFolder, *records: StageRecord) -> None:
    """Write records as the stages of a run do."""
    for record in records:
        StageRecords(folder.stages).write(record.stage, record.to_json())


def candidates_of(*trial_ids: str) -> CandidatesRecord:
    """Candidates with one score each."""
    return CandidatesRecord(
        candidates=tuple(ScoredCandidate(trial_id, (0.5,), 0.1) for trial_id in trial_ids),
        scoring=_scoring(trial_ids),
        trial_ids=trial_ids,
        clusters=(),
        screening=ScreeningRecord(trial_ids, trial_ids, len(trial_ids)),
    )


def _scoring(trial_ids: tuple[str, ...]) -> ScoringRecord:
    scored = dict.fromkeys(trial_ids, (0.5,))
    return ScoringRecord(trial_ids, 1, 0, 1, scored, (), trial_ids)


def selection_of(champion: str, **changes: Any) -> ChampionRecord:
    """A selection with one candidate."""
    alone = Member(champion, 0.5, Verdict.PROMOTED, None, None, 1.0)
    whole: dict[str, Any] = {
        "winner": champion,
        "candidates": (Candidate(champion, Configuration("ridge", {}), (0.5,)),),
        "settings": SelectionSettings.build(),
        "decisions": (LevelDecision("root", Level.ROOT, 0.05, 3, (alone,), (), ""),),
        "champion": champion,
        "screening": ScreeningRecord((champion,), (champion,), 1),
        "scoring": _scoring((champion,)),
        "seconds": "measured",
    }
    return ChampionRecord(**whole | changes)


def ensemble_of(weights: Mapping[str, float], **changes: Any) -> EnsembleRecord:
    """An ensemble that replaced the champion by a clear test."""
    decision = EnsembleDecision(
        is_replaced=True,
        difference=0.01,
        statistic=2.5,
        pvalue=0.02,
        alpha=0.05,
        test_train_ratio=0.25,
        ensemble_scores=(0.82, 0.81),
        champion_scores=(0.8, 0.81),
        learned_score=0.82,
        replaced_score=0.81,
        reason="the ensemble is better",
    )
    members = tuple(Share(trial_id, weight) for trial_id, weight in weights.items())
    whole: dict[str, Any] = {
        "members": members,
        "learned": members,
        "replaced_champion": True,
        "evidence": EnsembleEvidence(decision, 1, 0.5),
        "method": "greedy",
        "n_library": len(members),
        "score": 0.82,
    }
    return EnsembleRecord(**whole | changes)


def honest_of(**changes: Any) -> HonestRecord:
    """Equal estimates of champion and ensemble; the ensemble is the model."""
    score = HonestScore(
        score=0.77,
        low=0.7,
        high=0.83,
        naive=0.8,
        naive_low=0.73,
        naive_high=0.86,
        bias=0.03,
        gain=0.0,
        n_bootstraps=200,
    )
    return HonestRecord(
        **{"single": score, "ensemble": score, "chosen": "ensemble"}
        | {"n_bootstraps": 200, "n_trials": 7, "reason": ""}
        | changes
    )


def final_of(weights: Mapping[str, float] | None = None, **changes: Any) -> FinalRecord:
    """A final model; of one member where no weights are given."""
    members = (weights or {"t": 1.0}).items()
    whole: dict[str, Any] = {
        "members": tuple(FinalMember(trial_id, weight, "ridge") for trial_id, weight in members),
        "bundle": "bundle",
        "score": 0.5,
        "predict_ms": 0.1,
        "size_mib": 0.1,
    }
    return FinalRecord(**whole | changes)


def result_of(trial_id: str = "t", **changes: Any) -> RunResult:
    """A result whose model is better than the constant, and not registered yet."""
    row = LeaderboardRow(
        rank=1,
        trial_id=trial_id,
        family="ridge",
        score=0.5,
        std=0.1,
        fit_seconds=0.3,
        predict_ms=0.2,
        status="champion",
        origin="default",
    )
    whole: dict[str, Any] = {
        "run_id": "r",
        "problem": "p",
        "task": "binary",
        "metric": "mcc",
        "champion": ResultChampion(trial_id, "ridge", Configuration("ridge", {}), 0.5),
        "score": 0.5,
        "baseline": Baseline("", 0.0, 0.5, is_constant=False),
        "metrics": {},
        "leaderboard": (row,),
        "trials": 1,
        "complete_trials": 1,
        "families": 1,
        "model": model_of(),
    }
    return RunResult(**whole | changes)


def model_of(registration: str = "") -> DeployedModel:
    """What is told of a small model, with how far its registration is."""
    return DeployedModel("bundle", "bag", (), 0.1, 0.1, None, registration=registration)
