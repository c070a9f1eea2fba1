"""The shrinking hypercube: local search in the unit cube of each signature.

Notation
--------
side : length of a cube's edge in unit coordinates
center : best point of a cube so far, (n_numericals,) in [0, 1]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from automl.factory_options import Count
from automl.optimizers.protocol import Proposal
from automl.records import Configuration, FloatArray, JsonScalar, Trial, TrialStatus
from automl.spaces.tree import SpaceTree

INITIAL_SIDE = 0.5
"""By judgement; B14, algorithm 1, leaves it open."""
SHRINK = 0.95
"""By judgement; B14, algorithm 1, leaves it open."""
THRESHOLD = 0.01
"""A cube with a smaller side is started again elsewhere (by judgement)."""
GREATEST_SIDE = 2.0
"""A cube of this side covers the unit cube wherever its center is."""
DRAW_ATTEMPTS = 20
"""Draws of a cube that are tried before one that is taken already: a small cube of integers runs out."""


@dataclass
class _Cube:
    side: float = INITIAL_SIDE
    center: FloatArray | None = None
    nominals: Mapping[str, JsonScalar] = field(default_factory=dict)
    score: float = -np.inf

    def restart(self) -> None:
        self.side, self.center, self.nominals, self.score = INITIAL_SIDE, None, {}, -np.inf

    def learn(self, point: FloatArray, nominals: Mapping[str, JsonScalar], score: float) -> None:
        """Take the score of a point that was drawn from this cube."""
        if self.center is None:
            self.center, self.nominals, self.score = point, nominals, score
        elif score > self.score:
            self.center, self.nominals, self.score = point, nominals, score
            self.side = min(2.0 * self.side, GREATEST_SIDE)
        else:
            self.shrink()

    def shrink(self) -> None:
        """Nothing better was found; a cube without a center has nothing to shrink around."""
        if self.center is None:
            return
        self.side *= SHRINK
        if self.side < THRESHOLD:
            self.restart()


class ShrinkingHypercube:
    """Several cubes per signature, each shrinking around its best point.

    A cube doubles its side and moves on improvement, shrinks by a small factor otherwise and
    restarts from a random point below a threshold. Points are drawn from the part of the cube
    inside the unit box of the numericals' cumulative distributions; leaf-level nominals keep
    the center's value and are redrawn with probability `side`. A trial that failed or ended
    early, and a draw that is known already, are no improvement and never become a center.

    Parameters
    ----------
    space
        Space of one family or a union.
    n_cubes
        Cubes per signature, asked in turn.

    References
    ----------
    .. [1] Bermúdez-Chacón, Algorithm 1 (after Gonnet et al., 2010).
    """

    def __init__(self, space: SpaceTree, *, n_cubes: Count = 2) -> None:
        self._space = space
        self._n_cubes = n_cubes
        self._signatures = {signature.name: signature for signature in space.signatures()}
        self._cubes: dict[str, list[_Cube]] = {}
        self._asked: dict[str, int] = {}
        self._turn: dict[str, int] = {}
        self._known: set[str] = set()

    def ask(self, *, pending: Sequence[Configuration], rng: np.random.Generator) -> Proposal | None:
        """Point from the next cube of a signature drawn by its probability."""
        first = self._space.sample(rng)
        cubes = self._cubes_of(first.signature)
        turn = self._turn.get(first.signature, 0)
        self._turn[first.signature] = turn + 1
        number = turn % self._n_cubes
        taken = self._known | {other.id for other in pending}
        configuration = self._new_draw(cubes[number], first, taken, rng)
        self._asked[configuration.id] = number
        return Proposal(configuration)

    def tell(self, trial: Trial) -> None:
        """Move, shrink or restart the cube that asked; a foreign trial goes to the first cube.

        A partial trial is passed over.
        """
        if trial.status is TrialStatus.PARTIAL:
            return
        configuration = trial.configuration
        self._known.add(configuration.id)
        asked_by = self._asked.pop(configuration.id, None)
        cube = self._cubes_of(configuration.signature)[asked_by or 0]
        if not trial.is_complete or trial.score is None:
            if asked_by is not None:
                cube.shrink()
            return
        _, point = self._space.to_unit(configuration)
        nominals = self._nominals(configuration)
        if asked_by is not None:
            cube.learn(point, nominals, trial.score)
        elif trial.score > cube.score:
            cube.center, cube.nominals, cube.score = point, nominals, trial.score

    def _cubes_of(self, signature: str) -> list[_Cube]:
        return self._cubes.setdefault(signature, [_Cube() for _ in range(self._n_cubes)])

    def _nominals(self, configuration: Configuration) -> dict[str, JsonScalar]:
        nominals = self._signatures[configuration.signature].nominals
        return {leaf.name: configuration.values[leaf.name] for leaf in nominals}

    def _new_draw(
        self, cube: _Cube, first: Configuration, taken: set[str], rng: np.random.Generator
    ) -> Configuration:
        """Draw of a cube that is not taken; the last one if all are."""
        fresh = first
        for _ in range(DRAW_ATTEMPTS):
            configuration = fresh if cube.center is None else self._draw(cube, fresh, rng)
            if configuration.id not in taken:
                break
            cube.shrink()
            fresh = self._space.sample_signature(self._signatures[first.signature], rng)
        return configuration

    def _draw(self, cube: _Cube, fresh: Configuration, rng: np.random.Generator) -> Configuration:
        assert cube.center is not None
        low = np.maximum(cube.center - cube.side / 2, 0.0)
        high = np.minimum(cube.center + cube.side / 2, 1.0)
        point = rng.uniform(low, high)
        redrawn = self._nominals(fresh)
        nominals = {
            name: redrawn[name] if rng.random() < cube.side else value
            for name, value in cube.nominals.items()
        }
        configuration = self._space.from_unit(self._signatures[fresh.signature], point, nominals)
        return configuration if self._space.is_legal(configuration) is None else fresh
