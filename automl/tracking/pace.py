"""How much processor time the mirror may take while trials run."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field

SHARE = 0.05
OPENING_SECONDS = 5.0


@dataclass
class Pace:
    """An allowance of processor seconds that grows with the wall clock.

    Opening the store costs about 5 s (import of mlflow 3 s, a new SQLite store 2 s), so with two
    cores nothing is written in the first 50 s of a search; what is missing then is caught up
    later or, in a short run, at the end.

    Parameters
    ----------
    share : in (0, 1]
        Of all cores of the machine.
    """

    share: float = SHARE
    n_cores: int = field(default_factory=lambda: os.cpu_count() or 1)
    began: float = field(default_factory=time.monotonic)

    @property
    def left(self) -> float:
        """Processor seconds that may be used now; negative when too many were used."""
        elapsed = time.monotonic() - self.began
        return self.share * self.n_cores * elapsed - time.process_time()

    @property
    def may_open(self) -> bool:
        """Whether the allowance covers opening the store."""
        return self.left >= OPENING_SECONDS

    @property
    def may_write(self) -> bool:
        """Whether anything is left of the allowance."""
        return self.left > 0
