"""A point of the clock until which weights may be learned."""

from __future__ import annotations

import time
from dataclasses import dataclass


@dataclass(frozen=True)
class Deadline:
    """A point of the monotonic clock, in seconds, or none."""

    at: float | None

    def has_time(self, seconds: float = 0.0) -> bool:
        """Whether more than `seconds` are left before the deadline."""
        return self.at is None or time.monotonic() + seconds < self.at

    def share(self, part: float) -> Deadline:
        """Deadline after a part in (0, 1] of the time that is left."""
        now = time.monotonic()
        return self if self.at is None else Deadline(now + part * max(self.at - now, 0.0))


NO_DEADLINE = Deadline(None)
