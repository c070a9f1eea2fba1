"""Messages to and from a worker."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from automl.errors import StorageError
from automl.evaluation import channel as messages
from automl.evaluation.seats import Seat
from automl.records import TrialStatus

OVER = "ended because the time that the run had for it was over"
"""Reason of a job that ended before its own time limit."""


@dataclass(frozen=True)
class Job:
    """Job for a worker.

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
        COMPLETE, FAILED (the job raised or was cancelled), TIMED_OUT, OUT_OF_MEMORY, CRASHED or KILLED.
    results
        What arrived, in order; not empty for a killed generator that had yielded.
    reason
        One sentence unless complete; ``TypeName: message`` for an exception.
    seconds : wall seconds, sending and receiving included
    peak_memory_mib : greatest sampled anonymous memory of the job's processes, libraries excluded
    traceback : of the exception, if there was one
    warnings : first distinct warnings of the job, at most 20
    is_cancelled
        Whether `Slots.cancel` or `Slots.close` ended it.
    """

    status: TrialStatus
    results: list[Any]
    reason: str = ""
    seconds: float = 0.0
    peak_memory_mib: float = 0.0
    traceback: str = ""
    warnings: tuple[str, ...] = ()
    is_cancelled: bool = False


class Exchange:
    """One job's conversation: what arrived so far, and how it ended.

    Parameters
    ----------
    seat
        Attached and held by this thread.
    is_over
        See `automl.evaluation.slots.Slots.run`.
    """

    def __init__(self, seat: Seat, is_over: Callable[[], bool] | None) -> None:
        self._seat, self._is_over = seat, is_over
        self._results: list[Any] = []
        self._ending: dict[str, Any] | None = None
        self._unreadable = ""
        self._broken = ""

    def run(
        self, frames: list[Any], limit_seconds: float | None, limit_kib: int
    ) -> JobOutcome | None:
        """Begin the job and listen until it has ended; None if its worker had died before."""
        seat = self._seat
        seat.begin(frames, limit_seconds, limit_kib)
        event: list[Any] | None = None
        while self._ending is None and event is None:
            event = seat.wait()
            self._listen()
            if self._broken and event is None:
                reason = f"the job broke the channel of its worker: {self._broken}"
                event = seat.last_words() or seat.kill("crashed", reason)
            if event is None and self._ending is None and self._is_over and self._is_over():
                event = seat.kill("timed_out", OVER)
                self._listen()
        if event is None:
            event = seat.end()
        if event[0] == "dead" and not seat.is_about_this_job(event):
            seat.fork()
            return None
        outcome = self._conclude(event, limit_kib)
        if outcome.status is TrialStatus.TIMED_OUT and outcome.reason != OVER:
            return replace(outcome, reason=f"over the time limit of {limit_seconds:g} s")
        return outcome

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
        else:
            self._results.append(value)

    def _conclude(self, event: list[Any], limit_kib: int) -> JobOutcome:
        """Outcome from the worker's own words, or else from the supervisor's.

        Raises
        ------
        StorageError
            If the worker could not write what it was to write: that is no fault of the job.
        """
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
        if self._ending["status"] == messages.UNSTORED:
            raise StorageError(self._ending["reason"])
        if self._unreadable:
            return self.outcome("failed", self._unreadable, **peak)
        fields = {name: self._ending[name] for name in ("traceback", "warnings")}
        return self.outcome(self._ending["status"], self._ending["reason"], **fields, **peak)
