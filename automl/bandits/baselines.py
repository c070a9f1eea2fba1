"""Allocations that do not learn: what the others have to beat."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from automl.bandits.rewards import LearnsRewards, Pulls
from automl.records import Trial


class InitiallyBest(LearnsRewards):
    """One turn for every arm, then always the arm whose first reward was greatest.

    Where that arm can take no more turns, the next best first reward.

    References
    ----------
    .. [1] van Hoof, section 7.5 (`always_the_best`).
    """

    def choose(
        self,
        arms: Sequence[str],
        *,
        pending: Sequence[str],
        rng: np.random.Generator,  # noqa: ARG002 - nothing is drawn
    ) -> str:
        """Arm without a turn, else the initially best."""
        pulls = Pulls(self._rewards, arms, pending)
        seen = [arm for arm in arms if self._rewards.of(arm).n]
        if pulls.wanting() is not None or not seen:
            return pulls.least()
        return max(seen, key=lambda arm: self._rewards.of(arm).first)


class Only:
    """Always the same family; the first in prior order where it cannot take a turn.

    Parameters
    ----------
    family : family that gets all turns; empty for the first in prior order

    References
    ----------
    .. [1] van Hoof, section 7.3 (always random forest, AdaBoost or SVM).
    """

    def __init__(self, family: str = "") -> None:
        self._family = family

    def choose(
        self,
        arms: Sequence[str],
        *,
        pending: Sequence[str],  # noqa: ARG002 - counts for nothing
        rng: np.random.Generator,  # noqa: ARG002 - nothing is drawn
    ) -> str:
        """The family, if it is among the arms."""
        return self._family if self._family in arms else arms[0]

    def update(self, trial: Trial) -> None:
        """Learn nothing."""
