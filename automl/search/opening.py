"""Configurations that are tried before any optimizer is asked, and when to give them up."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from automl.origins import FLOOR, KNOWLEDGE, LEARNED
from automl.records import Configuration, Trial, TrialStatus
from automl.search.guide import Guide

ON_TRIAL = 4
"""Learned configurations that have ended until they are judged."""
LEAST_FORESIGHT = 0.2
"""Correlation of foreseen and achieved scores with which a guide is trusted although no floor was beaten; see
``benchmarks/knowledge``."""
PATIENCE = 100
"""Trials for which families wait that other data sets speak against."""

Given = Sequence[tuple[Configuration, str]]


@dataclass(frozen=True)
class Discouraged:
    """Configurations that are hardly expected to improve on the best trial.

    Parameters
    ----------
    configurations : ids
    families : those of which no known configuration gives hope
    """

    configurations: frozenset[str] = frozenset()
    families: frozenset[str] = frozenset()

    @classmethod
    def of(cls, guide: Guide, seen: Sequence[Trial]) -> Discouraged:
        """By a guide, after these trials."""
        without = frozenset(configuration.id for configuration in guide.without_hope(seen))
        configurations = guide.model.configurations
        promising = {
            configuration.family
            for configuration in configurations
            if configuration.id not in without
        }
        return cls(
            without,
            frozenset({configuration.family for configuration in configurations} - promising),
        )


NOTHING = Discouraged()


class Opening:
    """Configurations to begin with and where they come from, in their order.

    Configurations learned from other runs are on trial, since a history may be foreign or wrong. If
    none of the first `ON_TRIAL` learned ones scores better than the floors, the fallback replaces
    the rest of them.

    Parameters
    ----------
    given
        In the order in which they are tried.
    fallback
        What is tried after `given` where the learned ones were given up.
    guide
        Chooses what follows `given` otherwise, of origin `KNOWLEDGE`.
    unknown
        What the guide knows nothing of; tried in turn with what it chooses.
    """

    def __init__(
        self,
        given: Given,
        fallback: Given = (),
        guide: Guide | None = None,
        unknown: Given = (),
    ) -> None:
        self._left = deque(given)
        self._guide = guide
        self._fallback = deque(fallback)
        self._unknown = deque(unknown)
        self._is_unknown_next = False
        self._popped: list[Configuration] = []
        self._passed_over: list[Configuration] = []
        self._is_misled = False
        self._discouraged: tuple[int, Discouraged] = (-1, NOTHING)

    def pop(self, seen: Sequence[Trial]) -> tuple[Configuration, str] | None:
        """The next one; None when there is none left.

        Parameters
        ----------
        seen
            Trials that the decision may know.
        """
        self._is_misled = self._is_misled or is_misled(seen, self._guide)
        entry = self._next(seen)
        if entry is not None:
            self._popped.append(entry[0])
        return entry

    @property
    def is_misled(self) -> bool:
        """Whether what was learned has been given up."""
        return self._is_misled

    def pass_over(self, configuration: Configuration) -> None:
        """Take note that what was popped last is not tried."""
        self._popped.remove(configuration)
        self._passed_over.append(configuration)

    def discouraged(self, seen: Sequence[Trial]) -> Discouraged:
        """What is not worth a turn by what other data sets teach; after `PATIENCE` trials nothing is.

        Parameters
        ----------
        seen
            Trials that the decision may know.
        """
        if self._guide is None or self._is_misled or len(seen) >= PATIENCE:
            return NOTHING
        if self._discouraged[0] != len(seen):
            self._discouraged = len(seen), Discouraged.of(self._guide, seen)
        return self._discouraged[1]

    def _next(self, seen: Sequence[Trial]) -> tuple[Configuration, str] | None:
        while self._left:
            configuration, origin = self._left.popleft()
            if not (self._is_misled and origin in LEARNED):
                return configuration, origin
        if self._is_misled:
            return self._fallback.popleft() if self._fallback else None
        return self._guided(seen)

    def _guided(self, seen: Sequence[Trial]) -> tuple[Configuration, str] | None:
        """What the guide chooses, in turn with what it knows nothing of."""
        if self._guide is None:
            return None
        if self._unknown and self._is_unknown_next:
            self._is_unknown_next = False
            return self._unknown.popleft()
        self._is_unknown_next = True
        guided = self._guide.next(seen, self._popped, self._passed_over)
        if guided is not None:
            return guided, KNOWLEDGE
        return self._unknown.popleft() if self._unknown else None


def is_misled(seen: Sequence[Trial], guide: Guide | None = None) -> bool:
    """Whether none of the learned configurations among the trials is better than the floors.

    A score on few rows tells nothing of that. A strong floor is hard to beat: if a guide foresaw how
    the trials would compare, floors among them, it has not misled.
    """
    learned = [
        trial
        for trial in seen
        if trial.origin in LEARNED and trial.status is not TrialStatus.PARTIAL
    ]
    floor = max((_score(trial) for trial in seen if trial.origin == FLOOR), default=-float("inf"))
    if len(learned) < ON_TRIAL or any(_score(trial) > floor for trial in learned):
        return False
    return guide is None or not guide.foresight(seen) > LEAST_FORESIGHT


def _score(trial: Trial) -> float:
    if not trial.is_complete or trial.score is None:
        return -float("inf")
    return trial.score
