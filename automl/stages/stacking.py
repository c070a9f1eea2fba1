"""The second layer: models that learn from out-of-fold predictions of the search's trials (H18, section 2.5.3)."""

from __future__ import annotations

import itertools
import time
import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np

from automl.data.splits import make_folds
from automl.errors import AutoMLWarning, DataError, SettingsError
from automl.evaluation.journal import read as read_journal
from automl.evaluation.plan import EvaluationPlan
from automl.evaluation.slots import Job
from automl.families.family import kind_of
from automl.families.registry import get_family
from automl.records import Configuration, IntArray, JsonScalar, Trial, TrialStatus
from automl.run.session import Session
from automl.search.runner import TrialRunner
from automl.settings import Settings
from automl.stages.membership import most_members

STAGE = "stack"
EVALUATE_JOB = "automl.evaluation.second_layer:evaluate_stack"
LEAST_BASE = 2
"""Models to learn from: of one there is nothing to combine."""
HOLDOUT_PARTS = 5
"""Parts of a holdout's rows, which have no folds of their own."""
TIME_SHARE = 0.75
"""Share of the ensemble's time that the second layer may take."""

UNKNOWN_SECONDS = 1.0
"""Expected seconds of a model of the second layer before its family has a complete trial."""

Choice = tuple[str, Mapping[str, JsonScalar]]

META: dict[str, tuple[tuple[Choice, ...], ...]] = {
    "classification": (
        (("logistic_regression", {"C": 0.3, "prep.scaler": "standard"}),),
        (("extra_trees", {"min_samples_leaf": 3, "prep.encoder": "ordinal"}),),
    ),
    "regression": (
        (
            ("elastic_net", {"prep.scaler": "standard"}),
            ("ridge", {"alpha": 3.0, "prep.scaler": "standard"}),
        ),
        (("extra_trees", {"min_samples_leaf": 5, "prep.encoder": "ordinal"}),),
    ),
}
"""Configurations of the second layer by kind of target; of each choice the first that takes part.

Small and fixed, since a search here would be one more choice made on the same predictions. Means over 13 small
tables x 8 divisions into halves, with six or eight models as inputs. Log loss: logistic regression 0.275,
extremely randomized trees 0.290, the best single model 0.310, mean of all 0.327, LightGBM with 4 leaves 0.328.
R²: elastic net 0.733, ridge 0.733, the best single model 0.731, extremely randomized trees 0.720, LightGBM
with 4 leaves 0.708 (0.719 with the features), mean of all 0.661."""

WITH_FEATURES: tuple[Choice, ...] = (
    ("lightgbm", {"num_leaves": 4, "learning_rate": 0.05, "prep.encoder": "ordinal"}),
)
"""One more where the features are inputs too: of predictions alone it makes too little."""


def stack_trials(session: Session, base: Sequence[Trial]) -> list[Trial]:
    """Models of the second layer over some trials of the search, evaluated by the search's folds.

    Their out-of-fold predictions and fold models are kept like those of the search's trials. What
    an interrupted run has finished is taken over.

    Parameters
    ----------
    base
        Complete trials whose out-of-fold predictions are the inputs, in this order.

    Returns
    -------
        The complete ones in the order of `META`, stage ``stack``; empty, with the reason in
        `session.given_up`, where there can be no second layer.
    """
    if len(base) < LEAST_BASE:
        session.given_up.append(
            f"no second layer: it needs {LEAST_BASE} models to learn from; there is {len(base)}"
        )
        return []
    try:
        second_layer_folds(session.plan)
    except DataError as error:
        session.given_up.append(f"no second layer: the holdout cannot be divided ({error})")
        return []
    configurations = meta_configurations(session.settings, session.plan, len(base))
    if not configurations:
        choices = _choices(session.settings, session.plan)
        names = dict.fromkeys(name for choice in choices for name, _ in choice)
        session.given_up.append(
            f"no second layer: none of {', '.join(names)} takes part and can handle the table"
        )
        return []
    return _Stacker(session, base).run(configurations)


def likely_seconds(session: Session, trials: Sequence[Trial]) -> float:
    """Seconds that the second layer will take, while the search goes on; 0 without one.

    Parameters
    ----------
    trials
        Complete trials of the search so far; those of a family tell of its second layer.
    """
    if not session.settings.has_second_layer or len(trials) < LEAST_BASE:
        return 0.0
    n_base = min(len(trials), most_members(session.settings))
    seconds = []
    for configuration in meta_configurations(session.settings, session.plan, n_base):
        observed = [t.seconds for t in trials if t.configuration.family == configuration.family]
        seconds.append(sum(observed) / len(observed) if observed else UNKNOWN_SECONDS)
    return max(sum(seconds) / session.pool.n_slots, max(seconds, default=0.0))


def meta_configurations(
    settings: Settings, plan: EvaluationPlan, n_base: int
) -> list[Configuration]:
    """Models of the second layer: small ones, of families that take part in the run.

    Parameters
    ----------
    n_base : number of models whose predictions are the inputs
    """
    table = plan.table
    n_columns = n_base * max(table.n_classes, 1)
    n_columns += table.frame.shape[1] if settings.stack_features else 0

    def configuration(name: str, values: Mapping[str, JsonScalar]) -> Configuration | None:
        if not settings.takes_part(name):
            return None
        family = get_family(name)
        can_weigh = plan.weights is None or family.capabilities.sample_weight
        if not can_weigh or family.supports(table.task, len(table), n_columns, table.n_classes):
            return None
        try:
            return family.space(table.task).complete(values)
        except SettingsError:  # a family of the user's own under this name has another space
            return None

    configurations = []
    for choices in _choices(settings, plan):
        usable = (configuration(*choice) for choice in choices)
        configurations += [next((each for each in usable if each is not None), None)]
    return [each for each in configurations if each is not None]


def second_layer_folds(plan: EvaluationPlan) -> IntArray:
    """Folds by which whatever learns from out-of-fold predictions is evaluated.

    A second layer, or the weights of an ensemble: by the folds of the search, or parts of its one
    holdout. Parts keep groups together; in time order they are consecutive.

    Returns
    -------
    (n rows of the search stage,), -1 for rows without out-of-fold predictions

    Raises
    ------
    DataError
        If a holdout has fewer groups or times than `HOLDOUT_PARTS`.
    """
    stage, table = plan.stage("search"), plan.table
    folds = stage.folds[0]
    inside = np.flatnonzero(folds >= 0)
    if len(np.unique(folds[inside])) > 1:
        return np.asarray(folds)
    rows = stage.rows[inside]
    is_time = plan.settings.time_ordered
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AutoMLWarning)  # classes rarer than parts: said before
        parts = make_folds(
            table.y[rows],
            table.task,
            n_folds=HOLDOUT_PARTS - is_time,
            repeat=0,
            seed=plan.settings.seed,
            groups=None if is_time or table.groups is None else _codes(table.groups[rows]),
            time=table.time[rows] if is_time and table.time is not None else None,
        )
    out = np.full(len(folds), -1, dtype=np.int32)
    out[inside] = parts + is_time  # in time order the first part only trains: it is a part here
    return out


def stack_payload(session: Session, trial: Trial, base: Sequence[str]) -> dict[str, Any]:
    """Payload of the jobs of `automl.evaluation.second_layer` for a trial of the second layer.

    Parameters
    ----------
    base
        Ids of the trials whose predictions are the inputs.
    """
    return {
        "configuration": trial.configuration.to_json(),
        "base": list(base),
        "takes_features": session.settings.stack_features,
        "folds": second_layer_folds(session.plan),
        "save_as": trial.id,
    }


class _Stacker:
    """Runs configurations of the second layer on all slots."""

    def __init__(self, session: Session, base: Sequence[Trial]) -> None:
        self._session = session
        self._base = [trial.id for trial in base]
        plan = session.plan
        self._runner = TrialRunner(
            session.pool, session.run_id, STAGE, plan.stage("search"), plan.index.aggregate
        )
        left = session.ledger.left_for("ensemble")
        self._deadline = None if left is None else time.monotonic() + TIME_SHARE * max(left, 0.0)
        self._store = plan.predictions

    def run(self, configurations: Sequence[Configuration]) -> list[Trial]:
        """Complete trials whose predictions are kept."""
        session = self._session
        earlier, taken = self._earlier()
        later = itertools.count(max([*taken, len(configurations) - 1]) + 1)
        blanks = [
            earlier.get(configuration.id)
            or self._blank(configuration, next(later) if place in taken else place)
            for place, configuration in enumerate(configurations)
        ]
        with ThreadPoolExecutor(session.pool.n_slots) as threads:
            trials = list(threads.map(self._run, blanks))
        usable = []
        session.is_reproducible &= not any(trial.depends_on_machine for trial in trials)
        for trial in trials:
            if trial.is_complete and self._store.has(trial.id):
                usable.append(trial)
            else:
                reason = trial.reason or "its predictions could not be kept"
                family = trial.configuration.family
                session.given_up.append(f"second layer without {family}: {reason}")
        return usable

    def _run(self, trial: Trial) -> Trial:
        session = self._session
        if trial.is_complete:
            return trial
        left = None if self._deadline is None else self._deadline - time.monotonic()
        if left is not None and left <= 0:
            return replace(trial, status=TrialStatus.TIMED_OUT, reason="no time left for it")
        job = Job(EVALUATE_JOB, stack_payload(session, trial, self._base))
        done = self._runner.run_job(trial, job, limit_seconds=left)
        session.commit(done, **self._decision)
        return done

    @property
    def _decision(self) -> dict[str, Any]:
        return {"base": self._base, "takes_features": self._session.settings.stack_features}

    def _blank(self, configuration: Configuration, index: int) -> Trial:
        return Trial(
            self._session.run_id,
            index,
            configuration,
            TrialStatus.FAILED,
            None,
            origin="second layer",
            stage=STAGE,
        )

    def _earlier(self) -> tuple[dict[str, Trial], set[int]]:
        """Usable trials of the journal by configuration, and the indexes that are taken."""
        earlier, taken = {}, set()
        for record in read_journal(self._session.folder.journal):
            if record.get("type") != "trial" or record["trial"]["stage"] != STAGE:
                continue
            trial = Trial.from_json(record["trial"])
            taken.add(trial.index)
            is_same = record.get("decision") == self._decision
            if is_same and trial.is_complete and self._store.has(trial.id):
                earlier[trial.configuration.id] = trial
        return earlier, taken


def _choices(settings: Settings, plan: EvaluationPlan) -> tuple[tuple[Choice, ...], ...]:
    choices = META[kind_of(plan.table.task)]
    return (*choices, WITH_FEATURES) if settings.stack_features else choices


def _codes(groups: IntArray) -> IntArray:
    """Codes from 0 without gaps."""
    return np.unique(groups, return_inverse=True)[1].astype(np.int64)
