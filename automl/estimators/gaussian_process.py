"""Gaussian processes whose kernel is named by text."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    Kernel,
    Matern,
    RationalQuadratic,
    WhiteKernel,
)
from sklearn.utils.validation import check_is_fitted

from automl.estimators.holdout import inner_holdout
from automl.estimators.weights import FloatArray

LENGTH_SCALE_BOUNDS = (1e-2, 1e4)
VARIANCE_BOUNDS = (1e-3, 1e5)
NOISE_BOUNDS = (1e-6, 1e2)

N_ROWS_TO_OPTIMIZE = 300
"""Most rows on which the kernel's parameters are chosen, whose time grows with their cube; all rows are
used for predictions."""


def kernel_by_name(name: str, n_columns: int) -> Kernel:
    """Kernel with one length scale that starts at the square root of the number of columns.

    Raises
    ------
    ValueError
        If `name` is not ``rbf``, ``matern_1.5``, ``matern_2.5``, ``rational_quadratic`` or
        ``linear``.
    """
    scale = float(np.sqrt(max(1, n_columns)))
    shapes: dict[str, Kernel] = {
        "rbf": RBF(scale, LENGTH_SCALE_BOUNDS),
        "matern_1.5": Matern(scale, LENGTH_SCALE_BOUNDS, nu=1.5),
        "matern_2.5": Matern(scale, LENGTH_SCALE_BOUNDS, nu=2.5),
        "rational_quadratic": RationalQuadratic(
            scale, 1.0, length_scale_bounds=LENGTH_SCALE_BOUNDS, alpha_bounds=(1e-2, 1e3)
        ),
        "linear": DotProduct(1.0, VARIANCE_BOUNDS),
    }
    if name not in shapes:
        raise ValueError(f"kernel must be one of {', '.join(shapes)}; got {name!r}")
    return ConstantKernel(1.0, VARIANCE_BOUNDS) * shapes[name]


def _fit_kernel(process: Any, X: FloatArray, y: NDArray[Any]) -> Any:
    """Fit a process and keep the best kernel that its search found, converged or not."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return process.fit(X, y)


class _GaussianProcess(BaseEstimator):  # type: ignore[misc]
    """Common part of the classifier and the regressor.

    Parameters
    ----------
    kernel
        As in `kernel_by_name`.
    optimize
        Whether the kernel's parameters maximize the marginal likelihood, on a random part of
        the rows where there are more than `N_ROWS_TO_OPTIMIZE`.

    Notes
    -----
    O(n_rows^3) time, once.
    """

    model_: Any

    def __init__(
        self,
        *,
        kernel: str = "rbf",
        optimize: bool = True,
        random_state: int = 0,
        n_jobs: int = 1,
    ) -> None:
        self.kernel = kernel
        self.optimize = optimize
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _part(self, y: NDArray[Any], *, is_classification: bool) -> NDArray[Any]:
        """Rows on which the kernel's parameters are chosen."""
        if len(y) <= N_ROWS_TO_OPTIMIZE:
            return np.arange(len(y))
        share = min(0.5, N_ROWS_TO_OPTIMIZE / len(y))
        return inner_holdout(
            y, share=share, seed=self.random_state, is_classification=is_classification
        )[1]


class KernelClassifier(ClassifierMixin, _GaussianProcess):  # type: ignore[misc]
    """Gaussian process classification (Laplace approximation, one against the rest).

    All classes share one kernel, the geometric mean of what suits each.
    """

    classes_: NDArray[Any]

    def fit(self, X: Any, y: NDArray[Any]) -> Self:
        """Fit on numbers (n_rows, n_columns) without missing values and class codes."""
        X, y = np.asarray(X, dtype=np.float64), np.asarray(y)
        kernel = kernel_by_name(self.kernel, X.shape[1])
        rows = self._part(y, is_classification=True)
        if self.optimize and len(np.unique(y[rows])) > 1:
            part = _fit_kernel(self._process(kernel, "fmin_l_bfgs_b"), X[rows], y[rows])
            thetas = np.reshape(part.kernel_.theta, (-1, kernel.n_dims))
            kernel = kernel.clone_with_theta(thetas.mean(axis=0))
        self.model_ = self._process(kernel, None).fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def _process(self, kernel: Kernel, optimizer: str | None) -> GaussianProcessClassifier:
        return GaussianProcessClassifier(
            kernel, optimizer=optimizer, random_state=self.random_state, n_jobs=self.n_jobs
        )

    def predict_proba(self, X: Any) -> FloatArray:
        """Probabilities (n_rows, n_classes) in the order of `classes_`."""
        check_is_fitted(self, "model_")
        return np.asarray(self.model_.predict_proba(np.asarray(X, dtype=np.float64)))

    def predict(self, X: Any) -> NDArray[Any]:
        """Class codes (n_rows,)."""
        check_is_fitted(self, "model_")
        return np.asarray(self.model_.predict(np.asarray(X, dtype=np.float64)))


class KernelRegressor(RegressorMixin, _GaussianProcess):  # type: ignore[misc]
    """Gaussian process regression with learned noise on a standardized target."""

    def fit(self, X: Any, y: NDArray[Any]) -> Self:
        """Fit on numbers (n_rows, n_columns) without missing values and numbers (n_rows,)."""
        X, y = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
        kernel = kernel_by_name(self.kernel, X.shape[1]) + WhiteKernel(0.1, NOISE_BOUNDS)
        if self.optimize:
            rows = self._part(y, is_classification=False)
            kernel = _fit_kernel(self._process(kernel, "fmin_l_bfgs_b"), X[rows], y[rows]).kernel_
        self.model_ = self._process(kernel, None).fit(X, y)
        return self

    def _process(self, kernel: Kernel, optimizer: str | None) -> GaussianProcessRegressor:
        return GaussianProcessRegressor(
            kernel,
            alpha=1e-8,
            optimizer=optimizer,
            normalize_y=True,
            random_state=self.random_state,
        )

    def predict(self, X: Any) -> FloatArray:
        """Predicted number (n_rows,)."""
        check_is_fitted(self, "model_")
        return np.asarray(self.model_.predict(np.asarray(X, dtype=np.float64)))
