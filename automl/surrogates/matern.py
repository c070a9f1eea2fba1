"""The Matérn 5/2 kernel with a length scale per dimension, and its marginal likelihood.

Notation
--------
theta : (d + 2,) natural logarithms of the d length scales, the signal variance and the noise
    variance; log_l, log_s, log_e are its parts
r2 : squared distance after division by the length scales
M(r) : (1 + sqrt(5) r + 5/3 r**2) exp(-sqrt(5) r), the correlation
noise_scale : (n,) noise variance of each observation over the usual one, e; 1 if they are all alike
K : (n, n) = s M + e diag(noise_scale), the covariance of the observations
L : lower Cholesky factor of K
alpha : (n,) = K^-1 (y - mean)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from automl.records import FloatArray

JITTERS = (0.0, 1e-10, 1e-8, 1e-6, 1e-4)
"""Shares of the signal variance that are added to the diagonal until K is positive definite."""

# LAPACK is called itself: of a dozen trials, scipy's checks take longer than the factorization.


@dataclass(frozen=True)
class ScaledRows:
    """Rows Z (m, d) under length scales; thousands of them, asked again and again, are scaled once.

    Parameters
    ----------
    scales, center : (d,)
    rows : (m, d), scaled and centered
    squares : (m,)
    """

    scales: FloatArray
    center: FloatArray
    rows: FloatArray
    squares: FloatArray

    @classmethod
    def of(cls, Z: FloatArray, log_l: FloatArray) -> ScaledRows:
        """Rows Z (m, d) divided by the length scales."""
        scales = np.exp(-log_l)
        scaled = Z * scales
        center = scaled.mean(axis=0)
        rows = scaled - center
        return cls(scales, center, rows, (rows**2).sum(axis=1))

    def squared_distances(self, X: FloatArray) -> FloatArray:
        """(n, m) squared distances r2 of the rows of X (n, d) to these."""
        left = X * self.scales - self.center
        squares = (left**2).sum(axis=1)[:, None] + self.squares[None, :] - 2 * left @ self.rows.T
        return np.asarray(np.maximum(squares, 0.0))


def squared_distances(X: FloatArray, Z: FloatArray, log_l: FloatArray) -> FloatArray:
    """(n, m) squared distances r2 of the rows of X (n, d) and Z (m, d) under length scales."""
    return ScaledRows.of(Z, log_l).squared_distances(X)


def correlation(r2: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Correlation M and its slope E = (5/3)(1 + sqrt(5) r) exp(-sqrt(5) r), elementwise.

    E gives every derivative: dM/d(r2) = -E/2.
    """
    root = np.sqrt(5.0 * r2)
    decay = np.exp(-root)
    linear = (1.0 + root) * decay
    return linear + (5.0 / 3.0) * r2 * decay, (5.0 / 3.0) * linear


def cholesky(K: FloatArray, scale: float) -> FloatArray:
    """Lower Cholesky factor; a growing share of `scale` is added to the diagonal if it must.

    Raises
    ------
    numpy.linalg.LinAlgError
        If K is not positive definite even so.
    """
    from scipy.linalg import lapack

    for jitter in JITTERS:
        raised = K if jitter == 0.0 else K + jitter * scale * np.eye(len(K))
        L, failed_at = lapack.dpotrf(raised, lower=1, clean=1)
        if not failed_at:
            return np.asarray(L)
    raise np.linalg.LinAlgError("the covariance of the observations is not positive definite")


@dataclass(frozen=True)
class Likelihood:
    """Logarithm of the marginal likelihood and its derivatives by theta (d + 2,)."""

    value: float
    gradient: FloatArray


def solve(L: FloatArray, b: FloatArray) -> FloatArray:
    """K^-1 b from the Cholesky factor of K."""
    from scipy.linalg import lapack

    return np.asarray(lapack.dpotrs(L, b, lower=1)[0])


def constant_mean(L: FloatArray, y: FloatArray) -> float:
    """The constant that maximizes the likelihood: 1'K^-1 y / 1'K^-1 1."""
    weights = solve(L, np.ones(len(y)))
    return float(weights @ y / weights.sum())


def log_marginal_likelihood(
    theta: FloatArray,
    X: FloatArray,
    y: FloatArray,
    *,
    mean: float | None = None,
    noise_scale: FloatArray | float = 1.0,
) -> Likelihood:
    """Logarithm of p(y | X, theta) and its gradient; O(n**3 + n**2 d).

    Parameters
    ----------
    theta : (d + 2,)
    mean
        Constant mean; the most likely one if None (the gradient holds for it as well, since the
        likelihood is stationary there).

    References
    ----------
    .. [1] Rasmussen and Williams (2006), equations 5.8 and 5.9.
    """
    d = X.shape[1]
    signal, noise = float(np.exp(theta[d])), float(np.exp(theta[d + 1]))
    M, E, L = _covariance_of(theta, X, noise_scale)
    value, alpha = _log_density(L, y - (constant_mean(L, y) if mean is None else mean))
    W = np.outer(alpha, alpha) - _inverse(L)
    gradient = np.empty(d + 2)
    gradient[:d] = 0.5 * signal * _by_length(W * E, X, theta[:d])
    gradient[d] = 0.5 * signal * float((W * M).sum())
    gradient[d + 1] = 0.5 * noise * float((np.diag(W) * noise_scale).sum())
    return Likelihood(value, gradient)


def log_marginal_density(
    theta: FloatArray, X: FloatArray, y: FloatArray, noise_scale: FloatArray | float = 1.0
) -> float:
    """Logarithm of p(y | X, theta) with the most likely mean, without derivatives."""
    _, _, L = _covariance_of(theta, X, noise_scale)
    return _log_density(L, y - constant_mean(L, y))[0]


def _covariance_of(
    theta: FloatArray, X: FloatArray, noise_scale: FloatArray | float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Correlation M, its slope E and the Cholesky factor L of the covariance, each (n, n)."""
    d = X.shape[1]
    signal, noise = float(np.exp(theta[d])), float(np.exp(theta[d + 1]))
    M, E = correlation(squared_distances(X, X, theta[:d]))
    K = signal * M
    K[np.diag_indices_from(K)] = signal + noise * noise_scale
    return M, E, cholesky(K, signal)


def _log_density(L: FloatArray, residual: FloatArray) -> tuple[float, FloatArray]:
    """Logarithm of the normal density of residuals (n,), and alpha (n,)."""
    alpha = solve(L, residual)
    constant = 0.5 * len(residual) * np.log(2 * np.pi)
    return float(-0.5 * residual @ alpha - np.log(np.diag(L)).sum() - constant), alpha


def _by_length(G: FloatArray, X: FloatArray, log_l: FloatArray) -> FloatArray:
    """(d,) sums over i, k of G_ik (x_ij - x_kj)**2 / l_j**2 for a symmetric G."""
    centered = (X - X.mean(axis=0)) * np.exp(-log_l)
    own = G.sum(axis=1) @ centered**2
    return np.asarray(2.0 * (own - (centered * (G @ centered)).sum(axis=0)))


def _inverse(L: FloatArray) -> FloatArray:
    """K^-1 from its Cholesky factor."""
    from scipy.linalg import lapack

    lower, _ = lapack.dpotri(L, lower=1)
    return np.asarray(np.tril(lower) + np.tril(lower, -1).T)
