"""Killable worker slots: each runs one job at a time in a process of its own.

::

    driver ── control ──► supervisor ── fork ──► worker of slot 0, 1, …
      └────── line of each slot ──┘                  │
      └────── channel of each slot ──────────────────┘

The supervisor enforces time and memory; a job that breaks its limits or its process costs that
job alone. Nothing is left behind when the driver ends, in whatever way.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from automl.errors import AutoMLError, SettingsError
from automl.evaluation import channel as messages
from automl.evaluation.exchange import Exchange, Job, JobOutcome
from automl.evaluation.launch import SupervisorLostError, SupervisorProcess
from automl.evaluation.machine_limits import memory_limit_mib as default_memory_limit_mib
from automl.evaluation.seats import Seat
from automl.evaluation.supervisor import PRELOADED
from automl.evaluation.watch import GRACE_SECONDS
from automl.records import TrialStatus

LOG = "workers.log"
"""Name of the file in a run folder that everything its workers print is appended to."""
JOB_MODULES = (
    "automl.evaluation.trial",
    "automl.evaluation.model_jobs",
    "automl.families.registry",
)
"""Modules of the jobs of a run, to be imported once for all workers."""
_MOST_LOSSES = 3
"""Supervisors that a run may lose: more have a cause that stays."""
_MOST_RETRIES = 3
"""Workers that a slot may lose before a job begins: more have a cause that stays."""
_CLOSED = "cancelled: the pool was closed"


class WorkerPool:
    """`automl.evaluation.slots.Slots` of this machine.

    The constructor returns at once; the supervisor imports the numerical libraries meanwhile and
    the first `run` waits for it, or starts it. All methods may be called from several threads.

    Parameters
    ----------
    n_slots : at least 1
    context
        Handed to every job as its first argument, for instance the path of the table.
    threads : threads of the numerical libraries in each worker
    memory_limit_mib
        Most anonymous memory of one worker with all its descendants, beyond what the libraries
        take; by default the machine's or container's memory divided by the slots.
    start_timeout : seconds the supervisor may take to start
    log_path
        File that everything the workers print is appended to; by default it is thrown away.
    libraries
        Modules imported once for all workers.
    preload
        More of them, such as those of the jobs.
    starts_at_once
        Whether the supervisor is started now, and not by the first that asks for a worker.
    environment
        Variables of the workers, beside those of this process.

    Raises
    ------
    SettingsError
        If a number is below 1, or the log cannot be written.
    """

    def __init__(
        self,
        n_slots: int,
        *,
        context: str,
        threads: int = 1,
        memory_limit_mib: int | None = None,
        start_timeout: float = 300.0,
        log_path: str | Path | None = None,
        libraries: Sequence[str] = PRELOADED,
        preload: Sequence[str] = (),
        starts_at_once: bool = True,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        _check_log(log_path)
        limit = default_memory_limit_mib(max(1, n_slots))
        self.n_slots = n_slots
        self.memory_limit_mib = limit if memory_limit_mib is None else memory_limit_mib
        _check_positive(n_slots=n_slots, threads=threads, memory_limit_mib=self.memory_limit_mib)
        self._start_timeout = start_timeout
        self._start = partial(
            SupervisorProcess,
            n_slots,
            context=context,
            threads=threads,
            log_path=None if log_path is None else Path(log_path),
            libraries=(*libraries, *preload),
            environment=environment or {},
        )
        self._seats = [Seat() for _ in range(n_slots)]
        self._free = deque(range(n_slots))
        self._freed = threading.Condition()
        self._gate = threading.Lock()
        self._n_losses = 0
        self._is_closed = False
        self._holder = _Holder(self._start() if starts_at_once else None)
        self._finalizer = weakref.finalize(self, self._holder.end, GRACE_SECONDS)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def is_ready(self, seconds: float) -> bool:
        """See `Slots.is_ready`; the first call starts a supervisor that was not started at once."""
        with self._gate:
            if self._holder.supervisor is None and not self._is_closed:
                self._holder.replace(self._start())
            supervisor = self._holder.supervisor
        if supervisor is None:
            return True
        return supervisor.is_ready_within(seconds) or not supervisor.is_running

    def acquire(self, timeout: float | None = None) -> int:
        """See `Slots.acquire`."""
        with self._freed:
            if not self._freed.wait_for(lambda: self._free or self._is_closed, timeout):
                raise TimeoutError(f"no slot became free in {timeout} s")
            self._refuse_if_closed()
            return self._free.popleft()

    def release(self, slot: int) -> None:
        """See `Slots.release`."""
        with self._freed:
            if slot not in self._free:
                self._free.append(slot)
                self._freed.notify()

    def run(
        self,
        slot: int,
        job: Job,
        *,
        limit_seconds: float | None,
        is_over: Callable[[], bool] | None = None,
    ) -> JobOutcome:
        """See `Slots.run`."""
        frames = messages.encode((job.target, dict(job.payload)))
        started = time.monotonic()
        with self._seats[slot].occupied():
            self._refuse_if_closed()
            exchange = partial(Exchange, self._seats[slot], is_over)
            outcome = self._run_once(slot, exchange, frames, limit_seconds)
            left = limit_seconds and limit_seconds - (time.monotonic() - started)
            if outcome.status is TrialStatus.KILLED and (left is None or left > 0):
                started = time.monotonic()
                outcome = self._run_once(slot, exchange, frames, left)
            return replace(outcome, seconds=time.monotonic() - started)

    def cancel(self, slot: int) -> None:
        """See `Slots.cancel`."""
        self._seats[slot].cancel()

    def close(self, grace: float = GRACE_SECONDS) -> None:
        """See `Slots.close`.

        Parameters
        ----------
        grace : seconds the supervisor gets before it is killed
        """
        with self._freed:
            self._is_closed = True
            self._freed.notify_all()
        with self._gate:
            self._finalizer.detach()
            self._holder.end(grace)
        for seat in self._seats:
            if seat.lock.acquire(timeout=1.0):
                seat.detach()
                seat.lock.release()

    def _run_once(
        self,
        slot: int,
        exchange: Callable[[], Exchange],
        frames: list[Any],
        limit_seconds: float | None,
    ) -> JobOutcome:
        """Outcome of a job that has reached a worker.

        Raises
        ------
        AutoMLError
            If it reached none.
        """
        for _ in range(_MOST_RETRIES):
            outcome = self._try(slot, exchange(), frames, limit_seconds)
            if outcome is not None:
                return outcome
        raise AutoMLError(f"slot {slot} lost its idle worker {_MOST_RETRIES} times in a row")

    def _try(
        self, slot: int, exchange: Exchange, frames: list[Any], limit_seconds: float | None
    ) -> JobOutcome | None:
        """Run once; None if the worker had died before the job reached it."""
        seat, limit_mib = self._seats[slot], self.memory_limit_mib
        try:
            supervisor = self._ready_supervisor()
        except AutoMLError:
            if self._is_closed:
                return exchange.outcome("cancelled", _CLOSED)
            raise
        try:
            seat.attach(supervisor, slot)
            outcome = exchange.run(frames, limit_seconds, 1024 * limit_mib)
        except SupervisorLostError as error:
            if self._is_closed:
                return exchange.outcome("cancelled", _CLOSED)
            self._lose(supervisor)
            return exchange.outcome("killed", str(error))
        except BaseException:
            with contextlib.suppress(SupervisorLostError):
                seat.replace()
            raise
        self._n_losses = 0
        return outcome

    def _ready_supervisor(self) -> SupervisorProcess:
        """A supervisor that can fork; one that was ended as it started is replaced."""
        while True:
            supervisor = self._supervisor()
            try:
                supervisor.wait_ready(self._start_timeout)
            except SupervisorLostError:
                self._lose(supervisor)
            else:
                return supervisor

    def _supervisor(self) -> SupervisorProcess:
        """The supervisor in use, or a new one."""
        with self._gate:
            self._refuse_if_closed()
            if not self._holder.is_owned:
                raise AutoMLError("a worker pool cannot be used in a fork of its process")
            supervisor = self._holder.supervisor
            if supervisor is not None and not self._holder.is_lost:
                return supervisor
            if self._n_losses > _MOST_LOSSES:
                raise AutoMLError(
                    f"the supervisor of the worker slots was lost {self._n_losses} times in a "
                    "row; it is killed from outside, or the machine lacks memory"
                )
            return self._holder.replace(self._start())

    def _lose(self, supervisor: SupervisorProcess) -> None:
        """Give up a supervisor; the first of the threads that notice it counts it."""
        with self._gate:
            if supervisor is self._holder.supervisor and not self._holder.is_lost:
                self._n_losses += 1
                self._holder.lose()

    def _refuse_if_closed(self) -> None:
        if self._is_closed:
            raise AutoMLError("the worker pool is closed")


def _check_positive(**numbers: int) -> None:
    for name, value in numbers.items():
        if value < 1:
            raise SettingsError(f"{name} of the worker pool must be at least 1; got {value}")


def _check_log(path: str | Path | None) -> None:
    if path is not None:
        try:
            with Path(path).open("ab"):
                pass
        except OSError as error:
            raise SettingsError(f"{path}: the log cannot be written: {error}") from error


class _Holder:
    """The supervisor in use, if any yet; ends it only in the process that started it."""

    def __init__(self, supervisor: SupervisorProcess | None) -> None:
        self.supervisor = supervisor
        self.is_lost = False
        self._owner = os.getpid()

    @property
    def is_owned(self) -> bool:
        return os.getpid() == self._owner

    def replace(self, supervisor: SupervisorProcess) -> SupervisorProcess:
        self.supervisor, self.is_lost = supervisor, False
        return supervisor

    def lose(self) -> None:
        self._end(0.0)

    def end(self, grace: float) -> None:
        if self.is_owned and not self.is_lost:
            self._end(grace)

    def _end(self, grace: float) -> None:
        self.is_lost = True
        if self.supervisor is not None:
            self.supervisor.end(grace)
