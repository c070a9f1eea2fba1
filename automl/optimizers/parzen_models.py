"""How candidates are drawn from l and compared by l/g, node by node or as a whole.

Notation
--------
l, g : densities of the good configurations and of all others, pending ones included
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from automl.optimizers.joint_parzen import JointParzen, log_mixture
from automl.optimizers.parzen import Floats, Ints, Parzen, posterior
from automl.optimizers.tree_nodes import FAMILY, Key, NodeTree, Observations
from automl.records import Configuration, JsonScalar
from automl.spaces.distributions import Categorical, Numerical
from automl.spaces.nodes import Signature

Points = list[tuple[Key, str, Numerical | Categorical, NDArray[Any]]]
"""Key, name, distribution and the (m,) values, or indices of categories, at each node."""


class NodeModel:
    """l and g of each node by itself; the best of the candidates is chosen at each node.

    The product of the nodes' ratios along a path is thereby maximized, as if the nodes were
    independent of each other (Xiang, 2020, section VII).
    """

    def __init__(
        self,
        tree: NodeTree,
        observations: Observations,
        is_good: NDArray[np.bool_],
        pending: Sequence[Configuration],
    ) -> None:
        self.tree = tree
        self.columns = observations.columns(tree, pending)
        self.is_good = np.append(is_good, np.zeros(len(pending), dtype=bool))
        self._parzen: dict[Key, tuple[Parzen, Parzen]] = {}

    def best(
        self, n_candidates: int, rng: np.random.Generator, *, from_prior: bool
    ) -> Configuration | None:
        """The best of the candidates at each node; None if a rule forbids the path.

        Parameters
        ----------
        from_prior
            Draw candidates from the prior in place of l.
        """
        signature = self.signature(n_candidates, rng, from_prior=from_prior)
        if signature is None:
            return None
        values = dict(signature.branches)
        for node in self.tree.nodes(signature):
            distribution = node.hyperparameter.distribution
            if isinstance(distribution, Numerical):
                values[node.name] = self._number(
                    node.key, distribution, n_candidates, rng, from_prior=from_prior
                )
            elif not node.hyperparameter.branch:
                values[node.name] = self._category(
                    node.key, distribution, n_candidates, rng, from_prior=from_prior
                )
        return Configuration(signature.family, values, signature.path)

    def signature(
        self, n_candidates: int, rng: np.random.Generator, *, from_prior: bool
    ) -> Signature | None:
        """The path of the best candidate at each branching node; None if a rule forbids it."""

        def choose(key: Key, prior: Categorical) -> JsonScalar:
            return self._category(key, prior, n_candidates, rng, from_prior=from_prior)

        return self.tree.walk(choose)

    def _category(
        self,
        key: Key,
        prior: Categorical,
        n_candidates: int,
        rng: np.random.Generator,
        *,
        from_prior: bool,
    ) -> JsonScalar:
        good, others = (
            posterior(prior.probabilities, positions.astype(np.intp))
            for positions in self._split(key)
        )
        source = prior.probabilities if from_prior else good
        candidates = rng.choice(prior.size, size=n_candidates, p=source)
        ratio = np.log(good) - np.log(others)
        return prior.values[int(candidates[np.argmax(ratio[candidates])])]

    def _number(
        self,
        key: Key,
        distribution: Numerical,
        n_candidates: int,
        rng: np.random.Generator,
        *,
        from_prior: bool,
    ) -> JsonScalar:
        if key not in self._parzen:
            good, others = self._split(key)
            self._parzen[key] = Parzen(good), Parzen(others)
        l, g = self._parzen[key]  # noqa: E741 the symbol of the document
        units = rng.random(n_candidates) if from_prior else l.sample(n_candidates, rng)
        candidates = distribution.ppf(units)
        low, high = distribution.interval(candidates)
        ratio = l.log_density(low, high) - g.log_density(low, high)
        return distribution.closest(float(candidates[np.argmax(ratio)]))

    def _split(self, key: Key) -> tuple[Floats, Floats]:
        """Positions at a node: of good configurations, and of the others."""
        column = self.columns.get(key)
        if column is None:
            return np.empty(0), np.empty(0)
        active = ~np.isnan(column)
        return column[active & self.is_good], column[active & ~self.is_good]


class JointModel:
    """l and g of whole configurations.

    The path is chosen node by node, as by `NodeModel`: between paths a joint ratio would favor
    those with many numbers, where hardly any configuration is near. The best of the candidates on
    the path is chosen as a whole, and configurations weigh as much as they share of the path.
    """

    def __init__(self, nodes: NodeModel) -> None:
        self._nodes, self._tree = nodes, nodes.tree
        self._good, self._others = (
            JointParzen(
                {key: column[rows] for key, column in nodes.columns.items()}, int(rows.sum())
            )
            for rows in (nodes.is_good, ~nodes.is_good)
        )

    def best(
        self, n_candidates: int, rng: np.random.Generator, *, from_prior: bool
    ) -> Configuration | None:
        """The best of the candidates on the best path, as in `NodeModel.best`."""
        signature = self._nodes.signature(n_candidates, rng, from_prior=from_prior)
        if signature is None:
            return None
        good, others = self._good, self._others
        path = self._path(signature)
        if from_prior:
            components = np.full(n_candidates, good.n)
        else:
            components = good.components(_log_components(good, path)[0], n_candidates, rng)
        leaves = self._leaves(signature, components, rng)
        ratio = log_mixture(_log_components(good, path + leaves))
        ratio = ratio - log_mixture(_log_components(others, path + leaves))
        return _configuration(signature, leaves, int(np.argmax(ratio)))

    def _path(self, signature: Signature) -> Points:
        """Index of the category, (1,), at the root and each branching node."""
        root = self._tree.root
        points: Points = []
        if root.size > 1:
            points.append((FAMILY, "", root, np.array([root.index(signature.family)])))
        for node in self._tree.nodes(signature):
            prior = node.hyperparameter.distribution
            if node.hyperparameter.branch and isinstance(prior, Categorical):
                index = prior.index(signature.branches[node.name])
                points.append((node.key, node.name, prior, np.array([index])))
        return points

    def _leaves(self, signature: Signature, components: Ints, rng: np.random.Generator) -> Points:
        """(m,) values, or indices of categories, of the candidates at each leaf."""
        points: Points = []
        for node in self._tree.nodes(signature):
            distribution = node.hyperparameter.distribution
            if isinstance(distribution, Numerical):
                values = distribution.ppf(self._good.numbers(node.key, components, rng))
                points.append((node.key, node.name, distribution, values))
            elif not node.hyperparameter.branch:
                index = self._good.categories(node.key, distribution, components, rng)
                points.append((node.key, node.name, distribution, index))
        return points


def _log_components(density: JointParzen, points: Points) -> Floats:
    """(m, n + 1) logarithm of each component relative to the prior."""
    total = np.zeros((1, density.n + 1))
    for key, _, distribution, values in points:
        if isinstance(distribution, Numerical):
            total = total + density.log_number(key, *distribution.interval(values))
        else:
            total = total + density.log_category(key, distribution, values)
    return total


def _configuration(signature: Signature, leaves: Points, i: int) -> Configuration:
    """Candidate number i."""
    values: dict[str, JsonScalar] = dict(signature.branches)
    for _, name, distribution, drawn in leaves:
        if isinstance(distribution, Numerical):
            values[name] = distribution.closest(float(drawn[i]))
        else:
            values[name] = distribution.values[int(drawn[i])]
    return Configuration(signature.family, values, signature.path)
