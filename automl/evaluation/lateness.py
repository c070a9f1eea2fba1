"""When the folds that are left cannot end within the time limit of a trial."""

from __future__ import annotations

from collections.abc import Sequence


def lateness(fold_seconds: Sequence[float], n_jobs: int, left: float | None) -> str:
    """Why the remaining folds cannot end in time, or an empty text.

    They are taken to be as fast as the fastest so far, all of them: what is given up would have
    been killed at its limit, and all that it cost would have bought nothing.

    Parameters
    ----------
    fold_seconds : wall seconds of the folds that this trial ran
    n_jobs : folds that are left and those that were run
    left : seconds until the limit; None without one
    """
    n = len(fold_seconds)
    if left is None or not n or n >= n_jobs:
        return ""
    needed = (n_jobs - n) * min(fold_seconds)
    if needed <= left:
        return ""
    return (
        f"given up after {n} of {n_jobs} folds: the others take at least {needed:.3g} s, and "
        f"{max(left, 0.0):.3g} s of its time limit are left"
    )
