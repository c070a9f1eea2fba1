"""Where jobs run, one at a time in each slot, within limits: the protocol, whoever provides the slots."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from automl.evaluation.exchange import Job, JobOutcome

__all__ = ["Job", "JobOutcome", "Slots"]


class Slots(Protocol):
    """Slots that run jobs in processes that can be killed; all methods may be called from several threads."""

    @property
    def n_slots(self) -> int:
        """Jobs that can run at a time, at least 1; it may change where slots come and go."""
        ...

    def is_ready(self, seconds: float) -> bool:
        """Whether jobs can begin at once, waiting for that at most so long; a failed start shows in `run`."""
        ...

    def acquire(self, timeout: float | None = None) -> int:
        """Take a free slot, waiting for one; give it back with `release`.

        Raises
        ------
        TimeoutError
            If none is free after `timeout` seconds.
        AutoMLError
            If the slots are closed.
        """
        ...

    def release(self, slot: int) -> None:
        """Give back a slot taken with `acquire`."""
        ...

    def run(
        self,
        slot: int,
        job: Job,
        *,
        limit_seconds: float | None,
        is_over: Callable[[], bool] | None = None,
    ) -> JobOutcome:
        """Run a job in a slot and wait for its end.

        A job whose process was ended from outside is begun once more, in what is left of its time.
        When this returns, no process that the job started is left. An exception that interrupts
        the waiting, such as KeyboardInterrupt or one of `is_over`, ends the job and is raised.

        Parameters
        ----------
        slot : from `acquire`
        job
            Its payload must pickle.
        limit_seconds : wall seconds; None for no limit
        is_over
            Asked in this thread about once a second while the job runs; it is TIMED_OUT once this holds.

        Raises
        ------
        AutoMLError
            If the slots are closed, or cannot be kept running.
        StorageError
            If what the job keeps could not be written, for instance to a full disk.
        """
        ...

    def cancel(self, slot: int) -> None:
        """End the job that runs in a slot, if any: its `run` returns FAILED, 'cancelled'."""
        ...

    def close(self) -> None:
        """End all jobs and processes; jobs in other threads return FAILED, 'cancelled'."""
        ...
