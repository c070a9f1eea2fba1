"""The best trials seen, kept up to date trial by trial, so that a decision takes no longer late in a run."""

from __future__ import annotations

from bisect import insort
from collections.abc import Hashable
from math import inf

from automl.records import Configuration, Trial


class Standing:
    """Best complete trials of a search, of all families and of each."""

    def __init__(self) -> None:
        self._best: dict[str | None, Trial] = {}
        self._greatest: dict[Hashable, float] = {}
        self._scores: list[float] = []

    def add(self, trial: Trial) -> None:
        """Take a trial; only a complete one counts."""
        if not trial.is_complete:
            return
        family = trial.configuration.family
        for key in (None, family):
            known = self._best.get(key)
            if known is None or _rank(trial) > _rank(known):
                self._best[key] = trial
        if trial.score is not None:
            insort(self._scores, trial.score)
            kind = _kind(trial.configuration)
            self._greatest[kind] = max(trial.score, self._greatest.get(kind, -inf))

    def best(self, family: str | None = None) -> Trial | None:
        """Best complete trial, of a family or of all; of equal ones the first."""
        return self._best.get(family)

    def least_kept(self, n: int, configuration: Configuration) -> float:
        """Score from which a trial is among the `n` best, or leads its family with its preprocessing.

        -inf where there are fewer trials, or none of its kind.
        """
        nth = self._scores[-n] if len(self._scores) >= n else -inf
        return min(nth, self._greatest.get(_kind(configuration), -inf))


def _kind(configuration: Configuration) -> Hashable:
    return configuration.family, configuration.preprocessing


def _rank(trial: Trial) -> tuple[float, int]:
    return trial.achieved, -trial.index
