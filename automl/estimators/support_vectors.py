"""Nu-support vector classification that stays feasible."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.svm import NuSVC
from sklearn.utils.validation import check_is_fitted

from automl.estimators.weights import ClassWeight, FloatArray, row_weights


class FeasibleNuSVC(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """scikit-learn's NuSVC with nu clipped to what the class frequencies allow.

    For each pair of classes nu must be below 2 min(n_a, n_b) / (n_a + n_b); a rare class in a
    training fold makes the default of 0.5 infeasible.

    Parameters
    ----------
    nu : in (0, 1]
        Wanted; `nu_` is used.
    kernel, degree, gamma, coef0, shrinking, cache_size, max_iter
        As in scikit-learn.
    class_weight
        Taken as row weights: libsvm ignores weights of classes in this formulation.

    Attributes
    ----------
    nu_ : in (0, 1]
    model_ : fitted NuSVC
    classes_ : (n_classes,)
    """

    nu_: float
    model_: NuSVC
    classes_: NDArray[Any]

    def __init__(
        self,
        *,
        nu: float = 0.5,
        kernel: str = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        cache_size: float = 200,
        max_iter: int = -1,
        class_weight: ClassWeight = None,
        random_state: int = 0,
    ) -> None:
        self.nu = nu
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.random_state = random_state

    def fit(self, X: Any, y: NDArray[Any], sample_weight: FloatArray | None = None) -> Self:
        """Fit on numbers (n_rows, n_columns) without missing values and class codes."""
        weight = row_weights(np.asarray(y), self.class_weight, sample_weight)
        self.nu_ = min(self.nu, 0.99 * greatest_nu(y, weight))
        parameters = self.get_params(deep=False) | {"nu": self.nu_, "class_weight": None}
        self.model_ = NuSVC(**parameters).fit(X, y, sample_weight=weight)
        self.classes_ = self.model_.classes_
        return self

    def decision_function(self, X: Any) -> FloatArray:
        """Margins (n_rows, n_classes); for two classes (n_rows,)."""
        check_is_fitted(self, "model_")
        return np.asarray(self.model_.decision_function(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Class codes (n_rows,)."""
        check_is_fitted(self, "model_")
        return np.asarray(self.model_.predict(X))


def greatest_nu(y: NDArray[Any], sample_weight: FloatArray | None = None) -> float:
    """Least of 2 min(n_a, n_b) / (n_a + n_b) over all pairs of classes, n in weight."""
    _, codes = np.unique(np.asarray(y), return_inverse=True)
    counts = np.bincount(codes, weights=sample_weight)
    return float(2.0 * counts.min() / (counts.min() + counts.max()))
