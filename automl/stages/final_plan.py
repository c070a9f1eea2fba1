"""What the final model will be made of, and the time that this takes; stages before it ask too."""

from __future__ import annotations

from collections.abc import Sequence

from automl.evaluation.fold_models import models_mib
from automl.records import Trial
from automl.run.session import Session

REFIT_SAFETY = 1.5
"""Factor on the seconds of a refit that has no fold models beside it, and so nothing behind it to be shortened
(by judgement)."""
SAMPLE_ROWS = 1000
"""Reported times are milliseconds for a thousand rows."""
LEAST_SAMPLE_ROWS = 100
"""On fewer the cost of the call would be taken for that of the rows."""
SAMPLE_SECONDS = 0.5
"""For timing, by the members' own times."""


def is_bag(session: Session) -> bool:
    """Whether fold models are in the final model; else members are models of all rows."""
    settings, plan = session.settings, session.plan
    if settings.data_mode == "halves" or plan.stage("search").jobs_per_repeat == 1:
        return False
    return settings.final != "refit" and len(plan.table) <= settings.bag_up_to_rows


def wants_refits(session: Session) -> bool:
    """Whether members are to be fitted once more on all rows, instead of their bags or beside them."""
    return not is_bag(session) or session.settings.final == "bag_and_refit"


def refit_seconds(session: Session, trial: Trial) -> float:
    """Seconds that fitting a trial's configuration on all rows is expected to take.

    At most, where no fold models are beside it.
    """
    plan = session.plan
    share = len(plan.rows_of("search", 0, 0)[0]) / len(plan.table)
    task = plan.table.task
    told = sum(fold.told_fit_seconds(task) for fold in trial.folds) / max(len(trial.folds), 1)
    return (1.0 if is_bag(session) else REFIT_SAFETY) * told / max(share, 0.1)


def missing_seconds(session: Session, trials: Sequence[Trial]) -> list[float]:
    """Seconds of each trial whose fold models the final model has, but which were not kept."""
    if not is_bag(session):
        return []
    return [trial.seconds for trial in trials if not models_mib(session.folder.path, trial.id)]


def member_milliseconds(session: Session, trial: Trial) -> float:
    """To predict a row in the final model, with all models of the trial."""
    n_fold_models = session.plan.stage("search").jobs_per_repeat if is_bag(session) else 0
    return (n_fold_models + wants_refits(session)) * trial.predict_milliseconds


def prediction_seconds(session: Session, members: Sequence[Trial]) -> float:
    """Seconds that a model of these trials is expected to predict a sample and the test rows."""
    milliseconds = sum(member_milliseconds(session, trial) for trial in members)
    n_rows = sample_size(milliseconds) + session.folder.read_facts()["data"]["test_rows"]
    return float(milliseconds * n_rows / 1000.0)


def sample_size(milliseconds: float) -> int:
    """Rows that tell how fast a model is, without taking longer than about a second.

    Parameters
    ----------
    milliseconds : expected for one row
    """
    affordable = 1000.0 * SAMPLE_SECONDS / max(milliseconds, 1e-6)
    return int(min(SAMPLE_ROWS, max(affordable, LEAST_SAMPLE_ROWS)))
