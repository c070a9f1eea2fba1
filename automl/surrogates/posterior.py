"""Posterior of a Gaussian process whose hyperparameters are given.

The notation is that of `automl.surrogates.matern`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from automl.records import FloatArray
from automl.surrogates.matern import cholesky, constant_mean, solve
from automl.surrogates.process_prior import ProcessPrior

CHUNK = 2048
"""Points of one block of a prediction, which bounds its memory."""


@dataclass(frozen=True)
class Posterior:
    """Gaussian process with a prior and a constant after n observations.

    Parameters
    ----------
    X : (n, d)
    L : (n, n)
        Lower Cholesky factor of the covariance of the observations.
    mean
        The constant that is added to the prior's mean.
    alpha : (n,)
    noise_scale : (n,)
        Noise variance of each observation over the usual one.
    """

    prior: ProcessPrior
    X: FloatArray
    L: FloatArray
    mean: float
    alpha: FloatArray
    noise_scale: FloatArray

    @classmethod
    def condition(
        cls,
        prior: ProcessPrior,
        X: FloatArray,
        y: FloatArray,
        noise_scale: FloatArray | float = 1.0,
    ) -> Posterior:
        """Posterior after observing y (n,) at X; O(n**3)."""
        L = cholesky(_own_covariance(prior, X, noise_scale), _scale(prior, X))
        return _solved(prior, X.copy(), L, y, noise_scale * np.ones(len(y)))

    def extend(self, X: FloatArray, y: FloatArray, noise_scale: FloatArray) -> Posterior:
        """Posterior for X (n + k, d) that begins with the n known rows; O(n**2 k).

        Parameters
        ----------
        y : (n + k,), all observations; those of the known rows may have changed
        noise_scale : (n + k,)
        """
        n = len(self.X)
        L = self._extended(X[n:], noise_scale[n:])
        return _solved(self.prior, X.copy(), L, y, noise_scale)

    def believe(self, X: FloatArray) -> Posterior:
        """Posterior as if the mean had been observed at X (k, d): only the std shrinks."""
        return replace(
            self,
            X=np.concatenate([self.X, X]),
            L=self._extended(X),
            alpha=np.concatenate([self.alpha, np.zeros(len(X))]),
            noise_scale=np.concatenate([self.noise_scale, np.ones(len(X))]),
        )

    def begins(self, X: FloatArray, noise_scale: FloatArray) -> bool:
        """Whether X begins with the known rows, as exact as they were."""
        n = len(self.X)
        is_same = n <= len(X) and np.array_equal(self.X, X[:n])
        return is_same and np.array_equal(self.noise_scale, noise_scale[:n])

    def predict(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and variance (m,) of the function, without noise; O(n**2 m)."""
        from scipy.linalg import solve_triangular

        mean, variance = np.empty(len(X)), np.empty(len(X))
        for start in range(0, len(X), CHUNK):
            block = slice(start, start + CHUNK)
            k = self.prior.covariance(X[block], self.X)
            mean[block] = self.mean + self.prior.mean(X[block]) + k @ self.alpha
            v = solve_triangular(self.L, k.T, lower=True, check_finite=False, overwrite_b=True)
            before = self.prior.variance(X[block])
            variance[block] = np.maximum(before - np.einsum("nm,nm->m", v, v), 1e-12 * before)
        return mean, variance

    def joint(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean (m,) and covariance (m, m) of the function, without noise; O(n**2 m + n m**2)."""
        from scipy.linalg import solve_triangular

        k = self.prior.covariance(X, self.X)
        v = solve_triangular(self.L, k.T, lower=True, check_finite=False)
        mean = self.mean + self.prior.mean(X) + k @ self.alpha
        return mean, self.prior.covariance(X, X) - v.T @ v

    @property
    def noise(self) -> float:
        """Variance of the noise."""
        return self.prior.noise

    def predict_with_gradient(
        self, X: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Mean and variance (m,) and their derivatives (m, d); O(n**2 m), for few points."""
        prior = self.prior
        k, before = prior.covariance(X, self.X), prior.variance(X)
        solved = solve(self.L, k.T).T
        variance = np.maximum(before - (k * solved).sum(axis=1), 1e-12 * before)
        by_mean, by_reduction = prior.covariance_slopes(
            X, self.X, [np.broadcast_to(self.alpha, k.shape), 2.0 * solved]
        )
        return (
            self.mean + prior.mean(X) + k @ self.alpha,
            variance,
            prior.mean_slope(X) + by_mean,
            prior.variance_slope(X) - by_reduction,
        )

    def _extended(self, X: FloatArray, noise_scale: FloatArray | float = 1.0) -> FloatArray:
        """Cholesky factor with k more observations at X (k, d)."""
        from scipy.linalg import solve_triangular

        if len(X) == 0:
            return self.L
        n, k = len(self.X), len(X)
        across = solve_triangular(
            self.L, self.prior.covariance(self.X, X), lower=True, check_finite=False
        )
        corner = _own_covariance(self.prior, X, noise_scale) - across.T @ across
        L = np.zeros((n + k, n + k))
        L[:n, :n], L[n:, :n] = self.L, across.T
        L[n:, n:] = cholesky(corner, _scale(self.prior, X))
        return L


def _scale(prior: ProcessPrior, X: FloatArray) -> float:
    """Variance of which a share may be added to the diagonal."""
    return float(prior.variance(X).max())


def _own_covariance(
    prior: ProcessPrior, X: FloatArray, noise_scale: FloatArray | float
) -> FloatArray:
    K = prior.covariance(X, X)
    K[np.diag_indices_from(K)] = prior.variance(X) + prior.noise * noise_scale
    return K


def _solved(
    prior: ProcessPrior, X: FloatArray, L: FloatArray, y: FloatArray, noise_scale: FloatArray
) -> Posterior:
    residual = y - prior.mean(X)
    constant = constant_mean(L, residual)
    return Posterior(prior, X, L, constant, solve(L, residual - constant), noise_scale)
