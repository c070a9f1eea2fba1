"""A Gaussian process with constant mean and Matérn 5/2 kernel (SPEC D5).

The notation is that of `automl.surrogates.matern`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from automl.errors import SettingsError
from automl.records import FloatArray
from automl.surrogates.learning import learn_hyperparameters
from automl.surrogates.matern import (
    cholesky,
    constant_mean,
    correlation,
    solve,
    squared_distances,
)

CHUNK = 2048
"""Points of one block of a prediction, which bounds its memory."""
SMALL = 100
"""Observations up to which the hyperparameters are learned anew at every fit."""


@dataclass(frozen=True)
class _Factor:
    """Observations X (n, d) and the Cholesky factor of their covariance."""

    X: FloatArray
    L: FloatArray


@dataclass
class GaussianProcess:
    """Posterior over functions; hyperparameters maximize the marginal likelihood.

    They are learned by L-BFGS with analytic gradients, from the last ones and, while there are
    few observations, from a fixed start as well. Above `SMALL` observations they are learned only
    when n has grown by a twentieth, and never on more than `n_learned` observations drawn at
    random. Between, new observations extend the Cholesky factor in O(n**2).

    Parameters
    ----------
    n_learned : at least 2
    most_steps : at least 1
        Steps of L-BFGS from each start; above `SMALL` observations half of them at first, then a
        fifth.
    prior
        Whether length scales and noise have log-normal priors (of which the mode is then taken)
        instead of bounds alone.

    References
    ----------
    .. [1] Lacoste et al. (2014), section 2; Rasmussen and Williams (2006), chapters 2 and 5.
    .. [2] Hvarfner et al. (2024), Vanilla Bayesian optimization performs great in high
       dimensions: the prior of the length scales.
    """

    n_learned: int = 300
    most_steps: int = 60
    prior: bool = False
    _theta: FloatArray | None = field(default=None, init=False, repr=False)
    _learn_at: int = field(default=0, init=False, repr=False)
    _told: _Factor | None = field(default=None, init=False, repr=False)
    _factor: _Factor | None = field(default=None, init=False, repr=False)
    _mean: float = field(default=0.0, init=False, repr=False)
    _alpha: FloatArray = field(default_factory=lambda: np.zeros(0), init=False, repr=False)

    def __post_init__(self) -> None:
        if self.n_learned < 2 or self.most_steps < 1:
            raise SettingsError(
                "a Gaussian process needs n_learned >= 2 and most_steps >= 1; got"
                f" {self.n_learned} and {self.most_steps}"
            )

    @property
    def theta(self) -> FloatArray:
        """(d + 2,) natural logarithms of length scales, signal variance and noise variance."""
        assert self._theta is not None
        return self._theta

    @property
    def mean(self) -> float:
        """The constant mean."""
        return self._mean

    def fit(self, X: FloatArray, y: FloatArray, *, rng: np.random.Generator) -> None:
        """Learn the hyperparameters when it is time, and condition on all observations."""
        n, d = X.shape
        is_new = self._theta is None or len(self._theta) != d + 2 or not self._continues(X)
        if is_new or n >= self._learn_at:
            self._learn(X, y, rng, is_new=is_new)
        self._told = self._factor = self._factorize(X)
        L = self._told.L
        self._mean = constant_mean(L, y)
        self._alpha = solve(L, y - self._mean)

    def _learn(
        self, X: FloatArray, y: FloatArray, rng: np.random.Generator, *, is_new: bool
    ) -> None:
        n = len(y)
        rows = np.arange(n)
        if n > self.n_learned:
            rows = np.sort(rng.choice(n, self.n_learned, replace=False))
        share = 1 if n <= SMALL else 2 if is_new else 5
        self._theta = learn_hyperparameters(
            X[rows],
            y[rows],
            None if is_new else self._theta,
            has_prior=self.prior,
            is_thorough=n <= SMALL,
            most_steps=max(self.most_steps // share, 1),
        )
        self._told = None
        self._learn_at = n + (n // 20 if n > SMALL else 1)

    def believe(self, X: FloatArray) -> None:
        """Condition on X (k, d) as if the mean had been observed: the mean stays, std shrinks."""
        assert self._factor is not None
        self._factor = self._extend(self._factor, X)
        self._alpha = np.concatenate([self._alpha, np.zeros(len(X))])

    def predict(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation (m,) of the function, without noise; O(n**2 m)."""
        from scipy.linalg import solve_triangular

        assert self._factor is not None
        factor, signal = self._factor, np.exp(self.theta[-2])
        mean, variance = np.empty(len(X)), np.empty(len(X))
        for start in range(0, len(X), CHUNK):
            block = slice(start, start + CHUNK)
            k = self._covariance(X[block], factor.X)
            mean[block] = self._mean + k @ self._alpha
            v = solve_triangular(factor.L, k.T, lower=True, check_finite=False, overwrite_b=True)
            variance[block] = signal - np.einsum("nm,nm->m", v, v)
        return mean, np.sqrt(np.maximum(variance, 1e-12 * signal))

    def predict_with_gradient(
        self, X: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Mean and std (m,) and their derivatives (m, d); O(n**2 m), for few points."""
        assert self._factor is not None
        L, rows = self._factor.L, self._factor.X
        signal, log_l = np.exp(self.theta[-2]), self.theta[:-2]
        M, E = correlation(squared_distances(X, rows, log_l))
        k = signal * M
        solved = solve(L, k.T).T
        variance = np.maximum(signal - (k * solved).sum(axis=1), 1e-12 * signal)
        std = np.sqrt(variance)
        precision = np.exp(-2.0 * log_l)
        by_mean = signal * E * self._alpha
        by_variance = -2.0 * signal * E * solved
        d_mean = (by_mean @ rows - by_mean.sum(axis=1)[:, None] * X) * precision
        d_variance = (by_variance @ rows - by_variance.sum(axis=1)[:, None] * X) * precision
        return self._mean + k @ self._alpha, std, d_mean, d_variance / (2.0 * std[:, None])

    # --- the covariance of the observations -------------------------------------------------

    def _covariance(self, X: FloatArray, Z: FloatArray) -> FloatArray:
        M, _ = correlation(squared_distances(X, Z, self.theta[:-2]))
        return np.asarray(np.exp(self.theta[-2]) * M)

    def _continues(self, X: FloatArray) -> bool:
        """Whether X begins with the observations of the last fit."""
        told = self._told
        return (
            told is not None and len(told.X) <= len(X) and np.array_equal(told.X, X[: len(told.X)])
        )

    def _factorize(self, X: FloatArray) -> _Factor:
        if self._told is not None and self._continues(X):
            return self._extend(self._told, X[len(self._told.X) :])
        return _Factor(X.copy(), cholesky(self._own_covariance(X), float(np.exp(self.theta[-2]))))

    def _own_covariance(self, X: FloatArray) -> FloatArray:
        K = self._covariance(X, X)
        K[np.diag_indices_from(K)] = np.exp(self.theta[-2]) + np.exp(self.theta[-1])
        return K

    def _extend(self, factor: _Factor, X: FloatArray) -> _Factor:
        """Factor with k more observations; O(n**2 k)."""
        from scipy.linalg import solve_triangular

        if len(X) == 0:
            return factor
        n, k = len(factor.X), len(X)
        across = solve_triangular(
            factor.L, self._covariance(factor.X, X), lower=True, check_finite=False
        )
        corner = self._own_covariance(X) - across.T @ across
        L = np.zeros((n + k, n + k))
        L[:n, :n], L[n:, :n] = factor.L, across.T
        L[n:, n:] = cholesky(corner, float(np.exp(self.theta[-2])))
        return _Factor(np.concatenate([factor.X, X]), L)
