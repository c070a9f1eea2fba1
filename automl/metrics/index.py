"""The performance index: a weighted sum of homogenized metrics (B14, section 3.2, eq. 3.7).

A homogenized metric is (m - baseline) / (ideal - baseline): 0 is the baseline, 1 is ideal, negative
is worse than the baseline and never clipped. The baseline is fixed once from all rows of the
scoring set, never per fold (SPEC B2). `score` is called for every fold of every trial, so
it does no more than the sums it needs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, TypeVar, get_args

import numpy as np
from numpy.typing import ArrayLike

from automl.errors import SettingsError
from automl.metrics.costs import check_costs, error_weights
from automl.metrics.custom import Scorer, absolute_name, is_scorer_name, load_scorer, try_scorer
from automl.metrics.metrics import (
    DEFAULT_WEIGHTS,
    METRICS,
    BrierBaseline,
    Metric,
    TargetFacts,
    get_metric,
)
from automl.metrics.outcomes import (
    ClassificationOutcome,
    Outcome,
    RegressionOutcome,
    weighted_mean,
)
from automl.records import FloatArray, Task

IndexSpec = str | Mapping[str, float]
Number = TypeVar("Number", float, FloatArray)


@dataclass(frozen=True)
class PerformanceIndex:
    """Scores predictions; build it with `PerformanceIndex.build`.

    Parameters
    ----------
    task
        Kind of target.
    n_classes : K, 0 for regression
    weights : sum 1
        Weight of each metric, or user's scorer, of the index.
    baselines
        Baseline of every metric that serves this target, in natural sign.
    beta : positive
        Relative importance of the recall in F-beta.
    positive : code or None
        Class of `f_beta_positive`.
    costs, error_weights : (K, K), [true, predicted], or None
        Misclassification costs as given, and as factors of the counts.
    """

    task: Task
    n_classes: int
    weights: Mapping[str, float]
    baselines: Mapping[str, float]
    beta: float = 1.0
    positive: int | None = None
    costs: FloatArray | None = None
    error_weights: FloatArray | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return PerformanceIndex.from_json, (self.to_json(),)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PerformanceIndex) and self.to_json() == other.to_json()

    @classmethod
    def build(
        cls,
        spec: IndexSpec = "index",
        *,
        task: Task,
        y_all: ArrayLike,
        n_classes: int | None = None,
        beta: float = 1.0,
        positive: int | None = None,
        sample_weight: ArrayLike | None = None,
        cost_matrix: ArrayLike | None = None,
        brier_baseline: BrierBaseline = "frequencies",
    ) -> PerformanceIndex:
        """Index with its baselines fixed from all rows of the scoring set.

        Parameters
        ----------
        spec
            `index` (the default weights), a metric's name, ``{name: weight}``, or a user's
            ``file.py:function`` or ``module:function``; weights are divided by their sum.
        y_all : (n,), codes or values
        n_classes : K; None counts the codes
        sample_weight : (n,), non-negative
        cost_matrix : (K, K), [true, predicted], zero diagonal
        brier_baseline
            `frequencies` (1 - Σp²) or `random_labels` (2(1 - Σp²)).

        Raises
        ------
        SettingsError
            If a metric, a weight, `beta`, `positive` or the cost matrix is not usable.
        """
        task = Task(task)
        _check_settings(task, beta, brier_baseline, cost_matrix, positive)
        y = np.asarray(y_all)
        sizes = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        count = (n_classes or int(y.max()) + 1) if task.is_classification else 0
        if positive is not None and not 0 <= positive < count:
            raise SettingsError(f"positive class must be a code in [0, {count}); got {positive}")
        costs = None if cost_matrix is None else check_costs(cost_matrix, count)
        facts, errors = _target_facts(
            y,
            sizes,
            count,
            costs=costs,
            beta=beta,
            positive=positive,
            brier_baseline=brier_baseline,
        )
        usable = _usable_metrics(
            task, has_costs=costs is not None, has_positive=positive is not None
        )
        weights = _parse_weights(spec, task, usable)
        for name in filter(is_scorer_name, weights):
            try_scorer(name, y, count)
        return cls(
            task,
            count,
            MappingProxyType(weights),
            MappingProxyType({name: metric.baseline(facts) for name, metric in usable.items()}),
            beta=float(beta),
            positive=positive,
            costs=costs,
            error_weights=errors,
        )

    def score(
        self,
        y: ArrayLike,
        prediction: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        threshold: float = 0.5,
    ) -> float:
        """Performance index of one set of rows, maximized.

        Parameters
        ----------
        y : (n,), codes or values
        prediction : (n, K) probabilities, (n,) codes, or (n,) values
        sample_weight : (n,), non-negative
        threshold : in [0, 1]
            Two classes: class 1 is predicted where its probability is greater.

        Returns
        -------
        at most 1; 0 is the baseline

        Raises
        ------
        ValueError
            If a prediction is not finite or the shapes do not fit.
        """
        outcome = self.outcome(y, prediction, sample_weight, threshold)
        total = 0.0
        for function, baseline, factor in self._terms:
            total += factor * (function(outcome) - baseline)
        if not math.isfinite(total):
            raise ValueError(f"performance index {self.name} is not finite: {total}")
        return total

    def metrics(
        self,
        y: ArrayLike,
        prediction: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        threshold: float = 0.5,
    ) -> dict[str, float]:
        """Every metric of one set of rows, natural sign; parameters and errors as in `score`.

        R² is that of these rows (scikit-learn's), whereas `score` divides by the fixed variance.
        """
        outcome = self.outcome(y, prediction, sample_weight, threshold)
        if isinstance(outcome, RegressionOutcome):
            outcome.variance = None
        found = {name: METRICS[name].function(outcome) for name in self.baselines}
        for name in self.weights:
            if is_scorer_name(name):
                found[name] = _scorer_term(load_scorer(name))(outcome)
        return found

    def homogenize(self, name: str, value: Number) -> Number:
        """`value` of metric `name` on the scale where 0 is the baseline and 1 is ideal."""
        factor, baseline = self._scale(METRICS[name]), self.baselines[name]
        return factor * (value - baseline)

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

    @property
    def depends_on_threshold(self) -> bool:
        """Whether any metric of the index reads labels (or may, for a user's own scorer)."""
        return any(
            not is_scorer_name(name) and METRICS[name].needs == "labels" for name in self.weights
        )

    def to_json(self) -> dict[str, Any]:
        """Plain JSON form."""
        return {
            "task": str(self.task),
            "n_classes": self.n_classes,
            "weights": dict(self.weights),
            "baselines": dict(self.baselines),
            "beta": self.beta,
            "positive": self.positive,
            "costs": None if self.costs is None else self.costs.tolist(),
            "error_weights": None if self.error_weights is None else self.error_weights.tolist(),
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
    def _terms(self) -> tuple[tuple[Any, float, float], ...]:
        """(function, baseline, weight / (ideal - baseline)) of each metric of the index."""
        terms: list[tuple[Any, float, float]] = []
        for name, weight in self.weights.items():
            if is_scorer_name(name):
                terms.append((_scorer_term(load_scorer(name)), 0.0, weight))
            else:
                metric = METRICS[name]
                terms.append((metric.function, self.baselines[name], self.factor(name)))
        return tuple(terms)

    def factor(self, name: str) -> float:
        """Weight of a metric of the index divided by the distance of its ideal from its baseline."""
        return self.weights[name] * self._scale(METRICS[name])

    def _scale(self, metric: Metric) -> float:
        """1 / (ideal - baseline); ±1 where the baseline is ideal already (a constant target)."""
        span = metric.ideal - self.baselines[metric.name]
        if span == 0:
            return 1.0 if metric.is_maximized else -1.0
        return 1.0 / span

    def outcome(
        self,
        y: ArrayLike,
        prediction: ArrayLike,
        weight: ArrayLike | None = None,
        threshold: float = 0.5,
    ) -> Outcome:
        """What the metrics look at; parameters and errors as in `score`."""
        truth = np.asarray(y)
        predicted = np.asarray(prediction)
        sizes = None if weight is None else np.asarray(weight)
        if len(truth) == 0 or len(truth) != len(predicted):
            raise ValueError(f"{len(predicted)} predictions for {len(truth)} rows")
        if not np.isfinite(predicted.sum()) and not np.isfinite(predicted).all():
            raise ValueError("predictions must be finite; found NaN or infinity")
        if not self.task.is_classification:
            return RegressionOutcome(
                truth, predicted.ravel(), sizes, variance=self.baselines["mse"]
            )
        if predicted.ndim == 1:
            predicted = np.eye(self.n_classes, dtype=np.float32)[predicted.astype(np.intp)]
        if predicted.shape[1] != self.n_classes:
            raise ValueError(f"{predicted.shape[1]} probabilities for {self.n_classes} classes")
        return ClassificationOutcome(
            truth,
            predicted,
            sizes,
            error_weights=self.error_weights,
            beta=self.beta,
            positive=self.positive,
            costs=self.costs,
            threshold=threshold,
        )


def _check_settings(
    task: Task,
    beta: float,
    brier_baseline: str,
    cost_matrix: ArrayLike | None,
    positive: int | None,
) -> None:
    if not (math.isfinite(beta) and beta > 0):
        raise SettingsError(f"beta must be positive and finite; got {beta}")
    if brier_baseline not in get_args(BrierBaseline):
        raise SettingsError(
            f"Brier baseline must be frequencies or random_labels; got {brier_baseline!r}"
        )
    if not task.is_classification and (cost_matrix is not None or positive is not None):
        raise SettingsError("a cost matrix and a positive class need a target with classes")


def _target_facts(
    y: Any,
    weight: FloatArray | None,
    n_classes: int,
    *,
    costs: FloatArray | None,
    beta: float,
    positive: int | None,
    brier_baseline: BrierBaseline,
) -> tuple[TargetFacts, FloatArray | None]:
    """Facts for the baselines, and the error weights of the costs."""
    if not n_classes:
        deviation = y - weighted_mean(y, weight)
        return TargetFacts(
            variance=weighted_mean(deviation**2, weight),
            deviation=weighted_mean(np.abs(deviation), weight),
        ), None
    sizes = np.bincount(y, weights=weight, minlength=n_classes)
    frequencies = sizes / sizes.sum()
    errors = None if costs is None else error_weights(costs, frequencies)
    expected = ClassificationOutcome.of_counts(
        np.outer(frequencies, frequencies),
        error_weights=errors,
        beta=beta,
        positive=positive,
        costs=costs,
    )
    return TargetFacts(frequencies, expected, brier_baseline), errors


def _usable_metrics(task: Task, *, has_costs: bool, has_positive: bool) -> dict[str, Metric]:
    missing = {"cost"} if not has_costs else set()
    missing |= {"f_beta_positive"} if not has_positive else set()
    return {
        name: metric
        for name, metric in METRICS.items()
        if task in metric.tasks and name not in missing
    }


def _parse_weights(spec: IndexSpec, task: Task, usable: Mapping[str, Metric]) -> dict[str, float]:
    """Weights by registry key, divided by their sum."""
    if isinstance(spec, str):
        spec = DEFAULT_WEIGHTS[task.is_classification] if spec == "index" else {spec: 1.0}
    weights: dict[str, float] = {}
    for given, weight in spec.items():
        if not (isinstance(weight, int | float) and math.isfinite(weight) and weight >= 0):
            raise SettingsError(f"weight of metric {given} must be a number >= 0; got {weight!r}")
        name = _resolve(given, task, usable)
        weights[name] = weights.get(name, 0.0) + float(weight)
    total = sum(weights.values())
    if total <= 0:
        raise SettingsError("metric weights must have a positive sum")
    return {name: weight / total for name, weight in weights.items() if weight > 0}


def _resolve(name: str, task: Task, usable: Mapping[str, Metric]) -> str:
    if is_scorer_name(name):
        absolute = absolute_name(name)
        load_scorer(absolute)
        return absolute
    metric = get_metric(name, task)
    if metric.name not in usable:
        needed = "a cost matrix" if metric.name == "cost" else "a positive class"
        raise SettingsError(f"metric {name} needs {needed}")
    return metric.name


def _scorer_term(scorer: Scorer) -> Any:
    def term(outcome: Outcome) -> float:
        if isinstance(outcome, ClassificationOutcome):
            return float(scorer(outcome.y, outcome.probability))
        return float(scorer(outcome.y, outcome.prediction))

    return term
