"""Nearest (shrunken) centroid with margins."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from automl.estimators.weights import FloatArray


class NearestCentroidClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Class of the nearest centroid; predicts as scikit-learn's with uniform priors.

    It gives margins, so that it can be calibrated, and it does not warn about, or divide by,
    columns that are constant within the classes.

    Parameters
    ----------
    metric
        ``euclidean`` (centroids are means) or ``manhattan`` (medians).
    shrink_threshold : >= 0
        Centroids move toward the overall mean by this many standard errors and lose the
        columns in which they reach it (Tibshirani et al. 2002); 0 leaves them.

    Attributes
    ----------
    centroids_ : (n_classes, n_columns)
    classes_ : (n_classes,)
    """

    centroids_: FloatArray
    classes_: NDArray[Any]

    def __init__(self, *, metric: str = "euclidean", shrink_threshold: float = 0.0) -> None:
        self.metric = metric
        self.shrink_threshold = shrink_threshold

    def fit(self, X: Any, y: NDArray[Any]) -> Self:
        """Fit on numbers (n_rows, n_columns) without missing values and class codes."""
        X = np.asarray(X, dtype=np.float64)
        self.classes_, codes = np.unique(np.asarray(y), return_inverse=True)
        center = np.median if self.metric == "manhattan" else np.mean
        groups = [X[codes == code] for code in range(len(self.classes_))]
        self.centroids_ = np.array([center(group, axis=0) for group in groups])
        if self.shrink_threshold > 0 and len(self.classes_) > 1:
            self._shrink(X, codes)
        return self

    def _shrink(self, X: FloatArray, codes: NDArray[Any]) -> None:
        n_rows, n_classes = len(X), len(self.classes_)
        squares = ((X - self.centroids_[codes]) ** 2).sum(axis=0)
        deviation = np.sqrt(squares / max(1, n_rows - n_classes))
        error = np.sqrt(1.0 / np.bincount(codes) - 1.0 / n_rows)[:, None]
        unit = error * (deviation + np.median(deviation))
        offset = self.centroids_ - X.mean(axis=0)
        kept = np.clip(np.abs(offset) - self.shrink_threshold * unit, 0.0, None)
        self.centroids_ = X.mean(axis=0) + np.sign(offset) * kept

    def decision_function(self, X: Any) -> FloatArray:
        """Minus the distances (n_rows, n_classes); for two classes their difference (n_rows,)."""
        margins = -self._distances(X)
        return margins[:, 1] - margins[:, 0] if margins.shape[1] == 2 else margins

    def predict(self, X: Any) -> NDArray[Any]:
        """Class code of the nearest centroid (n_rows,)."""
        return np.asarray(self.classes_[self._distances(X).argmin(axis=1)])

    def _distances(self, X: Any) -> FloatArray:
        check_is_fitted(self, "centroids_")
        metric = "cityblock" if self.metric == "manhattan" else "euclidean"
        return np.asarray(cdist(np.asarray(X, dtype=np.float64), self.centroids_, metric))
