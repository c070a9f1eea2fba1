"""What a method would have answered after fewer trials: its best models on the way, on test rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from automl.data.table import Table
from automl.evaluation.fold_models import load_models
from automl.evaluation.slots import Job
from automl.inference.model import FittedPipeline, Member, TableModel
from automl.records import FloatArray, IntArray, Trial, TrialStatus
from automl.stages.finishing import wants_refits
from automl.stages.session import Session

LEAST_LIMIT = 60.0
"""Seconds; a fit may take so long, and ten times what the trial's fits took."""


def incumbents(trials: Sequence[Trial]) -> list[tuple[int, Trial]]:
    """Complete trials that were the best when they came, each with the number of trials by then."""
    found: list[tuple[int, Trial]] = []
    for n_trials, trial in enumerate(sorted(trials, key=lambda trial: trial.index), start=1):
        if not trial.is_complete or trial.score is None:
            continue
        if not found or trial.score > (found[-1][1].score or 0.0):
            found.append((n_trials, trial))
    return found


def answers_over_trials(
    session: Session, trials: Sequence[Trial], test: Table
) -> tuple[IntArray | None, FloatArray | None]:
    """Predictions of the test rows by the best single model after so many trials.

    The model is chosen by its validated score, and made as the run makes members of its final
    model: of the fold models, or by a refit. This is outside of the run's budget.

    Returns
    -------
    steps : (C,), numbers of trials from which on the answer was another one
    predictions : (C, n, K) or (C, n)
        Both None if no model on the way could be fitted.
    """
    steps, predictions = [], []
    for n_trials, trial in incumbents(trials):
        pipelines = _pipelines(session, trial)
        if pipelines:
            steps.append(n_trials)
            predictions.append(_model(session, trial, pipelines).raw_typed(test.frame))
    if not steps:
        return None, None
    return np.array(steps), np.stack(predictions)


def _model(session: Session, trial: Trial, pipelines: list[FittedPipeline]) -> TableModel:
    table = session.plan.table
    return TableModel(
        table.schema,
        [Member(1.0, pipelines, trial.configuration.family, trial.id)],
        task=str(table.task),
        target=table.target,
        classes=None if table.class_labels is None else list(table.class_labels),
    )


def _pipelines(session: Session, trial: Trial) -> list[FittedPipeline]:
    """Kept models of a trial, or new ones from a worker slot; none where that fails."""
    is_refit = wants_refits(session)
    name = f"{trial.id}-refit" if is_refit else trial.id
    found = load_models(session.folder.path, name)
    if found is None and _fit(session, trial, "refit" if is_refit else "fit_folds", name):
        found = load_models(session.folder.path, name)
    return list(found.values()) if found else []


def _fit(session: Session, trial: Trial, target: str, name: str) -> bool:
    payload = {"configuration": trial.configuration.to_json(), "save_as": name}
    slot = session.pool.acquire()
    try:
        job = Job(f"automl.evaluation.trial:{target}", payload)
        outcome = session.pool.run(slot, job, limit_seconds=LEAST_LIMIT + 10 * trial.fit_seconds)
        return outcome.status is TrialStatus.COMPLETE
    finally:
        session.pool.release(slot)
