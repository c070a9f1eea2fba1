"""Additive models: a cubic spline of every number, and linear terms of what has few values."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.preprocessing import SplineTransformer
from sklearn.utils.validation import check_is_fitted

from automl.estimators.weights import FloatArray

DEGREE = 3
MAX_ITER = 300
"""Iterations of the logistic fit: standardized terms took 30 to 150 of them."""


class _AdditiveSplines(BaseEstimator):  # type: ignore[misc]
    """A linear model of spline terms; every term is standardized, so that one penalty suits all.

    A column with at least `n_knots` different values gets B-splines, which are linear beyond its
    values (Hastie and Tibshirani, 1990; Eilers and Marx, 1996). Others, such as indicators, stay
    as they are. Knots lie at equal ranks among the different values of a column, so that none coincide.

    Parameters
    ----------
    n_knots : at least 2
    C : positive
        Inverse of the penalty on the squared coefficients.

    Attributes
    ----------
    curved_ : (n_columns,)
        Which columns have splines.
    knots_ : (n_knots, n_curved)
    means_, scales_ : (n_terms,)
    model_
        The linear model of the terms.

    Notes
    -----
    O(n_rows n_terms^2) time for numbers; O(n_rows n_terms) for each iteration for classes.
    """

    curved_: NDArray[np.bool_]
    knots_: FloatArray
    means_: FloatArray
    scales_: FloatArray
    model_: Any

    def __init__(self, *, n_knots: int = 6, C: float = 1.0) -> None:
        self.n_knots = n_knots
        self.C = C

    def fit(self, X: Any, y: NDArray[Any], sample_weight: NDArray[Any] | None = None) -> Self:
        """Fit on numbers (n_rows, n_columns) without missing values."""
        X = np.asarray(X, dtype=np.float64)
        different = [np.unique(column) for column in X.T]
        self.n_features_in_ = X.shape[1]
        self.curved_ = np.array([len(values) >= self.n_knots for values in different])
        knots = [self._knots(values) for values in different if len(values) >= self.n_knots]
        self.knots_ = np.reshape(knots, (-1, self.n_knots)).T
        terms = self._terms(X)
        self.means_ = np.average(terms, axis=0, weights=sample_weight)
        variances = np.average((terms - self.means_) ** 2, axis=0, weights=sample_weight)
        self.scales_ = np.where(variances > 0, np.sqrt(variances), 1.0)
        self.model_ = self._linear_model().fit(self._standardized(terms), y, sample_weight)
        return self

    def _linear_model(self) -> Any:
        raise NotImplementedError

    def _knots(self, values: FloatArray) -> FloatArray:
        """(n_knots,) increasing, from the different values of a column."""
        return values[np.linspace(0, len(values) - 1, self.n_knots).round().astype(np.intp)]

    def _terms(self, X: FloatArray) -> FloatArray:
        """(n_rows, n_terms) the columns, and the splines of those that have them."""
        if not self.curved_.any():
            return X
        splines = SplineTransformer(
            degree=DEGREE, knots=self.knots_, extrapolation="linear", include_bias=False
        ).fit(self.knots_)
        return np.hstack([X, splines.transform(X[:, self.curved_])])

    def _standardized(self, terms: FloatArray) -> FloatArray:
        return (terms - self.means_) / self.scales_

    def _prepared(self, X: Any) -> FloatArray:
        check_is_fitted(self, "model_")
        return self._standardized(self._terms(np.asarray(X, dtype=np.float64)))


class AdditiveSplinesClassifier(ClassifierMixin, _AdditiveSplines):  # type: ignore[misc]
    """Additive logistic regression; parameters as of its base."""

    def _linear_model(self) -> LogisticRegression:
        return LogisticRegression(C=self.C, max_iter=MAX_ITER)

    def fit(self, X: Any, y: NDArray[Any], sample_weight: NDArray[Any] | None = None) -> Self:
        """Fit on numbers (n_rows, n_columns) without missing values, and class codes."""
        super().fit(X, y, sample_weight)
        self.classes_ = self.model_.classes_
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """(n_rows, n_classes)."""
        return np.asarray(self.model_.predict_proba(self._prepared(X)))

    def predict(self, X: Any) -> NDArray[Any]:
        """(n_rows,) the likeliest classes."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])


class AdditiveSplinesRegressor(RegressorMixin, _AdditiveSplines):  # type: ignore[misc]
    """Additive ridge regression; parameters as of its base."""

    def _linear_model(self) -> Ridge:
        return Ridge(alpha=1.0 / self.C)

    def predict(self, X: Any) -> FloatArray:
        """(n_rows,)."""
        return np.asarray(self.model_.predict(self._prepared(X)))
