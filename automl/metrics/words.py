"""Metrics in plain words, and in the order in which people ask for them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class MetricWords:
    """A metric for people.

    Parameters
    ----------
    label : what it is called
    meaning : what it measures, and which way is better
    """

    label: str
    meaning: str


WORDS = {
    "accuracy": MetricWords("accuracy", "share of rows that are predicted right"),
    "balanced_accuracy": MetricWords("balanced accuracy", "mean of the shares found of each class"),
    "f_beta": MetricWords(
        "F score", "precision and recall in one, mean of the classes; 1 is perfect"
    ),
    "f_beta_positive": MetricWords(
        "F score of the positive class", "precision and recall in one; 1 is perfect"
    ),
    "mcc": MetricWords("Matthews correlation", "of labels and truth; 0 is chance, 1 is perfect"),
    "cost": MetricWords("cost", "mean cost of a row by the cost matrix; less is better"),
    "roc_auc": MetricWords(
        "ROC AUC", "chance that a row of a class is ranked above another row; 0.5 is chance"
    ),
    "roc_auc_ovo": MetricWords(
        "ROC AUC, pairs of classes", "the same for each pair of classes; 0.5 is chance"
    ),
    "brier": MetricWords("Brier score", "squared error of the probabilities; less is better"),
    "log_loss": MetricWords("log loss", "surprise at the truth, in nats; less is better"),
    "r2": MetricWords("R²", "share of the variance that is explained; 1 is perfect"),
    "rmse": MetricWords(
        "RMSE", "root of the mean squared error, in units of the target; less is better"
    ),
    "mae": MetricWords("mean absolute error", "in units of the target; less is better"),
    "mse": MetricWords("mean squared error", "in squared units of the target; less is better"),
}
"""In the order of a table."""
SMALL, SMALL_DECIMALS = 10.0, 3
"""Numbers below the first have this many digits after the point, so that those of a table are alike."""
MOST_DECIMALS = 9
"""Digits after the point of a value whose interval is very narrow."""
HEADLINES = ("accuracy", "r2")
"""Metric that is read first, of classes and of numbers: the one that everybody knows."""


def words_of(metric: str) -> MetricWords:
    """Words of a metric; of one that is not ours its name."""
    return WORDS.get(metric, MetricWords(metric, "a metric of your own"))


def ordered(metrics: Iterable[str]) -> list[str]:
    """Metrics in the order of the table, others after them."""
    places = {name: place for place, name in enumerate(WORDS)}
    return sorted(metrics, key=lambda name: places.get(name, len(places)))


def headline(metric: str, metrics: Mapping[str, float]) -> str:
    """Metric that represents all: the one that was maximized, of a mixture the best known; empty without any.

    Parameters
    ----------
    metric : name of the index
    metrics : values in natural units
    """
    return next((name for name in (metric, *HEADLINES) if name in metrics), "")


def estimate_text(value: float, interval: tuple[float, float]) -> str:
    """``0.958 [0.940, 0.972]``: two digits of the interval's width, and three decimals of small numbers."""
    low, high = interval
    width = high - low
    if not (math.isfinite(width) and width > 0):
        return f"{value:.4g} [{low:.4g}, {high:.4g}]"
    least = SMALL_DECIMALS if max(abs(value), abs(low), abs(high)) < SMALL else 0
    decimals = min(max(1 - math.floor(math.log10(width)), least), MOST_DECIMALS)
    shown = [f"{round(each, decimals) + 0.0:.{decimals}f}" for each in (value, low, high)]
    return f"{shown[0]} [{shown[1]}, {shown[2]}]"


def interval_meaning(n_trials: int) -> str:
    """What intervals beside metrics are for, in one sentence.

    Parameters
    ----------
    n_trials : that the model was chosen from; 0 where nothing is corrected for the choice
    """
    corrected = f"; corrected values leave out the luck of its choice among {n_trials} trials"
    return (
        "Brackets hold 95 % intervals for new rows of this one model"
        f"{corrected if n_trials else ''}."
    )


def validated_words(n_folds: int) -> str:
    """How rows were scored whose models had not seen them."""
    return "held out" if n_folds == 1 else "cross-validated"


def index_words(metric: str) -> str:
    """The name of an index in words: of a mixture its parts."""
    parts = [part.strip().partition("*") for part in metric.split("+")]
    named = [words_of(name).label for name, _, _ in parts]
    if len(named) == 1:
        return named[0]
    weights = {weight for _, _, weight in parts}
    if len(weights) == 1:
        return f"the mean of {', '.join(named[:-1])} and {named[-1]}"
    told = [f"{weight} of {name}" for name, (_, _, weight) in zip(named, parts, strict=True)]
    return f"the sum of {', '.join(told)}"
