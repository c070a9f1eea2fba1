"""Stretches of time in which a family has trials that run, or wait for a worker."""

from __future__ import annotations

from dataclasses import dataclass, replace

LEAST_GAP_SECONDS = 3.0
"""Between two spells; a shorter gap belongs to one. Each spell is two states for a server that shares the cores
with the trials: 20 families that take turns are told of 13 times a second at most, by 3 ms each."""


@dataclass(frozen=True)
class Spell:
    """A stretch of time with trials.

    Parameters
    ----------
    began, ended : seconds of `time.monotonic`; `ended` is None while it goes on
    """

    began: float
    ended: float | None = None

    def is_over(self, now: float) -> bool:
        """Whether what begins from now on is another spell."""
        return self.ended is not None and now - self.ended >= LEAST_GAP_SECONDS


class Spells:
    """The spells of one family, in their order; the caller holds a lock."""

    def __init__(self) -> None:
        self._spells: list[Spell] = []
        self._n_under_way = 0

    def begin(self, now: float) -> None:
        """Take note that a trial is to run."""
        self._n_under_way += 1
        if not self._spells or self._spells[-1].is_over(now):
            self._spells.append(Spell(now))
        else:
            self._spells[-1] = replace(self._spells[-1], ended=None)

    def end(self, now: float) -> None:
        """Take note that a trial has ended."""
        self._n_under_way -= 1
        if not self._n_under_way:
            self._spells[-1] = replace(self._spells[-1], ended=now)

    def so_far(self) -> tuple[Spell, ...]:
        """All of them; the last one may go on."""
        return tuple(self._spells)
