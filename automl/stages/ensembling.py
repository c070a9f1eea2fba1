"""The ensemble of the search's complete trials, and whether it replaces the champion."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from automl.ensembles.evidence import (
    cross_fitted_scores,
    decide_ensemble,
    fold_scores,
)
from automl.ensembles.layers import choose_base
from automl.ensembles.limits import (
    is_fast_enough,
    limit_members,
    limit_prediction_time,
    only_effective,
)
from automl.ensembles.registry import get_ensemble
from automl.errors import DataError
from automl.evaluation.predictions import PredictionStore
from automl.families.registry import FLOORS
from automl.inference.combining import Combine, combined
from automl.metrics.stacked import stacked_scores
from automl.metrics.threshold import tune_threshold
from automl.metrics.weightings import many_scores
from automl.randomness import Purpose, stream
from automl.records import FloatArray, IntArray, Trial
from automl.stages.candidates import test_train_ratio
from automl.stages.finishing import member_milliseconds
from automl.stages.session import Session
from automl.stages.stacking import second_layer_folds, stack_trials

MOST_SINGLES = 60
"""Best trials among which the best one of some folds is looked for."""


def build_ensemble(session: Session, trials: Sequence[Trial], champion_id: str) -> dict[str, Any]:
    """Weights learned on the out-of-fold predictions, against the champion.

    The weights that go into the model are learned on all rows; the evidence for them is
    cross-fitted: learned on all folds but one, scored on that one, beside the single member that
    is best on the same folds.

    Returns
    -------
        Record with `members` (trial id, weight), `learned` (members of the ensemble, also where
        it was not taken), `replaced_champion`, `evidence`, `method`, `combine`, the
        cross-validated `score` and the `threshold` of what is chosen, and of a second layer its
        trials, `stack`, with the ids of those whose predictions they take, `base`.
    """
    champion = next(trial for trial in trials if trial.id == champion_id)
    store = PredictionStore(session.folder.predictions, session.settings.predictions_quota_mib)
    if not store.has(champion_id):
        session.warnings.append("the champion's predictions were not kept; there is no ensemble")
        return {**_alone(champion), **_second_layer_record([], [])}
    library = _library(session, trials, champion, store)
    base, stack = _second_layer(session, library)
    blender = Blender(session, library, base, stack, store)
    chosen: FloatArray = np.eye(len(blender.members))[library.index(champion)]
    learned: FloatArray = np.zeros(len(blender.members))
    decision, combine, is_replaced = None, "mean", False
    if session.settings.ensemble != "none" and blender.is_possible():
        decision, learned = blender.decide()
        is_replaced = decision["is_replaced"] and not np.array_equal(learned, chosen)
        if is_replaced:
            chosen, combine = learned, session.settings.ensemble_combine
    return {
        "members": _shares(blender.members, chosen),
        "learned": _shares(blender.members, learned),
        "replaced_champion": is_replaced,
        "evidence": decision,
        "method": session.settings.ensemble,
        "combine": combine,
        "n_library": len(blender.members),
        **_second_layer_record(base, stack),
        **blender.describe(chosen),
    }


def _shares(members: Sequence[Trial], weights: FloatArray) -> list[dict[str, Any]]:
    """Members with weight, the heaviest first."""
    return [
        {"trial_id": members[i].id, "weight": float(weights[i])}
        for i in np.argsort(-weights, kind="stable")
        if weights[i] > 0
    ]


def _alone(champion: Trial) -> dict[str, Any]:
    return {
        "members": [{"trial_id": champion.id, "weight": 1.0}],
        "learned": [],
        "replaced_champion": False,
        "evidence": None,
        "method": "none",
        "combine": "mean",
        "n_library": 0,
        "threshold": 0.5,
        "score": champion.score,
        "metrics": dict(champion.metrics),
    }


def _second_layer_record(base: Sequence[Trial], stack: Sequence[Trial]) -> dict[str, Any]:
    return {"stack": [trial.to_json() for trial in stack], "base": [trial.id for trial in base]}


def _library(
    session: Session, trials: Sequence[Trial], champion: Trial, store: PredictionStore
) -> list[Trial]:
    """Complete trials with predictions, best first, as many as the method takes; the champion too."""
    complete = [trial for trial in trials if trial.is_complete and store.has(trial.id)]
    best = sorted(complete, key=lambda trial: (-(trial.score or 0.0), trial.index))
    if session.settings.ensemble != "none":
        best = best[: get_ensemble(session.settings.ensemble).library_size]
    return best if champion in best else [*best, champion]


def _second_layer(session: Session, library: Sequence[Trial]) -> tuple[list[Trial], list[Trial]]:
    """Trials of the first layer whose predictions the second one takes, and those of the second."""
    settings = session.settings
    if not settings.has_second_layer:
        return [], []
    usable = [trial for trial in library if trial.configuration.family not in FLOORS]
    chosen = choose_base(
        np.array([trial.score or 0.0 for trial in usable]),
        [trial.configuration.family for trial in usable],
        _milliseconds(session, usable),
        max_members=settings.ensemble_members,
        max_milliseconds=settings.max_predict_ms,
    )
    base = [usable[i] for i in chosen]
    stack = stack_trials(session, base)
    return (base, stack) if stack else ([], [])


def _milliseconds(session: Session, trials: Sequence[Trial]) -> FloatArray:
    """(n,) per row in the final model."""
    return np.array([member_milliseconds(session, trial) for trial in trials])


class Blender:
    """Out-of-fold predictions of a library of trials and what can be blended of them.

    Parameters
    ----------
    library
        Trials of the first layer.
    base, stack
        Those whose predictions the second layer takes, and its trials; empty without one.
    """

    def __init__(
        self,
        session: Session,
        library: Sequence[Trial],
        base: Sequence[Trial],
        stack: Sequence[Trial],
        store: PredictionStore,
    ) -> None:
        self._session = session
        self.members = [*library, *stack]
        self._n_first = len(library)
        sources = tuple(library.index(trial) for trial in base)
        self._inputs = [*([()] * len(library)), *([sources] * len(stack))]
        self._method = get_ensemble(
            "single" if session.settings.ensemble == "none" else session.settings.ensemble
        )
        self._combine: Combine = session.settings.ensemble_combine
        stage = session.plan.stage("search")
        self._y = session.plan.table.y[stage.rows]
        self._weights = session.plan.row_weights(stage.rows)
        self._predictions: list[NDArray[Any]] = [
            np.asarray(store.load(trial.id)) for trial in self.members
        ]
        self._folds: IntArray = stage.folds[0]
        self._inside = np.flatnonzero(self._folds >= 0)
        self._milliseconds = _milliseconds(session, self.members)
        self._eligible = self._find_eligible()
        self._n_learned = 0

    def is_possible(self) -> bool:
        """Whether there is something to weight, and folds for the evidence."""
        if len(self.members) < 2 or not len(self._eligible):
            return False
        try:
            self._folds = second_layer_folds(self._session.plan)
        except DataError as error:
            self._session.given_up.append(f"no ensemble: the holdout cannot be divided ({error})")
            return False
        return True

    def decide(self) -> tuple[dict[str, Any], FloatArray]:
        """Decision record, and weights learned on all rows."""
        score = self._session.plan.index.score
        started = time.monotonic()
        weights = self._learn(self._inside)
        honest = cross_fitted_scores(
            self._predictions,
            self._y,
            score,
            self._folds,
            lambda rows: self._learn(rows, is_quick=True),
            sample_weight=self._weights,
            combine=self._combine,
        )
        decision = decide_ensemble(
            honest.scores,
            self._best_single_scores(),
            test_train_ratio=test_train_ratio(self._session, "search"),
            alpha=self._session.settings.ensemble_alpha,
        )
        return {**decision.to_json(), "seconds": time.monotonic() - started}, weights

    def describe(self, weights: FloatArray) -> dict[str, Any]:
        """Threshold and scores of a blend on the out-of-fold predictions."""
        rows = self._inside
        index, y = self._session.plan.index, self._y[rows]
        sample_weight = None if self._weights is None else self._weights[rows]
        prediction = combined(self._predictions, weights, self._combine, rows)
        threshold = tune_threshold(index, y, prediction, sample_weight)
        return {
            "threshold": threshold,
            "score": index.score(y, prediction, sample_weight, threshold=threshold),
            "metrics": index.metrics(y, prediction, sample_weight, threshold=threshold),
        }

    def _best_single_scores(self) -> FloatArray:
        """Fold scores of the member of the first layer that is best on all other folds.

        The champion's own scores were among the reasons to choose it; the best single member of
        the other folds has no such advantage over the ensemble. The limit of the time to predict
        holds for it too.
        """
        index = self._session.plan.index
        singles = [i for i in range(self._n_first) if self._is_fast(i)][:MOST_SINGLES]
        scores = np.stack(
            [
                fold_scores(
                    self._predictions[i],
                    self._y,
                    index.score,
                    self._folds,
                    sample_weight=self._weights,
                )
                for i in singles
            ]
        )
        others = (scores.sum(axis=1, keepdims=True) - scores) / (scores.shape[1] - 1)
        best = others.argmax(axis=0)
        return np.asarray(scores[best, np.arange(scores.shape[1])])

    def _find_eligible(self) -> IntArray:
        """Members that may have weight: of the layer that the method wants, and fast enough alone."""
        first = self._n_first if self._method.is_second_layer else 0
        eligible = [i for i in range(first, len(self.members)) if self._is_fast(i)]
        return np.array(eligible, dtype=int)

    def _is_fast(self, member: int) -> bool:
        limit = self._session.settings.max_predict_ms
        return is_fast_enough(member, self._milliseconds, limit, self._inputs)

    def _learn(self, rows: IntArray, *, is_quick: bool = False) -> FloatArray:
        session, index = self._session, self._session.plan.index
        weights = np.zeros(len(self.members))
        weights[self._eligible] = self._method.learn(
            [self._predictions[i] for i in self._eligible],
            self._y,
            index.score,
            rng=stream(session.settings.seed, Purpose.ENSEMBLE, self._n_learned),
            rows=rows,
            sample_weight=self._weights,
            groups=[self.members[i].configuration.family for i in self._eligible],
            deadline=self._share_of_time(),
            combine=self._combine,
            is_quick=is_quick,
            many_scores=many_scores(index),
            stacked_scores=stacked_scores(index),
        )
        self._n_learned += 1
        return self._limited(weights)

    def _limited(self, weights: FloatArray) -> FloatArray:
        settings = self._session.settings
        weights = limit_members(weights, settings.ensemble_members, inputs=self._inputs)
        if settings.max_predict_ms is not None:
            weights = limit_prediction_time(
                weights, self._milliseconds, settings.max_predict_ms, inputs=self._inputs
            )
        return only_effective(weights, self._combine)

    def _share_of_time(self) -> float | None:
        """Deadline of the next learning: the first takes up to half, the others equal parts."""
        left = self._session.ledger.left_for("ensemble")
        if left is None:
            return None
        n_folds = len(np.unique(self._folds[self._folds >= 0]))
        remaining = max(1, n_folds + 1 - self._n_learned)
        share = 0.5 if self._n_learned == 0 else 1.0 / remaining
        return time.monotonic() + max(left, 0.2) * share
