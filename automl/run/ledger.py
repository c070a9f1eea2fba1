"""The budget: one wall clock for the whole run, planned and used seconds of each stage."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

GREATEST_TAIL_SHARE = 0.45
CLOSING_SECONDS = 0.8
"""From the end of the registration to the end of the process."""

UNKNOWN_TAIL = {
    "candidates": 0.0,
    "ensemble": 2.0,
    "honest": 1.0,
    "final": 2.0,
    "registration": 6.0,
}
"""What is kept before any trial has shown more."""


@dataclass
class Ledger:
    """Plans the stages and records what they used.

    The stages after the search, its tail, are planned with what they are expected to take; the
    search has the rest.

    Parameters
    ----------
    total : wall seconds of the whole run, None without a limit
    reserve : share of the total that those stages may take which can do with less
    started : `time.monotonic()` of the run's first line
    slowness : at least 1
        How much longer work takes than on a machine that does nothing else.
    """

    total: float | None
    reserve: float
    started: float
    planned: dict[str, float] = field(default_factory=dict)
    used: dict[str, float] = field(default_factory=dict)
    slowness: float = 1.0

    def __post_init__(self) -> None:
        self.expect(UNKNOWN_TAIL)

    def expect(self, seconds: Mapping[str, float]) -> None:
        """Plan the stages after the search, in their order, with what they are expected to take.

        Parameters
        ----------
        seconds : not negative
            By stage. More than `GREATEST_TAIL_SHARE` of the total is cut in proportion.
        """
        if self.total is None:
            return
        tail = {**seconds, "closing": CLOSING_SECONDS}
        factor = min(1.0, GREATEST_TAIL_SHARE * self.total / sum(tail.values()))
        tail = {stage: factor * expected for stage, expected in tail.items()}
        self.planned = {"search": self.total - sum(tail.values()), **tail}

    @property
    def elapsed(self) -> float:
        """Seconds since the run's first line."""
        return time.monotonic() - self.started

    @property
    def left(self) -> float | None:
        """Seconds until the whole run must have ended."""
        return None if self.total is None else self.total - self.elapsed

    def left_for(self, *stages: str) -> float | None:
        """Seconds that stages may take together when they begin now; None without a limit.

        What earlier stages saved is handed on; what later stages need is kept for them.
        """
        if self.total is None:
            return None
        planned = self.planned  # replaced as a whole by the threads of the search
        order = list(planned)
        last = max(order.index(stage) for stage in stages)
        later = sum(planned[stage] for stage in order[last + 1 :])
        return self.total - later - self.elapsed

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Record the seconds of a stage."""
        started = time.monotonic()
        try:
            yield
        finally:
            self.used[name] = self.used.get(name, 0.0) + time.monotonic() - started

    def to_json(self) -> dict[str, dict[str, float | None]]:
        """Planned and used seconds by stage."""
        names = dict.fromkeys((*self.planned, *self.used))
        return {
            name: {"planned": self.planned.get(name), "used": self.used.get(name)} for name in names
        }
