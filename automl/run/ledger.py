"""The budget: one wall clock for the whole run, planned and used seconds of each stage."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from automl.evaluation.machine_limits import crowding
from automl.run.stage_table import unknown_tail
from automl.settings import Settings

GREATEST_TAIL_SHARE = 0.45
"""Share of the total that all stages after the search may plan: a search is worth more than half (by
judgement)."""
CLOSING_SECONDS = 0.8
"""From the end of the registration to the end of the process."""

FLEXIBLE = ("candidates", "honest")
"""Stages that do with less: fewer scores on fresh folds, fewer repetitions of the choice."""

LEAST_TAIL_SECONDS = 2.0
"""Fewest seconds of an idle machine, from the end of the search to the end of the process where there is one model."""
START_SECONDS = 1.5
"""Seconds of an idle machine, from the command's first decision to the first trial that can begin."""


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
        self.expect(unknown_tail())

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

    @property
    def spare(self) -> float:
        """Seconds that are left even for floors: a constant needs no search to be the model.

        Infinite without a limit.
        """
        left = self.left
        return math.inf if left is None else left - LEAST_TAIL_SECONDS * self.slowness

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
        """Record the seconds of a stage; what is missing when it begins, the `FLEXIBLE` stages share."""
        self._share_shortage(name)
        started = time.monotonic()
        try:
            yield
        finally:
            self.used[name] = self.used.get(name, 0.0) + time.monotonic() - started

    def _share_shortage(self, stage: str) -> None:
        """Let the flexible stages from this one on be short alike, where the search has ended late.

        Without this the first of them would pay for all the others, although each is planned generously.
        """
        if self.total is None or stage not in FLEXIBLE:
            return
        left, planned = self.left_for(stage) or 0.0, self.planned
        sharing = FLEXIBLE[FLEXIBLE.index(stage) :]
        later = sum(planned[name] for name in sharing[1:])
        needed = planned[stage] + later
        if left < planned[stage] and needed > 0:
            factor = max(left + later, 0.0) / needed
            self.planned = {**planned, **{name: factor * planned[name] for name in sharing}}

    def to_json(self) -> dict[str, dict[str, float | None]]:
        """Planned and used seconds by stage."""
        names = dict.fromkeys((*self.planned, *self.used))
        return {
            name: {"planned": self.planned.get(name), "used": self.used.get(name)} for name in names
        }


def ledger_of(settings: Settings, started: float | None = None) -> Ledger:
    """Ledger of a run that this process drives, with the pace of the machine so far.

    Parameters
    ----------
    started
        `time.monotonic()` of the command's first line; None for now.
    """
    return Ledger(
        settings.seconds,
        settings.reserve,
        time.monotonic() if started is None else started,
        slowness=crowding(),
    )


def is_late(settings: Settings, ledger: Ledger) -> bool:
    """Whether a run that is measured by seconds has none left for any trial."""
    return settings.trials is None and ledger.spare <= 0


def has_time(settings: Settings, started: float) -> bool:
    """Whether a run that is about to begin is likely to begin a trial, at the pace of the machine so far."""
    ledger = ledger_of(settings, started)
    return settings.trials is not None or ledger.spare > START_SECONDS * ledger.slowness
