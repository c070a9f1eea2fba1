"""Classification metrics of a batch (B14, table 3.1, with the printed errata corrected).

Metrics of labels take a `Confusion`, those of probabilities a `ClassBatch`. Counts are (B, K, K),
[true, predicted], with sample weights and misclassification costs in them. A class that is neither
in `y` nor predicted does not count in F-beta. A class that is not in `y` does not count in the
balanced accuracy and in the areas. A fold may lack a class, and its perfect prediction must still
have the ideal value of every metric.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np

from automl.metrics.batch import ClassBatch, Confusion, mean_of_defined, sums
from automl.records import BoolArray, FloatArray, IntArray

SMALLEST_PROBABILITY = float(np.finfo(np.float32).eps)
"""Clip of the log loss: predictions are kept in 32 bits (scikit-learn clips at the same value)."""


AREA_CELLS = 1 << 15
"""Rows times weightings of the areas that are computed together: what they need stays in the cache."""


def accuracy(confusion: Confusion) -> FloatArray:
    """(B,) share of correct rows, (tp + tn) / all."""
    counts = confusion.counts
    return np.asarray(sums(_hits(counts), 1) / _totals(counts))


def balanced_accuracy(confusion: Confusion) -> FloatArray:
    """(B,) mean recall of the classes in `y`."""
    counts = confusion.counts
    rows = sums(counts, 2)
    return mean_of_defined(_hits(counts) / np.where(rows > 0, rows, np.nan))


def f_beta_of_classes(counts: FloatArray, beta: float) -> FloatArray:
    """F-beta of each class, NaN where a class is neither true nor predicted.

    F = (1 + β²) tp / ((1 + β²) tp + β² fn + fp).

    Parameters
    ----------
    counts : (B, K, K), [true, predicted]
    beta : positive

    Returns
    -------
    (B, K), in [0, 1] or NaN
    """
    square = beta * beta
    denominator = square * sums(counts, 2) + sums(counts, 1)
    with np.errstate(invalid="ignore"):
        return np.asarray((1.0 + square) * _hits(counts) / denominator)


def f_beta(confusion: Confusion) -> FloatArray:
    """(B,) unweighted mean of the classes' F-beta."""
    return mean_of_defined(f_beta_of_classes(confusion.counts, confusion.parameters.beta))


def f_beta_positive(confusion: Confusion) -> FloatArray:
    """(B,) F-beta of the positive class; 1 where it is neither true nor predicted."""
    assert confusion.parameters.positive is not None
    of_classes = f_beta_of_classes(confusion.counts, confusion.parameters.beta)
    score = of_classes[:, confusion.parameters.positive]
    return np.where(np.isnan(score), 1.0, score)


def matthews(confusion: Confusion) -> FloatArray:
    """(B,) Matthews correlation, multi-class form (Gorodkin's R_K).

    Zero where `y` or the prediction has a single class, except that a perfect prediction is 1.
    """
    counts = confusion.counts
    total, correct = _totals(counts), sums(_hits(counts), 1)
    true, predicted = sums(counts, 2), sums(counts, 1)
    square = total * total
    spread = (square - sums(predicted**2, 1)) * (square - sums(true**2, 1))
    is_flat = spread <= 1e-12 * square * square
    covariance = correct * total - sums(true * predicted, 1)
    defined = covariance / np.sqrt(np.where(is_flat, 1.0, spread))
    return np.asarray(np.where(is_flat, (correct == total).astype(np.float64), defined))


def cost(confusion: Confusion) -> FloatArray:
    """(B,) mean misclassification cost of a row, in the user's unit."""
    assert confusion.parameters.costs is not None
    counts = confusion.raw_counts
    return _totals(counts * confusion.parameters.costs) / _totals(counts)


def brier(batch: ClassBatch) -> FloatArray:
    """(B,) mean squared distance of the probabilities from the true one-hot rows, in [0, 2]."""
    probability = batch.predictions
    return batch.mean(_squares(probability) - 2.0 * _true_probability(batch)) + 1.0


def log_loss(batch: ClassBatch) -> FloatArray:
    """(B,) mean negative log probability of the true class, clipped at `SMALLEST_PROBABILITY`."""
    probability = np.maximum(_true_probability(batch), SMALLEST_PROBABILITY)
    return batch.mean(-np.log(probability, dtype=np.float64))


def roc_auc(batch: ClassBatch) -> FloatArray:
    """(B,) area under the ROC curve; more than two classes: mean of one class against the rest."""
    return _of_each(batch, _roc_auc)


def _roc_auc(y: IntArray, probability: FloatArray, weights: FloatArray | None) -> FloatArray:
    n_classes = probability.shape[1]
    codes = [1] if n_classes == 2 else range(n_classes)
    return _defined_means([areas(y == code, probability[:, code], weights) for code in codes])


def roc_auc_ovo(batch: ClassBatch) -> FloatArray:
    """(B,) mean area over all pairs of classes, both directions (Hand and Till's M)."""
    return _of_each(batch, _roc_auc_ovo)


def _roc_auc_ovo(y: IntArray, probability: FloatArray, weights: FloatArray | None) -> FloatArray:
    found = []
    for first, second in combinations(range(probability.shape[1]), 2):
        rows = np.flatnonzero((y == first) | (y == second))
        is_first = y[rows] == first
        found.append(areas(is_first, probability[rows, first], weights, rows))
        found.append(areas(~is_first, probability[rows, second], weights, rows))
    return _defined_means(found)


def _of_each(
    batch: ClassBatch,
    values: Callable[[IntArray, FloatArray, FloatArray | None], FloatArray],
) -> FloatArray:
    """(B,) values of each prediction under all weightings."""
    found = [values(batch.y, prediction, batch.weights) for prediction in batch.predictions]
    return np.concatenate(found)


def area(is_positive: BoolArray, score: FloatArray, weight: FloatArray | None = None) -> float:
    """One of `areas`."""
    return float(areas(is_positive, score, None if weight is None else weight[None])[0])


def areas(
    is_positive: BoolArray,
    score: FloatArray,
    weights: FloatArray | None = None,
    rows: IntArray | None = None,
) -> FloatArray:
    """P(score of a positive > score of a negative) + half P(equal); NaN without both kinds.

    Parameters
    ----------
    is_positive, score : (n,)
    weights : (N, n), non-negative, or None
    rows : (n,), or None
        Columns of the weights that belong to the rows; None for all in their order.

    Returns
    -------
    (N,), or (1,) without weights, in [0, 1] or NaN; the rows are sorted once, O(n log n + N n) time
    """
    sizes = np.ones((1, len(score))) if weights is None else weights
    rows = None if weights is None else rows
    if len(score) == 0:
        return np.full(len(sizes), np.nan)
    order = np.argsort(score)
    ordered = score[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    is_first = is_positive[order].astype(np.float64)
    columns = order if rows is None else rows[order]
    n_together = max(1, AREA_CELLS // len(score))
    found = [
        _areas(is_first, sizes[place : place + n_together].take(columns, axis=1), starts)
        for place in range(0, len(sizes), n_together)
    ]
    return np.concatenate(found)


def _areas(is_positive: FloatArray, weights: FloatArray, starts: IntArray) -> FloatArray:
    """(N,) areas, each the same to the last bit whatever the others are.

    Parameters
    ----------
    is_positive, weights : (n,), (N, n)
        0 or 1, and the weights, of the rows in the order of their scores.
    starts
        Where equal scores begin.
    """
    sizes = weights.astype(np.float64, copy=False)
    positive = is_positive * sizes
    negative = sizes - positive
    if len(starts) < len(is_positive):
        positive = np.add.reduceat(positive, starts, axis=1)
        negative = np.add.reduceat(negative, starts, axis=1)
    below = np.cumsum(negative, axis=1)
    pairs = positive.sum(axis=1) * below[:, -1]
    negative *= 0.5
    middles = np.subtract(below, negative, out=negative)
    ranked = np.array([one @ other for one, other in zip(positive, middles, strict=True)])
    return np.asarray(np.divide(ranked, pairs, out=np.full(len(pairs), np.nan), where=pairs > 0))


def _hits(counts: FloatArray) -> FloatArray:
    """(B, K) correct rows of each class."""
    return np.ascontiguousarray(counts.diagonal(axis1=1, axis2=2))


def _totals(counts: FloatArray) -> FloatArray:
    """(B,) sums of all cells, each the same to the last bit whatever the others are."""
    return sums(counts.reshape(len(counts), -1), 1)


def _true_probability(batch: ClassBatch) -> FloatArray:
    """(m, n) probability given to the true class."""
    n_predictions, n_rows, n_classes = batch.predictions.shape
    places = np.arange(0, n_rows * n_classes, n_classes) + batch.y
    flat = batch.predictions.reshape(n_predictions, n_rows * n_classes)
    return np.asarray(flat.take(places, axis=-1))


def _squares(probability: FloatArray) -> FloatArray:
    """(m, n) sum over the classes of the squared probabilities."""
    if probability.shape[-1] == 2:
        first, second = probability[..., 0], probability[..., 1]
        return np.asarray(first * first + second * second)
    return np.asarray(np.einsum("...j,...j->...", probability, probability))


def _defined_means(found: list[FloatArray]) -> FloatArray:
    """(N,) means of the areas that exist, each (N,); one half (no information) where none does."""
    return np.array([_defined_mean(values) for values in np.stack(found, axis=1).tolist()])


def _defined_mean(areas: list[float]) -> float:
    """Mean of the areas that exist; one half (no information) when none does."""
    defined = [value for value in areas if value == value]  # noqa: PLR0124  (false for NaN only)
    return sum(defined) / len(defined) if defined else 0.5
