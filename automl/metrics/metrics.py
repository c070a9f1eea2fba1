"""Registry of metrics: what each needs, its ideal value and its baseline (SPEC B1, B2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from automl.errors import SettingsError
from automl.lookup import did_you_mean
from automl.metrics import classification, regression
from automl.metrics.batch import ClassBatch
from automl.records import FloatArray, Task

Needs = Literal["labels", "probabilities", "values"]
BrierBaseline = Literal["frequencies", "random_labels"]


@dataclass(frozen=True)
class TargetFacts:
    """What baselines are computed from: the rows of the whole scoring set, fixed once per run.

    Parameters
    ----------
    frequencies : (K,) or None
        Class frequencies p.
    expected : batch of the baseline, or None
        Its counts are p pᵀ: labels drawn at random by the class frequencies.
    brier_baseline
        `frequencies`: probabilities equal to p; `random_labels`: one-hot rows of random labels.
    variance, deviation : non-negative
        Mean squared and mean absolute deviation of a numeric target from its mean.
    """

    frequencies: FloatArray | None = None
    expected: ClassBatch | None = None
    brier_baseline: BrierBaseline = "frequencies"
    variance: float = 0.0
    deviation: float = 0.0


@dataclass(frozen=True)
class Metric:
    """A metric in its natural sign.

    Parameters
    ----------
    name
        Registry key.
    tasks
        Kinds of target that it serves.
    needs
        What of the prediction it reads.
    ideal
        Value of a perfect prediction.
    is_maximized
        Whether greater values are better.
    values
        Its values, (B,), for a batch of predictions (`automl.metrics.batch`).
    baseline
        Value of the prediction that knows the class frequencies, or the mean, alone.
    """

    name: str
    tasks: frozenset[Task]
    needs: Needs
    ideal: float
    is_maximized: bool
    values: Callable[[Any], FloatArray]
    baseline: Callable[[TargetFacts], float]


def _of_counts(
    values: Callable[[ClassBatch], FloatArray],
) -> Callable[[TargetFacts], float]:
    """Baseline of a count-based metric: its value on the expected counts p pᵀ."""

    def baseline(facts: TargetFacts) -> float:
        assert facts.expected is not None
        return float(values(facts.expected)[0])

    return baseline


def _brier_baseline(facts: TargetFacts) -> float:
    assert facts.frequencies is not None
    spread = 1.0 - float(facts.frequencies @ facts.frequencies)
    return spread if facts.brier_baseline == "frequencies" else 2.0 * spread


def _log_loss_baseline(facts: TargetFacts) -> float:
    assert facts.frequencies is not None
    positive = facts.frequencies[facts.frequencies > 0]
    return -float(positive @ np.log(positive))


CLASSIFICATION = frozenset({Task.BINARY, Task.MULTICLASS})
REGRESSION = frozenset({Task.REGRESSION})


def _count_metric(
    name: str, values: Callable[[ClassBatch], FloatArray], *, is_loss: bool = False
) -> Metric:
    ideal = 0.0 if is_loss else 1.0
    return Metric(name, CLASSIFICATION, "labels", ideal, not is_loss, values, _of_counts(values))


def _registry() -> dict[str, Metric]:
    def half(_: TargetFacts) -> float:
        return 0.5

    found = [
        _count_metric("accuracy", classification.accuracy),
        _count_metric("balanced_accuracy", classification.balanced_accuracy),
        _count_metric("f_beta", classification.f_beta),
        _count_metric("f_beta_positive", classification.f_beta_positive),
        _count_metric("mcc", classification.matthews),
        _count_metric("cost", classification.cost, is_loss=True),
    ]
    for name, ideal, values, tasks, baseline in (
        ("brier", 0.0, classification.brier, CLASSIFICATION, _brier_baseline),
        ("log_loss", 0.0, classification.log_loss, CLASSIFICATION, _log_loss_baseline),
        ("roc_auc", 1.0, classification.roc_auc, CLASSIFICATION, half),
        ("roc_auc_ovo", 1.0, classification.roc_auc_ovo, frozenset({Task.MULTICLASS}), half),
    ):
        found.append(Metric(name, tasks, "probabilities", ideal, ideal == 1.0, values, baseline))
    for name, ideal, loss, level in (
        ("r2", 1.0, regression.r2, lambda _: 0.0),
        ("mae", 0.0, regression.mae, lambda facts: facts.deviation),
        ("mse", 0.0, regression.mse, lambda facts: facts.variance),
        ("rmse", 0.0, regression.rmse, lambda facts: float(np.sqrt(facts.variance))),
    ):
        found.append(Metric(name, REGRESSION, "values", ideal, ideal == 1.0, loss, level))
    return {metric.name: metric for metric in found}


METRICS: Mapping[str, Metric] = MappingProxyType(_registry())

ALIASES: Mapping[str, str] = MappingProxyType(
    {
        "auc": "roc_auc",
        "f1": "f_beta",
        "f1_macro": "f_beta",
        "logloss": "log_loss",
        "matthews": "mcc",
        "mean_absolute_error": "mae",
        "mean_squared_error": "mse",
        "roc_auc_ovr": "roc_auc",
        "root_mean_squared_error": "rmse",
    }
)
"""Other usual names of the metrics."""

DEFAULT_WEIGHTS: Mapping[bool, Mapping[str, float]] = MappingProxyType(
    {
        True: MappingProxyType({"accuracy": 0.25, "f_beta": 0.25, "brier": 0.25, "mcc": 0.25}),
        False: MappingProxyType({"r2": 0.5, "mae": 0.5}),
    }
)
"""Weights of the performance index by whether the target has classes (SPEC B3)."""


def get_metric(name: str, task: Task) -> Metric:
    """Metric by its registry key or another usual name.

    Raises
    ------
    SettingsError
        If there is no such metric, or it does not serve this kind of target.
    """
    usable = [metric.name for metric in METRICS.values() if task in metric.tasks]
    metric = METRICS.get(ALIASES.get(name, name))
    if name == "index":
        raise SettingsError(
            f"index is a mixture of metrics and cannot be part of another; use {', '.join(usable)}"
        )
    if metric is None:
        raise SettingsError(
            f"metric {name!r} is not known: use index, one of {', '.join(usable)}, "
            f"or file.py:function{did_you_mean(name, [*usable, *ALIASES])}"
        )
    if task not in metric.tasks:
        raise SettingsError(
            f"metric {name} does not serve a {task} target; use one of {', '.join(usable)}"
        )
    return metric
