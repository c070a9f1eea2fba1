"""The ensemble of the search's complete trials, and whether it replaces the champion."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from automl.ensembles.layers import choose_base
from automl.ensembles.registry import get_ensemble
from automl.evaluation.predictions import PredictionStore
from automl.inference.calibration import Calibration
from automl.inference.combining import Combine
from automl.metrics.index import PerformanceIndex
from automl.records import FloatArray, Trial
from automl.run.session import Session
from automl.run_records.champion import ChampionRecord
from automl.run_records.ensemble import EnsembleRecord, Share
from automl.stages.blending import Blender, library_of, milliseconds_of
from automl.stages.membership import is_blendable, method_of, most_members
from automl.stages.recipes import followed, weighted
from automl.stages.stacking import stack_trials


def build_ensemble(
    session: Session, trials: Sequence[Trial], selection: ChampionRecord
) -> EnsembleRecord:
    """Weights learned on the out-of-fold predictions, against the champion.

    The weights that go into the model are learned on all rows; the evidence for them is
    cross-fitted: learned by the same work on all folds but one, scored on that one, beside the
    single member that is best on the same folds. They replace the champion where that evidence is
    good enough and they are not worse than it on all rows.

    Parameters
    ----------
    trials
        Of the search.
    """
    recipe = followed(session)
    if recipe is not None and (followed_recipe := weighted(session, trials, recipe)) is not None:
        return followed_recipe
    champion = next(trial for trial in trials if trial.id == selection.champion)
    store = session.plan.predictions
    if not store.has(champion.id):
        session.warnings.append("the champion's predictions were not kept; there is no ensemble")
        rule = session.plan.index.rule
        if session.plan.index.learns_threshold and rule is not None:
            session.warnings.append(
                "the champion's score is by thresholds that were learned fold by fold; the model decides "
                f"at {rule.threshold:g}"
            )
        return _alone(champion, session.plan.index)
    library = _library(session, trials, champion, store)
    base, stack = _second_layer(session, library)
    blender = Blender(session, library, base, stack, store)
    chosen: FloatArray = np.eye(len(blender.members))[library.index(champion)]
    learned: FloatArray = np.zeros(len(blender.members))
    evidence, is_replaced = None, False
    combine: Combine = "mean"
    calibration: Calibration | None = None
    if session.settings.ensemble != "none" and blender.is_possible():
        evidence, learned, surer = blender.decide(chosen)
        is_alone = np.array_equal(learned, chosen)
        is_replaced = evidence is not None and evidence.decision.is_replaced and not is_alone
        if is_replaced:
            chosen, combine = learned, session.settings.ensemble_combine
            calibration = surer
    scores = blender.describe(chosen, calibration)
    return EnsembleRecord(
        members=_shares(blender.members, chosen),
        learned=_shares(blender.members, learned),
        replaced_champion=is_replaced,
        evidence=evidence,
        method=session.settings.ensemble,
        combine=combine,
        n_library=len(blender.members),
        stack=tuple(stack),
        base=tuple(trial.id for trial in base),
        rule=scores.rule,
        score=scores.score,
        metrics=scores.metrics,
        calibration=calibration,
    )


def _shares(members: Sequence[Trial], weights: FloatArray) -> tuple[Share, ...]:
    """Members with weight, the heaviest first."""
    order = np.argsort(-weights, kind="stable")
    return tuple(Share(members[i].id, float(weights[i])) for i in order if weights[i] > 0)


def _alone(champion: Trial, index: PerformanceIndex) -> EnsembleRecord:
    return EnsembleRecord(
        members=(Share(champion.id, 1.0),),
        rule=index.rule,
        score=index.of_metrics(champion.metrics),
        metrics=dict(champion.metrics),
    )


def _library(
    session: Session, trials: Sequence[Trial], champion: Trial, store: PredictionStore
) -> list[Trial]:
    """Complete trials with predictions, best first: those that the method takes and the champion."""
    complete = [trial for trial in trials if trial.is_complete and store.has(trial.id)]
    best = sorted(filter(is_blendable, complete), key=lambda trial: (-trial.achieved, trial.index))
    n_complete = sum(trial.is_complete for trial in trials)
    if len(complete) < n_complete and method_of(session.settings).draws_bootstraps:
        session.given_up.append(
            f"the ensemble chooses among {len(complete)} of {n_complete} complete trials: for those "
            "of the others predictions_quota_mib is too small"
        )
    if session.settings.ensemble != "none":
        size = get_ensemble(session.settings.ensemble).library_size
        best = [best[i] for i in library_of(best, size)]
    return best if champion in best else [*best, champion]


def _second_layer(session: Session, library: Sequence[Trial]) -> tuple[list[Trial], list[Trial]]:
    """Trials of the first layer whose predictions the second one takes, and those of the second."""
    settings = session.settings
    if not settings.has_second_layer:
        return [], []
    usable = list(filter(is_blendable, library))
    chosen = choose_base(
        np.array([trial.achieved for trial in usable]),
        [trial.configuration.family for trial in usable],
        milliseconds_of(session, usable),
        max_members=most_members(settings),
        max_milliseconds=settings.max_predict_ms,
    )
    base = [usable[i] for i in chosen]
    stack = stack_trials(session, base)
    return (base, stack) if stack else ([], [])
