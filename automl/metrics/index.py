"""The performance index: a weighted sum of homogenized metrics (B14, section 3.2, eq. 3.7).

A homogenized metric is (m - baseline) / (ideal - baseline): 0 is the baseline, 1 is ideal, negative
is worse than the baseline and never clipped. The baseline is fixed once from all rows of the
scoring set, never per fold (B14, section 3.2).

Labels are what the problem's decision rule makes of probabilities. Where the rule is a threshold that has to
be learned, whoever scores says which labels are meant: `automl.metrics.decisions` learns the
rule on rows that it does not judge.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from automl.alternatives import Decision
from automl.inference.decision import DecisionRule
from automl.metrics.batch import (
    ClassBatch,
    Confusion,
    MetricParameters,
    RowBatch,
    ValueBatch,
    batch_of,
    sums,
)
from automl.metrics.metric import Metric
from automl.metrics.registry import get_metric
from automl.metrics.thresholds import THRESHOLDS, best_places, counts_by_threshold, usual_place
from automl.records import FloatArray, IntArray, Task

MANY_CELLS = 1 << 17
"""Rows times classes of the predictions that are scored together: what they need stays in the cache."""


@dataclass(frozen=True)
class PerformanceIndex:
    """Scores predictions; `automl.metrics.building.build_index` makes one for a target.

    Parameters
    ----------
    task
        Kind of target.
    n_classes : K, 0 for regression
    weights : sum 1
        Weight of each metric of the index.
    baselines
        Baseline, in natural sign, of every registered metric that serves this target; that of a user's
        scorer is 0.
    beta : positive
        Relative importance of the recall in F-beta.
    positive : code or None
        Class of `f_beta_positive`.
    costs, error_weights : (K, K), [true, predicted], or None
        Misclassification costs as given, and as factors of the counts.
    decision : ``learned`` or ``given``
        Whether the threshold of two classes is learned where the index depends on it, or is what the costs say.
    places
        What other processes import for metrics that are not ours, see `automl.metrics.registry`.
    """

    task: Task
    n_classes: int
    weights: Mapping[str, float]
    baselines: Mapping[str, float]
    beta: float = 1.0
    positive: int | None = None
    costs: FloatArray | None = None
    error_weights: FloatArray | None = None
    decision: Decision = "learned"
    places: Mapping[str, str] = field(default_factory=dict)

    def __reduce__(self) -> tuple[Any, ...]:
        return PerformanceIndex.from_json, (self.to_json(),)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PerformanceIndex) and self.to_json() == other.to_json()

    def score(
        self,
        y: ArrayLike,
        prediction: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        labels: ArrayLike | None = None,
    ) -> float:
        """Performance index of one set of rows, maximized.

        Parameters
        ----------
        y : (n,), codes or values
        prediction : (n, K) probabilities, (n,) codes, or (n,) values
        sample_weight : (n,), non-negative
        labels : (n,), codes
            As a decision rule has them; None takes those of `rule`. Not for regression.

        Returns
        -------
        at most 1; 0 is the baseline

        Raises
        ------
        ValueError
            If a prediction is not finite or the shapes do not fit.
        """
        return float(self._total(self._batch(y, *_one(prediction, sample_weight, labels)))[0])

    def scores(
        self,
        y: ArrayLike,
        predictions: FloatArray,
        weights: FloatArray | None = None,
        *,
        labels: IntArray | None = None,
    ) -> FloatArray:
        """Performance index of many predictions, or of one under many weightings.

        Parameters
        ----------
        y : (n,), codes or values
        predictions : (m, n, K) probabilities, or (m, n) values
        weights : (N, n), non-negative, or None
            Either m or N is 1.
        labels : (m, n), codes, or None for those of `rule`

        Returns
        -------
        (max(m, N),)

        Raises
        ------
        ValueError
            As in `score`.
        """
        return self._total(self._batch(y, predictions, weights, labels))

    def learned_score(
        self, y: ArrayLike, prediction: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """One of `learned_scores`."""
        one, weights, _ = _one(prediction, sample_weight)
        return float(self.learned_scores(y, one, weights)[0])

    def learned_scores(
        self, y: ArrayLike, predictions: FloatArray, weights: FloatArray | None = None
    ) -> FloatArray:
        """As `scores`, each with the rule that is learned from these very rows.

        What the weights of an ensemble, and whatever else is learned together with the rule, are judged by while
        they are learned. Where no threshold is to be learned it is `scores`.
        """
        size = max(1, MANY_CELLS // max(predictions[0].size, 1))
        if len(predictions) <= size:
            return self._learned(y, predictions, weights)
        starts = range(0, len(predictions), size)
        return np.concatenate(
            [self._learned(y, predictions[i : i + size], weights) for i in starts]
        )

    def _learned(
        self, y: ArrayLike, predictions: FloatArray, weights: FloatArray | None
    ) -> FloatArray:
        batch = self._batch(y, predictions, weights)
        if not self.learns_threshold:
            return self._total(batch)
        assert isinstance(batch, ClassBatch)
        others = [name for name in self.weights if name not in self._of_labels]
        places, scores = self._learned_places(batch)
        return self._total(batch, others) + scores[np.arange(len(places)), places]

    def learn_rule(
        self, y: ArrayLike, prediction: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> DecisionRule | None:
        """Decision rule that these rows speak for; `rule` where nothing is to be learned.

        A threshold other than what the costs say must earn it, see `automl.metrics.thresholds`.

        Parameters
        ----------
        y : (n,), codes or values
        prediction : (n, K), or (n,) values
            Out-of-fold predictions.
        sample_weight : (n,), non-negative
        """
        if not self.learns_threshold or self.rule is None:
            return self.rule
        batch = self._batch(y, *_one(prediction, sample_weight))
        assert isinstance(batch, ClassBatch)
        places, _ = self._learned_places(batch)
        if places[0] == usual_place(self.rule.threshold):
            return self.rule
        return DecisionRule(float(THRESHOLDS[places[0]]))

    def metrics(
        self,
        y: ArrayLike,
        prediction: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        labels: ArrayLike | None = None,
    ) -> dict[str, float]:
        """Every metric of one set of rows, natural sign; parameters and errors as in `score`.

        R² is that of these rows (scikit-learn's), whereas `score` divides by the fixed variance.
        """
        one, weights, codes = _one(prediction, sample_weight, labels)
        values = self.metrics_of_many(y, one, weights, labels=codes)
        return {name: float(found[0]) for name, found in values.items()}

    def metrics_of_many(
        self,
        y: ArrayLike,
        predictions: FloatArray,
        weights: FloatArray | None = None,
        *,
        labels: IntArray | None = None,
    ) -> dict[str, FloatArray]:
        """As `metrics`, of many predictions or of one under many weightings; parameters as in `scores`.

        Returns
        -------
            (max(m, N),) by metric; a user's scorer ignores the weights.
        """
        batch = self._batch(y, predictions, weights, labels)
        batch.parameters = replace(batch.parameters, variance=None)
        return {name: metric.values(batch) for name, metric in self._metrics.items()}

    def weighed_metrics(
        self,
        y: ArrayLike,
        predictions: FloatArray,
        weights: FloatArray | None = None,
        *,
        labels: IntArray | None = None,
        without: Collection[str] = (),
    ) -> dict[str, FloatArray]:
        """As `metrics_of_many`, of those in `weighable` but some, on rows that were drawn.

        Returns
        -------
            (max(m, N),) by metric; NaN where a metric raises, as one of a user may on rows without some class.
        """
        batch = self._batch(y, predictions, weights, labels)
        batch.parameters = replace(batch.parameters, variance=None)
        values = {}
        for name in self.weighable:
            if name in without:
                continue
            try:
                values[name] = self._metrics[name].values(batch)
            except ValueError:
                values[name] = np.full(batch.size, np.nan)
        return values

    @cached_property
    def weighable(self) -> tuple[str, ...]:
        """Metrics whose rows can have weights, in the order of their names."""
        return tuple(sorted(n for n, metric in self._metrics.items() if metric.takes_weights))

    @cached_property
    def slow(self) -> frozenset[str]:
        """Metrics whose many weightings take far longer than those of the others."""
        if self.n_classes <= 2:
            return frozenset()
        return frozenset(name for name, metric in self._metrics.items() if metric.is_slow)

    def bounds(self, name: str) -> tuple[float, float]:
        """Worst and ideal value of a metric."""
        metric = self._metrics[name]
        return metric.bounds[not metric.is_maximized], metric.ideal

    def metric_of_score(self, score: float) -> float:
        """Value of the only metric of the index where the score is this one."""
        ((name, (factor, baseline)),) = self._terms.items()
        convert = self._metrics[name].of_reported
        assert convert is None
        return baseline + score / factor

    def metric_losses(self, y: NDArray[Any], prediction: NDArray[Any]) -> dict[str, FloatArray]:
        """As `row_losses`, (n,) of each metric that sets no limit to them."""
        batch = self._batch(y, prediction[None])
        return {
            name: metric.row_losses(batch)[0]
            for name, metric in self._metrics.items()
            if metric.row_losses is not None and isinstance(batch, ValueBatch)
        }

    def of_metrics(self, metrics: Mapping[str, float]) -> float:
        """The value of `score` for rows whose `metrics` are known."""
        total = 0.0
        for name in self.weights:
            convert = self._metrics[name].of_reported
            value = metrics[name] if convert is None else convert(metrics, self._parameters)
            factor, baseline = self._terms[name]
            total += factor * (value - baseline)
        return total

    def row_losses(self, y: NDArray[Any], prediction: NDArray[Any]) -> FloatArray:
        """What each row takes from the index, times n, by its metrics that set no limit to it.

        Parameters
        ----------
        y, prediction : (n,)

        Returns
        -------
        (n,), non-negative
        """
        batch, total = self._batch(y, prediction[None]), np.zeros(len(y))
        for name in self.weights:
            losses = self._metrics[name].row_losses
            if losses is not None and isinstance(batch, ValueBatch):
                total += abs(self._terms[name][0]) * losses(batch)[0]
        return total

    @staticmethod
    def aggregate(
        scores: Sequence[float] | FloatArray, rows: Sequence[float] | FloatArray
    ) -> float:
        """Mean of fold scores weighted by their rows (or sums of sample weights).

        Equals the score of the pooled rows for metrics that are means over rows: accuracy, Brier,
        log loss, R² and MAE as homogenized here, MSE.
        """
        return float(np.average(np.asarray(scores, float), weights=np.asarray(rows, float)))

    @property
    def name(self) -> str:
        """Text form of the weights: one metric's name, or ``name*weight + …``."""
        if len(self.weights) == 1:
            return next(iter(self.weights))
        return " + ".join(f"{name}*{weight:.3g}" for name, weight in self.weights.items())

    @cached_property
    def rule(self) -> DecisionRule | None:
        """Decision rule that follows from the costs alone; None for regression."""
        if not self.task.is_classification:
            return None
        return DecisionRule.given(self.n_classes, self.costs)

    @property
    def takes_weights(self) -> bool:
        """Whether rows can have weights: a user's scorer takes none."""
        return all(self._metrics[name].takes_weights for name in self.weights)

    @property
    def per_unit(self) -> float:
        """One unit of the metric in the index; 1 if several metrics are summed."""
        if len(self.weights) > 1:
            return 1.0
        return abs(next(iter(self._terms.values()))[0])

    def reads(self, parameter: str) -> bool:
        """Whether a metric of the index depends on one of `MetricParameters`."""
        return any(parameter in self._metrics[name].reads for name in self.weights)

    @property
    def is_unbounded(self) -> bool:
        """Whether a metric of the index sets no limit to what a row takes from it."""
        return any(self._metrics[name].row_losses for name in self.weights)

    @cached_property
    def learns_threshold(self) -> bool:
        """Whether the rule has a threshold that is learned: two classes, and a metric of their labels."""
        return self.decision == "learned" and self.n_classes == 2 and bool(self._of_labels)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON form."""
        places = {"places": dict(self.places)} if self.places else {}
        return {
            "task": str(self.task),
            "n_classes": self.n_classes,
            "weights": dict(self.weights),
            "baselines": dict(self.baselines),
            "beta": self.beta,
            "positive": self.positive,
            "costs": None if self.costs is None else self.costs.tolist(),
            "error_weights": None if self.error_weights is None else self.error_weights.tolist(),
            "decision": self.decision,
            **places,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> PerformanceIndex:
        """Inverse of `to_json`."""
        matrices = {
            key: None if data[key] is None else np.asarray(data[key], dtype=np.float64)
            for key in ("costs", "error_weights")
        }
        frozen = {key: MappingProxyType(dict(data[key])) for key in ("weights", "baselines")}
        return cls(**{**data, **matrices, **frozen, "task": Task(data["task"])})

    @cached_property
    def _metrics(self) -> dict[str, Metric]:
        """All metrics that serve the target, and the scorers of the index."""
        names = dict.fromkeys([*self.baselines, *self.weights])
        return {name: get_metric(name, self.task, self.places.get(name)) for name in names}

    @cached_property
    def _of_labels(self) -> list[str]:
        """Metrics of the index that depend on labels."""
        return [name for name in self.weights if self._metrics[name].needs == "labels"]

    @cached_property
    def _terms(self) -> dict[str, tuple[float, float]]:
        """Factor and baseline of each metric of the index: it adds factor * (value - baseline).

        The factor is its weight divided by the distance of its ideal from its baseline.
        """
        baselines = {name: self.baselines.get(name, 0.0) for name in self.weights}
        return {
            name: (self.weights[name] * self._metrics[name].scale(baseline), baseline)
            for name, baseline in baselines.items()
        }

    def _batch(
        self,
        y: ArrayLike,
        predictions: ArrayLike,
        weights: FloatArray | None = None,
        labels: IntArray | None = None,
    ) -> RowBatch:
        return batch_of(
            y,
            predictions,
            weights,
            labels,
            rule=self.rule,
            n_classes=self.n_classes,
            parameters=self._parameters,
        )

    @cached_property
    def _parameters(self) -> MetricParameters:
        variance = None if self.task.is_classification else self.baselines["mse"]
        return MetricParameters(self.error_weights, self.costs, self.beta, self.positive, variance)

    def _total(self, batch: RowBatch | Confusion, names: Sequence[str] | None = None) -> FloatArray:
        """(B,) weighted sum of the homogenized metrics of the index, or of some of them."""
        total: FloatArray = np.zeros(batch.size)
        for name in self.weights if names is None else names:
            factor, baseline = self._terms[name]
            total += factor * (self._metrics[name].values(batch) - baseline)
        if not np.isfinite(total).all():
            raise ValueError(f"performance index {self.name} is not finite: {total}")
        return total

    def _learned_places(self, batch: ClassBatch) -> tuple[IntArray, FloatArray]:
        """(B,) places of the thresholds that are learned, and (B, T) scores of the labels at each."""
        assert self.rule is not None
        counts = counts_by_threshold(batch.y, batch.predictions[..., 1], batch.weights)
        scores, usual = self._label_scores(counts), usual_place(self.rule.threshold)
        errors = self._label_errors(counts, scores[:, usual], usual, len(batch.y))
        return best_places(scores, errors, usual), scores

    def _label_scores(self, counts: FloatArray) -> FloatArray:
        """(B, T) the part of the index that depends on the labels, of counts (B, T, 2, 2)."""
        confusion = Confusion(counts.reshape(-1, 2, 2), self._parameters)
        return self._total(confusion, self._of_labels).reshape(counts.shape[:2])

    def _label_errors(
        self, counts: FloatArray, scores: FloatArray, usual: int, n_rows: int
    ) -> FloatArray:
        """(B, T) standard errors of the differences to the usual threshold, whose scores are (B,).

        The rows of each class whose labels differ are Poisson numbers, and each is worth what one more of them is
        worth at the usual threshold.
        """
        base = counts[:, usual]
        row = sums(base.reshape(-1, 4), 1) / n_rows
        changed = np.abs(counts[..., 1] - base[:, None, :, 1]) / row[:, None, None]
        moved = np.repeat(base[:, None], 2, axis=1)
        for code in (0, 1):
            size = np.minimum(row, base[:, code, code])
            moved[:, code, code, code] -= size
            moved[:, code, code, 1 - code] += size
        worth = self._label_scores(moved) - scores[:, None]
        return np.asarray(np.sqrt(sums(changed * (worth**2)[:, None], 2)))


def _one(
    prediction: ArrayLike, sample_weight: ArrayLike | None, labels: ArrayLike | None = None
) -> tuple[Any, Any, Any]:
    """One prediction, its weights and labels as a batch of one."""
    weights = None if sample_weight is None else np.asarray(sample_weight)[None]
    codes = None if labels is None else np.asarray(labels)[None]
    return np.asarray(prediction)[None], weights, codes
