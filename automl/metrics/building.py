"""A performance index for a target: what is asked for is checked, and the baselines are fixed (SPEC B2).

The baselines are those of all rows of the scoring set, so that a fold is scored by the same
scale as all of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, get_args

import numpy as np
from numpy.typing import ArrayLike

from automl.errors import SettingsError
from automl.metrics.batch import ClassBatch, MetricParameters
from automl.metrics.costs import check_costs, error_weights
from automl.metrics.custom import absolute_name, is_scorer_name, load_scorer, try_scorer
from automl.metrics.index import PerformanceIndex
from automl.metrics.metrics import (
    DEFAULT_WEIGHTS,
    METRICS,
    BrierBaseline,
    Metric,
    TargetFacts,
    get_metric,
)
from automl.records import Decision, FloatArray, Task

IndexSpec = str | Mapping[str, float]


def build_index(
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
    decision: Decision = "learned",
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
    decision
        As the attribute.

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
    usable = _usable_metrics(task, has_costs=costs is not None, has_positive=positive is not None)
    weights = _parse_weights(spec, task, usable)
    for name in filter(is_scorer_name, weights):
        try_scorer(name, y, count)
    return PerformanceIndex(
        task,
        count,
        MappingProxyType(weights),
        MappingProxyType({name: metric.baseline(facts) for name, metric in usable.items()}),
        beta=float(beta),
        positive=positive,
        costs=costs,
        error_weights=errors,
        decision=decision,
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
        deviation = y - np.average(y, weights=weight)
        return TargetFacts(
            variance=float(np.average(deviation**2, weights=weight)),
            deviation=float(np.average(np.abs(deviation), weights=weight)),
        ), None
    sizes = np.bincount(y, weights=weight, minlength=n_classes)
    frequencies = sizes / sizes.sum()
    errors = None if costs is None else error_weights(costs, frequencies)
    parameters = MetricParameters(errors, costs, beta, positive)
    expected = ClassBatch.of_counts(np.outer(frequencies, frequencies)[None], parameters)
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
