"""The nodes of a space's tree, told apart by their context, and what was observed at them.

A node's *context* is the family and the branching choices above it. A leaf with a learned prior of
one signature is a node of that signature alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from automl.records import Configuration, JsonScalar
from automl.spaces.distributions import Categorical, Numerical
from automl.spaces.nodes import Hyperparameter, Signature, value_text
from automl.spaces.tree import SpaceTree

Key = tuple[str, ...]
Choose = Callable[[Key, Categorical], JsonScalar]
FAMILY: Key = ("family",)


@dataclass(frozen=True)
class TreeNode:
    """A hyperparameter in its context."""

    key: Key
    hyperparameter: Hyperparameter

    @property
    def name(self) -> str:
        """Name of the hyperparameter."""
        return self.hyperparameter.name

    def position(self, configuration: Configuration) -> float:
        """Position in the unit interval of a number, index of a category."""
        value = configuration.values[self.name]
        distribution = self.hyperparameter.distribution
        if isinstance(distribution, Numerical):
            assert isinstance(value, int | float)
            return float(distribution.cdf(value))
        return distribution.index(value)


class NodeTree:
    """The tree of a space, to be walked from the root.

    Parameters
    ----------
    space
        Of one family or a union.

    Attributes
    ----------
    root
        The families.
    """

    def __init__(self, space: SpaceTree) -> None:
        self._parts = {part.family: part for part in space.parts}
        self.root = Categorical(tuple(self._parts))
        self._signatures: dict[tuple[str, Key], Signature] = {}
        self._nodes: dict[tuple[str, Key], tuple[TreeNode, ...]] = {}
        for part in space.parts:
            for signature in part.signatures():
                place = (part.family, signature.path)
                self._signatures[place] = signature
                self._nodes[place] = tuple(self._keyed(part, signature))

    def nodes(self, place: Configuration | Signature) -> tuple[TreeNode, ...]:
        """Every node that is active in a configuration or signature, ancestors first."""
        return self._nodes[place.family, place.path]

    def walk(self, choose: Choose) -> Signature | None:
        """Go from the root to a signature; None if a rule forbids the path.

        Parameters
        ----------
        choose
            Value for a branching node, by its key and its prior.
        """
        family = self.root.values[0]
        if self.root.size > 1:
            family = choose(FAMILY, self.root)
        path: list[str] = []
        _follow(self._parts[str(family)].nodes, (str(family),), choose, path)
        return self._signatures.get((str(family), tuple(path)))

    def observe(self, configuration: Configuration) -> Iterator[tuple[Key, float]]:
        """Key and position of the root and of every active node."""
        if self.root.size > 1:
            yield FAMILY, self.root.index(configuration.family)
        for node in self.nodes(configuration):
            yield node.key, node.position(configuration)

    @staticmethod
    def _keyed(part: SpaceTree, signature: Signature) -> Iterator[TreeNode]:
        keys = _context_keys(part.nodes, signature, (part.family,))
        for key, node in zip(keys, signature.nodes, strict=True):
            is_own = (signature.path, node.name) in part.priors
            yield TreeNode((part.family, *signature.path, node.name) if is_own else key, node)


class Observations:
    """Positions told at each node, by row; a row is one configuration."""

    def __init__(self) -> None:
        self.n_rows = 0
        self._rows: dict[Key, list[int]] = {}
        self._positions: dict[Key, list[float]] = {}

    def add(self, tree: NodeTree, configuration: Configuration) -> None:
        """Append a row."""
        for key, position in tree.observe(configuration):
            self._rows.setdefault(key, []).append(self.n_rows)
            self._positions.setdefault(key, []).append(position)
        self.n_rows += 1

    def columns(
        self, tree: NodeTree, pending: Sequence[Configuration] = ()
    ) -> dict[Key, NDArray[np.float64]]:
        """(n_rows + n_pending,) position at each node, NaN where it is not active."""
        positions = {}
        for key, rows in self._rows.items():
            column = np.full(self.n_rows + len(pending), np.nan)
            column[rows] = self._positions[key]
            positions[key] = column
        for i, configuration in enumerate(pending, start=self.n_rows):
            for key, position in tree.observe(configuration):
                if key not in positions:
                    positions[key] = np.full(self.n_rows + len(pending), np.nan)
                positions[key][i] = position
        return positions


def _follow(nodes: Sequence[Hyperparameter], context: Key, choose: Choose, path: list[str]) -> None:
    for node in nodes:
        if not node.branch:
            continue
        assert isinstance(node.distribution, Categorical)
        value = choose((*context, node.name), node.distribution)
        step = f"{node.name}={value_text(value)}"
        path.append(step)
        _follow(node.choice(value).children, (*context, step), choose, path)


def _context_keys(
    nodes: Sequence[Hyperparameter], signature: Signature, context: Key
) -> Iterator[Key]:
    for node in nodes:
        yield (*context, node.name)
        if node.branch:
            value = signature.branches[node.name]
            below = (*context, f"{node.name}={value_text(value)}")
            yield from _context_keys(node.choice(value).children, signature, below)
