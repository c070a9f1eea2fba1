"""The final model: fold models as a bag or refits, written as a bundle and scored on test rows."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from automl.alternatives import FinalKind
from automl.data.table import Table
from automl.durable import storing
from automl.errors import AutoMLError
from automl.evaluation.fitting import rounds_on_all_rows
from automl.evaluation.fold_models import load_models
from automl.evaluation.model_jobs import refit
from automl.evaluation.slots import Job
from automl.families.registry import CONSTANT
from automl.inference.bundle import write_bundle
from automl.inference.calibration import Calibration
from automl.inference.combining import Combine
from automl.inference.constant import is_constant
from automl.inference.decision import DecisionRule
from automl.inference.model import FittedPipeline, Member, TableModel
from automl.inference.reference import TrainingReference, prediction_references
from automl.installation import make_key
from automl.metrics.intervals import Intervals, bootstrap_seconds
from automl.records import IntArray, Trial, TrialStatus
from automl.run.session import Session
from automl.run_records.ensemble import BlendScores, EnsembleRecord
from automl.run_records.final import FinalMember, FinalRecord, UntouchedScore
from automl.selection.row_intervals import row_intervals
from automl.stages.blend_scores import describe_blend, normalized
from automl.stages.final_plan import (
    is_bag,
    missing_seconds,
    refit_seconds,
    sample_size,
    wants_refits,
)
from automl.stages.stacking import stack_payload

ASSEMBLY_SECONDS = 1.5
"""From the last refit to the bundle, on an idle core."""
LAST_RESORT_SECONDS = 5.0
"""Seconds of a refit when no time is left: a late model is better than none."""


@dataclass(frozen=True)
class Part:
    """A trial that goes into the final model.

    Parameters
    ----------
    weight : >= 0
        0 where its predictions are inputs of others only.
    base
        Ids of the trials whose predictions it takes; empty in the first layer.
    """

    trial: Trial
    weight: float
    base: tuple[str, ...] = ()


def build_final(session: Session, trials: Sequence[Trial], ensemble: EnsembleRecord) -> FinalRecord:
    """Assemble, write and time the final model.

    Parameters
    ----------
    trials
        Of the search.

    Raises
    ------
    AutoMLError
        If no member could be fitted.
    """
    from threadpoolctl import threadpool_limits

    parts = wanted_parts(trials, ensemble)
    refits = _refits(session, parts)
    members = _members(session, parts, refits)
    combine = ensemble.combine
    if not members:
        fallback = max((t for t in trials if t.is_complete), key=lambda t: t.achieved)
        members, combine = _members(session, [Part(fallback, 1.0)], set()), "mean"
    if not members:
        members = _last_resort(session, [t for t in trials if t.is_complete])
    if not members:
        raise AutoMLError("no model could be fitted for the final model; see workers.log")
    validated = _validated(session, members, combine, ensemble)
    is_whole = ensemble.is_made_of(member.trial for member in members if member.weight > 0)
    calibration = ensemble.calibration if is_whole else None
    model = assembled(session, members, validated.rule, combine, calibration)
    model.reference = _reference(session, model)
    with storing(session.folder.bundle, "the model"):
        write_bundle(model, session.folder.bundle, extra={"run": session.run_id}, key=make_key())
    session.model = model
    speeds = {t.id: t.predict_milliseconds for t in (*trials, *(part.trial for part in parts))}
    expected = sum(speeds[m.trial] * len(m.pipelines) for m in members)
    # as many threads as a trial has: more would wait for each other beside the tracking mirror
    with threadpool_limits(session.settings.threads):
        predict_ms = _predict_milliseconds(model, session.plan.table, expected)
        test = _test_score(session, model)
    limit = session.settings.max_predict_ms
    if limit is not None and predict_ms > limit:
        session.warnings.append(
            f"the final model predicts a row in {predict_ms:.3g} ms, over the limit of {limit:g} ms"
        )
    return FinalRecord(
        members=_member_facts(model),
        kind=_kind(session, refits),
        bundle=str(session.folder.bundle),
        threshold=getattr(model, "threshold_", None),
        score=validated.score,
        metrics=validated.metrics,
        predict_ms=predict_ms,
        size_mib=_folder_mib(session.folder.bundle),
        test=test,
    )


def wanted_parts(trials: Sequence[Trial], ensemble: EnsembleRecord) -> list[Part]:
    """Members of an ensemble, and after them what those of the second layer need besides."""
    second = {trial.id for trial in ensemble.stack}
    by_id = {trial.id: trial for trial in (*trials, *ensemble.stack)}
    parts = {}
    for name, weight in ensemble.shares.items():
        parts[name] = Part(by_id[name], weight, ensemble.base if name in second else ())
    for part in list(parts.values()):
        for name in part.base:
            parts.setdefault(name, Part(by_id[name], 0.0))
    return list(parts.values())


def assembled(
    session: Session,
    members: list[Member],
    rule: DecisionRule | None,
    combine: Combine = "mean",
    calibration: Calibration | None = None,
) -> TableModel:
    """Model of the run's table from fitted members.

    Parameters
    ----------
    rule : None for regression
    """
    table = session.plan.table
    return TableModel(
        table.schema,
        members,
        task=str(table.task),
        target=table.target,
        classes=None if table.class_labels is None else list(table.class_labels),
        threshold=rule.threshold if rule and table.n_classes == 2 else None,
        cost_matrix=rule.costs if rule else None,
        combine=combine,
        calibration=calibration,
        target_reading=table.target_reading,
    )


def _validated(
    session: Session, members: Sequence[Member], combine: Combine, ensemble: EnsembleRecord
) -> BlendScores:
    """Decision rule and validated scores of the model that is made.

    Those of the ensemble stage, unless a member is missing: the scores of a run are about its model.
    """
    shares = {member.trial: member.weight for member in members if member.weight > 0}
    if ensemble.is_made_of(shares):
        return ensemble.scores
    described = describe_blend(session.plan, normalized(shares), combine)
    if described is not None:
        session.warnings.append(
            "the final model lacks members: the honest score is that of the whole ensemble"
        )
        return described
    session.warnings.append(
        "the final model lacks members and the predictions of the others were not kept: its score is that of "
        "the whole ensemble, and its decision rule follows from the costs alone"
    )
    return replace(ensemble.scores, rule=session.plan.index.rule)


def _reference(session: Session, model: TableModel) -> TrainingReference:
    """Reference for later rows and predictions: the training table and the out-of-fold predictions."""
    table = session.plan.table
    weights = zip(model.members, model.weights_, strict=True)
    shares = {member.trial: float(weight) for member, weight in weights if weight > 0}
    raw = session.plan.predictions.blend(shares, model.combine, model.calibration)
    found = {} if raw is None else prediction_references(raw, model.rule_, table.class_labels)
    return TrainingReference.fit(table.schema, table.frame, found)


def _member_facts(model: TableModel) -> tuple[FinalMember, ...]:
    return tuple(
        FinalMember(
            m.trial,
            float(w),
            m.family,
            len(m.pipelines),
            tuple(model.members[place].trial for place in m.inputs),
        )
        for m, w in zip(model.members, model.weights_, strict=True)
    )


def _kind(session: Session, refits: Collection[str]) -> FinalKind:
    if not refits:
        return "bag"
    return "bag_and_refit" if is_bag(session) else "refit"


def _folder_mib(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 2**20


def _refits(session: Session, parts: Sequence[Part]) -> set[str]:
    """Trials that are to be fitted once more on all rows; the others keep their fold models.

    Nothing is refitted where a bag alone is wanted. Else all members are, as far as the ledger pays for
    it. Several fold models are replaced only if all members can be refitted. A model beside them, or in place
    of a single holdout's, comes in the order of the weights.
    """
    everything = {part.trial.id for part in parts}
    if not wants_refits(session):
        return set()
    left = session.ledger.left_for("final")
    if session.settings.data_mode == "halves" or left is None:
        return everything
    left -= ASSEMBLY_SECONDS * session.ledger.slowness
    capacity = left * session.pool.n_slots - sum(
        missing_seconds(session, [part.trial for part in parts])
    )
    affordable = set()
    for part in parts:
        seconds = refit_seconds(session, part.trial)
        if seconds <= min(capacity, left):
            affordable.add(part.trial.id)
            capacity -= seconds
    if affordable == everything:
        return everything
    if is_bag(session):
        session.cut_short()
        return affordable
    session.cut_short(
        f"no time to refit all {len(everything)} members on all rows; fold models are kept instead"
    )
    return affordable if session.plan.stage("search").jobs_per_repeat == 1 else set()


def _members(session: Session, parts: Sequence[Part], refits: Collection[str]) -> list[Member]:
    """Members that could be fitted, in the order of the parts; none without weight on any."""
    with ThreadPoolExecutor(session.pool.n_slots) as threads:
        fitted = threads.map(lambda part: _pipelines(session, part, part.trial.id in refits), parts)
        pipelines = {part.trial.id: models for part, models in zip(parts, fitted, strict=True)}
    usable = _usable(session, parts, pipelines)
    places = {part.trial.id: place for place, part in enumerate(usable)}
    members = [
        Member(
            part.weight,
            pipelines[part.trial.id],
            part.trial.configuration.family,
            part.trial.id,
            tuple(places[name] for name in part.base),
        )
        for part in usable
    ]
    _save_preprocessors(members)
    return members


def _usable(
    session: Session, parts: Sequence[Part], pipelines: Mapping[str, Sequence[FittedPipeline]]
) -> list[Part]:
    """Parts that were fitted, with all that they need, and that the model needs.

    Where nothing else is left, the best of the fitted inputs is taken alone.
    """
    fitted = [part for part in parts if pipelines[part.trial.id]]
    for part in parts:
        missing = [name for name in (part.trial.id, *part.base) if not pipelines[name]]
        if part.trial.id in missing:
            reason = "it could not be fitted in time"
        else:
            reason = f"it needs {', '.join(missing)}"
        if missing:
            session.given_up.append(f"member {part.trial.id} is left out: {reason}")
    whole = [part for part in fitted if all(pipelines[name] for name in part.base)]
    weighted = [part for part in whole if part.weight > 0]
    if not weighted and whole:
        best = max(whole, key=lambda part: part.trial.achieved)
        session.given_up.append(f"{best.trial.id} is the final model alone, for lack of the others")
        return [replace(best, weight=1.0)]
    needed = {name for part in weighted for name in (part.trial.id, *part.base)}
    return [part for part in whole if part.trial.id in needed]


def _pipelines(session: Session, part: Part, is_refit: bool) -> list[FittedPipeline]:
    """Fold models of a trial and the model of all rows, as far as the final model has them."""
    if not is_refit:
        return _kept_or_fitted(session, part, is_refit=False)
    folds = _kept_or_fitted(session, part, is_refit=False) if is_bag(session) else []
    models = [*folds, *_kept_or_fitted(session, part, is_refit=True)]
    if models or session.settings.data_mode == "halves":
        return models
    return _kept(session, part.trial.id)


def _kept_or_fitted(session: Session, part: Part, *, is_refit: bool) -> list[FittedPipeline]:
    """Kept models of a trial, or new ones from a worker slot; none if there is no time for them."""
    name = f"{part.trial.id}-refit" if is_refit else part.trial.id
    kept = _kept(session, name)
    if kept:
        return kept
    left = session.ledger.left_for("final")
    if left is not None and is_refit and is_bag(session):
        left -= ASSEMBLY_SECONDS * session.ledger.slowness
    fitted(session, fitting_job(session, part, name, is_refit), left)
    return _kept(session, name)


def _kept(session: Session, name: str) -> list[FittedPipeline]:
    models = load_models(session.folder.path, name)
    return list(models.values()) if models else []


def fitting_job(session: Session, part: Part, name: str, is_refit: bool) -> Job:
    """Job that fits a part and keeps its models as `name`: on all rows, or by the folds once more."""
    if part.base:
        target = "refit_stack" if is_refit else "fit_stack_folds"
        payload = {**stack_payload(session, part.trial, part.base), "save_as": name}
        return Job(f"automl.evaluation.second_layer:{target}", payload)
    trial = part.trial
    rounds = rounds_on_all_rows(session.plan, trial) if is_refit else trial.most_rounds
    payload = {
        "configuration": trial.configuration.to_json(),
        "save_as": name,
        "most_rounds": rounds,
    }
    return Job(f"automl.evaluation.model_jobs:{'refit' if is_refit else 'fit_folds'}", payload)


def _last_resort(session: Session, trials: Sequence[Trial]) -> list[Member]:
    """The best trial that is surely refitted in what is left of the run, or the quickest one.

    It takes the time of the registration too: that can be made up for later.
    """
    left = max(session.ledger.left or 0.0, LAST_RESORT_SECONDS)
    seconds = {t.id: refit_seconds(session, t) for t in trials}
    sure = [t for t in trials if seconds[t.id] <= left / 2]
    trial = max(sure, key=lambda t: t.achieved, default=None) or min(
        trials, key=lambda t: seconds[t.id]
    )
    part, name = Part(trial, 1.0), f"{trial.id}-refit"
    job = fitting_job(session, part, name, is_refit=True)
    if not fitted(session, job, left):
        if trial.configuration.family != CONSTANT:
            return []
        refit(str(session.folder.path), job.payload)
    session.cut_short(f"{trial.id} is the final model alone: there was no time for more")
    return _members(session, [part], {trial.id})


def fitted(session: Session, job: Job, left: float | None) -> bool:
    """Whether a worker slot has done a job of fitting within `left` seconds."""
    if left is not None and left <= 0:
        session.cut_short()
        return False
    slot = session.pool.acquire()
    try:
        outcome = session.pool.run(slot, job, limit_seconds=left)
    finally:
        session.pool.release(slot)
    if outcome.status.depends_on_machine:
        session.is_reproducible = False
    return outcome.status is TrialStatus.COMPLETE


def _save_preprocessors(members: Sequence[Member]) -> None:
    """Let pipelines whose preprocessors are equal share one, so that it runs once; constants need none."""
    import joblib

    saved: dict[str, Any] = {}
    for member in members:
        for pipeline in member.pipelines:
            if pipeline.stack is None and is_constant(pipeline.estimator):
                pipeline.preprocessor = None
            if pipeline.preprocessor is None:
                continue
            digest = joblib.hash(pipeline.preprocessor)
            pipeline.preprocessor = saved.setdefault(digest, pipeline.preprocessor)


def _predict_milliseconds(model: TableModel, table: Table, expected: float) -> float:
    """Milliseconds per row, measured on as many rows as the expected ones allow."""
    rows = table.frame.iloc[: sample_size(expected)]
    started = time.perf_counter()
    model.raw_typed(rows)
    return 1000.0 * (time.perf_counter() - started) / len(rows)


def _test_score(session: Session, model: TableModel) -> UntouchedScore | None:
    """Score of the rows that nothing else has touched."""
    if not session.folder.test.exists():
        return None
    test = Table.load(session.folder.test)
    prediction = model.raw_typed(test.frame)
    index, labels = session.plan.index, model.codes(prediction)
    weights = None if test.weights is None else np.asarray(test.weights)
    return UntouchedScore(
        len(test),
        index.score(test.y, prediction, weights, labels=labels),
        index.metrics(test.y, prediction, weights, labels=labels),
        _test_intervals(session, test, prediction, labels),
    )


def _test_intervals(
    session: Session, test: Table, prediction: NDArray[Any], labels: IntArray | None
) -> Intervals:
    """Intervals of the test scores; none where there is no time to draw the rows often enough."""
    left = session.ledger.left_for("final")
    if left is not None and bootstrap_seconds(prediction) > left:
        session.cut_short("no time for the intervals of the test scores")
        return Intervals()
    return row_intervals(
        session.plan.index,
        test.y,
        prediction,
        labels=labels,
        sample_weight=None if test.weights is None else np.asarray(test.weights),
        groups=test.groups,
    )
