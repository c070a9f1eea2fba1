"""Quadratic discriminant analysis that gets past singular covariances."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from automl.estimators.weights import FloatArray


class QuadraticDiscriminant(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """One Gaussian per class, its covariance shrunk toward the identity times its mean variance.

    S_k(r) = (1 - r) S_k + r (trace S_k / p) I, r = `reg_param`; where S_k(r) is singular (fewer
    rows than columns, indicator columns), r grows to the least power of ten, from 1e-6, that
    gives a condition number below 1e10.

    Parameters
    ----------
    reg_param : in [0, 1]
    priors
        ``empirical`` or ``uniform``.

    Attributes
    ----------
    means_ : (n_classes, n_columns)
    rotations_, variances_ : eigenvectors and eigenvalues of each class' covariance
    reg_params_ : (n_classes,), the shrinkage used
    classes_ : (n_classes,)

    Notes
    -----
    O(n_rows n_columns^2 + n_classes n_columns^3) time.
    """

    means_: FloatArray
    rotations_: list[FloatArray]
    variances_: list[FloatArray]
    reg_params_: list[float]
    log_priors_: FloatArray
    classes_: NDArray[Any]

    def __init__(self, *, reg_param: float = 0.0, priors: str = "empirical") -> None:
        self.reg_param = reg_param
        self.priors = priors

    def fit(self, X: Any, y: NDArray[Any]) -> Self:
        """Fit on numbers (n_rows, n_columns) without missing values and class codes.

        Raises
        ------
        ValueError
            If no class has two different rows.
        """
        X = np.asarray(X, dtype=np.float64)
        self.classes_, codes, counts = np.unique(
            np.asarray(y), return_inverse=True, return_counts=True
        )
        groups = [X[codes == code] for code in range(len(self.classes_))]
        shares = counts / counts.sum() if self.priors == "empirical" else np.ones(len(counts))
        self.log_priors_ = np.log(shares)
        self.means_ = np.array([group.mean(axis=0) for group in groups])
        self.rotations_, self.variances_, self.reg_params_ = [], [], []
        pooled = sum(float(group.var(axis=0).sum()) for group in groups) / X.shape[1]
        if pooled == 0:
            raise ValueError("quadratic discriminant analysis needs a class with different rows")
        for group in groups:
            self._add_class(group, pooled / len(groups))
        return self

    def _add_class(self, group: FloatArray, pooled: float) -> None:
        """Eigenvalues of one class; a class of equal rows takes the pooled mean variance."""
        p = group.shape[1]
        centered = group - group.mean(axis=0)
        covariance = centered.T @ centered / len(group)
        values, vectors = np.linalg.eigh(covariance)
        values = np.clip(values, 0.0, None)
        spherical = float(values.sum()) / p or pooled
        shrinkage = self.reg_param
        ladder = iter(10.0 ** np.arange(-6, 1))
        while (shrunk := (1 - shrinkage) * values + shrinkage * spherical).min() < (
            1e-10 * shrunk.max()
        ) or shrunk.max() == 0:
            shrinkage = max(shrinkage, float(next(ladder)))
        self.rotations_.append(vectors)
        self.variances_.append(shrunk)
        self.reg_params_.append(shrinkage)

    def _log_joint(self, X: Any) -> FloatArray:
        check_is_fitted(self, "means_")
        X = np.asarray(X, dtype=np.float64)
        columns = []
        for mean, rotation, variance in zip(
            self.means_, self.rotations_, self.variances_, strict=True
        ):
            distance = ((X - mean) @ rotation) ** 2 @ (1.0 / variance)
            columns.append(-0.5 * (distance + np.log(variance).sum()))
        return np.column_stack(columns) + self.log_priors_

    def predict_proba(self, X: Any) -> FloatArray:
        """Probabilities (n_rows, n_classes) in the order of `classes_`."""
        joint = self._log_joint(X)
        shares = np.exp(joint - joint.max(axis=1, keepdims=True))
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))

    def predict(self, X: Any) -> NDArray[Any]:
        """Most probable class code (n_rows,)."""
        return np.asarray(self.classes_[self._log_joint(X).argmax(axis=1)])
