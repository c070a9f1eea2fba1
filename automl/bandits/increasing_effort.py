"""Arms whose upper confidence limit exceeds the optimum, at a level that rises when there is none."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from statistics import NormalDist

import numpy as np

from automl.bandits.rewards import LearnsRewards, Pulls, Tally

MOST_RAISES = 50
"""Levels that are tried: beyond them 1 - 0.1 / 2^k is rounded to 1."""


def effort_quantile(n_raises: int) -> float:
    """Standard normal quantile of the confidence level 100 - 10 / 2^k percent.

    Parameters
    ----------
    n_raises : k, how often no arm was a candidate

    References
    ----------
    .. [1] van Hoof, equation 7.1.
    """
    return -NormalDist().inv_cdf(0.1 / 2**n_raises)


class IncreasingEffort(LearnsRewards):
    """The least-pulled of the arms whose rewards may exceed the best reward seen.

    The upper limit of an arm is mean + z s, the normal one-sided confidence limit of a reward
    (not of the mean reward); an arm with fewer than two rewards is always a candidate. Where no
    arm is one, the level rises for good: 90 %, 95 %, 97.5 % and so on. Where no arm ever can be
    (no spread anywhere), all are.

    References
    ----------
    .. [1] van Hoof, section 7.4.
    """

    def __init__(self) -> None:
        super().__init__()
        self._raises = 0

    def choose(
        self,
        arms: Sequence[str],
        *,
        pending: Sequence[str],
        rng: np.random.Generator,  # noqa: ARG002 - nothing is drawn
    ) -> str:
        """Least-pulled candidate; raises the level until there is one."""
        tallies = {arm: self._rewards.of(arm) for arm in arms}
        best = self._rewards.best
        pulls = Pulls(self._rewards, arms, pending)
        for k in range(self._raises, MOST_RAISES):
            z = effort_quantile(k)
            candidates = [arm for arm, tally in tallies.items() if _limit(tally, z) > best]
            if candidates:
                self._raises = k
                return pulls.least(candidates)
        return pulls.least()


def _limit(tally: Tally, z: float) -> float:
    return tally.mean + z * sqrt(tally.sample_variance) if tally.n > 1 else float("inf")
