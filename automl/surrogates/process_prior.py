"""Prior of a Gaussian process, except for its constant.

The notation is that of `automl.surrogates.matern`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from automl.records import FloatArray
from automl.surrogates.matern import correlation, squared_distances


class ProcessPrior(Protocol):
    """Mean and covariance of a function at rows X (m, d), and the noise of observations."""

    @property
    def noise(self) -> float:
        """Variance of what is added to an observation."""
        ...

    def mean(self, X: FloatArray) -> FloatArray:
        """(m,) without the constant."""
        ...

    def variance(self, X: FloatArray) -> FloatArray:
        """(m,) of the function, without noise."""
        ...

    def covariance(self, X: FloatArray, Z: FloatArray) -> FloatArray:
        """(m, n) of the function at X (m, d) and Z (n, d)."""
        ...

    def mean_slope(self, X: FloatArray) -> FloatArray:
        """(m, d) derivatives of the mean by the columns."""
        ...

    def variance_slope(self, X: FloatArray) -> FloatArray:
        """(m, d) derivatives of the variance."""
        ...

    def covariance_slopes(
        self, X: FloatArray, Z: FloatArray, weights: Sequence[FloatArray]
    ) -> list[FloatArray]:
        """(m, d) derivatives by X of the covariances' weighted sum over Z, for each weights (m, n)."""
        ...


@dataclass(frozen=True)
class MaternPrior:
    """Mean 0 and covariance s M(r).

    Parameters
    ----------
    theta : (d + 2,)
    """

    theta: FloatArray

    @property
    def signal(self) -> float:
        """Variance of the function."""
        return float(np.exp(self.theta[-2]))

    @property
    def noise(self) -> float:
        """Variance of what is added to an observation."""
        return float(np.exp(self.theta[-1]))

    def mean(self, X: FloatArray) -> FloatArray:
        """Zeros (m,)."""
        return np.zeros(len(X))

    def variance(self, X: FloatArray) -> FloatArray:
        """(m,) the signal variance."""
        return np.full(len(X), self.signal)

    def covariance(self, X: FloatArray, Z: FloatArray) -> FloatArray:
        """(m, n)."""
        M, _ = correlation(squared_distances(X, Z, self.theta[:-2]))
        return np.asarray(self.signal * M)

    def mean_slope(self, X: FloatArray) -> FloatArray:
        """Zeros (m, d)."""
        return np.zeros_like(X)

    def variance_slope(self, X: FloatArray) -> FloatArray:
        """Zeros (m, d)."""
        return np.zeros_like(X)

    def covariance_slopes(
        self, X: FloatArray, Z: FloatArray, weights: Sequence[FloatArray]
    ) -> list[FloatArray]:
        """(m, d) for each weights (m, n): -s E (x - z) / l**2, summed."""
        log_l = self.theta[:-2]
        _, E = correlation(squared_distances(X, Z, log_l))
        precision = np.exp(-2.0 * log_l)
        slopes = []
        for weight in weights:
            G = self.signal * E * weight
            slopes.append((G @ Z - G.sum(axis=1)[:, None] * X) * precision)
        return slopes


@dataclass(frozen=True)
class InformedPrior:
    """Mean a mu(x), covariance b**2 delta(x)'delta(x') + s M(r), of what other data sets expect.

    Parameters
    ----------
    residual : (d + 2,)
        Length scales and signal of what no other data set knows, and the noise.
    scale : positive
        a: how far scores lie apart here, in units of the other data sets' scores.
    spread : at least 0
        b: how far this data set may be from what is expected of it.

    Notes
    -----
    Rows are those of `automl.surrogates.source_processes.informed_rows`: a configuration (d,), mu
    and delta (t,).
    """

    residual: MaternPrior
    scale: float
    spread: float

    @property
    def noise(self) -> float:
        """Variance of what is added to an observation."""
        return self.residual.noise

    @property
    def _d(self) -> int:
        return len(self.residual.theta) - 2

    def _parts(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Configurations (m, d), and b delta (m, t)."""
        return X[:, : self._d], self.spread * X[:, self._d + 1 :]

    def mean(self, X: FloatArray) -> FloatArray:
        """(m,) a mu."""
        return np.asarray(self.scale * X[:, self._d])

    def variance(self, X: FloatArray) -> FloatArray:
        """(m,)."""
        own, delta = self._parts(X)
        return np.asarray(self.residual.variance(own) + np.einsum("mt,mt->m", delta, delta))

    def covariance(self, X: FloatArray, Z: FloatArray) -> FloatArray:
        """(m, n)."""
        own, delta = self._parts(X)
        other, other_delta = self._parts(Z)
        return np.asarray(self.residual.covariance(own, other) + delta @ other_delta.T)

    def mean_slope(self, X: FloatArray) -> FloatArray:
        """(m, d + 1 + t)."""
        slope = np.zeros_like(X)
        slope[:, self._d] = self.scale
        return slope

    def variance_slope(self, X: FloatArray) -> FloatArray:
        """(m, d + 1 + t)."""
        slope = np.zeros_like(X)
        slope[:, self._d + 1 :] = 2.0 * self.spread * self._parts(X)[1]
        return slope

    def covariance_slopes(
        self, X: FloatArray, Z: FloatArray, weights: Sequence[FloatArray]
    ) -> list[FloatArray]:
        """(m, d + 1 + t) for each weights (m, n)."""
        own, _ = self._parts(X)
        other, delta = self._parts(Z)
        nothing = np.zeros((len(X), 1))
        by_own = self.residual.covariance_slopes(own, other, weights)
        return [
            np.concatenate([part, nothing, self.spread * weight @ delta], axis=1)
            for part, weight in zip(by_own, weights, strict=True)
        ]
