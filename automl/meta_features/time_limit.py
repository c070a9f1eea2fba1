"""How the computation of a meta-feature ends: without a number, or out of time."""

from __future__ import annotations

import time
from collections.abc import Callable


class UndefinedError(Exception):
    """The data set has no such number; the message says why, for example that no column is numeric."""


class TooLateError(Exception):
    """The limit of time has passed; never leaves `describe`."""


class Deadline:
    """A moment after which `check` raises; what runs looks at it between its steps.

    Parameters
    ----------
    seconds : from now; None for never
    clock
        Seconds that only grow.
    """

    def __init__(
        self, seconds: float | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._clock = clock
        self._end = None if seconds is None else clock() + seconds

    def check(self) -> None:
        """Do nothing before the moment.

        Raises
        ------
        TooLateError
            After it.
        """
        if self._end is not None and self._clock() > self._end:
            raise TooLateError
