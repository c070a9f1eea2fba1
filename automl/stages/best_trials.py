"""Which trials' files a run keeps: those that an ensemble would choose from."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable

from automl.records import Trial
from automl.stages.blending import library_of


class BestTrials:
    """Drops the files of trials that an ensemble of the trials so far would not choose from.

    Parameters
    ----------
    n_kept : >= 1
        Number of complete trials whose files stay; see `automl.ensembles.diversity`.
    drop
        Removes the files of a trial id.
    mib_of
        Size of the files of a trial id.
    room_mib : > 0
        What the files may take, beside those of the best trial. The largest go where they take more.
    """

    def __init__(
        self,
        n_kept: int,
        drop: Callable[[str], None],
        *,
        mib_of: Callable[[str], float] = lambda _: 0.0,
        room_mib: float = math.inf,
    ) -> None:
        self._n_kept, self._drop = n_kept, drop
        self._mib_of, self._room_mib = mib_of, room_mib
        self._kept: list[Trial] = []
        self._mib: dict[str, float] = {}
        self._lock = threading.Lock()

    def add(self, trial: Trial) -> None:
        """Take a trial; the files of those that it displaces are removed."""
        if not trial.is_complete or trial.score is None:
            return
        with self._lock:
            self._kept.append(trial)
            self._mib[trial.id] = self._mib_of(trial.id)
            if len(self._kept) > self._n_kept:
                self._keep([self._kept[i] for i in library_of(self._kept, self._n_kept)])
            best = max(self._kept, key=lambda one: (one.achieved, -one.index))
            others = [one for one in self._kept if one is not best]
            others.sort(key=lambda one: (self._mib[one.id], -one.achieved))
            while others and sum(self._mib[one.id] for one in others) > self._room_mib:
                others.pop()
            self._keep([best, *others])

    def _keep(self, kept: list[Trial]) -> None:
        for gone in self._mib.keys() - {trial.id for trial in kept}:
            del self._mib[gone]
            self._drop(gone)
        self._kept = kept
