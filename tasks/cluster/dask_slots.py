"""Slots of a Dask cluster: every worker holds killable slots of its own, and the driver gives them jobs.

::

    driver ── order, by reference ──► Dask worker ── pipe ──► its supervisor ── fork ──► slot
       ▲                                  │
       └──────── begun, answer ───────────┘

Limits, kills and statuses are those of a machine's own slots. A worker that is lost costs its jobs in
flight, which are begun again elsewhere; workers that join add slots.
"""

from __future__ import annotations

import contextlib
import math
import os
import pickle
import threading
import time
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

from distributed import Client

from automl.errors import AutoMLError, StorageError
from automl.evaluation.exchange import OVER
from automl.evaluation.job_files import adopt_outputs
from automl.evaluation.predictions import PredictionStore
from automl.evaluation.slots import Job, JobOutcome
from automl.home import RunFolder
from automl.installation import make_key
from automl.records import TrialStatus
from automl.settings import Settings
from automl_tasks.cluster import worker as far
from automl_tasks.cluster.connection import await_workers, connect
from automl_tasks.cluster.errands import Errands, cancelled, lose
from automl_tasks.cluster.members import Members, Seat
from automl_tasks.cluster.orders import Answer, RunOnCluster
from automl_tasks.cluster.reachable import check_reachable
from automl_tasks.cluster.watching import Watch, call

CLOSE_SECONDS = 5.0
"""For what a client and its workers end by themselves; closing took 0.2 to 0.3 s on one machine."""
LOOK_SECONDS = 0.5
"""Between two looks at the time of a job that waits for a worker."""
MOST_LOSSES = 3
"""Workers that one job may lose: more often the job is to blame than the cluster."""


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
        self._is_closed = False
        make_key()  # so that a worker with the same one can be told from others
        self._watch = Watch(
            client,
            str(settings.cluster),
            self._run,
            self._members,
            self._state,
            proof=far.key_proof(token),
            on_lost=lose,
        )
        self._errands = Errands(client, self._run, folder, self._state, self._watch.doubt)
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
        self._errands.cancel(seat)

    def run(
        self,
        slot: int,
        job: Job,
        *,
        limit_seconds: float | None,
        is_over: Callable[[], bool] | None = None,
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
                return self._run_on_members(seat, job, limit_seconds, is_over)
            finally:
                seat.is_busy = False

    def close(self) -> None:
        """See `Slots.close`."""
        with self._state:
            if self._is_closed:
                return
            self._is_closed = True
            self._errands.close(self._members.seats.values())
            self._state.notify_all()
        self._watch.stop()
        addresses = self._watch.addresses
        call(self._client, addresses, far.end_run, self._run.token, is_awaited=True)
        with contextlib.suppress(Exception):  # the cluster may be gone, which is no matter now
            self._client.close(timeout=CLOSE_SECONDS)
        (self._folder / self._run.probe).unlink(missing_ok=True)

    def _run_on_members(
        self,
        seat: Seat,
        job: Job,
        limit_seconds: float | None,
        is_over: Callable[[], bool] | None,
    ) -> JobOutcome:
        started = time.monotonic()
        message = pickle.dumps((job.target, dict(job.payload)), protocol=5)

        def is_late() -> bool:
            took = time.monotonic() - started
            return (is_over is not None and is_over()) or took >= (limit_seconds or math.inf)

        left = limit_seconds
        for _ in range(MOST_LOSSES):
            answer = self._errands.attempt(seat, job, message, left, is_over=is_over)
            if answer is not None:
                return self._conclude(answer, job)
            if seat.is_cancelled or self._is_closed:
                return cancelled("cancelled")
            if is_late() or not self._move(seat, unless=is_late):
                break
            left = limit_seconds and max(limit_seconds - (time.monotonic() - started), 0.0)
        took = time.monotonic() - started
        if is_over is not None and is_over():
            return JobOutcome(TrialStatus.TIMED_OUT, [], OVER, took)
        reason = "its Dask worker was lost or did not answer"
        return JobOutcome(TrialStatus.KILLED, [], reason, took)

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

    def _move(self, seat: Seat, *, unless: Callable[[], bool]) -> bool:
        """Find another slot for a job whose worker was lost; whether there was one before `unless` held.

        Raises
        ------
        AutoMLError
            If there is none any more.
        """

        def is_due() -> bool:
            return self._is_ended or self._members.free() is not None

        with self._state:
            self._n_moving += 1
            try:
                while not self._state.wait_for(is_due, LOOK_SECONDS):
                    if unless():
                        return False
                self._refuse_if_ended()
                member = self._members.free()
                assert member is not None
                self._members.move(seat, member)
                return True
            finally:
                self._n_moving -= 1
                self._state.notify_all()

    @property
    def _is_ended(self) -> bool:
        return self._is_closed or self._watch.failure is not None

    def _refuse_if_ended(self) -> None:
        if self._is_closed:
            raise AutoMLError("the worker pool is closed")
        if self._watch.failure is not None:
            raise self._watch.failure
