"""The budget: one wall clock for the whole run, planned and used seconds of each stage."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

LEAST_TAIL_SECONDS = 16.0
GREATEST_TAIL_SHARE = 0.45
REGISTRATION_SHARE = 0.4
LEAST_REGISTRATION_SECONDS = 6.0
GREATEST_REGISTRATION_SECONDS = 20.0
FINAL_SHARE = 0.55
TRACKING_SECONDS_PER_TRIAL = 0.012
"""One run with its parameters and metrics in SQLite, measured."""


@dataclass
class Ledger:
    """Plans the stages and records what they used.

    Parameters
    ----------
    total : wall seconds of the whole run, None without a limit
    reserve : share of the total that is kept for everything after the search
    started : `time.monotonic()` of the run's first line
    """

    total: float | None
    reserve: float
    started: float
    planned: dict[str, float] = field(default_factory=dict)
    used: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.total is None:
            return
        tail = self._tail
        registration = self._registration
        self.planned = {
            "search": self.total - tail,
            "candidates": (tail - registration) * (1 - FINAL_SHARE),
            "ensemble": (tail - registration) * FINAL_SHARE * 0.4,
            "final": (tail - registration) * FINAL_SHARE * 0.6,
            "registration": registration,
        }

    def expect_trials(self, n_trials: int) -> None:
        """Keep time to copy this many trials into the tracking store; the search pays for it."""
        if self.total is None:
            return
        wanted = self._registration + TRACKING_SECONDS_PER_TRIAL * n_trials
        wanted = min(wanted, GREATEST_TAIL_SHARE * self.total)
        extra = wanted - self.planned["registration"]
        if extra > 0:
            self.planned["registration"] += extra
            self.planned["search"] -= extra

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
        order = list(self.planned)
        last = max(order.index(stage) for stage in stages)
        later = sum(self.planned[stage] for stage in order[last + 1 :])
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

    @property
    def _tail(self) -> float:
        assert self.total is not None
        return min(
            max(self.reserve * self.total, LEAST_TAIL_SECONDS), GREATEST_TAIL_SHARE * self.total
        )

    @property
    def _registration(self) -> float:
        wanted = max(REGISTRATION_SHARE * self._tail, LEAST_REGISTRATION_SECONDS)
        return min(wanted, 0.5 * self._tail, GREATEST_REGISTRATION_SECONDS)
