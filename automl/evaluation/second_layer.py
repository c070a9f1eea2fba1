"""Models of the second layer inside a worker: learned on the out-of-fold predictions of other trials.

A row's inputs are predictions of models that have not seen the row, so the second layer learns what
the first one is worth on new rows. It is evaluated by folds once more: its prediction for a fold comes
from a model learned on the other folds (in time order: on the earlier ones).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from automl.evaluation.fitting import REFIT, fit_estimator, new_preprocessor
from automl.evaluation.fold_models import save_models
from automl.evaluation.plan import EvaluationPlan
from automl.evaluation.trial import TrialSummary
from automl.inference.model import FittedPipeline
from automl.inference.second_layer import StackInputs
from automl.metrics.decisions import OutOfFold
from automl.randomness import Purpose, integer_seed
from automl.records import Configuration, FloatArray, FoldResult, IntArray


def evaluate_stack(context: str, payload: Mapping[str, Any]) -> Iterator[FoldResult | TrialSummary]:
    """Job of a worker slot: one configuration of the second layer, fold by fold.

    Predictions and fold models are kept under the trial's id. Seconds to predict are those of the
    second layer alone. A fold without others to learn from,
    the first one in time order, is predicted by the mean of the inputs and has no model.

    Parameters
    ----------
    context
        Run folder.
    payload
        `configuration` (JSON), `base` (ids of the trials whose predictions are the inputs),
        `takes_features` (whether the table's features are inputs too), `folds` ((n rows of the
        search stage,), -1 for rows without predictions), `save_as` (trial id).

    Raises
    ------
    KeyError
        If predictions of a base trial are gone.
    ValueError
        If a prediction or a score is not finite.
    """
    layer = _SecondLayer(_open(context), payload)
    plan, rows, folds = layer.plan, layer.rows, layer.folds
    shape = (len(rows), plan.table.n_classes) if plan.table.n_classes else (len(rows),)
    predictions: NDArray[np.float32] = np.full(shape, np.nan, dtype=np.float32)
    pipelines: dict[tuple[int, int], FittedPipeline] = {}
    y, weights = plan.table.y[rows], plan.row_weights(rows)
    for fold in layer.fold_numbers:
        inside = np.flatnonzero(folds == fold)
        started = time.perf_counter()
        pipeline = layer.fit_fold(fold)
        fitted = time.perf_counter()
        predictions[inside] = layer.predict(pipeline, inside)
        predicted = time.perf_counter()
        if pipeline is not None:
            pipelines[0, fold] = pipeline
        so_far = np.where(folds <= fold, folds, -1)
        score = OutOfFold(plan.index, y, predictions, so_far, weights).score(fold)
        yield FoldResult(
            0,
            fold,
            score,
            len(inside),
            fitted - started,
            predicted - fitted,
            scoring_seconds=time.perf_counter() - predicted,
        )
    plan.predictions.save(payload["save_as"], predictions)
    save_models(plan.folder, payload["save_as"], pipelines)
    out_of_fold = OutOfFold(plan.index, y, predictions, folds, weights)
    yield TrialSummary(out_of_fold.pooled()[1], fold_scores=tuple(out_of_fold.scores().tolist()))


def fit_stack_folds(context: str, payload: Mapping[str, Any]) -> float:
    """Job of a worker slot: fit and keep the fold models of a trial of the second layer once more.

    Parameters
    ----------
    payload
        As for `evaluate_stack`.

    Returns
    -------
        Seconds.
    """
    started = time.perf_counter()
    layer = _SecondLayer(_open(context), payload)
    fitted = {(0, fold): layer.fit_fold(fold) for fold in layer.fold_numbers}
    pipelines = {key: pipeline for key, pipeline in fitted.items() if pipeline is not None}
    save_models(layer.plan.folder, payload["save_as"], pipelines)
    return time.perf_counter() - started


def refit_stack(context: str, payload: Mapping[str, Any]) -> float:
    """Job of a worker slot: fit one model of the second layer on all out-of-fold predictions, and keep it.

    Parameters
    ----------
    payload
        As for `evaluate_stack`; `save_as` is the file name without suffix.

    Returns
    -------
        Seconds.
    """
    started = time.perf_counter()
    layer = _SecondLayer(_open(context), payload)
    seed = integer_seed(layer.plan.settings.seed, Purpose.FINAL)
    pipeline = layer.fit(np.flatnonzero(layer.folds >= 0), seed, (REFIT,))
    save_models(layer.plan.folder, payload["save_as"], {(0, 0): pipeline})
    return time.perf_counter() - started


class _SecondLayer:
    """Fits one configuration on out-of-fold predictions."""

    def __init__(self, plan: EvaluationPlan, payload: Mapping[str, Any]) -> None:
        self.plan = plan
        self.rows: IntArray = plan.stage("search").rows
        self.folds: IntArray = np.asarray(payload["folds"])
        self._configuration = Configuration.from_json(payload["configuration"])
        self._takes_features = bool(payload["takes_features"])
        self._inputs = [plan.predictions.load(trial_id) for trial_id in payload["base"]]

    @property
    def fold_numbers(self) -> list[int]:
        return [int(fold) for fold in np.unique(self.folds[self.folds >= 0])]

    def fit_fold(self, fold: int) -> FittedPipeline | None:
        """Pipeline that has not seen a fold; None if no other fold may be learned from."""
        is_time = self.plan.settings.time_ordered
        others = self.folds < fold if is_time else self.folds != fold
        training = np.flatnonzero(others & (self.folds >= 0))
        if not len(training):
            return None
        seed = integer_seed(self.plan.settings.seed, Purpose.ESTIMATOR, 0, fold)
        return self.fit(training, seed, (0, fold))

    def fit(self, training: IntArray, seed: int, keys: tuple[int, ...]) -> FittedPipeline:
        """Pipeline fitted on rows of the search stage."""
        rows, table = self.rows[training], self.plan.table
        inputs = self._of(training)
        stack = StackInputs.fit(inputs)
        preprocessor = features = None
        if self._takes_features:
            preprocessor = new_preprocessor(self.plan, self._configuration, seed)
            features = preprocessor.fit_transform(table.frame.iloc[rows], table.y[rows])
        matrix = stack.transform(inputs, features)
        estimator = fit_estimator(self.plan, self._configuration, matrix, rows, keys)
        return FittedPipeline(preprocessor, estimator, stack)

    def predict(self, pipeline: FittedPipeline | None, rows: IntArray) -> NDArray[np.float32]:
        """Raw prediction for rows of the search stage; without a pipeline the mean of the inputs."""
        inputs = self._of(rows)
        if pipeline is None:
            return np.asarray(np.mean(inputs, axis=0, dtype=np.float64), dtype=np.float32)
        table = self.plan.table
        typed = table.frame.iloc[self.rows[rows]]
        return pipeline.predict(typed, table.n_classes or None, inputs=inputs)

    def _of(self, rows: IntArray) -> list[FloatArray]:
        return [np.asarray(prediction[rows]) for prediction in self._inputs]


@lru_cache(maxsize=1)
def _open(context: str) -> EvaluationPlan:
    return EvaluationPlan(context)
