"""Predictions of partial trials, kept until a later trial has taken over their folds."""

from __future__ import annotations

import threading
from collections import OrderedDict

from automl.evaluation.predictions import PredictionStore
from automl.records import Trial, TrialStatus


class PartialPredictions:
    """Removes predictions of partial trials that were overtaken, or are the oldest of too many.

    Parameters
    ----------
    store
        Where the trials' predictions are.
    n_kept : >= 0
        Most partial trials whose predictions stay.
    """

    def __init__(self, store: PredictionStore, n_kept: int) -> None:
        self._store, self._n_kept = store, n_kept
        self._kept: OrderedDict[str, str] = OrderedDict()
        self._lock = threading.Lock()

    def add(self, trial: Trial) -> None:
        """Take a trial of any status."""
        identity = trial.configuration.id
        with self._lock:
            if (overtaken := self._kept.pop(identity, None)) is not None:
                self._store.remove(overtaken)
            if trial.status is TrialStatus.PARTIAL and trial.fidelity.has_full_fits:
                self._kept[identity] = trial.id
            while len(self._kept) > self._n_kept:
                _, oldest = self._kept.popitem(last=False)
                self._store.remove(oldest)
