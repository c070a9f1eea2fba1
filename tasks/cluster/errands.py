"""One attempt of a job on the worker of its seat: the order, that the job has begun, and the answer."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from queue import Empty
from typing import Any
from uuid import uuid4

from distributed import Client, Future

from automl.evaluation.exchange import OVER
from automl.evaluation.slots import Job, JobOutcome
from automl.records import TrialStatus
from automl_tasks.cluster import worker as far
from automl_tasks.cluster.members import Member, Seat
from automl_tasks.cluster.orders import TOPIC, Answer, Order, RunOnCluster
from automl_tasks.cluster.sending import Sender
from automl_tasks.cluster.watching import call

OVERDUE_SECONDS = 15.0
"""Beyond a job's limit, for the way there and back and a worker that has others' tasks to do."""
ANSWER_SECONDS = 300.0
"""For the way of an answer that is there: fold models may be hundreds of megabytes."""
END_SECONDS = 5.0
"""For a job that was cancelled to end in its worker, which kills within a second."""
LOOK_SECONDS = 1.0
"""Between two looks at a job's own deadline while nothing arrives; limits are enforced by the worker."""
_BEGUN, _LOST, _CLOSED = object(), object(), object()
"""What arrives in an inbox beside the keys of tasks that are done: the job has begun, the worker is gone, the
slots are closed."""


class Errands:
    """Gives orders to workers and listens until they are answered; safe for several threads.

    Parameters
    ----------
    client
        Of the scheduler.
    run
        As the workers know it.
    folder
        Run folder.
    state
        Held while seats change.
    doubt
        Told the address of a worker that failed, and why.
    """

    def __init__(
        self,
        client: Client,
        run: RunOnCluster,
        folder: Path,
        state: threading.Condition,
        doubt: Callable[[str, str], None],
    ) -> None:
        self._client, self._run, self._folder = client, run, folder
        self._state, self._doubt = state, doubt
        self._sender = Sender(client)
        self._seats: dict[int, Seat] = {}
        self._n_orders = 0
        self._is_closed = False
        client.subscribe_topic(TOPIC, self._hear)

    def close(self, seats: Iterable[Seat]) -> None:
        """Answer all that wait on these seats, and whoever comes later, that the slots are closed."""
        self._is_closed = True
        for seat in seats:
            seat.inbox.put(_CLOSED)

    def attempt(
        self,
        seat: Seat,
        job: Job,
        message: bytes,
        limit_seconds: float | None,
        *,
        is_over: Callable[[], bool] | None,
    ) -> Answer | None:
        """Answer of the seat's worker; None if it was lost."""
        member = seat.member
        files = () if member.opened.sees_folder else self._sender.references(self._folder, job)
        order = Order(self._number(), message, limit_seconds, files, member.returns_files)
        with self._under_way(seat, order):
            while True:
                asked_at = time.monotonic()
                answer = self._await_answer(seat, order, is_over)
                if answer is None or not answer.missing:
                    return answer
                if not self._send(member, order, answer, asked_at):
                    return None

    def _send(self, member: Member, order: Order, answer: Answer, asked_at: float) -> bool:
        """Whether a worker's host has got the files that it asked for."""
        try:
            self._sender.send(member, self._folder, order.files, answer.missing, asked_at=asked_at)
        except Exception as error:  # noqa: BLE001 - its own, or of whatever kind Dask raises
            reason = f"cannot be sent the run's files: {type(error).__name__}: {error}"
            self._doubt(member.address, reason)
            return False
        return True

    @contextlib.contextmanager
    def _under_way(self, seat: Seat, order: Order) -> Any:
        """While an order is under way; what interrupts the waiting ends its job."""
        with self._state:
            while not seat.inbox.empty():
                seat.inbox.get()
            if seat.member.is_gone or self._is_closed:
                seat.inbox.put(_CLOSED if self._is_closed else _LOST)
            seat.number = order.number
            self._seats[order.number] = seat
        try:
            yield
        except BaseException:
            self.cancel(seat, is_awaited=True)
            raise
        finally:
            with self._state:
                del self._seats[order.number]
                seat.number = 0

    def _await_answer(
        self, seat: Seat, order: Order, is_over: Callable[[], bool] | None
    ) -> Answer | None:
        """Submit an order and listen until it is answered; None if its worker was lost."""
        future = self._submit(seat, order)
        heard, is_ended = time.monotonic(), False
        while True:
            with contextlib.suppress(TimeoutError):
                event = _next(seat)
                if event == future.key:
                    break
                if event is _LOST:
                    return None
                if event is _CLOSED:
                    return Answer(cancelled("cancelled: the slots were closed"))
                heard = time.monotonic()
            if not is_ended and is_over is not None and is_over():
                is_ended = True
                self.cancel(seat)
            if _is_overdue(order, heard):
                self.cancel(seat)
                return None
        return self._answer(seat, future, is_ended=is_ended)

    def _submit(self, seat: Seat, order: Order) -> Future:
        future = self._client.submit(
            far.run_job,
            self._run,
            order,
            key=f"automl-{self._run.token[:8]}-{order.number}-{uuid4().hex[:8]}",
            workers=[seat.member.address],
            allow_other_workers=False,
            retries=0,
            pure=False,
        )
        future.add_done_callback(lambda done: seat.inbox.put(done.key))
        if seat.is_cancelled:  # before there was a job to cancel
            self.cancel(seat)
        return future

    def _answer(self, seat: Seat, future: Future, *, is_ended: bool) -> Answer | None:
        """What the worker has answered; None if it ended, or ended the job without being asked to.

        Parameters
        ----------
        is_ended
            Whether it was asked to, since the job's time was over.
        """
        try:
            answer: Answer = future.result(timeout=ANSWER_SECONDS)
        except Exception as error:  # noqa: BLE001 - whatever Dask raises for a task that it gave up
            self._doubt(seat.member.address, f"{type(error).__name__}: {error}")
            return None
        if answer.failure:
            self._doubt(seat.member.address, answer.failure)
            return None
        outcome = answer.outcome
        if outcome is None or not outcome.is_cancelled or seat.is_cancelled:
            return answer
        if not is_ended:
            return None
        outcome = replace(outcome, status=TrialStatus.TIMED_OUT, reason=OVER, is_cancelled=False)
        return replace(answer, outcome=outcome)

    def _number(self) -> int:
        with self._state:
            self._n_orders += 1
            return self._n_orders

    def cancel(self, seat: Seat, *, is_awaited: bool = False) -> None:
        """End the job of a seat in its worker."""
        number = seat.number
        if number:
            address = seat.member.address
            call(self._client, [address], far.cancel_job, self._run.token, number)
        if is_awaited:
            self._await_end(seat)

    def _await_end(self, seat: Seat) -> None:
        """Wait until a job that was cancelled is over, where its worker lives."""
        until = time.monotonic() + END_SECONDS
        while time.monotonic() < until:
            with contextlib.suppress(TimeoutError):
                event = _next(seat)
                if event in (_LOST, _CLOSED) or isinstance(event, str):
                    return

    def _hear(self, event: tuple[float, dict[str, Any]]) -> None:
        """A worker says that a job has begun; called in the client's event loop."""
        message = event[1]
        if message.get("token") == self._run.token:
            seat = self._seats.get(message["job"])
            if seat is not None:
                seat.inbox.put(_BEGUN)


def _is_overdue(order: Order, heard: float) -> bool:
    """Whether a worker that was heard of last at that time should have answered."""
    limit = order.limit_seconds
    return limit is not None and time.monotonic() > heard + limit + OVERDUE_SECONDS


def lose(seats: list[Seat]) -> None:
    """Tell all that wait on these seats that their worker is gone."""
    for seat in seats:
        seat.inbox.put(_LOST)


def _next(seat: Seat) -> Any:
    """Next event of a seat.

    Raises
    ------
    TimeoutError
        If there is none within `LOOK_SECONDS`.
    """
    try:
        return seat.inbox.get(timeout=LOOK_SECONDS)
    except Empty:
        raise TimeoutError from None


def cancelled(reason: str) -> JobOutcome:
    """Outcome of a job that was ended on purpose."""
    return JobOutcome(TrialStatus.FAILED, [], reason, is_cancelled=True)
