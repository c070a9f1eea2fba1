"""Turns for the families that lead, and a share for all others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from automl.bandits.rewards import LearnsBestScores, Pulls

LEADERS = 5
"""Families that share most turns: enough for an ensemble of unlike members, few enough to tune each (by
judgement)."""
OTHERS_SHARE = 0.2
"""Share of the turns, for all families alike: what a family that only looks poor needs to come back (by
judgement)."""


class Leaders(LearnsBestScores):
    """Equal turns for the families with the best scores; a fifth of the turns for all.

    A family that has not had a turn comes first, in prior order. After that a turn goes with
    probability 0.8 to the least-pulled of the five families whose best complete score is greatest,
    else to the least-pulled of all. A family without a complete trial is not among the leaders.

    References
    ----------
    .. [1] The allocation to the best instead of the mean that van Hoof, chapter 7, finds missing
       in the bandits; this simple form is ours.
    """

    def choose(
        self, arms: Sequence[str], *, pending: Sequence[str], rng: np.random.Generator
    ) -> str:
        """Family of the next turn, pending turns included in the counts."""
        pulls = Pulls(self._rewards, arms, pending)
        new = pulls.wanting()
        if new is not None:
            return new
        scored = [arm for arm in arms if arm in self._best]
        leaders = sorted(scored, key=lambda arm: -self._best[arm])[:LEADERS]
        is_for_all = rng.random() < OTHERS_SHARE
        return pulls.least(arms if is_for_all or not leaders else leaders)
