"""One-dimensional densities of the tree-structured Parzen estimator.

Numbers are looked at in the unit interval of their prior's distribution function, where the prior
is uniform, the bounds are 0 and 1, and ratios of densities are those of the values themselves.

Notation
--------
mu : (n,), sorted, in [0, 1], positions of the observed values
sigma : (n,), standard deviations of the kernels
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

NARROWEST = 0.01


def bandwidths(mu: Floats) -> Floats:
    """(n,) standard deviations: the greater distance to a neighbour, clipped.

    The first and the last have one neighbour, a single value has the bounds; clipped to
    [max(1 / (n + 1), 0.01), 1].

    Parameters
    ----------
    mu : (n,), sorted, in [0, 1]

    References
    ----------
    .. [1] Xiang (2020), section VII-B.
    """
    n = len(mu)
    if n == 1:
        return np.maximum(mu, 1.0 - mu)
    gaps = np.diff(mu)
    widths = np.maximum(np.append(0.0, gaps), np.append(gaps, 0.0))
    return np.asarray(np.clip(widths, max(1.0 / (n + 1), NARROWEST), 1.0))


@dataclass(frozen=True, eq=False)
class Parzen:
    """Equal mixture of the uniform prior and one Gaussian kernel per value, truncated to [0, 1].

    Parameters
    ----------
    values : (n,), in [0, 1], n >= 0
    """

    values: Floats

    @cached_property
    def _mu(self) -> Floats:
        return np.sort(self.values)

    @cached_property
    def _sigma(self) -> Floats:
        return bandwidths(self._mu) if len(self._mu) else self._mu

    @cached_property
    def _ends(self) -> tuple[Floats, Floats]:
        """Distribution function of each whole kernel at 0 and 1."""
        return _phi(-self._mu / self._sigma), _phi((1.0 - self._mu) / self._sigma)

    def sample(self, size: int, rng: np.random.Generator) -> Floats:
        """(size,) independent draws."""
        from scipy.special import ndtri

        n = len(self._mu)
        u, kernel = rng.random(size), rng.integers(n + 1, size=size)
        found = u.copy()
        inside = kernel < n
        i = kernel[inside]
        low, high = self._ends
        z = ndtri(low[i] + u[inside] * (high[i] - low[i]))
        found[inside] = np.clip(self._mu[i] + self._sigma[i] * z, 0.0, 1.0)
        return found

    def log_density(self, low: Floats, high: Floats) -> Floats:
        """(m,) logarithm of the mean density on intervals, of the density at points.

        Parameters
        ----------
        low, high : (m,), in [0, 1]
            Equal for points.
        """
        width = high - low
        total = np.ones(len(low))
        points = width <= 0.0
        if points.any():
            total[points] += self._density(low[points])
        if not points.all():
            cells = ~points
            total[cells] += self._mass(low[cells], high[cells]) / width[cells]
        return np.asarray(np.log(total) - np.log(len(self._mu) + 1.0))

    def _density(self, u: Floats) -> Floats:
        low, high = self._ends
        z = (u[:, None] - self._mu) / self._sigma
        factor = 1.0 / (np.sqrt(2.0 * np.pi) * self._sigma * (high - low))
        return np.asarray(np.exp(-0.5 * z * z) @ factor)

    def _mass(self, a: Floats, b: Floats) -> Floats:
        low, high = self._ends
        parts = _phi((b[:, None] - self._mu) / self._sigma)
        parts -= _phi((a[:, None] - self._mu) / self._sigma)
        return np.asarray(parts @ (1.0 / (high - low)))


def posterior(prior: Floats, observed: Ints) -> Floats:
    """(k,) probabilities proportional to ``k * prior + counts``.

    Parameters
    ----------
    prior : (k,), sums to 1
    observed : (n,)
        Position of each observed category.

    References
    ----------
    .. [1] Xiang (2020), section VII-B.
    """
    k = len(prior)
    found: Floats = k * prior + np.bincount(observed, minlength=k)
    return np.asarray(found / found.sum())


def _phi(z: Floats) -> Floats:
    from scipy.special import ndtr

    return np.asarray(ndtr(z))
