"""The statistical selection among the candidates, and its whole record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from automl.families.registry import get_family
from automl.records import Trial
from automl.run.session import Session
from automl.selection.candidates import Candidate
from automl.selection.levels import select
from automl.selection.preselection import (
    ScoringRecord,
    ScreeningRecord,
    SignatureClusters,
    cluster_of,
    dispositions_before,
    trial_row,
)
from automl.selection.record_digest import DIGEST, record_digest
from automl.selection.selection_records import SelectionRecord
from automl.stages.finishing import member_milliseconds
from automl.stages.speed import EXPECTED, MEASURED, expected_seconds, ranks_by_expected_speed


def select_champion(
    session: Session, trials: Sequence[Trial], candidates: Mapping[str, Any]
) -> dict[str, Any]:
    """Statistical selection level by level (B14, algorithm 3).

    Parameters
    ----------
    trials
        Of the search.
    candidates
        Record of the candidates: `clusters`, `screening`, `scoring` and `candidates`.

    Returns
    -------
        Record of the whole selection, from which `automl.selection.checker` recomputes it; `champion`
        is the winner's trial id.
    """
    record = _select(session, trials, candidates["candidates"])
    limit = session.settings.max_predict_ms
    rows = [
        trial_row(trial, predict_ms=None if limit is None else member_milliseconds(session, trial))
        for trial in trials
    ]
    groups = [SignatureClusters.from_json(group) for group in candidates["clusters"]]
    before = dispositions_before(
        rows,
        groups,
        ScreeningRecord.from_json(candidates["screening"]),
        ScoringRecord.from_json(candidates["scoring"]),
        max_predict_ms=limit,
    )
    clusters = {k: v for group in groups for k, v in cluster_of(group).items()}
    found = {**before, **record.dispositions}
    dispositions = {
        trial.id: {**clusters.get(trial.id, {}), **found[trial.id].to_json()} for trial in trials
    }
    made = {
        **record.to_json(),
        "champion": record.winner,
        "trials": rows,
        "fold_rows": next([f.rows for f in t.folds] for t in trials if t.is_complete),
        "max_predict_ms": limit,
        "k": session.settings.clusters,
        "clusters": candidates["clusters"],
        "screening": candidates["screening"],
        "scoring": candidates["scoring"],
        "dispositions": dispositions,
        "seconds": EXPECTED if ranks_by_expected_speed(session) else MEASURED,
    }
    return {**made, DIGEST: record_digest(made)}


def _select(
    session: Session, trials: Sequence[Trial], scored: Sequence[Mapping[str, Any]]
) -> SelectionRecord:
    settings = session.settings
    by_id = {trial.id: trial for trial in trials}
    configurations = [by_id[entry["trial_id"]].configuration for entry in scored]
    seconds = [float(entry["seconds"]) for entry in scored]
    if ranks_by_expected_speed(session):
        seconds = expected_seconds(session, configurations)
    candidates = []
    for entry, configuration, fold_seconds in zip(scored, configurations, seconds, strict=True):
        family = get_family(configuration.family)
        candidates.append(
            Candidate(
                entry["trial_id"],
                configuration,
                tuple(entry["scores"]),
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
