"""How the computation of a meta-feature can fail: undefined, or out of time."""

from __future__ import annotations

import time
from collections.abc import Callable


class UndefinedError(Exception):
    """The number is undefined for the data set; the message says why, for example: no column is numeric."""


class TooLateError(Exception):
    """The time limit has passed; never leaves `describe`."""


class Deadline:
    """A moment after which `check` raises; computations call it between their steps.

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
