"""Kernels and one-dimensional densities of the tree-structured Parzen estimator.

Numbers are looked at in the unit interval of their prior's distribution function, where the prior
is uniform, the bounds are 0 and 1, and ratios of densities are those of the values themselves.

Notation
--------
mu : (n,), in [0, 1], positions of the observed values
sigma : (n,), standard deviations of the kernels, which are Gaussians truncated to [0, 1]
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

NARROWEST = 0.01
"""Standard deviation in the unit interval: nearer values are taken for equally good (by judgement)."""


def bandwidths(mu: Floats) -> Floats:
    """(n,) standard deviations: the greater distance to a neighbor, clipped.

    The first and the last have one neighbor, a single value has the bounds; clipped to
    [max(1 / (n + 1), 0.01), 1].

    Parameters
    ----------
    mu : (n,), in any order

    References
    ----------
    .. [1] Xiang (2020), section VII-B.
    """
    n = len(mu)
    if n < 2:
        return np.maximum(mu, 1.0 - mu)
    order = np.argsort(mu, kind="stable")
    gaps = np.diff(mu[order])
    widths = np.empty(n)
    widths[order] = np.maximum(np.append(0.0, gaps), np.append(gaps, 0.0))
    return np.asarray(np.clip(widths, max(1.0 / (n + 1), NARROWEST), 1.0))


def kernel_draws(mu: Floats, sigma: Floats, u: Floats) -> Floats:
    """(n,) quantiles of one kernel each.

    Parameters
    ----------
    u : (n,), in [0, 1]
    """
    from scipy.special import ndtr, ndtri

    low, high = ndtr(-mu / sigma), ndtr((1.0 - mu) / sigma)
    return np.asarray(np.clip(mu + sigma * ndtri(low + u * (high - low)), 0.0, 1.0))


def kernel_densities(mu: Floats, sigma: Floats, low: Floats, high: Floats) -> Floats:
    """(m, n) mean density of each kernel on intervals, its density at points.

    Parameters
    ----------
    low, high : (m,), in [0, 1]
        Equal for points, which either all are or none is.
    """
    from scipy.special import ndtr

    mass = ndtr((1.0 - mu) / sigma) - ndtr(-mu / sigma)
    if np.array_equal(low, high):
        z = (low[:, None] - mu) / sigma
        return np.asarray(np.exp(-0.5 * z * z) / (np.sqrt(2.0 * np.pi) * sigma * mass))
    inside = ndtr((high[:, None] - mu) / sigma) - ndtr((low[:, None] - mu) / sigma)
    return np.asarray(inside / mass / (high - low)[:, None])


@dataclass(frozen=True, eq=False)
class Parzen:
    """Equal mixture of the uniform prior and one kernel per value.

    Parameters
    ----------
    mu : (n,), in [0, 1], n >= 0
    """

    mu: Floats

    @cached_property
    def sigma(self) -> Floats:
        """(n,) standard deviations of the kernels."""
        return bandwidths(self.mu)

    def sample(self, size: int, rng: np.random.Generator) -> Floats:
        """(size,) independent draws."""
        n = len(self.mu)
        draws, kernel = rng.random(size), rng.integers(n + 1, size=size)
        inside = kernel < n
        i = kernel[inside]
        draws[inside] = kernel_draws(self.mu[i], self.sigma[i], draws[inside])
        return draws

    def log_density(self, low: Floats, high: Floats) -> Floats:
        """(m,) logarithm of the mean density on intervals, of the density at points.

        Parameters
        ----------
        low, high : as in `kernel_densities`
        """
        total = 1.0 + kernel_densities(self.mu, self.sigma, low, high).sum(axis=1)
        return np.asarray(np.log(total) - np.log(len(self.mu) + 1.0))


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
    weights: Floats = k * prior + np.bincount(observed, minlength=k)
    return np.asarray(weights / weights.sum())
