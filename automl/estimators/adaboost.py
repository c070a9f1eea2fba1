"""AdaBoost with the size of its trees as a parameter."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.ensemble import AdaBoostClassifier, AdaBoostRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.validation import check_is_fitted

from automl.estimators.weights import ClassWeight, FloatArray, row_weights


class BoostedTreesClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Multi-class AdaBoost (SAMME) over trees.

    Parameters
    ----------
    max_depth : >= 1
        Of every tree; 1 is the stump of scikit-learn's default.
    n_estimators : >= 1
    learning_rate : > 0
    """

    model_: AdaBoostClassifier
    classes_: NDArray[Any]

    def __init__(
        self,
        *,
        max_depth: int = 1,
        n_estimators: int = 50,
        learning_rate: float = 1.0,
        class_weight: ClassWeight = None,
        random_state: int = 0,
    ) -> None:
        self.max_depth = max_depth
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.class_weight = class_weight
        self.random_state = random_state

    def fit(self, X: Any, y: NDArray[Any], sample_weight: FloatArray | None = None) -> Self:
        """Fit on numbers (n_rows, n_columns) and class codes (n_rows,)."""
        weight = row_weights(np.asarray(y), self.class_weight, sample_weight)
        self.model_ = AdaBoostClassifier(
            DecisionTreeClassifier(max_depth=self.max_depth),
            n_estimators=self.n_estimators,
            learning_rate=self.learning_rate,
            random_state=self.random_state,
        ).fit(X, y, sample_weight=weight)
        self.classes_ = self.model_.classes_
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Probabilities (n_rows, n_classes) in the order of `classes_`."""
        check_is_fitted(self, "model_")
        return np.asarray(self.model_.predict_proba(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Class codes (n_rows,)."""
        check_is_fitted(self, "model_")
        return np.asarray(self.model_.predict(X))


class BoostedTreesRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """AdaBoost.R2 over trees.

    Parameters
    ----------
    max_depth : >= 1
        Of every tree; scikit-learn's default is 3.
    n_estimators : >= 1
    learning_rate : > 0
    loss
        ``linear``, ``square`` or ``exponential``.
    """

    model_: AdaBoostRegressor

    def __init__(
        self,
        *,
        max_depth: int = 3,
        n_estimators: int = 50,
        learning_rate: float = 1.0,
        loss: str = "linear",
        random_state: int = 0,
    ) -> None:
        self.max_depth = max_depth
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.loss = loss
        self.random_state = random_state

    def fit(self, X: Any, y: NDArray[Any], sample_weight: FloatArray | None = None) -> Self:
        """Fit on numbers (n_rows, n_columns) and numbers (n_rows,)."""
        self.model_ = AdaBoostRegressor(
            DecisionTreeRegressor(max_depth=self.max_depth),
            n_estimators=self.n_estimators,
            learning_rate=self.learning_rate,
            loss=self.loss,
            random_state=self.random_state,
        ).fit(X, y, sample_weight=sample_weight)
        return self

    def predict(self, X: Any) -> FloatArray:
        """Predicted number (n_rows,)."""
        check_is_fitted(self, "model_")
        return np.asarray(self.model_.predict(X))
