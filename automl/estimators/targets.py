"""Regressors whose parameters assume a target of unit scale."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.utils.validation import check_is_fitted

from automl.estimators.weights import FloatArray


class StandardizedTarget(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Fits a regressor on (y - mean) / standard deviation and predicts in the units of y.

    Parameters
    ----------
    estimator
        Any regressor.

    Attributes
    ----------
    estimator_ : fitted regressor
    mean_, scale_ : of the training target
    """

    estimator_: Any
    mean_: float
    scale_: float

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Any, y: NDArray[Any], sample_weight: FloatArray | None = None) -> Self:
        """Fit on (n_rows, n_columns) and numbers (n_rows,)."""
        y = np.asarray(y, dtype=np.float64)
        self.mean_, self.scale_ = float(y.mean()), float(y.std()) or 1.0
        target = (y - self.mean_) / self.scale_
        fresh = clone(self.estimator)
        if sample_weight is None:
            self.estimator_ = fresh.fit(X, target)
        else:
            self.estimator_ = fresh.fit(X, target, sample_weight=sample_weight)
        return self

    def predict(self, X: Any) -> FloatArray:
        """Predicted number (n_rows,)."""
        check_is_fitted(self, "estimator_")
        prediction = np.asarray(self.estimator_.predict(X), dtype=np.float64).reshape(-1)
        return prediction * self.scale_ + self.mean_
