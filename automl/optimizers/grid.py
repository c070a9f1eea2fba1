"""Grid search: every combination of the values of all axes, each once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from math import prod

import numpy as np

from automl.errors import SettingsError
from automl.factory_options import Count
from automl.optimizers.protocol import Proposal
from automl.records import Configuration, JsonScalar, Trial, TrialStatus
from automl.spaces.tree import SpaceTree

LIMIT = 100_000
"""Points of a grid; a larger one is refused with its size, as no budget would end it."""
FIRST_POINTS = (9, 7, 5, 4, 3, 2, 1)
REFINEMENT = 3
"""Times as many points on an axis: an odd factor, so that the points of before are among them."""
DRAW_ATTEMPTS = 20
"""Random positions that are tried before the next open one in order is taken."""


class Grid:
    """Cartesian products of the axes of all signatures, numbered and made one at a time.

    Parameters
    ----------
    points : >= 1
        Values of each numerical: the middles of as many equally probable parts. Nominals and
        integers with fewer values give all of theirs.
    """

    def __init__(self, space: SpaceTree, points: int) -> None:
        self._parts = [
            (signature, space.axes(signature, points)) for signature in space.signatures()
        ]
        sizes = (prod(len(values) for values in axes.values()) for _, axes in self._parts)
        self._ends = list(accumulate(sizes))

    def __len__(self) -> int:
        return self._ends[-1]

    def __getitem__(self, number: int) -> Configuration:
        part = bisect_right(self._ends, number)
        signature, axes = self._parts[part]
        rest = number - (self._ends[part - 1] if part else 0)
        values: dict[str, JsonScalar] = dict(signature.branches)
        for name, axis in axes.items():
            rest, position = divmod(rest, len(axis))
            values[name] = axis[position]
        return Configuration(signature.family, values, signature.path)


def grid_size(space: SpaceTree, points: int) -> int:
    """Number of combinations, rules ignored: the product of the axes, summed over signatures.

    References
    ----------
    .. [1] Xiang (2020), section III, which prints a sum in place of the product.
    """
    return sum(
        prod(len(axis) for axis in space.axes(signature, points).values())
        for signature in space.signatures()
    )


class GridSearch:
    """The points of a grid in random order, without repetition.

    Points that break a rule are passed over. Without `points` the finest of some coarse grids
    within the limit is begun with; once it is done each part is cut in three, which keeps the old
    values, as long as the finer grid is within the limit.

    Parameters
    ----------
    points
        Values of each numerical; None chooses and refines.
    limit
        Most combinations of a grid.

    Raises
    ------
    SettingsError
        If the grid, or the coarsest one, has more combinations than `limit`; says how many.

    References
    ----------
    .. [1] Xiang (2020), section III.
    """

    def __init__(
        self, space: SpaceTree, *, points: Count | None = None, limit: Count = LIMIT
    ) -> None:
        self._space, self._limit = space, limit
        self._refines = points is None
        self._points = points or next(
            (n for n in FIRST_POINTS if grid_size(space, n) <= limit), FIRST_POINTS[-1]
        )
        size = grid_size(space, self._points)
        if size > limit:
            raise SettingsError(
                f"the grid of {space.family} must have at most {limit:,} points; "
                f"{self._points} per number make {size:,}",
                size=size,
            )
        self._grid = Grid(space, self._points)
        self._done: set[int] = set()
        self._number: dict[str, int] = {}
        self._known: set[str] = set()

    def ask(self, *, pending: Sequence[Configuration], rng: np.random.Generator) -> Proposal | None:
        """A point that is neither known nor pending; None when there is none left."""
        waiting = {configuration.id for configuration in pending}
        while True:
            point = self._draw(waiting, rng)
            if point is not None:
                return Proposal(point)
            if not self._refine():
                return None

    def tell(self, trial: Trial) -> None:
        """Cross the configuration off, however it ended; a partial trial leaves it open."""
        if trial.status is TrialStatus.PARTIAL:
            return
        identity = trial.configuration.id
        self._known.add(identity)
        number = self._number.pop(identity, None)
        if number is not None:
            self._done.add(number)

    def _draw(self, waiting: set[str], rng: np.random.Generator) -> Configuration | None:
        size = len(self._grid)
        for number in rng.integers(size, size=DRAW_ATTEMPTS).tolist():
            if (point := self._open(number, waiting)) is not None:
                return point
        start = int(rng.integers(size))
        for step in range(size):
            if (point := self._open((start + step) % size, waiting)) is not None:
                return point
        return None

    def _open(self, number: int, waiting: set[str]) -> Configuration | None:
        """The point of a number if it can be proposed."""
        if number in self._done:
            return None
        configuration = self._grid[number]
        identity = configuration.id
        if identity in waiting:
            return None
        if identity in self._known or self._space.is_legal(configuration) is not None:
            self._done.add(number)
            return None
        self._number[identity] = number
        return configuration

    def _refine(self) -> bool:
        """Go on with a finer grid; whether there is one."""
        finer = self._points * REFINEMENT
        size = grid_size(self._space, finer) if self._refines else 0
        if not len(self._grid) < size <= self._limit:
            return False
        self._points, self._grid = finer, Grid(self._space, finer)
        self._done.clear()
        self._number.clear()
        return True
