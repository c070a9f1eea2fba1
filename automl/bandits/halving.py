"""Successive halving of the families: the worse half goes, the others get twice the turns."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

import numpy as np

from automl.bandits.rewards import LearnsBestScores, Pulls
from automl.factory_options import Count

FIRST_TURNS = 4
"""Turns of every family in the first round: its default and three more, so that no family goes by one bad
draw (by judgement)."""


class FamilyHalving(LearnsBestScores):
    """Every family gets a few turns. Then the worse half drops out and the budget doubles, repeatedly.

    A family's budget is its number of turns, those of earlier rungs included: 4, then 8, 16 and so
    on, until a single family is left, which gets all further turns. Families are compared by their
    best complete score; one without any is the worst, and of equal ones the first in prior order
    is the better. The better half is rounded up.

    No turn waits for a rung: where turns are still pending, those that lead so far get theirs of the
    next rung. A family that can take no more turns stays in the comparison with what it has. Where
    none of those left can take a turn, the best of the others does.

    Parameters
    ----------
    n_first : turns of every family before the first half goes, at least 1

    References
    ----------
    .. [1] van Hoof, section 8.2.3; the document names no first budget.
    """

    def __init__(self, n_first: Count = FIRST_TURNS) -> None:
        super().__init__()
        self._budget = n_first
        self._left: list[str] = []
        self._gone: set[str] = set()

    @property
    def gone(self) -> Collection[str]:
        """Families of the worse halves."""
        return self._gone

    def choose(
        self,
        arms: Sequence[str],
        *,
        pending: Sequence[str],
        rng: np.random.Generator,  # noqa: ARG002 - nothing is drawn
    ) -> str:
        """Least-pulled family of the rung, of the next one where all have had their turns."""
        self._left += [arm for arm in arms if arm not in self._left and arm not in self._gone]
        usable = self._halve(arms)
        if not usable:
            return self._ranked(arms)[0]
        pulls = Pulls(self._rewards, arms, pending)
        short = [arm for arm in usable if pulls.of(arm) < self._budget]
        return pulls.least(short or self._better_half(usable))

    def _halve(self, arms: Sequence[str]) -> list[str]:
        """Drop the worse half as often as all have had their turns; those that can take one."""
        usable = [arm for arm in self._left if arm in arms]
        while (
            usable
            and len(self._left) > 1
            and all(self._rewards.of(arm).n >= self._budget for arm in usable)
        ):
            kept = self._better_half(self._left)
            self._gone |= set(self._left) - set(kept)
            self._left = kept
            self._budget *= 2
            usable = [arm for arm in kept if arm in arms]
        return usable

    def _better_half(self, arms: Sequence[str]) -> list[str]:
        return self._ranked(arms)[: math.ceil(len(arms) / 2)]

    def _ranked(self, arms: Sequence[str]) -> list[str]:
        """Arms by their best complete score, of equal ones in the given order."""
        return sorted(arms, key=lambda arm: -self._best.get(arm, -math.inf))
