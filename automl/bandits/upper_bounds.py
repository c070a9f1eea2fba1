"""Upper confidence bounds of the mean reward."""

from __future__ import annotations

from collections.abc import Sequence
from math import log, sqrt

import numpy as np

from automl.bandits.rewards import LearnsRewards, Pulls


def ucb1_bonus(n_turns: int, n_total: int) -> float:
    """Half-width sqrt(2 ln t / n) of the Chernoff-Hoeffding bound.

    Parameters
    ----------
    n_turns : n, turns of the arm, at least 1
    n_total : t, turns of all arms, at least n

    References
    ----------
    .. [1] van Hoof, section 2.4.3.
    """
    return sqrt(2 * log(n_total) / n_turns)


def ucb1_tuned_bonus(variance: float, n_turns: int, n_total: int) -> float:
    """Half-width sqrt(ln t / n min(1/4, V)), V = variance + sqrt(2 ln t / n).

    Parameters
    ----------
    variance : mean of the squared rewards minus the squared mean reward
    n_turns : n, turns of the arm, at least 1
    n_total : t, turns of all arms, at least n

    References
    ----------
    .. [1] van Hoof, section 2.4.3, whose V lacks the squared mean.
    .. [2] Auer, Cesa-Bianchi and Fischer (2002), Finite-time analysis of the multiarmed bandit
       problem, section 4.
    """
    bound = variance + ucb1_bonus(n_turns, n_total)
    return sqrt(log(n_total) / n_turns * min(0.25, bound))


class Ucb1(LearnsRewards):
    """The arm with the greatest mean reward plus `ucb1_bonus`; an arm without a turn comes first.

    Pending turns count in n and t, and leave the mean as it is.
    """

    def choose(
        self,
        arms: Sequence[str],
        *,
        pending: Sequence[str],
        rng: np.random.Generator,  # noqa: ARG002 - nothing is drawn
    ) -> str:
        """Arm of the greatest bound, ties to the least-pulled."""
        pulls = Pulls(self._rewards, arms, pending)
        new = pulls.wanting()
        if new is not None:
            return new

        def bound(arm: str) -> float:
            return self._rewards.value(arm) + self.bonus(arm, pulls.of(arm), pulls.total)

        return max(arms, key=lambda arm: (bound(arm), -pulls.of(arm)))

    def bonus(self, arm: str, n_turns: int, n_total: int) -> float:  # noqa: ARG002 - same for all
        """Half-width of the bound."""
        return ucb1_bonus(n_turns, n_total)


class Ucb1Tuned(Ucb1):
    """UCB1 with `ucb1_tuned_bonus`, which knows the variance of the rewards."""

    def bonus(self, arm: str, n_turns: int, n_total: int) -> float:
        """Half-width of the bound."""
        return ucb1_tuned_bonus(self._rewards.of(arm).variance, n_turns, n_total)
