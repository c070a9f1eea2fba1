"""Posterior of a Gaussian process whose hyperparameters are given.

The notation is that of `automl.surrogates.matern`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from automl.records import FloatArray
from automl.surrogates.matern import (
    cholesky,
    constant_mean,
    correlation,
    solve,
    squared_distances,
)

CHUNK = 2048
"""Points of one block of a prediction, which bounds its memory."""


@dataclass(frozen=True)
class Posterior:
    """Gaussian process with constant mean after n observations.

    Parameters
    ----------
    theta : (d + 2,)
    X : (n, d)
    L : (n, n)
        Lower Cholesky factor of the covariance of the observations.
    mean : the constant mean
    alpha : (n,)
    """

    theta: FloatArray
    X: FloatArray
    L: FloatArray
    mean: float
    alpha: FloatArray

    @classmethod
    def condition(cls, theta: FloatArray, X: FloatArray, y: FloatArray) -> Posterior:
        """Posterior after observing y (n,) at X; O(n**3)."""
        L = cholesky(_own_covariance(theta, X), _signal(theta))
        return _solved(theta, X.copy(), L, y)

    def extend(self, X: FloatArray, y: FloatArray) -> Posterior:
        """Posterior for X (n + k, d) that begins with the n known rows; O(n**2 k).

        Parameters
        ----------
        y : (n + k,), all observations; those of the known rows may have changed
        """
        return _solved(self.theta, X.copy(), self._extended(X[len(self.X) :]), y)

    def believe(self, X: FloatArray) -> Posterior:
        """Posterior as if the mean had been observed at X (k, d): only the std shrinks."""
        return replace(
            self,
            X=np.concatenate([self.X, X]),
            L=self._extended(X),
            alpha=np.concatenate([self.alpha, np.zeros(len(X))]),
        )

    def begins(self, X: FloatArray) -> bool:
        """Whether X begins with the known rows."""
        n = len(self.X)
        return n <= len(X) and np.array_equal(self.X, X[:n])

    def predict(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and variance (m,) of the function, without noise; O(n**2 m)."""
        from scipy.linalg import solve_triangular

        signal = _signal(self.theta)
        mean, variance = np.empty(len(X)), np.empty(len(X))
        for start in range(0, len(X), CHUNK):
            block = slice(start, start + CHUNK)
            k = _covariance(self.theta, X[block], self.X)
            mean[block] = self.mean + k @ self.alpha
            v = solve_triangular(self.L, k.T, lower=True, check_finite=False, overwrite_b=True)
            variance[block] = signal - np.einsum("nm,nm->m", v, v)
        return mean, np.maximum(variance, 1e-12 * signal)

    def joint(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean (m,) and covariance (m, m) of the function, without noise; O(n**2 m + n m**2)."""
        from scipy.linalg import solve_triangular

        k = _covariance(self.theta, X, self.X)
        v = solve_triangular(self.L, k.T, lower=True, check_finite=False)
        return self.mean + k @ self.alpha, _covariance(self.theta, X, X) - v.T @ v

    @property
    def noise(self) -> float:
        """Variance of the noise."""
        return float(np.exp(self.theta[-1]))

    def predict_with_gradient(
        self, X: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Mean and variance (m,) and their derivatives (m, d); O(n**2 m), for few points."""
        signal, log_l = _signal(self.theta), self.theta[:-2]
        M, E = correlation(squared_distances(X, self.X, log_l))
        k = signal * M
        solved = solve(self.L, k.T).T
        variance = np.maximum(signal - (k * solved).sum(axis=1), 1e-12 * signal)
        precision = np.exp(-2.0 * log_l)
        by_mean = signal * E * self.alpha
        by_variance = -2.0 * signal * E * solved
        d_mean = (by_mean @ self.X - by_mean.sum(axis=1)[:, None] * X) * precision
        d_variance = (by_variance @ self.X - by_variance.sum(axis=1)[:, None] * X) * precision
        return self.mean + k @ self.alpha, variance, d_mean, d_variance

    def _extended(self, X: FloatArray) -> FloatArray:
        """Cholesky factor with k more observations at X (k, d)."""
        from scipy.linalg import solve_triangular

        if len(X) == 0:
            return self.L
        n, k = len(self.X), len(X)
        across = solve_triangular(
            self.L, _covariance(self.theta, self.X, X), lower=True, check_finite=False
        )
        corner = _own_covariance(self.theta, X) - across.T @ across
        L = np.zeros((n + k, n + k))
        L[:n, :n], L[n:, :n] = self.L, across.T
        L[n:, n:] = cholesky(corner, _signal(self.theta))
        return L


def _signal(theta: FloatArray) -> float:
    return float(np.exp(theta[-2]))


def _covariance(theta: FloatArray, X: FloatArray, Z: FloatArray) -> FloatArray:
    M, _ = correlation(squared_distances(X, Z, theta[:-2]))
    return np.asarray(_signal(theta) * M)


def _own_covariance(theta: FloatArray, X: FloatArray) -> FloatArray:
    K = _covariance(theta, X, X)
    K[np.diag_indices_from(K)] = _signal(theta) + np.exp(theta[-1])
    return K


def _solved(theta: FloatArray, X: FloatArray, L: FloatArray, y: FloatArray) -> Posterior:
    mean = constant_mean(L, y)
    return Posterior(theta, X, L, mean, solve(L, y - mean))
