"""Initial designs: what is evaluated before there is a model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from automl.errors import SettingsError
from automl.parts import Kind
from automl.records import Configuration
from automl.spaces.points import Points, PointSpace


class InitialDesign(Protocol):
    """A number of configurations to begin with."""

    @property
    def n_points(self) -> int:
        """Trials, told or under way and whoever proposed them, from which the model takes over."""
        ...

    def plan(self, space: PointSpace, rng: np.random.Generator) -> Sequence[Configuration]:
        """Configurations in the order in which they are proposed; some may break a rule."""
        ...


@dataclass(frozen=True)
class _Design(ABC):
    """Some points, after the default configuration if `has_default`.

    Parameters
    ----------
    n_points : at least 1

    Raises
    ------
    SettingsError
        If `n_points` is less than 1.
    """

    n_points: int = 5
    has_default: bool = True

    def __post_init__(self) -> None:
        if self.n_points < 1:
            raise SettingsError(
                f"n_points of the initial design must be at least 1; got {self.n_points}"
            )

    def plan(self, space: PointSpace, rng: np.random.Generator) -> list[Configuration]:
        """The default, if it is wanted, and the points."""
        points = self._points(space, rng)
        drawn = [space.configuration(points, row) for row in range(len(points))]
        return [space.space.default(), *drawn] if self.has_default else drawn

    @abstractmethod
    def _points(self, space: PointSpace, rng: np.random.Generator) -> Points: ...


class RandomDesign(_Design):
    """Independent draws from the prior."""

    def _points(self, space: PointSpace, rng: np.random.Generator) -> Points:
        return space.sample(self.n_points, rng)


class SobolDesign(_Design):
    """A scrambled Sobol sequence, spread through the prior."""

    def _points(self, space: PointSpace, rng: np.random.Generator) -> Points:
        return space.spread(self.n_points, rng)


INITIAL_DESIGNS: dict[str, Kind[InitialDesign]] = {
    "random": Kind(RandomDesign, "independent draws", "H18 2.2", {"has_default": False}),
    "default_and_random": Kind(RandomDesign, "the default, then independent draws", "H18 2.2"),
    "sobol": Kind(SobolDesign, "the default, then a Sobol sequence", "L14 2"),
}
