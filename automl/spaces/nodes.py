"""The parts of a search space: hyperparameters, their choices, and signatures (B14 3.1.2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from automl.records import JsonScalar
from automl.spaces.distributions import Categorical, Numerical, canonical
from automl.spaces.expressions import Expression

PREP = "prep."
"""Prefix of the hyperparameters of the preprocessing."""


def value_text(value: JsonScalar) -> str:
    """How a choice is written in a path: ``null``, ``true``, ``0.5``, ``rbf``."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


@dataclass(frozen=True)
class Choice:
    """One category of a categorical hyperparameter.

    Parameters
    ----------
    value : what configurations hold and the estimator is given
    weight : relative probability, positive
    children : hyperparameters that are active under this choice
    sets : whether the choice gives the constructor argument a value
    encode : number that represents the choice in the numeric column of its argument (H18, section 3.1.1)
    """

    value: JsonScalar
    weight: float = 1.0
    children: tuple[Hyperparameter, ...] = ()
    sets: bool = True
    encode: Expression | None = None


@dataclass(frozen=True)
class Hyperparameter:
    """A node of the tree.

    Parameters
    ----------
    distribution : of numbers, or of the choices' values
    default : a legal value
    choices : of a categorical node, in the order of the text; empty for a numerical leaf
    branch : whether the choices form the path; other categorical nodes are leaves
    virtual : guides the tree only and is never given to the estimator
    argument : the constructor argument that the value sets
    encode : replaces a number in the encoding (H18, section 3.1.1); reads ``value`` and facts
    """

    name: str
    distribution: Numerical | Categorical
    default: JsonScalar
    choices: tuple[Choice, ...] = ()
    branch: bool = False
    virtual: bool = False
    argument: str = ""
    encode: Expression | None = None

    @property
    def is_numerical(self) -> bool:
        """Whether the values are numbers from a numerical distribution."""
        return isinstance(self.distribution, Numerical)

    @property
    def is_prep(self) -> bool:
        """Whether the preprocessing reads it."""
        return self.name.startswith(PREP)

    def choice(self, value: JsonScalar) -> Choice:
        """The choice with this value; KeyError if there is none."""
        assert isinstance(self.distribution, Categorical)
        return self.choices[self.distribution.index(value)]

    def coerce(self, value: Any) -> JsonScalar:
        """`value` in its canonical form (integral floats to int, 12 digits), unchecked."""
        if isinstance(self.distribution, Categorical):
            if self.distribution.contains(value):
                return self.distribution.values[self.distribution.index(value)]
            return canonical(value) if isinstance(value, float) else value
        if isinstance(value, bool) or not isinstance(value, int | float):
            return value
        if self.distribution.integer:
            return int(value) if float(value).is_integer() else value
        return canonical(value)

    def grid(self, points: int) -> tuple[JsonScalar, ...]:
        """Values of a grid axis: all if nominal or few, else the middles of equal probabilities."""
        distribution = self.distribution
        if isinstance(distribution, Categorical):
            return distribution.values
        if distribution.size <= points:
            return tuple(range(int(distribution.low), int(distribution.high) + 1))
        middles = (distribution.value((i + 0.5) / points) for i in range(points))
        return tuple(dict.fromkeys(middles))

    def allowed(self) -> str:
        """Legal values, for messages."""
        if isinstance(self.distribution, Categorical):
            return "one of " + ", ".join(value_text(value) for value in self.distribution.values)
        kind = "an integer" if self.distribution.integer else "a number"
        return f"{kind} in [{self.distribution.low:g}, {self.distribution.high:g}]"


@dataclass(frozen=True)
class Signature:
    """One way through the branches of the tree: the context of a group of leaves.

    Parameters
    ----------
    family : registry key
    path : ``name=value`` of every branching choice, in tree order; as in `Configuration.path`
    branches : the same choices as values by name
    nodes : every active hyperparameter, branches included, ancestors first
    probability : of the path under the choices' weights; all signatures of a space sum to 1
    """

    family: str
    path: tuple[str, ...]
    branches: Mapping[str, JsonScalar]
    nodes: tuple[Hyperparameter, ...]
    probability: float = 1.0

    @cached_property
    def numericals(self) -> tuple[Hyperparameter, ...]:
        """Numerical leaves that are active here, with the distributions of this context."""
        return tuple(node for node in self.nodes if node.is_numerical)

    @cached_property
    def nominals(self) -> tuple[Hyperparameter, ...]:
        """Categorical leaves that are active here, `prep.*` included."""
        return tuple(n for n in self.nodes if not n.is_numerical and not n.branch)

    @property
    def name(self) -> str:
        """``family/name=value/…`` as in `Configuration.signature`."""
        return "/".join((self.family, *self.path))

    @cached_property
    def leaves(self) -> tuple[Hyperparameter, ...]:
        """Numericals, then nominals."""
        return self.numericals + self.nominals

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Every active hyperparameter: branches, numericals, nominals."""
        return (*self.branches, *(leaf.name for leaf in self.leaves))

    @cached_property
    def name_set(self) -> frozenset[str]:
        """The same without an order."""
        return frozenset(self.names)

    def leaf(self, name: str) -> Hyperparameter:
        """The leaf of this name; KeyError if there is none."""
        for leaf in self.leaves:
            if leaf.name == name:
                return leaf
        raise KeyError(name)

    def __str__(self) -> str:
        return self.name
