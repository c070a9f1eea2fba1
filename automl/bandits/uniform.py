"""Uniform allocation, by turns or by seconds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from automl.bandits.rewards import LearnsRewards, Pulls
from automl.records import Trial


class Uniform(LearnsRewards):
    """The family with the fewest turns; ties go to the first in prior order.

    References
    ----------
    .. [1] van Hoof, section 7.3 (the random baseline, here without its chance).
    """

    def choose(
        self,
        arms: Sequence[str],
        *,
        pending: Sequence[str],
        rng: np.random.Generator,  # noqa: ARG002 - nothing is drawn
    ) -> str:
        """Least-pulled family, pending turns included."""
        return Pulls(self._rewards, arms, pending).least()


class UniformSeconds:
    """The family that has used the fewest seconds; a pending turn counts as its mean turn.

    Reads measured seconds, so its decisions are not reproducible.
    """

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}
        self._turns: Counter[str] = Counter()

    def choose(
        self,
        arms: Sequence[str],
        *,
        pending: Sequence[str],
        rng: np.random.Generator,  # noqa: ARG002 - nothing is drawn
    ) -> str:
        """Family with the least seconds spent and expected."""
        waiting = Counter(pending)

        def spent(arm: str) -> float:
            turns = self._turns[arm]
            mean = self._seconds.get(arm, 0.0) / turns if turns else 1.0
            return self._seconds.get(arm, 0.0) + waiting[arm] * mean

        return min(arms, key=spent)

    def update(self, trial: Trial) -> None:
        """Add the trial's seconds."""
        family = trial.configuration.family
        self._turns[family] += 1
        self._seconds[family] = self._seconds.get(family, 0.0) + trial.spent_seconds
