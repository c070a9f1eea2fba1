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
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from automl.errors import AutoMLError, SettingsError
from automl.evaluation import channel as messages
from automl.evaluation.launch import SupervisorProcess
from automl.evaluation.limits import memory_limit_mib as default_memory_limit_mib
from automl.evaluation.seats import Seat, SupervisorLostError
from automl.evaluation.supervisor import GRACE_SECONDS
from automl.records import TrialStatus

_MOST_LOSSES = 3
_MOST_RETRIES = 3


@dataclass(frozen=True)
class Job:
    """What a worker is to do.

    Parameters
    ----------
    target
        ``module:function``, called as ``function(context, payload)``. A generator streams what it
        yields (results so far survive a kill); any other return value is the single result.
    payload
        Picklable.
    """

    target: str
    payload: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class JobOutcome:
    """How a job ended.

    Parameters
    ----------
    status
        COMPLETE, FAILED (the job raised or was cancelled), TIMED_OUT, OUT_OF_MEMORY or CRASHED.
    results
        What arrived, in order; not empty for a killed generator that had yielded.
    reason
        One sentence unless complete; ``TypeName: message`` for an exception.
    seconds : wall seconds, sending and receiving included
    peak_memory_mib : greatest sampled anonymous memory of the job's processes, libraries excluded
    traceback : of the exception, if there was one
    warnings : first distinct warnings of the job, at most 20
    is_cancelled
        Whether `WorkerPool.cancel` or `WorkerPool.close` ended it.
    """

    status: TrialStatus
    results: list[Any]
    reason: str = ""
    seconds: float = 0.0
    peak_memory_mib: float = 0.0
    traceback: str = ""
    warnings: tuple[str, ...] = ()
    is_cancelled: bool = False


class WorkerPool:
    """Slots that run jobs in killable processes.

    The constructor returns at once; the supervisor imports the numerical libraries meanwhile and
    the first `run` waits for it. All methods may be called from several threads.

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
    preload
        More modules that the supervisor imports, such as those of the jobs.

    Raises
    ------
    SettingsError
        If a number is below 1.
    """

    def __init__(
        self,
        n_slots: int,
        *,
        context: str,
        threads: int = 1,
        memory_limit_mib: int | None = None,
        start_timeout: float = 60.0,
        log_path: str | Path | None = None,
        preload: Sequence[str] = (),
    ) -> None:
        for name, value in (("n_slots", n_slots), ("threads", threads)):
            if value < 1:
                raise SettingsError(f"{name} of the worker pool must be at least 1; got {value}")
        self.n_slots = n_slots
        self.memory_limit_mib = memory_limit_mib or default_memory_limit_mib(n_slots)
        self._start_timeout = start_timeout
        self._start = partial(
            SupervisorProcess,
            n_slots,
            context=context,
            threads=threads,
            log_path=None if log_path is None else Path(log_path),
            preload=tuple(preload),
        )
        self._seats = [Seat() for _ in range(n_slots)]
        self._free = deque(range(n_slots))
        self._freed = threading.Condition()
        self._gate = threading.Lock()
        self._n_losses = 0
        self._is_closed = False
        self._holder = _Holder(self._start())
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

    def acquire(self, timeout: float | None = None) -> int:
        """Take a free slot, waiting for one; give it back with `release`.

        Raises
        ------
        TimeoutError
            If none is free after `timeout` seconds.
        AutoMLError
            If the pool is closed.
        """
        with self._freed:
            if not self._freed.wait_for(lambda: self._free or self._is_closed, timeout):
                raise TimeoutError(f"no slot became free in {timeout} s")
            self._refuse_if_closed()
            return self._free.popleft()

    def release(self, slot: int) -> None:
        """Give back a slot taken with `acquire`."""
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
        on_result: Callable[[Any], object] | None = None,
    ) -> JobOutcome:
        """Run a job in a slot and wait for its end.

        When this returns, no process that the job started is left. An exception of `on_result`,
        or one that interrupts the waiting such as KeyboardInterrupt, ends the job and is raised.

        Parameters
        ----------
        slot : in [0, n_slots)
        job
            Its payload must pickle.
        limit_seconds : wall seconds; None for no limit
        on_result
            Called in this thread with every result as it arrives.

        Raises
        ------
        AutoMLError
            If the pool is closed, or its supervisor cannot be kept running.
        """
        seat = self._seats[slot]
        frames = messages.encode((job.target, dict(job.payload)))
        started = time.monotonic()
        with seat.occupied():
            for _ in range(_MOST_RETRIES):
                self._refuse_if_closed()
                exchange = _Exchange(seat, on_result)
                outcome = self._try(slot, exchange, frames, limit_seconds)
                if outcome is not None:
                    return replace(outcome, seconds=time.monotonic() - started)
        raise AutoMLError(f"slot {slot} lost its idle worker {_MOST_RETRIES} times in a row")

    def cancel(self, slot: int) -> None:
        """End the job that runs in a slot, if any: its `run` returns FAILED, 'cancelled'."""
        self._seats[slot].cancel()

    def close(self, grace: float = GRACE_SECONDS) -> None:
        """End all jobs and processes; jobs in other threads return FAILED, 'cancelled'.

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

    def _try(
        self, slot: int, exchange: _Exchange, frames: list[Any], limit_seconds: float | None
    ) -> JobOutcome | None:
        """Run once; None if the worker had died before the job reached it."""
        seat, limit_mib = self._seats[slot], self.memory_limit_mib
        supervisor = self._ready_supervisor()
        try:
            seat.attach(supervisor, slot)
            outcome = exchange.run(frames, limit_seconds, 1024 * limit_mib)
        except SupervisorLostError as error:
            if self._is_closed:
                return exchange.outcome("cancelled", "cancelled: the pool was closed")
            self._lose(supervisor)
            return exchange.outcome("crashed", str(error))
        except BaseException:
            with contextlib.suppress(SupervisorLostError):
                seat.replace()
            raise
        self._n_losses = 0
        return outcome

    def _ready_supervisor(self) -> SupervisorProcess:
        with self._gate:
            self._refuse_if_closed()
            if self._holder.is_lost:
                if self._n_losses > _MOST_LOSSES:
                    raise AutoMLError(
                        f"the supervisor of the worker slots was lost {self._n_losses} times in a "
                        "row; it is killed from outside, or the machine lacks memory"
                    )
                self._holder.replace(self._start())
            supervisor = self._holder.supervisor
        try:
            supervisor.wait_ready(self._start_timeout)
        except AutoMLError:
            self._refuse_if_closed()
            raise
        return supervisor

    def _lose(self, supervisor: SupervisorProcess) -> None:
        """Give up a supervisor; the first of the threads that notice it counts it."""
        with self._gate:
            if supervisor is self._holder.supervisor and not self._holder.is_lost:
                self._n_losses += 1
                self._holder.lose()

    def _refuse_if_closed(self) -> None:
        if self._is_closed:
            raise AutoMLError("the worker pool is closed")


class _Holder:
    """The supervisor in use; ends it only in the process that started it."""

    def __init__(self, supervisor: SupervisorProcess) -> None:
        self.supervisor = supervisor
        self.is_lost = False
        self._owner = os.getpid()

    def replace(self, supervisor: SupervisorProcess) -> None:
        self.supervisor, self.is_lost = supervisor, False

    def lose(self) -> None:
        self.is_lost = True
        self.supervisor.end(0.0)

    def end(self, grace: float) -> None:
        if os.getpid() == self._owner and not self.is_lost:
            self.is_lost = True
            self.supervisor.end(grace)


class _Exchange:
    """One job's conversation: what arrived so far, and how it ended."""

    def __init__(self, seat: Seat, on_result: Callable[[Any], object] | None) -> None:
        self._seat, self._on_result = seat, on_result
        self._results: list[Any] = []
        self._ending: dict[str, Any] | None = None
        self._unreadable = ""
        self._broken = ""

    def run(
        self, frames: list[Any], limit_seconds: float | None, limit_kib: int
    ) -> JobOutcome | None:
        """Begin the job and listen until it has ended; None if its worker had died before."""
        seat, asked = self._seat, False
        seat.begin(frames, limit_seconds, limit_kib)
        event: list[Any] | None = None
        while self._ending is None and event is None:
            event = seat.wait()
            self._listen()
            if self._broken and event is None and not asked:
                event = seat.last_words()
            if self._broken and event is None and not asked:
                seat.kill("crashed", f"the job broke the channel of its worker: {self._broken}")
                asked = True
        if event is None:
            event = seat.end()
        if event[0] == "dead" and not seat.is_about_this_job(event):
            seat.fork()
            return None
        return self._conclude(event, limit_kib)

    def outcome(self, status: str, reason: str, **fields: Any) -> JobOutcome:
        """Outcome with the results so far."""
        cancelled = status == "cancelled"
        kind = TrialStatus.FAILED if cancelled else TrialStatus(status)
        return JobOutcome(kind, self._results, reason, is_cancelled=cancelled, **fields)

    def _listen(self) -> None:
        """Take what the worker has sent."""
        while not self._broken and self._ending is None:
            try:
                for kind, value in self._seat.messages():
                    self._take(kind, value)
            except messages.MessageError as error:
                self._unreadable = f"a result cannot be read: {error}"
                continue
            except messages.ChannelClosedError as error:
                self._broken = str(error)
            return

    def _take(self, kind: str, value: Any) -> None:
        if kind == "done":
            self._ending = value
            return
        self._results.append(value)
        if self._on_result is not None:
            self._on_result(value)

    def _conclude(self, event: list[Any], limit_kib: int) -> JobOutcome:
        """Outcome from the worker's own words, or else from the supervisor's."""
        ending = self._ending or {"recycle": ""}
        if event[0] == "dead":
            self._seat.fork()
            _, _, status, reason, peak_kib = event
        else:
            _, _, peak_kib, retained_kib = event
            if ending["recycle"] or retained_kib > limit_kib // 2:
                self._seat.replace()
        peak = {"peak_memory_mib": peak_kib / 1024}
        if self._ending is None:
            return self.outcome(status, reason, **peak)
        if self._unreadable:
            return self.outcome("failed", self._unreadable, **peak)
        fields = {name: self._ending[name] for name in ("traceback", "warnings")}
        return self.outcome(self._ending["status"], self._ending["reason"], **fields, **peak)
