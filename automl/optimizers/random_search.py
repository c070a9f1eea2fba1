"""Random search: independent draws from the prior of the space."""

from __future__ import annotations

from collections.abc import Container, Sequence

import numpy as np

from automl.optimizers.protocol import Proposal
from automl.records import Configuration, Trial
from automl.spaces.tree import SpaceTree

DRAW_ATTEMPTS = 50
"""Draws before one that is taken already: then hardly anything is left to draw."""


def draw_new(space: SpaceTree, taken: Container[str], rng: np.random.Generator) -> Configuration:
    """A draw from the prior whose id is not taken; the last of 50 where all of them are."""
    for _ in range(DRAW_ATTEMPTS):
        drawn = space.sample(rng)
        if drawn.id not in taken:
            break
    return drawn


class RandomSearch:
    """Draws configurations root to leaf and learns nothing.

    References
    ----------
    .. [1] Bermúdez-Chacón, section 3.4.1; Xiang (2020), section IV.
    """

    def __init__(self, space: SpaceTree) -> None:
        self._space = space

    def ask(
        self,
        *,
        pending: Sequence[Configuration],  # noqa: ARG002 - independent of everything
        rng: np.random.Generator,
    ) -> Proposal | None:
        """Independent draw from the space."""
        return Proposal(self._space.sample(rng))

    def tell(self, trial: Trial) -> None:
        """Nothing is learned."""
