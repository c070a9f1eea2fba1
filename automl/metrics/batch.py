"""Input of metrics: many predictions of the same rows, or one under many weightings of them.

A metric has one kernel, which gives its value for every prediction of a batch; one prediction is a
batch of one. Batches compute what several metrics share (confusion counts, errors) once.

Symbols: ``n`` rows, ``K`` classes, ``m`` predictions, ``N`` weightings, ``B = max(m, N)``; either `m`
or `N` is 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from automl.inference.decision import DecisionRule
from automl.records import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class MetricParameters:
    """Input of metrics besides rows and predictions.

    Parameters
    ----------
    error_weights : (K, K) or None
        Factor of each count, [true, predicted]; ones on the diagonal (`costs.error_weights`).
    costs : (K, K) or None
        Misclassification costs as the user gave them.
    beta : positive
        Relative importance of the recall in F-beta.
    positive : code or None
        Class of `f_beta_positive`.
    variance : non-negative or None
        Denominator of R²; None takes the variance of the rows, as scikit-learn does.
    """

    error_weights: FloatArray | None = None
    costs: FloatArray | None = None
    beta: float = 1.0
    positive: int | None = None
    variance: float | None = None


class RowBatch:
    """Rows of a target, and what is predicted of them.

    Parameters
    ----------
    y : (n,)
    predictions : (m, n) or (m, n, K)
    weights : (N, n) or None
        Sample weights.

    Attributes
    ----------
    size
        Number of values that a metric has, B.
    """

    def __init__(
        self,
        y: NDArray[Any],
        predictions: FloatArray,
        weights: FloatArray | None = None,
        parameters: MetricParameters | None = None,
    ) -> None:
        self.y = y
        self.predictions = predictions
        self.weights = weights
        self.parameters = parameters or MetricParameters()
        self.size = max(len(predictions), 1 if weights is None else len(weights))

    def mean(self, values: FloatArray) -> FloatArray:
        """(B,) weighted means over the rows of `values`, (m, n), accumulated in 64 bits.

        Each row's mean without weights is the same to the last bit whatever the others are.
        """
        weights = self.weights
        if weights is None:
            return np.asarray(np.ascontiguousarray(values).mean(axis=1, dtype=np.float64))
        totals = weights.sum(axis=1, dtype=np.float64)
        if len(weights) > 1:
            return np.asarray(weights @ values[0].astype(np.float64) / totals)
        return np.asarray((values.astype(np.float64) * weights[0]).sum(axis=1) / totals[0])

    def each(self, value: Callable[[Any, Any, Any], float]) -> FloatArray:
        """(B,) what a function of y, one prediction and one weighting, or None, says of each."""
        weightings = [None] if self.weights is None else self.weights
        values = [value(self.y, one, weight) for one in self.predictions for weight in weightings]
        return np.array(values, dtype=np.float64)


@dataclass(frozen=True)
class Confusion:
    """Confusion counts: all that a metric of labels sees.

    So it can be told at every threshold of a prediction without another look at the rows
    (`automl.metrics.thresholds`).

    Parameters
    ----------
    raw_counts : (B, K, K), [true, predicted]
        Weighted numbers of rows.
    parameters
        See `MetricParameters`.
    """

    raw_counts: FloatArray
    parameters: MetricParameters

    @property
    def size(self) -> int:
        """Number of values that a metric has, B."""
        return len(self.raw_counts)

    @cached_property
    def counts(self) -> FloatArray:
        """(B, K, K) counts whose errors are multiplied by their costs (B14, section 6.1)."""
        factors = self.parameters.error_weights
        return self.raw_counts if factors is None else self.raw_counts * factors


class ClassBatch(RowBatch):
    """Codes, probabilities and labels.

    Parameters
    ----------
    y : (n,), codes in [0, K)
    predictions : (m, n, K)
        Probabilities, which sum to one; one-hot where a model has none.
    labels : (m, n), codes
        As the decision rule has them.
    weights, parameters
        As of `RowBatch`.
    """

    def __init__(
        self,
        y: IntArray,
        predictions: FloatArray,
        labels: IntArray,
        weights: FloatArray | None = None,
        parameters: MetricParameters | None = None,
    ) -> None:
        super().__init__(y, predictions, weights, parameters)
        self.labels = labels

    @cached_property
    def confusion(self) -> Confusion:
        """Counts of the labels."""
        return Confusion(self._raw_counts(), self.parameters)

    def _raw_counts(self) -> FloatArray:
        n_classes = self.predictions.shape[-1]
        if self.weights is not None and len(self.weights) > 1:
            cells = self.y * n_classes + self.labels[0]
            counted = [np.bincount(cells, weight, n_classes**2) for weight in self.weights]
            return np.array(counted, dtype=np.float64).reshape(-1, n_classes, n_classes)
        # as sums of products, which is several times faster than counting for many predictions
        true = (self.y == np.arange(n_classes)[:, None]).T
        weight = np.float32(1) if self.weights is None else self.weights[0][:, None]
        sizes = true * weight  # 32 bits hold the whole numbers of unweighted rows exactly
        # a product of finite numbers; the BLAS may raise the flag of an invalid one all the same
        with np.errstate(invalid="ignore"):
            columns = [
                (self.labels == code).astype(sizes.dtype) @ sizes for code in range(n_classes)
            ]
        return np.stack(columns, axis=2).astype(np.float64)


class ValueBatch(RowBatch):
    """Values of a numeric target, (n,), and predictions of them, (m, n)."""

    @cached_property
    def error(self) -> FloatArray:
        """(m, n) true values less predicted ones, 64 bits."""
        return np.asarray(np.subtract(self.y, self.predictions, dtype=np.float64))

    @cached_property
    def mean_squared_error(self) -> FloatArray:
        """(B,) means of the squared errors."""
        return self.mean(self.error * self.error)


def batch_of(
    y: ArrayLike,
    predictions: ArrayLike,
    weights: FloatArray | None,
    labels: ArrayLike | None,
    *,
    rule: DecisionRule | None,
    n_classes: int,
    parameters: MetricParameters,
) -> RowBatch:
    """Checked input of metrics.

    Parameters
    ----------
    y : (n,), codes or values
    predictions : (m, n, K) probabilities, (m, n) codes, which become one-hot rows, or (m, n) values
    weights : (N, n), non-negative, or None
    labels : (m, n), codes, or None for those of `rule`
    rule
        Makes labels of probabilities; None for regression.
    n_classes : K

    Raises
    ------
    ValueError
        If a prediction is not finite or the shapes do not fit.
    """
    truth, predicted = np.asarray(y), np.asarray(predictions)
    if len(truth) == 0 or predicted.ndim < 2 or predicted.shape[1] != len(truth):
        n_columns = predicted.shape[1] if predicted.ndim > 1 else 0
        raise ValueError(f"{n_columns} predictions for {len(truth)} rows")
    if not np.isfinite(predicted.sum()) and not np.isfinite(predicted).all():
        raise ValueError("predictions must be finite; found NaN or infinity")
    if rule is None:
        return ValueBatch(truth, predicted.reshape(len(predicted), -1), weights, parameters)
    if predicted.ndim == 2:
        predicted = np.eye(n_classes, dtype=np.float32)[predicted.astype(np.intp)]
    if predicted.shape[2] != n_classes:
        raise ValueError(f"{predicted.shape[2]} probabilities for {n_classes} classes")
    codes = rule.codes(predicted) if labels is None else np.asarray(labels)
    return ClassBatch(truth, predicted, codes, weights, parameters)


FEW_CELLS = 16
"""Adding slices is 6 to 15 times as fast as a reduction with 2 cells, 1.5 to 2 times with 8, about as fast with 16."""


def sums(values: FloatArray, axis: int) -> FloatArray:
    """Sums over one axis, each the same to the last bit whatever the others are.

    Over so few cells as classes slice by slice: a reduction of two numbers takes twenty times as long.
    """
    size = values.shape[axis]
    if not 0 < size <= FEW_CELLS:
        return np.asarray(values.sum(axis=axis))
    total = values.take(0, axis=axis)
    for place in range(1, size):
        total = total + values.take(place, axis=axis)
    return np.asarray(total)


def mean_of_defined(values: FloatArray) -> FloatArray:
    """(B,) mean of the values, (B, K), that are not NaN; at least one in each row."""
    is_defined: BoolArray = ~np.isnan(values)
    return np.asarray(
        sums(np.where(is_defined, values, 0.0), 1) / sums(is_defined.astype(np.float64), 1)
    )
