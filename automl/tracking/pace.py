"""How much processor time the mirror may take while trials run."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from automl.evaluation.machine_limits import usable_cores

SHARE = 0.05
"""Share of the processors, for copying while trials run (by judgement)."""
OPENING_SECONDS = 5.0
"""Seconds of a processor, to import mlflow and open a store."""
OPENING_SHARE = 0.1
"""Share of a budget's processor seconds that opening may take; a shorter run opens the store when its search has
ended."""
OPENING_AT = 0.2
"""Share of the budget: nothing is opened before, since the beginning wants every core (by judgement)."""


@dataclass
class Pace:
    """An allowance of processor seconds that grows with the wall clock.

    Opening the store costs about 5 s (import of mlflow 3 s, a new SQLite store 2 s), so with two
    cores nothing is written in the first 50 s of a search. The rest follows later. A shorter run
    opens the store at a fifth of its budget if opening takes at most a tenth of it. The end then
    need not wait for it.

    Parameters
    ----------
    share : in (0, 1]
        Of all cores of the machine.
    budget_seconds : positive or None
        Wall clock of the run, if it has one.
    """

    share: float = SHARE
    n_cores: int = field(default_factory=usable_cores)
    budget_seconds: float | None = None
    began: float = field(default_factory=time.monotonic)

    @property
    def left(self) -> float:
        """Processor seconds that may be used now; negative when too many were used."""
        elapsed = time.monotonic() - self.began
        return self.share * self.n_cores * elapsed - time.process_time()

    @property
    def may_open(self) -> bool:
        """Whether the allowance covers opening the store."""
        if self.left >= OPENING_SECONDS:
            return True
        if self.budget_seconds is None:
            return False
        is_covered = OPENING_SHARE * self.n_cores * self.budget_seconds >= OPENING_SECONDS
        elapsed = time.monotonic() - self.began
        return is_covered and elapsed >= OPENING_AT * self.budget_seconds

    @property
    def may_write(self) -> bool:
        """Whether anything is left of the allowance."""
        return self.left > 0
