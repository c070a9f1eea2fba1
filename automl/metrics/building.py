"""A performance index for a target: what is asked for is checked, and the baselines are fixed (B14, section 3.2).

The baselines are those of all rows of the scoring set, so that a fold is scored by the same
scale as all of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from automl.alternatives import Decision
from automl.errors import SettingsError
from automl.metrics.batch import ClassBatch, Confusion, MetricParameters, RowBatch, ValueBatch
from automl.metrics.costs import check_costs, error_weights
from automl.metrics.custom import absolute_name, is_scorer_name
from automl.metrics.index import PerformanceIndex
from automl.metrics.metric import BrierBaseline, Metric, TargetFacts
from automl.metrics.registry import DEFAULT_WEIGHTS, INDEX, METRICS, get_metric, places_of
from automl.records import FloatArray, Task

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
    parameters = _parameters(y, sizes, count, costs=costs, beta=float(beta), positive=positive)
    facts = _target_facts(y, sizes, count, parameters, brier_baseline)
    weights = _parse_weights(spec, task, parameters)  # which may register some
    usable = _usable_metrics(task, parameters)
    places = places_of(usable)
    for name in (*places, *filter(is_scorer_name, weights)):
        _try_metric(get_metric(name, task), y, count, parameters)
    return PerformanceIndex(
        task,
        count,
        MappingProxyType(weights),
        MappingProxyType({name: metric.baseline_of(facts) for name, metric in usable.items()}),
        beta=parameters.beta,
        positive=positive,
        costs=costs,
        error_weights=parameters.error_weights,
        decision=decision,
        places=places,
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


def _parameters(
    y: NDArray[Any],
    weight: FloatArray | None,
    n_classes: int,
    *,
    costs: FloatArray | None,
    beta: float,
    positive: int | None,
) -> MetricParameters:
    if not n_classes:
        return MetricParameters(variance=float(_mean_errors(y, weight).mean_squared_error[0]))
    errors = None if costs is None else error_weights(costs, _frequencies(y, weight, n_classes))
    return MetricParameters(errors, costs, beta, positive)


def _target_facts(
    y: NDArray[Any],
    weight: FloatArray | None,
    n_classes: int,
    parameters: MetricParameters,
    brier_baseline: BrierBaseline,
) -> TargetFacts:
    if not n_classes:
        return TargetFacts(_mean_errors(y, weight))
    frequencies = _frequencies(y, weight, n_classes)
    constant = ClassBatch(
        y,
        np.broadcast_to(frequencies, (1, len(y), n_classes)),
        np.full((1, len(y)), frequencies.argmax()),
        None if weight is None else weight[None],
        parameters,
    )
    expected = Confusion(np.outer(frequencies, frequencies)[None], parameters)
    return TargetFacts(constant, expected, frequencies, brier_baseline)


def _frequencies(y: NDArray[Any], weight: FloatArray | None, n_classes: int) -> FloatArray:
    """(K,) class frequencies p."""
    sizes = np.bincount(y, weights=weight, minlength=n_classes)
    return np.asarray(sizes / sizes.sum())


def _mean_errors(y: NDArray[Any], weight: FloatArray | None) -> ValueBatch:
    """The mean as the prediction of every row."""
    mean = np.full((1, len(y)), np.average(y, weights=weight))
    return ValueBatch(y, mean, None if weight is None else weight[None])


def _usable_metrics(task: Task, parameters: MetricParameters) -> dict[str, Metric]:
    return {
        name: metric
        for name, metric in METRICS.items()
        if task in metric.tasks and not _missing(metric, parameters)
    }


def _missing(metric: Metric, parameters: MetricParameters) -> str:
    """Missing input of a metric; empty if nothing is missing."""
    if "costs" in metric.reads and parameters.costs is None:
        return "a cost matrix"
    if "positive" in metric.reads and parameters.positive is None:
        return "a positive class"
    return ""


def _parse_weights(spec: IndexSpec, task: Task, parameters: MetricParameters) -> dict[str, float]:
    """Weights by registry key, divided by their sum."""
    if isinstance(spec, str):
        spec = DEFAULT_WEIGHTS[task.is_classification] if spec == INDEX else {spec: 1.0}
    weights: dict[str, float] = {}
    for given, weight in spec.items():
        if not (isinstance(weight, int | float) and math.isfinite(weight) and weight >= 0):
            raise SettingsError(f"weight of metric {given} must be a number >= 0; got {weight!r}")
        name = _resolve(given, task, parameters)
        weights[name] = weights.get(name, 0.0) + float(weight)
    total = sum(weights.values())
    if total <= 0:
        raise SettingsError("metric weights must have a positive sum")
    return {name: weight / total for name, weight in weights.items() if weight > 0}


def _resolve(name: str, task: Task, parameters: MetricParameters) -> str:
    """Registry key, or a scorer's name with an absolute path."""
    metric = get_metric(absolute_name(name) if is_scorer_name(name) else name, task)
    missing = _missing(metric, parameters)
    if missing:
        raise SettingsError(f"metric {name} needs {missing}")
    return metric.name


def _try_metric(
    metric: Metric, y: NDArray[Any], n_classes: int, parameters: MetricParameters
) -> None:
    """Call a metric that is not ours on rows of the table, so that its mistakes show before the search.

    Raises
    ------
    SettingsError
        If it raises, ends the process, or does not return a finite number for each prediction.
    """
    complaint = f"metric {metric.name!r} cannot score this table: "
    try:
        values = np.asarray(metric.values(_plausible_batch(y, n_classes, parameters)), dtype=float)
    except SettingsError as error:
        raise SettingsError(f"{complaint}{error.message}") from None
    except (Exception, SystemExit) as error:
        cause = error.__cause__ or error  # of the metric itself
        raise SettingsError(f"{complaint}{type(cause).__name__}: {cause}") from error
    if values.shape != (2,):
        raise SettingsError(
            f"{complaint}its kernel must return one value for each prediction, shape (2,) for a batch of two; "
            f"it returned shape {values.shape}"
        )
    if not np.isfinite(values).all():
        raise SettingsError(f"{complaint}it returned {values[0]}, and a finite number is expected")


def _plausible_batch(y: NDArray[Any], n_classes: int, parameters: MetricParameters) -> RowBatch:
    """The same prediction twice, neither constant nor perfect: a metric may be undefined at both."""
    if not n_classes:
        prediction = y.mean() + 0.5 * (y - y.mean())
        return ValueBatch(y, np.stack([prediction] * 2), None, parameters)
    share = 0.5 / n_classes
    probability = np.asarray(share + 0.5 * np.eye(n_classes)[y.astype(int)], dtype=np.float32)
    labels = np.stack([np.roll(y, 1)] * 2)
    return ClassBatch(y, np.stack([probability] * 2), labels, None, parameters)
