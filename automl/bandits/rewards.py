"""Rewards in [0, 1] and what is known of them, family by family.

A complete trial's reward is its score cut off at 0: a homogenized index is at most 1, and
whatever is worse than the baseline counts as the baseline. A failed trial counts as the worst
reward seen in any family so far. A raced or partial trial has no complete score; it counts as
the worst reward of its own family so far (of any, where the family has none). Before anything
was seen the worst is 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from automl.records import Trial, TrialStatus

WITHOUT_VERDICT = {TrialStatus.RACED, TrialStatus.PARTIAL}


@dataclass
class Tally:
    """Rewards of one family, updated one at a time.

    Parameters
    ----------
    n : number of rewards
    mean : mean reward, in [0, 1]
    squared_deviations : sum of squared deviations from the mean
    """

    n: int = 0
    mean: float = 0.0
    squared_deviations: float = 0.0
    first: float = 0.0
    best: float = 0.0
    worst: float = 1.0

    def add(self, reward: float) -> None:
        """Take one reward (Welford's update)."""
        self.n += 1
        if self.n == 1:
            self.first = reward
        shift = reward - self.mean
        self.mean += shift / self.n
        self.squared_deviations += shift * (reward - self.mean)
        self.best = max(self.best, reward)
        self.worst = min(self.worst, reward)

    @property
    def variance(self) -> float:
        """Mean squared deviation, division by n; 0 without rewards."""
        return self.squared_deviations / self.n if self.n else 0.0

    @property
    def sample_variance(self) -> float:
        """Unbiased variance, division by n - 1; 0 below two rewards."""
        return self.squared_deviations / (self.n - 1) if self.n > 1 else 0.0


class Rewards:
    """Tallies of all families."""

    def __init__(self) -> None:
        self._tallies: dict[str, Tally] = {}

    def add(self, trial: Trial) -> float:
        """Take a finished trial; its reward."""
        reward = self._reward(trial)
        self._tallies.setdefault(trial.configuration.family, Tally()).add(reward)
        return reward

    @property
    def best(self) -> float:
        """Greatest reward of any family; 0 before there is one."""
        return max((tally.best for tally in self._tallies.values()), default=0.0)

    def of(self, arm: str) -> Tally:
        """Tally of a family; a fresh one where nothing was seen."""
        return self._tallies.get(arm, Tally())

    def value(self, arm: str) -> float:
        """Mean reward of a family; the mean of all families' means where it has none yet."""
        tally = self._tallies.get(arm)
        if tally is not None:
            return tally.mean
        tallies = self._tallies.values()
        return sum(tally.mean for tally in tallies) / len(tallies) if tallies else 0.0

    def _reward(self, trial: Trial) -> float:
        if trial.is_complete and trial.score is not None:
            return min(max(trial.score, 0.0), 1.0)
        own = self._tallies.get(trial.configuration.family)
        if trial.status in WITHOUT_VERDICT and own is not None:
            return own.worst
        return min((tally.worst for tally in self._tallies.values()), default=0.0)


class LearnsRewards:
    """An allocator that learns the rewards of the trials and nothing else of them."""

    def __init__(self) -> None:
        self._rewards = Rewards()

    def update(self, trial: Trial) -> None:
        """Take the reward."""
        self._rewards.add(trial)


class LearnsBestScores(LearnsRewards):
    """An allocator that compares families by their best complete scores, not cut off at 0."""

    def __init__(self) -> None:
        super().__init__()
        self._best: dict[str, float] = {}

    def update(self, trial: Trial) -> None:
        """Count the turn and keep the family's best complete score."""
        super().update(trial)
        family = trial.configuration.family
        if trial.is_complete and trial.score is not None:
            self._best[family] = max(trial.score, self._best.get(family, trial.score))


class Pulls:
    """Finished and pending turns of the arms of one decision.

    Parameters
    ----------
    arms : families that can take a turn, in prior order
    pending : family of every trial that is being evaluated
    """

    def __init__(self, rewards: Rewards, arms: Sequence[str], pending: Iterable[str]) -> None:
        waiting = Counter(pending)
        self._counts = {arm: rewards.of(arm).n + waiting[arm] for arm in arms}

    def of(self, arm: str) -> int:
        """Turns of an arm, pending ones included."""
        return self._counts[arm]

    @property
    def total(self) -> int:
        """Turns of all arms."""
        return sum(self._counts.values())

    def least(self, arms: Iterable[str] | None = None) -> str:
        """The arm with the fewest turns, the first in prior order of equal ones."""
        return min(self._counts if arms is None else arms, key=self._counts.__getitem__)

    def wanting(self, n: int = 1) -> str | None:
        """The least-pulled arm if it has fewer than `n` turns."""
        arm = self.least()
        return arm if self._counts[arm] < n else None
