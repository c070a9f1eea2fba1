"""Which trials' files a run keeps: the best of each family, then the best of all others."""

from __future__ import annotations

import heapq
import threading
from collections.abc import Callable

from automl.records import Trial


class BestTrials:
    """Drops the files of trials that are no longer among those worth keeping.

    Kept are the best trial of each family, then the best of all others: a blend lives on what errs
    differently, and its members of other families are seldom among the best of all.

    Parameters
    ----------
    n_kept : >= 1
        Number of complete trials whose files stay.
    drop
        Removes the files of a trial id.
    """

    def __init__(self, n_kept: int, drop: Callable[[str], None]) -> None:
        self._n_kept, self._drop = n_kept, drop
        self._leaders: dict[str, tuple[float, str]] = {}
        self._others: list[tuple[float, str]] = []
        self._lock = threading.Lock()

    def add(self, trial: Trial) -> None:
        """Take a trial; the files of the one that it displaces are removed."""
        if not trial.is_complete or trial.score is None:
            return
        with self._lock:
            entry, family = (trial.score, trial.id), trial.configuration.family
            leader = self._leaders.get(family)
            if leader is None or entry > leader:
                self._leaders[family] = entry
                entry = leader or entry
            if entry is not self._leaders[family]:
                heapq.heappush(self._others, entry)
            if len(self._leaders) + len(self._others) > self._n_kept:
                self._drop(self._displaced())

    def _displaced(self) -> str:
        if self._others:
            return heapq.heappop(self._others)[1]
        worst = min(self._leaders, key=lambda family: self._leaders[family])
        return self._leaders.pop(worst)[1]
