"""Initial designs: what is evaluated before there is a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from automl.errors import SettingsError
from automl.parts import Kind
from automl.records import Configuration
from automl.spaces.batch import Points, PointSpace


class InitialDesign(Protocol):
    """A number of configurations to begin with."""

    @property
    def n_points(self) -> int:
        """Trials, told or under way and whoever proposed them, from which the model takes over."""
        ...

    def plan(self, space: PointSpace, rng: np.random.Generator) -> Sequence[Configuration]:
        """Configurations in the order in which they are proposed; some may break a rule."""
        ...


def _check(n_points: int) -> None:
    if n_points < 1:
        raise SettingsError(f"n_points of the initial design must be at least 1; got {n_points}")


def _plan(space: PointSpace, points: Points, has_default: bool) -> list[Configuration]:
    drawn = [space.configuration(points, row) for row in range(len(points))]
    return [space.space.default(), *drawn] if has_default else drawn


@dataclass(frozen=True)
class RandomDesign:
    """Draws from the prior, after the default configuration if `has_default`.

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
        _check(self.n_points)

    def plan(self, space: PointSpace, rng: np.random.Generator) -> list[Configuration]:
        """The default and independent draws."""
        return _plan(space, space.sample(self.n_points, rng), self.has_default)


@dataclass(frozen=True)
class SobolDesign:
    """A scrambled Sobol sequence, after the default configuration if `has_default`.

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
        _check(self.n_points)

    def plan(self, space: PointSpace, rng: np.random.Generator) -> list[Configuration]:
        """The default and points that are spread through the prior."""
        return _plan(space, space.spread(self.n_points, rng), self.has_default)


INITIAL_DESIGNS: dict[str, Kind[InitialDesign]] = {
    "random": Kind(RandomDesign, "independent draws", "H18 2.2", {"has_default": False}),
    "default_and_random": Kind(RandomDesign, "the default, then independent draws", "H18 2.2"),
    "sobol": Kind(SobolDesign, "the default, then a Sobol sequence", "L14 2"),
}
