"""Probabilities for classifiers that only give margins."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from automl.estimators.weights import FloatArray


class CalibratedMargin(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Softmax of scaled and shifted margins, fitted on margins of held-out rows.

    For two classes this is Platt's sigmoid; for more, temperature scaling with one offset per
    class, which has fewer parameters than a sigmoid per class. The estimator is fitted once
    per inner fold for the calibration, and once on all rows for the predictions.

    Parameters
    ----------
    estimator
        Has `decision_function` and `classes_`.
    n_folds : >= 2
        Inner folds; a class with fewer rows is missing from some.

    Attributes
    ----------
    estimator_ : fitted on all rows
    scale_ : > 0
    offsets_ : (n_classes,)
    classes_ : (n_classes,)
    """

    estimator_: Any
    scale_: float
    offsets_: FloatArray
    classes_: NDArray[Any]

    def __init__(self, estimator: Any, *, n_folds: int = 3, random_state: int = 0) -> None:
        self.estimator = estimator
        self.n_folds = n_folds
        self.random_state = random_state

    def fit(self, X: Any, y: NDArray[Any], sample_weight: FloatArray | None = None) -> Self:
        """Fit on numbers (n_rows, n_columns) and class codes (n_rows,)."""
        X, y = np.asarray(X), np.asarray(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.estimator_ = _fitted(self.estimator, X, y, sample_weight)
        margins = self._held_out_margins(X, y, sample_weight)
        self.scale_, self.offsets_ = fit_scaling(margins, codes, sample_weight)
        return self

    def _held_out_margins(
        self, X: FloatArray, y: NDArray[Any], sample_weight: FloatArray | None
    ) -> FloatArray:
        """Margins (n_rows, n_classes), each row's from an estimator that has not seen it."""
        rng = np.random.default_rng(self.random_state)
        folds = np.empty(len(y), dtype=np.int64)
        folds[np.lexsort((rng.random(len(y)), y))] = np.arange(len(y)) % self.n_folds
        margins = margin_columns(self.estimator_, X, self.classes_)
        for fold in range(self.n_folds):
            training, valid = folds != fold, folds == fold
            if len(np.unique(y[training])) < 2 or not valid.any():
                continue
            weight = None if sample_weight is None else sample_weight[training]
            estimator = _fitted(self.estimator, X[training], y[training], weight)
            margins[valid] = margin_columns(estimator, X[valid], self.classes_)
        return margins

    def decision_function(self, X: Any) -> FloatArray:
        """Margins (n_rows, n_classes), also for two classes."""
        check_is_fitted(self, "estimator_")
        return margin_columns(self.estimator_, np.asarray(X), self.classes_)

    def predict_proba(self, X: Any) -> FloatArray:
        """Probabilities (n_rows, n_classes) in the order of `classes_`."""
        scaled = self.scale_ * self.decision_function(X) + self.offsets_
        return np.asarray(softmax(scaled, axis=1))

    def predict(self, X: Any) -> NDArray[Any]:
        """Most probable class code (n_rows,)."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])


def margin_columns(estimator: Any, X: FloatArray, classes: NDArray[Any]) -> FloatArray:
    """Margins in the order of `classes`; a class that the estimator never saw gets the least one."""
    margins = np.asarray(estimator.decision_function(X), dtype=np.float64)
    if margins.ndim == 1:
        margins = np.column_stack((-margins / 2.0, margins / 2.0))
    result = np.repeat(margins.min(axis=1, keepdims=True), len(classes), axis=1)
    result[:, np.searchsorted(classes, estimator.classes_)] = margins
    return result


def fit_scaling(
    margins: FloatArray, codes: NDArray[Any], sample_weight: FloatArray | None = None
) -> tuple[float, FloatArray]:
    """Scale and offsets with the greatest likelihood of softmax(scale * margin + offset).

    Parameters
    ----------
    margins : (n_rows, n_classes)
    codes : (n_rows,), in [0, n_classes)

    Notes
    -----
    Targets are smoothed as in Platt's method, by one row in n_rows + n_classes, so that
    separable margins do not give an infinite scale.
    """
    n_rows, n_classes = margins.shape
    spread = float(margins.std()) or 1.0
    unit = margins / spread
    weight = np.ones(n_rows) if sample_weight is None else sample_weight / np.mean(sample_weight)
    target = np.full(margins.shape, 1.0 / (n_rows + n_classes))
    target[np.arange(n_rows), codes] += n_rows / (n_rows + n_classes)

    def loss(parameters: FloatArray) -> tuple[float, FloatArray]:
        log_p = log_softmax(parameters[0] * unit + parameters[1:], axis=1)
        delta = (np.exp(log_p) - target) * (weight / n_rows)[:, None]
        gradient = np.concatenate(([np.sum(delta * unit)], delta.sum(axis=0)))
        return -float(weight @ (target * log_p).sum(axis=1)) / n_rows, gradient

    start = np.concatenate(([1.0], np.zeros(n_classes)))
    bounds = [(1e-3, 1e3), *[(-50.0, 50.0)] * n_classes]
    best = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x
    return float(best[0]) / spread, best[1:]


def _fitted(estimator: Any, X: FloatArray, y: NDArray[Any], weight: FloatArray | None) -> Any:
    fresh = clone(estimator)
    return fresh.fit(X, y) if weight is None else fresh.fit(X, y, sample_weight=weight)
