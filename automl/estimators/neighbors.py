"""Neighbor estimators that never run out of neighbors."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.neighbors import (
    KNeighborsClassifier,
    KNeighborsRegressor,
    NearestNeighbors,
)
from sklearn.utils.validation import check_is_fitted

from automl.estimators.weights import FloatArray

N_ROWS_FOR_UNIT = 500
"""Rows whose distances give the unit of a relative radius: of a typical distance a sample tells enough."""


class _NearestRows(BaseEstimator):  # type: ignore[misc]
    """Common part of the k-nearest-neighbor estimators.

    Parameters
    ----------
    n_neighbors : >= 1
        At most the number of training rows is used.
    weights
        ``uniform`` or ``distance``.
    p : >= 1
        Exponent of the Minkowski distance.
    """

    model_: Any

    def __init__(
        self,
        *,
        n_neighbors: int = 5,
        weights: str = "uniform",
        p: float = 2.0,
        n_jobs: int = 1,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.p = p
        self.n_jobs = n_jobs

    def _arguments(self, n_rows: int) -> dict[str, Any]:
        return {
            "n_neighbors": min(self.n_neighbors, n_rows),
            "weights": self.weights,
            "p": self.p,
            "n_jobs": self.n_jobs,
        }

    def predict(self, X: Any) -> NDArray[Any]:
        """Predicted class codes or numbers (n_rows,)."""
        check_is_fitted(self, "model_")
        return np.asarray(self.model_.predict(X))


class NearestRowsClassifier(ClassifierMixin, _NearestRows):  # type: ignore[misc]
    """k nearest neighbors; parameters as in `_NearestRows`."""

    classes_: NDArray[Any]

    def fit(self, X: Any, y: NDArray[Any]) -> Self:
        """Fit on numbers (n_rows, n_columns) without missing values and class codes."""
        self.model_ = KNeighborsClassifier(**self._arguments(len(y))).fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Share of the neighbors' weight per class (n_rows, n_classes)."""
        check_is_fitted(self, "model_")
        return np.asarray(self.model_.predict_proba(X))


class NearestRowsRegressor(RegressorMixin, _NearestRows):  # type: ignore[misc]
    """Mean of the k nearest neighbors; parameters as in `_NearestRows`."""

    def fit(self, X: Any, y: NDArray[Any]) -> Self:
        """Fit on numbers (n_rows, n_columns) without missing values and numbers (n_rows,)."""
        self.model_ = KNeighborsRegressor(**self._arguments(len(y))).fit(X, y)
        return self


class _RadiusRows(BaseEstimator):  # type: ignore[misc]
    """Common part of the neighbors-within-a-radius estimators.

    A row without neighbors takes its nearest training row; scikit-learn's classes raise an
    error or predict NaN there.

    Parameters
    ----------
    radius : > 0
    unit
        ``absolute``, or ``typical``: the radius is a multiple of the median distance between
        training rows, so that one value suits tables of any width.
    weights
        ``uniform`` or ``distance``.
    p : >= 1
        Exponent of the Minkowski distance.
    """

    index_: NearestNeighbors
    radius_: float

    def __init__(
        self,
        *,
        radius: float = 1.0,
        unit: str = "absolute",
        weights: str = "uniform",
        p: float = 2.0,
        random_state: int = 0,
        n_jobs: int = 1,
    ) -> None:
        self.radius = radius
        self.unit = unit
        self.weights = weights
        self.p = p
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _index(self, X: FloatArray) -> None:
        self.index_ = NearestNeighbors(n_neighbors=1, p=self.p, n_jobs=self.n_jobs).fit(X)
        self.radius_ = self.radius
        if self.unit == "typical":
            self.radius_ = self.radius * self._typical_distance(X)

    def _typical_distance(self, X: FloatArray) -> float:
        rng = np.random.default_rng(self.random_state)
        sample = X[rng.permutation(len(X))[:N_ROWS_FOR_UNIT]]
        partner = np.roll(sample, 1, axis=0)
        distances = np.linalg.norm(sample - partner, ord=self.p, axis=1)
        return float(np.median(distances)) or 1.0

    def _average(self, X: FloatArray, values: FloatArray) -> FloatArray:
        """Weighted mean of the neighbors' values (n_rows, n_values)."""
        check_is_fitted(self, "index_")
        X = np.asarray(X)
        result = np.empty((len(X), values.shape[1]))
        for start in range(0, len(X), 500):
            stop = min(start + 500, len(X))
            distances, rows = self.index_.radius_neighbors(X[start:stop], self.radius_)
            for position, (distance, near) in enumerate(zip(distances, rows, strict=True)):
                if len(near):
                    weights = self._weights(distance)
                    result[start + position] = weights @ values[near] / weights.sum()
                else:
                    result[start + position] = np.nan
        alone = np.isnan(result[:, 0])
        if alone.any():
            nearest = self.index_.kneighbors(X[alone], return_distance=False)[:, 0]
            result[alone] = values[nearest]
        return result

    def _weights(self, distances: FloatArray) -> FloatArray:
        if self.weights == "uniform":
            return np.ones(len(distances))
        if (distances == 0).any():
            return np.asarray(distances == 0, dtype=np.float64)
        return np.asarray(1.0 / distances)


class RadiusRowsClassifier(ClassifierMixin, _RadiusRows):  # type: ignore[misc]
    """Neighbors within a radius; parameters as in `_RadiusRows`."""

    classes_: NDArray[Any]
    one_hot_: FloatArray

    def fit(self, X: Any, y: NDArray[Any]) -> Self:
        """Fit on numbers (n_rows, n_columns) without missing values and class codes."""
        self.classes_, codes = np.unique(np.asarray(y), return_inverse=True)
        self.one_hot_ = np.eye(len(self.classes_))[codes]
        self._index(np.asarray(X))
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Share of the neighbors' weight per class (n_rows, n_classes)."""
        return self._average(X, self.one_hot_)

    def predict(self, X: Any) -> NDArray[Any]:
        """Class code with the greatest share (n_rows,)."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])


class RadiusRowsRegressor(RegressorMixin, _RadiusRows):  # type: ignore[misc]
    """Mean of the neighbors within a radius; parameters as in `_RadiusRows`."""

    target_: FloatArray

    def fit(self, X: Any, y: NDArray[Any]) -> Self:
        """Fit on numbers (n_rows, n_columns) without missing values and numbers (n_rows,)."""
        self.target_ = np.asarray(y, dtype=np.float64)[:, None]
        self._index(np.asarray(X))
        return self

    def predict(self, X: Any) -> FloatArray:
        """Predicted number (n_rows,)."""
        return self._average(X, self.target_)[:, 0]
