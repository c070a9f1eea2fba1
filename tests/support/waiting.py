"""Waits for what becomes true by and by, with patience that a busy machine does not use up."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

import pytest

PATIENCE_SECONDS = 120.0
"""For what takes no second on a machine that does nothing else."""

T = TypeVar("T")


def until(
    condition: Callable[[], T], seconds: float = PATIENCE_SECONDS, *, pause: float = 0.05
) -> T:
    """What `condition` gives as soon as that is true; the test fails if it never is.

    Parameters
    ----------
    seconds
        Longest wait; a condition that must be true soon is looked at once more at its end.
    pause
        Seconds between two looks.
    """
    deadline = time.monotonic() + seconds
    while True:
        is_last = time.monotonic() >= deadline
        found = condition()
        if found:
            return found
        if is_last:
            pytest.fail(f"nothing came of it within {seconds:g} s; the last look gave {found!r}")
        time.sleep(pause)
