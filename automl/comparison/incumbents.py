"""Predictions of a method after fewer trials: its best models so far, on test rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from automl.data.table import Table
from automl.evaluation.fold_models import load_models
from automl.inference.decision import DecisionRule
from automl.inference.model import FittedPipeline, Member
from automl.records import FloatArray, IntArray, Trial
from automl.run.session import Session
from automl.stages.blend_scores import describe_blend
from automl.stages.final_plan import is_bag
from automl.stages.finishing import Part, assembled, fitted, fitting_job

LEAST_LIMIT = 60.0
"""Seconds; a fit may take so long, and ten times what the trial's fits took."""


def incumbents(trials: Sequence[Trial]) -> list[tuple[int, Trial]]:
    """Complete trials that were the best when they came, each with the number of trials by then."""
    bests: list[tuple[int, Trial]] = []
    for n_trials, trial in enumerate(sorted(trials, key=lambda trial: trial.index), start=1):
        if not trial.is_complete:
            continue
        if not bests or trial.achieved > bests[-1][1].achieved:
            bests.append((n_trials, trial))
    return bests


def answers_over_trials(
    session: Session, trials: Sequence[Trial], test: Table
) -> tuple[IntArray | None, FloatArray | None, IntArray | None]:
    """Predictions of the test rows by the best single model after so many trials.

    The model is chosen by its validated score, and made as the run makes members of its final
    model: of the fold models, or by a refit. This is outside of the run's budget.

    Returns
    -------
    steps : (C,), numbers of trials from which on the answer was another one
    predictions : (C, n, K) or (C, n)
    labels : (C, n), codes
        By each model's own decision rule; None for regression.
        All three None if no model on the way could be fitted.
    """
    steps, predictions, labels = [], [], []
    for n_trials, trial in incumbents(trials):
        pipelines = _pipelines(session, trial)
        if pipelines:
            steps.append(n_trials)
            member = Member(1.0, pipelines, trial.configuration.family, trial.id)
            model = assembled(session, [member], _rule(session, trial))
            predictions.append(model.raw_typed(test.frame))
            labels.append(model.codes(predictions[-1]))
    if not steps:
        return None, None, None
    decided = [codes for codes in labels if codes is not None]
    return np.array(steps), np.stack(predictions), np.stack(decided) if decided else None


def _rule(session: Session, trial: Trial) -> DecisionRule | None:
    """Decision rule of a trial's own model; None for regression."""
    scores = describe_blend(session.plan, {trial.id: 1.0})
    return session.plan.index.rule if scores is None else scores.rule


def _pipelines(session: Session, trial: Trial) -> list[FittedPipeline]:
    """Kept models of a trial, or new ones from a worker slot; none if that fails."""
    is_refit = not is_bag(session)
    name = f"{trial.id}-refit" if is_refit else trial.id
    models = load_models(session.folder.path, name)
    limit = LEAST_LIMIT + 10 * trial.fit_seconds
    if models is None and fitted(
        session, fitting_job(session, Part(trial, 1.0), name, is_refit), limit
    ):
        models = load_models(session.folder.path, name)
    return list(models.values()) if models else []
