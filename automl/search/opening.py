"""What is tried before any optimizer is asked, and when that is given up."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from automl.records import Configuration, Trial

FLOOR = "floor"
"""Origin of what every run tries, so that it ends with a model."""
PAST = "past"
"""Origin of what was best in earlier runs on the same data set."""
KNOWLEDGE = "knowledge"
"""Origin of what is good on the data sets that are known."""
PORTFOLIO = "portfolio"
"""Origin of the hand-ordered list."""
ORIGINS = (FLOOR, PAST, KNOWLEDGE, PORTFOLIO)
LEARNED = (PAST, KNOWLEDGE)
ON_TRIAL = 4
"""Learned configurations that have ended until they are judged."""

Given = Sequence[tuple[Configuration, str]]


class Opening:
    """Configurations to begin with and where they come from, in their order.

    What was learned from other runs is on trial, since a history may be foreign, or wrong: where
    none of the first `ON_TRIAL` learned configurations scores better than the floors, the rest of
    them is left out, and the fallback is tried in their place.

    Parameters
    ----------
    given
        In the order in which they are tried.
    fallback
        What is tried after `given` where the learned ones were given up.
    """

    def __init__(self, given: Given, fallback: Given = ()) -> None:
        self._left = deque(given)
        self._fallback = deque(fallback)
        self._is_misled = False

    def pop(self, seen: Sequence[Trial]) -> tuple[Configuration, str] | None:
        """The next one; None when there is none left.

        Parameters
        ----------
        seen
            Trials that the decision may know.
        """
        self._is_misled = self._is_misled or is_misled(seen)
        while self._left:
            configuration, origin = self._left.popleft()
            if not (self._is_misled and origin in LEARNED):
                return configuration, origin
        return self._fallback.popleft() if self._is_misled and self._fallback else None


def is_misled(seen: Sequence[Trial]) -> bool:
    """Whether none of the learned configurations among the trials is better than the floors."""
    learned = [trial for trial in seen if trial.origin in LEARNED]
    floor = max((_score(trial) for trial in seen if trial.origin == FLOOR), default=-float("inf"))
    return len(learned) >= ON_TRIAL and all(_score(trial) <= floor for trial in learned)


def _score(trial: Trial) -> float:
    if not trial.is_complete or trial.score is None:
        return -float("inf")
    return trial.score
