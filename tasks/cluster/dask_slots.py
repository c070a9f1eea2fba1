"""Slots of a Dask cluster: every worker holds killable slots of its own, and the driver gives them jobs.

::

    driver ── order, by reference ──► Dask worker ── pipe ──► its supervisor ── fork ──► slot
       ▲                                  │
       └── results as they arrive, answer ┘

Limits, kills and statuses are those of a machine's own slots. A worker that is lost costs its jobs in
flight, which are begun again elsewhere; workers that join add slots.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import threading
import time
from collections.abc import Callable
from pathlib import Path
from queue import Empty
from typing import Any
from uuid import uuid4

from distributed import Client, Future

from automl.errors import AutoMLError, StorageError
from automl.evaluation.job_files import adopt_outputs
from automl.evaluation.predictions import PredictionStore
from automl.evaluation.slots import Job, JobOutcome
from automl.home import RunFolder
from automl.installation import make_key
from automl.records import TrialStatus
from automl.settings import Settings
from automl_tasks.cluster import worker as far
from automl_tasks.cluster.connection import await_workers, connect
from automl_tasks.cluster.members import Member, Members, Seat
from automl_tasks.cluster.orders import TOPIC, Answer, Order, RunOnCluster
from automl_tasks.cluster.reachable import check_reachable
from automl_tasks.cluster.sending import Sender
from automl_tasks.cluster.watching import Watch, call

OVERDUE_SECONDS = 15.0
"""Beyond a job's limit, for the way there and back and a worker that has others' tasks to do."""
ANSWER_SECONDS = 300.0
"""For the way of an answer that is there: fold models may be hundreds of megabytes."""
CLOSE_SECONDS = 5.0
"""For what a client and its workers end by themselves; closing took 0.2 to 0.3 s on one machine."""
MOST_LOSSES = 3
"""Workers that one job may lose: more often the job is to blame than the cluster."""
LOOK_SECONDS = 1.0
"""Between two looks at a job's own deadline while nothing arrives; limits are enforced by the worker."""
_LOST, _CLOSED = object(), object()
"""What arrives in an inbox beside results and the keys of tasks that are done: the worker is gone, the slots
are closed."""


def dask_slots(settings: Settings, folder: RunFolder) -> DaskSlots:
    """Slots of the cluster that the settings name.

    Raises
    ------
    ServiceError
        If the scheduler does not answer, or has no workers that can be used.
    """
    assert settings.cluster is not None
    check_reachable(settings.cluster)
    client = connect(settings.cluster)
    try:
        await_workers(client, settings.cluster)
    except BaseException:
        client.close(timeout=CLOSE_SECONDS)
        raise
    return DaskSlots(client, settings, folder.path)


class DaskSlots:
    """`automl.evaluation.slots.Slots` of a Dask cluster.

    Parameters
    ----------
    client
        Of the scheduler; ended by `close`.
    settings
        `cluster`, `workers` (most jobs at a time; 0 for all), `threads`, `memory_mib` and
        `predictions_quota_mib` are read.
    folder
        Run folder, whose path is the jobs' context where workers see it.
    """

    def __init__(self, client: Client, settings: Settings, folder: Path) -> None:
        self._client, self._folder = client, folder
        self._store = PredictionStore(folder / "predictions", settings.predictions_quota_mib)
        token = uuid4().hex
        self._run = RunOnCluster(
            token,
            str(folder),
            f".cluster-{token}",
            settings.threads,
            None if settings.memory_mib is None else int(settings.memory_mib),
            os.environ.get("PYTHONHASHSEED", "0"),
        )
        (folder / self._run.probe).touch()
        self._members = Members(settings.workers or None)
        self._state = threading.Condition()
        self._n_moving = 0
        self._n_orders = 0
        self._is_closed = False
        self._seats_of_orders: dict[int, Seat] = {}
        self._sender = Sender(client)
        client.subscribe_topic(TOPIC, self._hear)
        make_key()  # so that a worker with the same one can be told from others
        self._watch = Watch(
            client,
            str(settings.cluster),
            self._run,
            self._members,
            self._state,
            proof=far.key_proof(token),
            on_lost=_lose,
        )
        self._watch.start()

    @property
    def n_slots(self) -> int:
        """Jobs that can run at a time on the workers that are there now."""
        with self._state:
            return self._members.n_slots

    def is_ready(self, seconds: float) -> bool:
        """See `Slots.is_ready`."""
        with self._state:
            return self._state.wait_for(
                lambda: self._is_ended or bool(self._members.addresses), seconds
            )

    def acquire(self, timeout: float | None = None) -> int:
        """See `Slots.acquire`; jobs that lost their worker come first.

        Raises
        ------
        ServiceError
            If the cluster is lost.
        """
        with self._state:

            def is_due() -> bool:
                has_free = not self._n_moving and self._members.free() is not None
                return has_free or self._is_ended

            if not self._state.wait_for(is_due, timeout):
                raise TimeoutError(f"no slot became free in {timeout} s")
            self._refuse_if_ended()
            member = self._members.free()
            assert member is not None
            return self._members.sit(member)

    def release(self, slot: int) -> None:
        """See `Slots.release`."""
        with self._state:
            self._members.stand_up(slot)
            self._state.notify_all()

    def cancel(self, slot: int) -> None:
        """See `Slots.cancel`."""
        with self._state:
            seat = self._members.seats.get(slot)
            if seat is None or not seat.is_busy:
                return
            seat.is_cancelled = True
        self._cancel(seat)

    def run(
        self,
        slot: int,
        job: Job,
        *,
        limit_seconds: float | None,
        on_result: Callable[[Any], object] | None = None,
    ) -> JobOutcome:
        """See `Slots.run`; a job whose worker is lost is begun again on another one.

        Raises
        ------
        ServiceError
            If the cluster is lost.
        """
        with self._state:
            self._refuse_if_ended()
            seat = self._members.seats[slot]
        with seat.lock:
            seat.is_busy, seat.is_cancelled = True, False
            try:
                return self._run_on_members(seat, job, limit_seconds, on_result)
            finally:
                seat.is_busy = False

    def close(self) -> None:
        """See `Slots.close`."""
        with self._state:
            if self._is_closed:
                return
            self._is_closed = True
            for seat in self._members.seats.values():
                seat.inbox.put(_CLOSED)
            self._state.notify_all()
        self._watch.stop()
        addresses = self._watch.addresses
        call(self._client, addresses, far.end_run, self._run.token, is_awaited=True)
        with contextlib.suppress(Exception):  # the cluster may be gone, which is no matter now
            self._client.close(timeout=CLOSE_SECONDS)
        (self._folder / self._run.probe).unlink(missing_ok=True)

    # --- one job ------------------------------------------------------------------------------

    def _run_on_members(
        self,
        seat: Seat,
        job: Job,
        limit_seconds: float | None,
        on_result: Callable[[Any], object] | None,
    ) -> JobOutcome:
        started = time.monotonic()
        message = pickle.dumps((job.target, dict(job.payload)), protocol=5)
        left = limit_seconds
        for _ in range(MOST_LOSSES):
            if left is not None and left <= 0:
                break
            answer = self._attempt(seat, job, message, left, on_result)
            if answer is not None:
                return self._conclude(answer, job)
            if seat.is_cancelled or self._is_closed:
                return _cancelled("cancelled")
            self._move(seat)
            left = limit_seconds and limit_seconds - (time.monotonic() - started)
        reason = "its Dask worker was lost or did not answer"
        return JobOutcome(TrialStatus.KILLED, [], reason, time.monotonic() - started)

    def _attempt(
        self,
        seat: Seat,
        job: Job,
        message: bytes,
        limit_seconds: float | None,
        on_result: Callable[[Any], object] | None,
    ) -> Answer | None:
        """Answer of the seat's worker; None if it was lost."""
        member = seat.member
        files = () if member.opened.sees_folder else self._sender.references(self._folder, job)
        order = Order(
            self._number(),
            message,
            limit_seconds,
            files,
            on_result is not None,
            member.returns_files,
        )
        with self._under_way(seat, order):
            while True:
                asked_at = time.monotonic()
                answer = self._await_answer(seat, order, on_result)
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
            self._watch.doubt(member.address, reason)
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
            self._seats_of_orders[order.number] = seat
        try:
            yield
        except BaseException:
            self._cancel(seat, is_awaited=True)
            raise
        finally:
            with self._state:
                del self._seats_of_orders[order.number]
                seat.number = 0

    def _await_answer(
        self, seat: Seat, order: Order, on_result: Callable[[Any], object] | None
    ) -> Answer | None:
        """Submit an order and listen until it is answered; None if its worker was lost."""
        future = self._submit(seat, order)
        if seat.is_cancelled:
            self._cancel(seat)
        heard, n_heard = time.monotonic(), 0
        while True:
            with contextlib.suppress(TimeoutError):
                event = _next(seat)
                if event == future.key:
                    break
                if event is _LOST:
                    return None
                if event is _CLOSED:
                    return Answer(_cancelled("cancelled: the slots were closed"))
                heard = time.monotonic()
                if isinstance(event, bytes) and on_result is not None:
                    n_heard += 1
                    on_result(pickle.loads(event))
            limit = order.limit_seconds
            if limit is not None and time.monotonic() > heard + limit + OVERDUE_SECONDS:
                self._cancel(seat)
                return None
        answer = self._answer(seat, future)
        if answer is not None and answer.outcome is not None and on_result is not None:
            unheard = answer.n_told - n_heard
            for value in answer.outcome.results[-unheard:] if unheard > 0 else ():
                on_result(value)
        return answer

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
        return future

    def _answer(self, seat: Seat, future: Future) -> Answer | None:
        """What the worker has answered; None where it ended, or ended the job without being asked to."""
        try:
            answer: Answer = future.result(timeout=ANSWER_SECONDS)
        except Exception as error:  # noqa: BLE001 - whatever Dask raises for a task that it gave up
            self._watch.doubt(seat.member.address, f"{type(error).__name__}: {error}")
            return None
        if answer.failure:
            self._watch.doubt(seat.member.address, answer.failure)
            return None
        is_unasked = answer.outcome is not None and answer.outcome.is_cancelled
        return None if is_unasked and not seat.is_cancelled else answer

    def _conclude(self, answer: Answer, job: Job) -> JobOutcome:
        """Outcome of an answer whose files are here.

        Raises
        ------
        StorageError
            If the worker, or this process, could not write what the job keeps.
        """
        if answer.unstored:
            raise StorageError(answer.unstored)
        assert answer.outcome is not None
        adopt_outputs(self._folder, job.payload, answer.files, self._store)
        return answer.outcome

    def _move(self, seat: Seat) -> None:
        """Find another slot for a job whose worker was lost.

        Raises
        ------
        AutoMLError
            If there is none any more.
        """
        with self._state:
            self._n_moving += 1
            try:
                self._state.wait_for(lambda: self._is_ended or self._members.free() is not None)
                self._refuse_if_ended()
                member = self._members.free()
                assert member is not None
                self._members.move(seat, member)
            finally:
                self._n_moving -= 1
                self._state.notify_all()

    def _number(self) -> int:
        with self._state:
            self._n_orders += 1
            return self._n_orders

    # --- what is told to workers, and what they tell ---------------------------------------------

    def _cancel(self, seat: Seat, *, is_awaited: bool = False) -> None:
        """End the job of a seat in its worker."""
        number = seat.number
        if number:
            address = seat.member.address
            call(self._client, [address], far.cancel_job, self._run.token, number)
        if is_awaited:
            self._await_end(seat)

    def _await_end(self, seat: Seat) -> None:
        """Wait until a job that was cancelled is over, where its worker lives."""
        until = time.monotonic() + CLOSE_SECONDS
        while time.monotonic() < until:
            with contextlib.suppress(TimeoutError):
                event = _next(seat)
                if event in (_LOST, _CLOSED) or isinstance(event, str):
                    return

    def _hear(self, event: tuple[float, dict[str, Any]]) -> None:
        """A worker says how a job goes on; called in the client's event loop."""
        message = event[1]
        if message.get("token") == self._run.token:
            seat = self._seats_of_orders.get(message["job"])
            if seat is not None:
                seat.inbox.put(message["value"])

    # --- state ----------------------------------------------------------------------------------

    @property
    def _is_ended(self) -> bool:
        return self._is_closed or self._watch.failure is not None

    def _refuse_if_ended(self) -> None:
        if self._is_closed:
            raise AutoMLError("the worker pool is closed")
        if self._watch.failure is not None:
            raise self._watch.failure


def _lose(seats: list[Seat]) -> None:
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


def _cancelled(reason: str) -> JobOutcome:
    return JobOutcome(TrialStatus.FAILED, [], reason, is_cancelled=True)
