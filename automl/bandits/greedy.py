"""The arm with the best mean reward, and now and then any arm."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from automl.bandits.rewards import LearnsRewards, Pulls
from automl.factory_options import Count, Share


class EpsilonGreedy(LearnsRewards):
    """The best mean reward with probability 1 - epsilon, else an arm at random.

    An arm without a turn comes first, in prior order. Equal means go to the least-pulled arm.

    Parameters
    ----------
    epsilon : probability of a random arm, in [0, 1]

    References
    ----------
    .. [1] van Hoof, section 2.4.1 (epsilon-greedy); the document names no epsilon.
    """

    def __init__(self, epsilon: Share = 0.1) -> None:
        super().__init__()
        self._epsilon = epsilon

    def choose(
        self, arms: Sequence[str], *, pending: Sequence[str], rng: np.random.Generator
    ) -> str:
        """Best arm, or a random one."""
        pulls = Pulls(self._rewards, arms, pending)
        new = pulls.wanting()
        if new is not None:
            return new
        if rng.random() < self.share_at_random(pulls.total):
            return arms[int(rng.integers(len(arms)))]
        return max(arms, key=lambda arm: (self._rewards.value(arm), -pulls.of(arm)))

    def share_at_random(self, n_turns: int) -> float:  # noqa: ARG002 - constant here
        """Probability of a random arm after `n_turns` turns."""
        return self._epsilon


class EpsilonDecreasing(EpsilonGreedy):
    """Epsilon-greedy whose epsilon falls linearly from 1 to 0 over `n_random` turns.

    References
    ----------
    .. [1] van Hoof, section 2.4.1 (epsilon-decreasing) and figure 7.3 (`linear_decreasing_epsilon`);
       the document names no length.
    """

    def __init__(self, n_random: Count = 100) -> None:
        super().__init__(1.0)
        self._n_random = n_random

    def share_at_random(self, n_turns: int) -> float:
        """Probability of a random arm after `n_turns` turns."""
        return max(0.0, 1.0 - n_turns / self._n_random)
