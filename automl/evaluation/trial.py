"""One trial inside a worker: preprocess, fit, predict and score fold by fold."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from automl.errors import SettingsError
from automl.estimators.allowance import Allowance, fitting_within
from automl.evaluation.cache import FoldCache
from automl.evaluation.fitting import (
    FoldData,
    SharedRounds,
    fit_pipeline,
    open_run,
    preprocess_fold,
)
from automl.evaluation.fold_models import remove_models, save_models
from automl.evaluation.lateness import lateness
from automl.evaluation.plan import EvaluationPlan
from automl.evaluation.racing import why_raced
from automl.families.registry import get_family, is_from_outside
from automl.inference.model import FittedPipeline
from automl.inference.packing import needs_pickle, pickle_refusal
from automl.inference.prediction import raw_prediction
from automl.metrics.bootstraps import bootstrap_scores
from automl.metrics.decisions import OutOfFold
from automl.randomness import Purpose, stream
from automl.records import Configuration, FoldResult, IntArray, TrialStatus

FIT_SHARE = 0.85
"""Share of a trial's time limit that fits may take which can end when they are told to: after the
last round a fold still predicts, scores, and writes its model."""


@dataclass(frozen=True)
class TrialSummary:
    """Report of a trial after its last fold.

    Parameters
    ----------
    metrics : every metric over all validation rows; empty for a trial that ended early
    fold_scores : of the folds in the order in which they ran
        Each with the decision rule of all other folds of its repeat; while a trial runs, its folds are scored with the
        rule of those before. Empty for those that are unchanged.
    status : RACED where it ended early as hopeless, TIMED_OUT where it could not end in time
    reason : one sentence for a trial that ended early
    bootstrap_scores : index on each bootstrap of the validation rows that the plan wants
    """

    metrics: Mapping[str, float]
    status: TrialStatus = TrialStatus.COMPLETE
    reason: str = ""
    bootstrap_scores: tuple[float, ...] = ()
    fold_scores: tuple[float, ...] = ()


def search_payload(
    plan: EvaluationPlan, configuration: Configuration, **others: Any
) -> dict[str, Any]:
    """Payload of `evaluate`: all folds of the search, not raced, nothing kept.

    Parameters
    ----------
    others : parts that are to be different
    """
    return {
        "configuration": configuration.to_json(),
        "stage": "search",
        "jobs": list(plan.stage("search").jobs),
        "row_share": 1.0,
        "incumbent": None,
        "save_as": None,
        "keep_models_above": None,
        **others,
    }


def folds_of(results: Sequence[Any]) -> tuple[FoldResult, ...]:
    """Folds among what `evaluate` yielded, with the scores that its summary settled."""
    folds = tuple(result for result in results if isinstance(result, FoldResult))
    for summary in results:
        if isinstance(summary, TrialSummary) and summary.fold_scores:
            pairs = zip(folds, summary.fold_scores, strict=True)
            return tuple(replace(fold, score=score) for fold, score in pairs)
    return folds


def evaluate(context: str, payload: Mapping[str, Any]) -> Iterator[FoldResult | TrialSummary]:
    """Job of a worker slot: one configuration on the folds of a stage.

    Parameters
    ----------
    context
        Run folder.
    payload
        `configuration` (JSON), `stage`, `jobs` (list of (repeat, fold)), `row_share` and
        `iteration_share` (1 where left out), `incumbent` (fold scores to race against, or None),
        `save_as` (trial id under which predictions and fold models are kept, or None),
        `keep_models_above` (least score whose fold models are kept, or None for never), `earlier`
        (id and fold results, as JSON, of a trial of the first of these jobs, whose predictions
        are used in place of fitting again, and which are not raced even where the predictions are
        gone; None or left out without one), `limit_seconds` (the trial is given up where its folds
        cannot end within this; None or left out without one), `keeps_within` (seconds within which
        the fits that can do so end with the rounds that they have; None or left out without a
        limit), `most_rounds` (that an earlier trial of the configuration kept in this way, or None
        or left out).

    Raises
    ------
    SettingsError
        If only a pickle could hold the model, and the run's settings do not allow one.
    ValueError
        If a prediction or a score is not finite.
    """
    started = time.monotonic()
    plan, cache = open_run(context)
    trial = _FoldRunner(plan, cache, payload)
    results = trial.adopt_earlier()
    n_adopted, jobs = len(results), payload["jobs"]
    n_unraced = len((payload.get("earlier") or {"folds": ()})["folds"])
    limit = payload.get("limit_seconds")
    yield from results
    for n_done, (repeat, fold) in enumerate(jobs[n_adopted:], n_adopted):
        spent = time.monotonic() - started
        n_left = len(jobs) - n_done
        n_left += min(trial.n_looking, n_left - 1)
        result = trial.run(repeat, fold, _fold_seconds(payload, spent, n_left))
        results.append(result)
        yield result
        own, left = results[n_adopted:], limit and limit - (time.monotonic() - started)
        further = [r.further_seconds(plan.table.task) for r in own]
        if late := lateness(further, len(jobs) - n_adopted, left):
            yield TrialSummary({}, TrialStatus.TIMED_OUT, late)
            return
        if len(results) <= n_unraced:
            continue
        if reason := why_raced([r.score for r in results], payload["incumbent"], len(jobs)):
            scores = trial.fold_scores(results)
            yield TrialSummary({}, TrialStatus.RACED, reason, fold_scores=scores)
            return
    yield trial.conclude(results)


def _fold_seconds(payload: Mapping[str, Any], spent: float, n_left: int) -> float | None:
    """Equal share of the next fold in the time that is left for fits; None without a limit.

    Parameters
    ----------
    n_left : folds, of which those that find the rounds of the others count twice
    """
    within = payload.get("keeps_within")
    return None if within is None else max(FIT_SHARE * within - spent, 0.0) / n_left


class _FoldRunner:
    """Runs folds of one configuration and gathers predictions and models.

    Of several repeats the first one's are kept, so that a row's out-of-fold prediction is that of one
    model, whatever the score is a mean of: what is blended, compared and kept as a bag stays the same.
    """

    def __init__(self, plan: EvaluationPlan, cache: FoldCache, payload: Mapping[str, Any]) -> None:
        self._plan, self._cache, self._payload = plan, cache, payload
        self._configuration = Configuration.from_json(payload["configuration"])
        self._stage = plan.stage(payload["stage"])
        self._y = plan.table.y[self._stage.rows]
        self._weights = plan.row_weights(self._stage.rows)
        self._predictions: dict[int, NDArray[np.float32]] = {}
        self._done = np.full_like(self._stage.folds, -1)
        self._pipelines: dict[tuple[int, int], FittedPipeline] = {}
        self._first = payload["jobs"][0][0]
        self._rounds = SharedRounds.of(plan, payload.get("most_rounds"))

    @property
    def n_looking(self) -> int:
        """Further folds that may fit twice, first to find the rounds of those that follow."""
        rounds = self._rounds
        is_boosted = get_family(self._configuration.family).capabilities.stops == "own"
        return rounds.n_missing if is_boosted and rounds.is_shared and rounds.given is None else 0

    def adopt_earlier(self) -> list[FoldResult]:
        """Results of an earlier trial of the first folds; none if its predictions are gone."""
        earlier = self._payload.get("earlier")
        if earlier is None:
            return []
        try:
            stored = self._plan.predictions.load(earlier["trial"])
        except KeyError:
            return []
        results = [FoldResult(**result) for result in earlier["folds"]]
        for result in results:
            _, within = self._plan.rows_of(self._payload["stage"], result.repeat, result.fold)
            if result.repeat == self._first:
                self._keep_prediction(result.repeat, result.fold, within, stored[within])
            self._rounds.learn(result.found_rounds)
        return results

    def _keep_prediction(
        self, repeat: int, fold: int, within: IntArray, prediction: NDArray[np.float32]
    ) -> None:
        """Predictions of the validation rows of a fold, positions in the stage."""
        n_rows, n_classes = len(self._stage.rows), self._plan.table.n_classes
        shape = (n_rows, n_classes) if n_classes else (n_rows,)
        if repeat not in self._predictions:
            self._predictions[repeat] = np.full(shape, np.nan, dtype=np.float32)
        self._predictions[repeat][within] = prediction
        self._done[repeat, within] = fold

    def _out_of_fold(self, repeat: int) -> OutOfFold:
        """Results so far of a repeat."""
        return OutOfFold(
            self._plan.index,
            self._y,
            self._predictions[repeat],
            self._done[repeat],
            self._weights,
        )

    def fold_scores(self, results: Sequence[FoldResult]) -> tuple[float, ...]:
        """Scores of all folds so far, see `TrialSummary`; empty if no rule is learned."""
        if not self._plan.index.learns_threshold:
            return ()
        return tuple(
            self._out_of_fold(r.repeat).score(r.fold) if self._is_known(r) else r.score
            for r in results
        )

    def _is_known(self, result: FoldResult) -> bool:
        """Whether there are predictions: of an earlier trial only those of its first repeat are kept."""
        return bool((self._done[result.repeat] == result.fold).any())

    def run(self, repeat: int, fold: int, seconds: float | None = None) -> FoldResult:
        """Fit and score one fold.

        Parameters
        ----------
        seconds : after which a fit that can do so ends with what it has; None without a limit
        """
        plan, payload = self._plan, self._payload
        data = FoldData(payload["stage"], repeat, fold, payload["row_share"])
        allowance = Allowance(seconds, self._rounds.known)
        started, used = time.perf_counter(), time.process_time()
        part = preprocess_fold(plan, self._cache, self._configuration, data)
        preprocessed = time.perf_counter()
        share = payload.get("iteration_share", 1.0)
        with fitting_within(allowance):
            pipeline = fit_pipeline(plan, self._configuration, part, data, share)
        self._rounds.learn(allowance.found)
        fitted = time.perf_counter()
        prediction = raw_prediction(
            pipeline.estimator, part.validation, plan.table.n_classes or None
        )
        predicted, processor = time.perf_counter(), time.process_time() - used
        if [repeat, fold] == list(payload["jobs"][0]):
            self._refuse_pickle(pipeline.estimator)
        _, within = plan.rows_of(payload["stage"], repeat, fold)
        self._keep_prediction(repeat, fold, within, prediction)
        score = self._out_of_fold(repeat).score(fold)
        scored = time.perf_counter()
        if payload["keep_models_above"] is not None and repeat == self._first:
            self._pipelines[repeat, fold] = pipeline
        return FoldResult(
            repeat,
            fold,
            score,
            len(within),
            fit_seconds=fitted - started,
            predict_seconds=predicted - fitted,
            processor_seconds=processor,
            preprocessing_seconds=preprocessed - started,
            scoring_seconds=scored - predicted,
            rounds=allowance.kept,
            found_rounds=allowance.found,
        )

    def _refuse_pickle(self, estimator: Any) -> None:
        """A model that registration would refuse is no trial; only families from outside have such."""
        name = self._configuration.family
        if is_from_outside(name) and not self._plan.settings.trust and needs_pickle(estimator):
            raise SettingsError(f"family {name}: {pickle_refusal(estimator)}")

    def conclude(self, results: Sequence[FoldResult]) -> TrialSummary:
        """Save what is to be kept; metrics and bootstraps over all validation rows."""
        payload, out_of_fold = self._payload, self._out_of_fold(self._first)
        if payload["save_as"] is not None:
            self._plan.predictions.save(payload["save_as"], out_of_fold.prediction)
            self._keep_models(results)
        return TrialSummary(
            out_of_fold.pooled()[1],
            bootstrap_scores=self._on_bootstraps(out_of_fold),
            fold_scores=self.fold_scores(results),
        )

    def _on_bootstraps(self, out_of_fold: OutOfFold) -> tuple[float, ...]:
        """Index on the bootstraps of the run, which are the same for all complete trials."""
        settings = self._plan.settings
        n_bootstraps = settings.n_bootstraps if self._payload["stage"] == "search" else 0
        if n_bootstraps == 0:
            return ()
        rows = np.flatnonzero(out_of_fold.folds >= 0)
        scores = bootstrap_scores(
            self._plan.index,
            self._y[rows],
            out_of_fold.prediction[rows],
            n_bootstraps=n_bootstraps,
            rng=stream(settings.seed, Purpose.BOOTSTRAP),
            sample_weight=None if self._weights is None else self._weights[rows],
        )
        return tuple(scores.tolist())

    def _keep_models(self, results: Sequence[FoldResult]) -> None:
        least = self._payload["keep_models_above"]
        if least is None:
            return
        score = self._plan.index.aggregate([r.score for r in results], [r.rows for r in results])
        if score >= least:
            save_models(self._plan.folder, self._payload["save_as"], self._pipelines)
        else:  # an attempt that was lost with its process may have left some
            remove_models(self._plan.folder, self._payload["save_as"])
