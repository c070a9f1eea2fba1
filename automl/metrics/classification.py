"""Classification metrics on one outcome (B14, table 3.1, with the printed errata corrected).

Counts are (K, K), [true, predicted], with sample weights and misclassification costs in them. A
class that is neither in `y` nor predicted does not count in F-beta; a class that is not in `y`
does not count in the balanced accuracy and in the areas: a fold may lack a class, and a perfect
prediction of any fold has the ideal value of every metric.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from automl.metrics.outcomes import ClassificationOutcome
from automl.records import BoolArray, FloatArray

SMALLEST_PROBABILITY = float(np.finfo(np.float32).eps)
"""Clip of the log loss: predictions are kept in 32 bits (scikit-learn clips at the same value)."""


def accuracy(outcome: ClassificationOutcome) -> float:
    """Share of correct rows, (tp + tn) / all."""
    counts = outcome.counts
    return float(counts.trace() / counts.sum())


def balanced_accuracy(outcome: ClassificationOutcome) -> float:
    """Mean recall of the classes in `y`."""
    counts = outcome.counts
    rows = counts.sum(axis=1)
    present = rows > 0
    return float((counts.diagonal()[present] / rows[present]).mean())


def f_beta_of_classes(counts: FloatArray, beta: float) -> FloatArray:
    """F-beta of each class, NaN where a class is neither true nor predicted.

    F = (1 + β²) tp / ((1 + β²) tp + β² fn + fp).

    Parameters
    ----------
    counts : (K, K), [true, predicted]
    beta : positive

    Returns
    -------
    (K,), in [0, 1] or NaN
    """
    hits = counts.diagonal()
    square = beta * beta
    denominator = square * counts.sum(axis=1) + counts.sum(axis=0)
    with np.errstate(invalid="ignore"):
        return np.asarray((1.0 + square) * hits / denominator)


def f_beta(outcome: ClassificationOutcome) -> float:
    """Unweighted mean of the classes' F-beta."""
    scores = f_beta_of_classes(outcome.counts, outcome.beta)
    present = scores == scores  # noqa: PLR0124  (false for NaN only)
    return float(scores[present].mean())


def f_beta_positive(outcome: ClassificationOutcome) -> float:
    """F-beta of the positive class; 1 where it is neither true nor predicted."""
    assert outcome.positive is not None
    score = float(f_beta_of_classes(outcome.counts, outcome.beta)[outcome.positive])
    return 1.0 if np.isnan(score) else score


def matthews(outcome: ClassificationOutcome) -> float:
    """Matthews correlation, multi-class form (Gorodkin's R_K).

    Zero where `y` or the prediction has a single class, except that a perfect prediction is 1.
    """
    counts = outcome.counts
    total = float(counts.sum())
    correct = float(counts.trace())
    true, predicted = counts.sum(axis=1), counts.sum(axis=0)
    square = total * total
    spread = (square - float(predicted @ predicted)) * (square - float(true @ true))
    if spread <= 1e-12 * square * square:
        return 1.0 if correct == total else 0.0
    return float((correct * total - float(true @ predicted)) / np.sqrt(spread))


def cost(outcome: ClassificationOutcome) -> float:
    """Mean misclassification cost of a row, in the user's unit."""
    assert outcome.costs is not None
    counts = outcome.raw_counts
    return float((counts * outcome.costs).sum() / counts.sum())


def brier(outcome: ClassificationOutcome) -> float:
    """Mean squared distance of the probabilities from the true one-hot rows, in [0, 2]."""
    return outcome.mean(brier_rows(outcome)) + 1.0


def brier_rows(outcome: ClassificationOutcome) -> FloatArray:
    """(…, n) squared distance of each row's probabilities from the true one-hot row, less one."""
    probability = outcome.probability
    return np.asarray(_squares(probability) - 2.0 * _true_probability(outcome))


def log_loss(outcome: ClassificationOutcome) -> float:
    """Mean negative log probability of the true class, clipped at `SMALLEST_PROBABILITY`."""
    return -outcome.mean(log_rows(outcome))


def log_rows(outcome: ClassificationOutcome) -> FloatArray:
    """(…, n) log probability of the true class of each row, clipped at `SMALLEST_PROBABILITY`."""
    probability = np.maximum(_true_probability(outcome), SMALLEST_PROBABILITY)
    return np.log(probability, dtype=np.float64)


def roc_auc(outcome: ClassificationOutcome) -> float:
    """Area under the ROC curve; more than two classes: mean of one class against the rest."""
    y, probability, weight = outcome.y, outcome.probability, outcome.weight
    if outcome.n_classes == 2:
        return _defined_mean([area(y == 1, probability[:, 1], weight)])
    return _defined_mean(
        [area(y == code, probability[:, code], weight) for code in range(outcome.n_classes)]
    )


def roc_auc_ovo(outcome: ClassificationOutcome) -> float:
    """Mean area over all pairs of classes, both directions (Hand and Till's M)."""
    areas = []
    for first, second in combinations(range(outcome.n_classes), 2):
        rows = (outcome.y == first) | (outcome.y == second)
        weight = None if outcome.weight is None else outcome.weight[rows]
        is_first = outcome.y[rows] == first
        areas.append(area(is_first, outcome.probability[rows, first], weight))
        areas.append(area(~is_first, outcome.probability[rows, second], weight))
    return _defined_mean(areas)


def area(is_positive: BoolArray, score: FloatArray, weight: FloatArray | None = None) -> float:
    """P(score of a positive > score of a negative) + half P(equal); NaN without both kinds.

    Parameters
    ----------
    is_positive, score, weight : (n,)

    Returns
    -------
    in [0, 1] or NaN; O(n log n) time
    """
    if len(score) == 0:
        return float("nan")
    order = np.argsort(score)
    sorted_score = score[order]
    positive = is_positive[order].astype(np.float64)
    if weight is None:
        negative = 1.0 - positive
    else:
        sorted_weight = weight[order].astype(np.float64)
        positive *= sorted_weight
        negative = sorted_weight - positive
    starts = np.flatnonzero(np.r_[True, sorted_score[1:] != sorted_score[:-1]])
    if len(starts) < len(score):
        positive = np.add.reduceat(positive, starts)
        negative = np.add.reduceat(negative, starts)
    below = np.cumsum(negative)
    pairs = float(positive.sum() * below[-1])
    if pairs <= 0:
        return float("nan")
    return float(positive @ (below - 0.5 * negative)) / pairs


def _true_probability(outcome: ClassificationOutcome) -> FloatArray:
    """(…, n) probability given to the true class."""
    probability = outcome.probability
    n_rows, n_classes = probability.shape[-2:]
    places = np.arange(0, n_rows * n_classes, n_classes) + outcome.y
    flat = probability.reshape(*probability.shape[:-2], n_rows * n_classes)
    return np.asarray(flat.take(places, axis=-1))


def _squares(probability: FloatArray) -> FloatArray:
    """(…, n) sum over the classes of the squared probabilities."""
    if probability.shape[-1] == 2:
        first, second = probability[..., 0], probability[..., 1]
        return np.asarray(first * first + second * second)
    return np.asarray(np.einsum("...j,...j->...", probability, probability))


def _defined_mean(areas: list[float]) -> float:
    """Mean of the areas that exist; one half (no information) when none does."""
    defined = [value for value in areas if value == value]  # noqa: PLR0124  (false for NaN only)
    return sum(defined) / len(defined) if defined else 0.5
