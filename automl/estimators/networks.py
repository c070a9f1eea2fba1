"""scikit-learn's perceptron with layers as text and early stopping wherever it is possible."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.utils.validation import check_is_fitted

from automl.estimators.targets import StandardizedTarget
from automl.estimators.weights import ClassWeight, FloatArray, row_weights

MIN_ROWS_TO_STOP_EARLY = 150
"""Fewer rows are not divided: what a few of them say of stopping is chance (by judgement)."""


class _Perceptron(BaseEstimator):  # type: ignore[misc]
    """Common part of the classifier and the regressor.

    Parameters
    ----------
    layers
        Units of the hidden layers, such as ``128-64``.
    activation, alpha, learning_rate_init, max_iter, n_iter_no_change, beta_1
        As in scikit-learn.
    batch_size : rows
        At most the rows at hand.
    """

    model_: Any

    def __init__(
        self,
        *,
        layers: str = "128-64",
        activation: str = "relu",
        alpha: float = 1e-4,
        learning_rate_init: float = 1e-3,
        batch_size: int = 128,
        max_iter: int = 200,
        n_iter_no_change: int = 15,
        class_weight: ClassWeight = None,
        random_state: int = 0,
    ) -> None:
        self.layers = layers
        self.activation = activation
        self.alpha = alpha
        self.learning_rate_init = learning_rate_init
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.n_iter_no_change = n_iter_no_change
        self.class_weight = class_weight
        self.random_state = random_state

    def _arguments(self, n_rows: int, *, may_stop: bool) -> dict[str, Any]:
        return {
            "hidden_layer_sizes": tuple(int(units) for units in str(self.layers).split("-")),
            "activation": self.activation,
            "alpha": self.alpha,
            "learning_rate_init": self.learning_rate_init,
            "batch_size": min(self.batch_size, max(1, n_rows // 2)),
            "max_iter": self.max_iter,
            "n_iter_no_change": self.n_iter_no_change,
            "early_stopping": may_stop and n_rows >= MIN_ROWS_TO_STOP_EARLY,
            "random_state": self.random_state,
        }

    def predict(self, X: Any) -> NDArray[Any]:
        """Predicted class codes or numbers (n_rows,)."""
        check_is_fitted(self, "model_")
        return np.asarray(self.model_.predict(np.asarray(X)))


class PerceptronClassifier(ClassifierMixin, _Perceptron):  # type: ignore[misc]
    """Multi-layer perceptron for classes; parameters as in `_Perceptron`.

    A class with fewer than two rows forbids the stratified division of early stopping.
    """

    classes_: NDArray[Any]

    def fit(self, X: Any, y: NDArray[Any], sample_weight: FloatArray | None = None) -> Self:
        """Fit on numbers (n_rows, n_columns) without missing values and class codes."""
        y = np.asarray(y)
        _, counts = np.unique(y, return_counts=True)
        may_stop = bool(counts.min() > 1) and len(counts) <= 0.1 * len(y)
        weight = row_weights(y, self.class_weight, sample_weight)
        self.model_ = MLPClassifier(**self._arguments(len(y), may_stop=may_stop))
        self.model_.fit(np.asarray(X), y, sample_weight=weight)
        self.classes_ = self.model_.classes_
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Probabilities (n_rows, n_classes) in the order of `classes_`."""
        check_is_fitted(self, "model_")
        return np.asarray(self.model_.predict_proba(np.asarray(X)))


class PerceptronRegressor(RegressorMixin, _Perceptron):  # type: ignore[misc]
    """Multi-layer perceptron for a number, standardized inside; parameters as in `_Perceptron`."""

    def fit(self, X: Any, y: NDArray[Any], sample_weight: FloatArray | None = None) -> Self:
        """Fit on numbers (n_rows, n_columns) without missing values and numbers (n_rows,)."""
        inner = MLPRegressor(**self._arguments(len(y), may_stop=True))
        self.model_ = StandardizedTarget(inner).fit(np.asarray(X), y, sample_weight)
        return self
