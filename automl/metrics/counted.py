"""Label metrics of many confusion matrices at once, equal to those of `automl.metrics.classification`.

Symbols: ``N`` matrices of counts, (N, K, K), [true, predicted].
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from automl.metrics.index import PerformanceIndex
from automl.records import FloatArray

Counted = Callable[[PerformanceIndex, FloatArray], FloatArray]


def label_metric(name: str, index: PerformanceIndex, raw_counts: FloatArray) -> FloatArray:
    """Metric in its natural sign, (N,).

    Parameters
    ----------
    name
        Registry key of a metric that needs labels.
    raw_counts : (N, K, K), each with a positive sum
        Without misclassification costs, see `ClassificationOutcome.raw_counts`.
    """
    return COUNTED[name](index, raw_counts)


def _counts(index: PerformanceIndex, raw: FloatArray) -> FloatArray:
    return raw if index.error_weights is None else raw * index.error_weights


def _correct(counts: FloatArray) -> FloatArray:
    return np.asarray(counts.trace(axis1=1, axis2=2))


def _accuracy(index: PerformanceIndex, raw: FloatArray) -> FloatArray:
    counts = _counts(index, raw)
    return np.asarray(_correct(counts) / counts.sum(axis=(1, 2)))


def _balanced_accuracy(index: PerformanceIndex, raw: FloatArray) -> FloatArray:
    counts = _counts(index, raw)
    true = counts.sum(axis=2)
    with np.errstate(invalid="ignore"):
        return _mean_of_defined(_hits(counts) / np.where(true > 0, true, np.nan))


def _mean_of_defined(values: FloatArray) -> FloatArray:
    """(N,) mean of the values, (N, K), that are not NaN; at least one in each row."""
    is_defined = values == values  # noqa: PLR0124  (false for NaN only)
    return np.asarray(np.where(is_defined, values, 0.0).sum(axis=1) / is_defined.sum(axis=1))


def _hits(counts: FloatArray) -> FloatArray:
    return np.asarray(counts.diagonal(axis1=1, axis2=2))


def _f_beta_of_classes(index: PerformanceIndex, raw: FloatArray) -> FloatArray:
    """(N, K), NaN where a class is neither true nor predicted."""
    counts, square = _counts(index, raw), index.beta * index.beta
    denominator = square * counts.sum(axis=2) + counts.sum(axis=1)
    with np.errstate(invalid="ignore"):
        return np.asarray((1.0 + square) * _hits(counts) / denominator)


def _f_beta(index: PerformanceIndex, raw: FloatArray) -> FloatArray:
    return _mean_of_defined(_f_beta_of_classes(index, raw))


def _f_beta_positive(index: PerformanceIndex, raw: FloatArray) -> FloatArray:
    assert index.positive is not None
    score = _f_beta_of_classes(index, raw)[:, index.positive]
    return np.where(np.isnan(score), 1.0, score)


def _matthews(index: PerformanceIndex, raw: FloatArray) -> FloatArray:
    counts = _counts(index, raw)
    total, correct = counts.sum(axis=(1, 2)), _correct(counts)
    true, predicted = counts.sum(axis=2), counts.sum(axis=1)
    square = total * total
    spread = (square - (predicted**2).sum(axis=1)) * (square - (true**2).sum(axis=1))
    is_flat = spread <= 1e-12 * square * square
    covariance = correct * total - (true * predicted).sum(axis=1)
    defined = covariance / np.sqrt(np.where(is_flat, 1.0, spread))
    return np.asarray(np.where(is_flat, (correct == total).astype(np.float64), defined))


def _cost(index: PerformanceIndex, raw: FloatArray) -> FloatArray:
    assert index.costs is not None
    return np.asarray((raw * index.costs).sum(axis=(1, 2)) / raw.sum(axis=(1, 2)))


COUNTED: Mapping[str, Counted] = MappingProxyType(
    {
        "accuracy": _accuracy,
        "balanced_accuracy": _balanced_accuracy,
        "f_beta": _f_beta,
        "f_beta_positive": _f_beta_positive,
        "mcc": _matthews,
        "cost": _cost,
    }
)
"""Metrics of counts by registry key."""
