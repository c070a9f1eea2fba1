"""The statistical selection among the candidates, and its whole record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from automl.families.registry import get_family
from automl.records import Trial
from automl.run.session import Session
from automl.run_records.candidates import CandidatesRecord, ScoredCandidate
from automl.run_records.champion import ChampionRecord
from automl.selection.clusters import Candidate
from automl.selection.levels import select
from automl.selection.preselection import (
    cluster_of,
    dispositions_before,
    trial_row,
)
from automl.selection.selection_records import SelectionRecord
from automl.stages.final_plan import member_milliseconds
from automl.stages.speed import EXPECTED, MEASURED, expected_seconds, ranks_by_expected_speed


def select_champion(
    session: Session, trials: Sequence[Trial], candidates: CandidatesRecord
) -> ChampionRecord:
    """Statistical selection level by level (B14, algorithm 3).

    Parameters
    ----------
    trials
        Of the search.
    """
    record = _select(session, trials, candidates.candidates)
    limit = session.settings.max_predict_ms
    rows = [
        trial_row(trial, predict_ms=None if limit is None else member_milliseconds(session, trial))
        for trial in trials
    ]
    before = dispositions_before(
        rows,
        candidates.clusters,
        candidates.screening,
        candidates.scoring,
        max_predict_ms=limit,
    )
    clusters = {k: v for group in candidates.clusters for k, v in cluster_of(group).items()}
    decided = {**before, **record.dispositions}
    return ChampionRecord(
        winner=record.winner,
        candidates=record.candidates,
        settings=record.settings,
        decisions=record.decisions,
        champion=record.winner,
        trials=tuple(rows),
        fold_rows=next(tuple(f.rows for f in t.folds) for t in trials if t.is_complete),
        max_predict_ms=limit,
        k=session.settings.candidates_per_signature,
        clusters=candidates.clusters,
        screening=candidates.screening,
        scoring=candidates.scoring,
        dispositions={t.id: replace(decided[t.id], **clusters.get(t.id, {})) for t in trials},
        seconds=EXPECTED if ranks_by_expected_speed(session) else MEASURED,
    )


def _select(
    session: Session, trials: Sequence[Trial], scored: Sequence[ScoredCandidate]
) -> SelectionRecord:
    settings = session.settings
    by_id = {trial.id: trial for trial in trials}
    configurations = [by_id[entry.trial_id].configuration for entry in scored]
    seconds = [entry.seconds for entry in scored]
    if ranks_by_expected_speed(session):
        seconds = expected_seconds(session, configurations)
    candidates = []
    for entry, configuration, fold_seconds in zip(scored, configurations, seconds, strict=True):
        family = get_family(configuration.family)
        candidates.append(
            Candidate(
                entry.trial_id,
                configuration,
                entry.scores,
                fold_seconds,
                family.simplicity,
                family.interpretability,
            )
        )
    return select(
        candidates,
        alpha=settings.alpha,
        top_n=settings.top_n,
        test=settings.selection_test,
        normality=settings.normality,
        test_train_ratio=session.plan.test_train_ratio("candidates"),
        alpha_split=settings.chosen_alpha_split,
        rope=settings.rope,
        criteria=settings.criteria,
    )
