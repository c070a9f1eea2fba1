"""Joint densities of the tree-structured Parzen estimator: what goes together stays together.

Each observed configuration is one component, the product of a kernel at each of its nodes; the
mean of its kernels at a node is the node's own Parzen estimator. Where a component has no value,
since the node is not active in it, it has the prior, so that configurations of all signatures tell
about the nodes that they share. Positions are those of `automl.optimizers.parzen`, and categories
are compared with their prior, so that densities of points with different nodes are comparable.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from automl.optimizers.parzen import Floats, Ints, bandwidths, kernel_densities, kernel_draws
from automl.optimizers.tree_nodes import Key
from automl.spaces.distributions import Categorical

Bools = NDArray[np.bool_]
LEAST = 1e-300
"""Least value of a density before its logarithm: next to the smallest number, so that it counts as none."""


class JointParzen:
    """Equal mixture of the prior and one component per observed configuration.

    Parameters
    ----------
    columns : each (n,)
        Position at each node, NaN where it is not active.
    n : number of configurations
    """

    def __init__(self, columns: Mapping[Key, Floats], n: int) -> None:
        self._columns, self.n = columns, n
        self._nowhere = np.full(n, np.nan)
        self._sigma: dict[Key, Floats] = {}

    def components(self, log_weights: Floats, size: int, rng: np.random.Generator) -> Ints:
        """(size,) independent components; number n is the prior.

        Parameters
        ----------
        log_weights : (n + 1,)
            Of the components, up to a common constant.
        """
        edges = np.cumsum(np.exp(log_weights - log_weights.max()))
        numbers = np.searchsorted(edges, rng.random(size) * edges[-1], side="right")
        return np.asarray(numbers, dtype=np.intp)

    def categories(
        self, key: Key, prior: Categorical, components: Ints, rng: np.random.Generator
    ) -> Ints:
        """(m,) indices of categories from one component's kernel each.

        A component's own category with probability n_active / (k + n_active), else the prior's.
        """
        column, active = self._column(key)
        codes = np.searchsorted(np.cumsum(prior.probabilities)[:-1], rng.random(len(components)))
        is_own = rng.random(len(components)) * (prior.size + active.sum()) < active.sum()
        is_own &= np.append(active, False)[components]
        codes[is_own] = column[components[is_own]]
        return np.asarray(codes, dtype=np.intp)

    def numbers(self, key: Key, components: Ints, rng: np.random.Generator) -> Floats:
        """(m,) positions from one component's kernel each."""
        column, active = self._column(key)
        positions = rng.random(len(components))
        is_own = np.append(active, False)[components]
        own = components[is_own]
        if len(own):
            positions[is_own] = kernel_draws(column[own], self._widths(key)[own], positions[is_own])
        return positions

    def log_category(self, key: Key, prior: Categorical, index: Ints) -> Floats:
        """(m, n + 1) logarithm of each component at categories, relative to the prior's.

        The kernel of a component with category j is (k p + n_active [c = j]) / (k + n_active).
        """
        column, active = self._column(key)
        weight = prior.size / max(1, int(active.sum()))
        share = prior.probabilities[index][:, None]
        kernels = (weight + (column[None, :] == index[:, None]) / share) / (weight + 1.0)
        return self._logarithm(kernels, active)

    def log_number(self, key: Key, low: Floats, high: Floats) -> Floats:
        """(m, n + 1) logarithm of each component's density, as in `kernel_densities`."""
        column, active = self._column(key)
        kernels = np.ones((len(low), self.n))
        if active.any():
            sigma = self._widths(key)[active]
            kernels[:, active] = kernel_densities(column[active], sigma, low, high)
        return self._logarithm(kernels, active)

    def _logarithm(self, kernels: Floats, active: Bools) -> Floats:
        logarithms = np.zeros((len(kernels), self.n + 1))
        logarithms[:, :-1] = np.where(active, np.log(np.maximum(kernels, LEAST)), 0.0)
        return logarithms

    def _column(self, key: Key) -> tuple[Floats, Bools]:
        column = self._columns.get(key, self._nowhere)
        return column, ~np.isnan(column)

    def _widths(self, key: Key) -> Floats:
        if key not in self._sigma:
            column, active = self._column(key)
            widths = np.full(self.n, np.nan)
            widths[active] = bandwidths(column[active])
            self._sigma[key] = widths
        return self._sigma[key]


def log_mixture(log_components: Floats) -> Floats:
    """(m,) logarithm of the mean of the components.

    Parameters
    ----------
    log_components : (m, n + 1)
        Sums over the nodes of what `log_category` and `log_number` give.
    """
    top = log_components.max(axis=1)
    return np.asarray(top + np.log(np.exp(log_components - top[:, None]).mean(axis=1)))
