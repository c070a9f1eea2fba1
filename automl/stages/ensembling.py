"""The ensemble of the search's complete trials, and whether it replaces the champion."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from automl.ensembles.evidence import (
    blend,
    cross_fitted_scores,
    decide_ensemble,
    divide_rows,
    fold_scores,
)
from automl.ensembles.greedy import greedy_selection
from automl.ensembles.limits import limit_members, limit_prediction_time
from automl.evaluation.predictions import PredictionStore
from automl.metrics.threshold import tune_threshold
from automl.randomness import Purpose, stream
from automl.records import FloatArray, IntArray, Trial
from automl.stages.candidates import test_train_ratio
from automl.stages.session import Session

LIBRARY_SIZE = 60
HOLDOUT_PARTS = 5
BAGS = 5


def build_ensemble(session: Session, trials: Sequence[Trial], champion_id: str) -> dict[str, Any]:
    """Weights learned greedily on the out-of-fold predictions, against the champion.

    The weights that go into the model are learned on all rows; the evidence for them is
    cross-fitted: learned on all folds but one, scored on that one, beside the single member that
    is best on the same folds.

    Returns
    -------
        Record with `members` (trial id, weight), `replaced_champion`, `evidence`, `threshold`,
        and the honest `score` of what is chosen.
    """
    champion_trial = next(trial for trial in trials if trial.id == champion_id)
    store = PredictionStore(session.folder.predictions, session.settings.predictions_quota_mib)
    if not store.has(champion_id):
        session.warnings.append("the champion's predictions were not kept; there is no ensemble")
        return _champion_alone(champion_trial)
    complete = [t for t in trials if t.is_complete and store.has(t.id)]
    best = sorted(complete, key=lambda t: (-(t.score or 0.0), t.index))[:LIBRARY_SIZE]
    library = best if champion_trial in best else [*best, champion_trial]
    blender = _Blender(session, library, library.index(champion_trial), store)
    champion = np.eye(len(blender.members))[blender.champion]
    decision, weights = None, champion
    if session.settings.ensemble == "greedy" and len(blender.members) > 1:
        decision, learned = blender.decide()
        if decision["is_replaced"]:
            weights = learned
    members = [
        {"trial_id": blender.members[i].id, "weight": float(weights[i])}
        for i in np.argsort(-weights, kind="stable")
        if weights[i] > 0
    ]
    return {
        "members": members,
        "replaced_champion": decision is not None and decision["is_replaced"],
        "evidence": decision,
        "n_library": len(blender.members),
        **blender.describe(weights),
    }


def _champion_alone(champion: Trial) -> dict[str, Any]:
    return {
        "members": [{"trial_id": champion.id, "weight": 1.0}],
        "replaced_champion": False,
        "evidence": None,
        "n_library": 0,
        "threshold": 0.5,
        "score": champion.score,
        "metrics": dict(champion.metrics),
    }


class _Blender:
    """Out-of-fold predictions of the best complete trials and what can be blended of them."""

    def __init__(
        self, session: Session, members: Sequence[Trial], champion: int, store: PredictionStore
    ) -> None:
        self._session, self.members, self.champion = session, members, champion
        stage = session.plan.stage("search")
        self._y = session.plan.table.y[stage.rows]
        self._weights = session.plan.row_weights(stage.rows)
        self._predictions: list[NDArray[Any]] = [np.asarray(store.load(t.id)) for t in members]
        self._folds = self._cross_fitting_folds(stage.folds[0])
        self._n_learned = 0

    def decide(self) -> tuple[dict[str, Any], FloatArray]:
        """Decision record, and weights learned on all rows."""
        score = self._session.plan.index.score
        started = time.monotonic()
        weights = self._learn(np.flatnonzero(self._folds >= 0), n_bags=BAGS)
        honest = cross_fitted_scores(
            self._predictions,
            self._y,
            score,
            self._folds,
            lambda rows: self._learn(rows, n_bags=1),
            sample_weight=self._weights,
        )
        single = self._best_single_scores()
        decision = decide_ensemble(
            honest.scores,
            single,
            test_train_ratio=test_train_ratio(self._session, "search"),
            alpha=self._session.settings.ensemble_alpha,
        )
        return {**decision.to_json(), "seconds": time.monotonic() - started}, weights

    def _best_single_scores(self) -> FloatArray:
        """Fold scores of the member that is best on all other folds.

        The champion's own scores were among the reasons to choose it; the best single member of
        the other folds has no such advantage over the ensemble.
        """
        index = self._session.plan.index
        scores = np.stack(
            [
                fold_scores(
                    prediction, self._y, index.score, self._folds, sample_weight=self._weights
                )
                for prediction in self._predictions
            ]
        )
        others = (scores.sum(axis=1, keepdims=True) - scores) / (scores.shape[1] - 1)
        best = others.argmax(axis=0)
        return np.asarray(scores[best, np.arange(scores.shape[1])])

    def describe(self, weights: FloatArray) -> dict[str, Any]:
        """Threshold and scores of a blend on the out-of-fold predictions."""
        rows = np.flatnonzero(self._folds >= 0)
        index, y = self._session.plan.index, self._y[rows]
        sample_weight = None if self._weights is None else self._weights[rows]
        prediction = blend(self._predictions, weights, rows)
        threshold = tune_threshold(index, y, prediction, sample_weight)
        return {
            "threshold": threshold,
            "score": index.score(y, prediction, sample_weight, threshold=threshold),
            "metrics": index.metrics(y, prediction, sample_weight, threshold=threshold),
        }

    def _learn(self, rows: IntArray, *, n_bags: int) -> FloatArray:
        settings = self._session.settings
        weights = greedy_selection(
            self._predictions,
            self._y,
            self._session.plan.index.score,
            rng=stream(settings.seed, Purpose.ENSEMBLE, self._n_learned),
            n_bags=n_bags,
            rows=rows,
            sample_weight=self._weights,
            groups=[trial.configuration.family for trial in self.members],
            deadline=self._share_of_time(),
        ).weights
        self._n_learned += 1
        weights = limit_members(weights, settings.ensemble_members)
        if settings.max_predict_ms is not None:
            speeds = np.array([trial.predict_milliseconds for trial in self.members])
            weights = limit_prediction_time(weights, speeds, settings.max_predict_ms)
        return weights

    def _share_of_time(self) -> float | None:
        """Deadline of the next learning: the first takes up to half, the others equal parts."""
        left = self._session.ledger.left_for("ensemble")
        if left is None:
            return None
        n_folds = len(np.unique(self._folds[self._folds >= 0]))
        remaining = max(1, n_folds + 1 - self._n_learned)
        share = 0.5 if self._n_learned == 0 else 1.0 / remaining
        return time.monotonic() + max(left, 0.2) * share

    def _cross_fitting_folds(self, folds: IntArray) -> IntArray:
        if len(np.unique(folds[folds >= 0])) > 1:
            return folds
        rng = stream(self._session.settings.seed, Purpose.ENSEMBLE)
        return divide_rows(np.flatnonzero(folds >= 0), HOLDOUT_PARTS, n_rows=len(folds), rng=rng)
