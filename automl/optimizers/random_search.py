"""Random search: independent draws from the prior of the space."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from automl.optimizers.protocol import Proposal
from automl.records import Configuration, Trial
from automl.spaces.tree import SpaceTree


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
