"""MKL-GP: a Gaussian process whose kernel knows how far data sets are from each other (S15, section 4.4).

Notation
--------
x = (λ, m) : encoded configuration (d,) and meta-features (p,) of its data set
E(λ, λ') : exp(-½ Σ_j (λ_j - λ'_j)² / l_j²), squared exponential with a length per column
D(m, m') : exp(-½ |m - m'|² / h²)
k(x, x') = a E(λ, λ') + b E(λ, λ') D(m, m') : what all data sets share, and what near ones do
theta : (d + 4,) logarithms of l, h, a, b and the variance of the noise
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from automl.errors import SettingsError
from automl.records import FloatArray
from automl.surrogates.earlier_data import Sources, described, target_rows
from automl.surrogates.matern import Likelihood, cholesky, constant_mean, solve
from automl.surrogates.scale import Scale

LENGTH_BOUNDS = (0.05, 30.0)
DISTANCE_BOUNDS = (0.05, 30.0)
SIGNAL_BOUNDS = (1e-3, 20.0)
NOISE_BOUNDS = (1e-4, 1.0)
SMALL = 30
"""Trials up to which the kernel is learned at every fit where no other data set is known."""
CHUNK = 2048
"""Points of one block of a prediction."""


@dataclass(frozen=True)
class Factors:
    """The parts of the kernel between n and m rows.

    Parameters
    ----------
    E, D : (n, m)
    """

    E: FloatArray
    D: FloatArray

    @classmethod
    def between(cls, theta: FloatArray, X: FloatArray, Z: FloatArray) -> Factors:
        """Those between rows X (n, d + p) and Z (m, d + p)."""
        d = len(theta) - 4
        lengths = np.exp(theta[: d + 1])
        near = np.exp(-0.5 * _squares(X[:, :d] / lengths[:d], Z[:, :d] / lengths[:d]))
        alike = np.exp(-0.5 * _squares(X[:, d:], Z[:, d:]) / lengths[d] ** 2)
        return cls(near, alike)

    def covariance(self, theta: FloatArray) -> FloatArray:
        """The kernel k, (n, m)."""
        a, b = np.exp(theta[-3:-1])
        return np.asarray(self.E * (a + b * self.D))


@dataclass(frozen=True)
class Conditioned:
    """The process after n observations.

    Parameters
    ----------
    rows : (n, d + p)
    L : (n, n)
        Lower Cholesky factor of their covariance.
    alpha : (n,)
    mean : the constant mean
    """

    theta: FloatArray
    rows: FloatArray
    L: FloatArray
    alpha: FloatArray
    mean: float

    @classmethod
    def on(cls, theta: FloatArray, rows: FloatArray, y: FloatArray) -> Conditioned:
        """After observing y (n,) at rows (n, d + p); O(n**3)."""
        K = Factors.between(theta, rows, rows).covariance(theta)
        K[np.diag_indices_from(K)] += np.exp(theta[-1])
        L = cholesky(K, float(np.exp(theta[-3:-1]).sum()))
        mean = constant_mean(L, y)
        return cls(theta, rows, L, solve(L, y - mean), mean)

    def predict(self, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation (m,) of the function, without noise."""
        from scipy.linalg import solve_triangular

        signal = float(np.exp(self.theta[-3:-1]).sum())
        means, variances = np.empty(len(rows)), np.empty(len(rows))
        for begin in range(0, len(rows), CHUNK):
            block = slice(begin, begin + CHUNK)
            k = Factors.between(self.theta, rows[block], self.rows).covariance(self.theta)
            means[block] = self.mean + k @ self.alpha
            v = solve_triangular(self.L, k.T, lower=True, check_finite=False)
            variances[block] = signal - np.einsum("nm,nm->m", v, v)
        return means, np.sqrt(np.maximum(variances, 1e-12 * signal))


def _squares(X: FloatArray, Z: FloatArray) -> FloatArray:
    """(n, m) squared distances."""
    squares = (X**2).sum(axis=1)[:, None] + (Z**2).sum(axis=1) - 2.0 * X @ Z.T
    return np.asarray(np.maximum(squares, 0.0))


def log_likelihood(theta: FloatArray, X: FloatArray, y: FloatArray) -> Likelihood:
    """Logarithm of p(y | X, theta) with the most likely constant mean, and its gradient.

    Parameters
    ----------
    X : (n, d + p)
    y : (n,)
    """
    d, n = len(theta) - 4, len(y)
    a, b, noise = np.exp(theta[-3:])
    factors = Factors.between(theta, X, X)
    K = factors.covariance(theta)
    L = cholesky(K + noise * np.eye(n), a + b)
    residual = y - constant_mean(L, y)
    alpha = solve(L, residual)
    value = -0.5 * float(residual @ alpha) - float(np.log(np.diag(L)).sum())
    W = np.outer(alpha, alpha) - solve(L, np.eye(n))
    shared = b * factors.E * factors.D
    gradient = np.empty(d + 4)
    for j in range(d):
        gap = (X[:, None, j] - X[None, :, j]) ** 2 * np.exp(-2.0 * theta[j])
        gradient[j] = 0.5 * float((W * K * gap).sum())
    gap = _squares(X[:, d:], X[:, d:]) * np.exp(-2.0 * theta[d])
    gradient[d] = 0.5 * float((W * shared * gap).sum())
    gradient[d + 1] = 0.5 * a * float((W * factors.E).sum())
    gradient[d + 2] = 0.5 * float((W * shared).sum())
    gradient[d + 3] = 0.5 * noise * float(np.trace(W))
    return Likelihood(value - 0.5 * n * float(np.log(2.0 * np.pi)), gradient)


def most_likely(X: FloatArray, y: FloatArray, n_columns: int, *, most_steps: int) -> FloatArray:
    """Theta (d + 4,) of the greatest likelihood that L-BFGS finds inside the bounds."""
    from scipy.optimize import minimize

    bounds = np.log(
        [LENGTH_BOUNDS] * n_columns + [DISTANCE_BOUNDS, SIGNAL_BOUNDS, SIGNAL_BOUNDS, NOISE_BOUNDS]
    )
    begin = np.log([*[max(0.5, 0.3 * np.sqrt(n_columns))] * n_columns, 1.0, 0.5, 0.5, 0.05])

    def loss(theta: FloatArray) -> tuple[float, FloatArray]:
        optimum = log_likelihood(theta, X, y)
        return -optimum.value, -optimum.gradient

    options = {"maxiter": most_steps}
    optimum = minimize(loss, begin, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return np.asarray(optimum.x)


@dataclass
class MixedKernelProcess:
    """MKL-GP over the target's trials and a sample of the earlier ones.

    Parameters
    ----------
    most_rows : at least 1
        Earlier trials that are conditioned on, drawn at random once.
    n_learned : at least 2
        Most trials on which the kernel's parameters are learned: once with sources, else as the
        target's trials grow.
    most_steps : at least 1
        Steps of L-BFGS.

    Raises
    ------
    SettingsError
        If an option is out of its range.

    References
    ----------
    .. [1] Schilling et al. (2015), section 4.4; Yogatama and Mann (2014), Efficient transfer
       learning method for automatic hyperparameter tuning. Their second kernel looks at the
       nearest data sets only and need not be positive definite; this one decays with the
       distance.
    """

    most_rows: int = 1000
    n_learned: int = 300
    most_steps: int = 30
    _sources: Sources | None = field(default=None, init=False, repr=False)
    _shown: Sources | None = field(default=None, init=False, repr=False)
    _first: Conditioned | None = field(default=None, init=False, repr=False)
    _told: Conditioned | None = field(default=None, init=False, repr=False)
    _learn_at: int = field(default=0, init=False, repr=False)
    _scale: Scale = field(default=Scale(0.0, 1.0), init=False, repr=False)

    def __post_init__(self) -> None:
        if self.most_rows < 1 or self.n_learned < 2 or self.most_steps < 1:
            raise SettingsError(
                "most_rows must be at least 1, n_learned at least 2 and most_steps at least 1; got"
                f" {self.most_rows}, {self.n_learned} and {self.most_steps}"
            )

    def learn_from(self, sources: Sources) -> None:
        """Take the trials on earlier data sets; no trials are as no sources."""
        self._sources = sources if len(sources.y) else None
        self._shown = self._first = self._told = None

    def prepare(self, *, rng: np.random.Generator) -> None:
        """Draw the earlier trials and learn the kernel from them, if that has not been done."""
        if self._sources is None or self._shown is not None:
            return
        n = len(self._sources.y)
        self._shown = self._sources.subset(
            np.sort(rng.choice(n, min(n, self.most_rows), replace=False))
        )
        rows, y = self._earlier()
        learned = rng.choice(len(y), min(len(y), self.n_learned), replace=False)
        theta = most_likely(
            rows[learned], y[learned], self._sources.X.shape[1], most_steps=self.most_steps
        )
        self._first = Conditioned.on(theta, rows, y)

    def fit(self, X: FloatArray, y: FloatArray, *, rng: np.random.Generator) -> None:
        """Condition on the target's trials X (n, d), y (n,) and the earlier ones."""
        self.prepare(rng=rng)
        own = target_rows(self._sources, X)
        if self._first is None:
            self._scale = Scale.of(y, None)
            targets = self._scale.to_common(y)
            self._told = Conditioned.on(self._learned_alone(own, targets, rng), own, targets)
            return
        rows, scores = self._earlier()
        self._scale = Scale.of(y, self._first.predict(own)[0])
        targets = np.concatenate([scores, self._scale.to_common(y)])
        self._told = Conditioned.on(self._first.theta, np.concatenate([rows, own]), targets)

    def _learned_alone(
        self, own: FloatArray, y: FloatArray, rng: np.random.Generator
    ) -> FloatArray:
        """Parameters of the kernel; above `SMALL` trials learned anew when n grew by a tenth."""
        n, told = len(y), self._told
        if told is not None and n < self._learn_at and len(told.theta) == own.shape[1] + 4:
            return told.theta
        self._learn_at = n + (n // 10 if n > SMALL else 1)
        kept = rng.choice(n, min(n, self.n_learned), replace=False)
        return most_likely(own[kept], y[kept], own.shape[1], most_steps=self.most_steps)

    def predict(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation (m,) of the target's function, without noise."""
        assert self._told is not None, "fit comes first"
        return self._scale.from_common(*self._told.predict(target_rows(self._sources, X)))

    def _earlier(self) -> tuple[FloatArray, FloatArray]:
        assert self._shown is not None
        shown = self._shown
        return described(shown.X, shown.task, shown.meta), shown.y
