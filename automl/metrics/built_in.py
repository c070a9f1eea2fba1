"""The metrics that every installation has (B14, section 3.2)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from automl.metrics import classification, regression
from automl.metrics.metric import Metric, TargetFacts
from automl.records import FloatArray, Task

CLASSES = frozenset({Task.BINARY, Task.MULTICLASS})
NUMBERS = frozenset({Task.REGRESSION})


def _of_labels(name: str, kernel: Callable[[Any], FloatArray], **own: Any) -> Metric:
    usual = {"tasks": CLASSES, "needs": "labels", "bounds": (0.0, 1.0), "is_maximized": True}
    return Metric(name=name, kernel=kernel, **{**usual, **own})


def _of_probabilities(name: str, kernel: Callable[[Any], FloatArray], **own: Any) -> Metric:
    return _of_labels(name, kernel, needs="probabilities", **own)


def _of_values(name: str, kernel: Callable[[Any], FloatArray], **own: Any) -> Metric:
    usual = {"bounds": (0.0, np.inf), "is_maximized": False}
    return _of_labels(name, kernel, tasks=NUMBERS, needs="values", **{**usual, **own})


def _one_half(_: TargetFacts) -> float:
    return 0.5


def _brier_baseline(facts: TargetFacts) -> float:
    assert facts.frequencies is not None
    spread = 1.0 - float(facts.frequencies @ facts.frequencies)
    return spread if facts.brier_baseline == "frequencies" else 2.0 * spread


def _log_loss_baseline(facts: TargetFacts) -> float:
    assert facts.frequencies is not None
    positive = facts.frequencies[facts.frequencies > 0]
    return -float(positive @ np.log(positive))


BETA, POSITIVE, COSTS = frozenset({"beta"}), frozenset({"positive"}), frozenset({"costs"})

BUILT_IN: tuple[Metric, ...] = (
    _of_labels("accuracy", classification.accuracy),
    _of_labels("balanced_accuracy", classification.balanced_accuracy),
    _of_labels("f_beta", classification.f_beta, reads=BETA, aliases=("f1", "f1_macro")),
    _of_labels("f_beta_positive", classification.f_beta_positive, reads=BETA | POSITIVE),
    _of_labels("mcc", classification.matthews, bounds=(-1.0, 1.0), aliases=("matthews",)),
    _of_labels("cost", classification.cost, bounds=(0.0, np.inf), is_maximized=False, reads=COSTS),
    _of_probabilities(
        "brier",
        classification.brier,
        bounds=(0.0, 2.0),
        is_maximized=False,
        baseline=_brier_baseline,
    ),
    _of_probabilities(
        "log_loss",
        classification.log_loss,
        bounds=(0.0, -float(np.log(classification.SMALLEST_PROBABILITY))),
        is_maximized=False,
        baseline=_log_loss_baseline,
        aliases=("logloss",),
    ),
    _of_probabilities(
        "roc_auc",
        classification.roc_auc,
        baseline=_one_half,
        aliases=("auc", "roc_auc_ovr"),
        is_slow=True,
    ),
    _of_probabilities(
        "roc_auc_ovo",
        classification.roc_auc_ovo,
        tasks=frozenset({Task.MULTICLASS}),
        baseline=_one_half,
        is_slow=True,
    ),
    _of_values(
        "r2",
        regression.r2,
        bounds=(-np.inf, 1.0),
        is_maximized=True,
        baseline=lambda _: 0.0,
        reads=frozenset({"variance"}),
        row_losses=regression.r2_losses,
        of_reported=regression.r2_of_reported,
    ),
    _of_values(
        "mae",
        regression.mae,
        row_losses=regression.mae_losses,
        aliases=("mean_absolute_error",),
    ),
    _of_values(
        "mse", regression.mse, row_losses=regression.mse_losses, aliases=("mean_squared_error",)
    ),
    _of_values(
        "rmse",
        regression.rmse,
        row_losses=regression.rmse_losses,
        aliases=("root_mean_squared_error",),
    ),
)
