"""The categorical distribution (B14 eq. 3.1)."""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from automl.errors import SettingsError
from automl.records import JsonScalar

Floats = NDArray[np.float64]


def category_key(value: JsonScalar) -> tuple[bool, JsonScalar]:
    """Dictionary key that tells True from 1 (but not 1 from 1.0)."""
    return isinstance(value, bool), value


@dataclass(frozen=True)
class Categorical:
    """One of a list of values (B14 eq. 3.1).

    Parameters
    ----------
    values : (k,)
        Different JSON scalars; True and 1 are different, 1 and 1.0 are not.
    weights : (k,), positive
        Relative probabilities; equal when empty.

    Raises
    ------
    SettingsError
        If there is no value, a value comes twice, or the weights do not fit.
    """

    values: tuple[JsonScalar, ...]
    weights: tuple[float, ...] = ()

    text_name: ClassVar[str] = "categorical"

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", tuple(self.values))
        weights = tuple(float(weight) for weight in self.weights) or (1.0,) * len(self.values)
        object.__setattr__(self, "weights", weights)
        if not self.values:
            raise SettingsError("values must not be empty", key="values")
        if len({category_key(value) for value in self.values}) < len(self.values):
            raise SettingsError(f"values must differ; got {list(self.values)}", key="values")
        if len(weights) != len(self.values):
            raise SettingsError(
                f"weights must be as many as values ({len(self.values)}); got {len(weights)}",
                key="weights",
            )
        if not all(0.0 < weight < math.inf for weight in weights):
            raise SettingsError(
                f"weights must be positive and finite; got {list(weights)}", key="weights"
            )

    @cached_property
    def probabilities(self) -> Floats:
        """(k,), sums to 1."""
        weights = np.asarray(self.weights)
        return np.asarray(weights / weights.sum())

    @cached_property
    def _edges(self) -> list[float]:
        return list(accumulate(self.probabilities.tolist()))[:-1]

    @cached_property
    def _index(self) -> dict[tuple[bool, JsonScalar], int]:
        return {category_key(value): i for i, value in enumerate(self.values)}

    @property
    def size(self) -> int:
        """Number of values."""
        return len(self.values)

    def contains(self, value: JsonScalar) -> bool:
        """Whether `value` is one of the values."""
        return category_key(value) in self._index

    def index(self, value: JsonScalar) -> int:
        """Position of `value` in the list; KeyError if it is not there."""
        return self._index[category_key(value)]

    def draw(self, rng: np.random.Generator) -> JsonScalar:
        """One value."""
        return self.values[bisect_right(self._edges, rng.random())]

    def sample(self, rng: np.random.Generator, size: int) -> list[JsonScalar]:
        """`size` independent values."""
        return [self.values[i] for i in np.searchsorted(self._edges, rng.random(size), "right")]

    def log_density(self, value: JsonScalar) -> float:
        """Logarithm of the probability; ``-inf`` for a foreign value."""
        if not self.contains(value):
            return -math.inf
        return float(np.log(self.probabilities[self.index(value)]))

    def cdf(self, value: JsonScalar) -> float:
        """Position in the unit interval: the middle of the value's mass; KeyError if foreign."""
        i = self.index(value)
        return float(self.probabilities[:i].sum() + 0.5 * self.probabilities[i])

    def ppf(self, u: float) -> JsonScalar:
        """Value whose mass covers `u` in [0, 1]."""
        return self.values[bisect_right(self._edges, u)]
