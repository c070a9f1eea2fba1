"""The part that runs inside a Dask worker: killable slots for each run that it serves.

The functions of this module are called by the driver of a run, over Dask. A worker serves a run as long as
the driver holds the future of `open_run`: Dask removes its result from the worker when the driver gives it
back, or is gone, and the slots end with it.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import os
import pickle
import socket
import threading
import time
from contextlib import suppress
from pathlib import Path

from distributed import get_worker

from automl.errors import AutoMLError, ServiceError, SettingsError, StorageError
from automl.evaluation.slots import Job, JobOutcome
from automl.evaluation.worker_pool import JOB_MODULES, LOG, WorkerPool
from automl.installation import read_key
from automl.records import TrialStatus
from automl_tasks.cluster.cache import FileCache
from automl_tasks.cluster.orders import TOPIC, Answer, Opened, Order, RunOnCluster

LEASE_SECONDS = 10.0
"""From the end of `open_run` until its result must be there, or its driver was gone before."""
LOOK_SECONDS = 0.25
"""Between two looks whether the run has ended; a worker's event loop is free meanwhile."""
START_SECONDS = 300.0
"""For the imports of a supervisor on a machine that is busy or whose disk is cold."""

_runs: dict[str, _HostedRun] = {}
_gate = threading.Lock()


def open_run(run: RunOnCluster) -> Opened:
    """Task: begin to serve a run; returns when trials can begin at once.

    Raises
    ------
    ServiceError
        If no slots can be started here.
    """
    with _gate:
        if run.token not in _runs:
            _runs[run.token] = _HostedRun(run)
        hosted = _runs[run.token]
    try:
        return _opened(hosted, run.token)
    finally:
        hosted.lease(get_worker().get_current_task())


def _opened(hosted: _HostedRun, token: str) -> Opened:
    until = time.monotonic() + START_SECONDS
    while not hosted.pool.is_ready(LOOK_SECONDS) and not hosted.is_ended:
        if time.monotonic() > until:
            raise ServiceError(f"its slots were not ready after {START_SECONDS:g} s")
    cache = f"{socket.gethostname()}:{hosted.cache.folder}"
    return Opened(hosted.pool.n_slots, cache, hosted.sees_folder, key_proof(token))


def key_proof(token: str) -> str:
    """HMAC of a token by the key of this installation; empty if it has none that is usable."""
    try:
        key = read_key()
    except SettingsError:
        return ""
    return "" if key is None else hmac.new(key, token.encode(), hashlib.sha256).hexdigest()


def run_job(run: RunOnCluster, order: Order) -> Answer:
    """Task: run a job in a slot of this worker and wait for its end."""
    hosted = _runs.get(run.token)
    if hosted is None:
        return Answer(failure="has ended to serve the run")
    if missing := hosted.place(order):
        return Answer(missing=missing)
    return hosted.run(order)


def keep_file(digest: str, content: bytes) -> None:
    """Task: take a file into the cache of this host."""
    FileCache().keep(digest, content)


async def cancel_job(token: str, number: int) -> None:
    """Called in the worker's event loop: end a job, whether it has begun here or not."""
    if (hosted := _runs.get(token)) is not None:
        hosted.cancel(number)


async def end_run(token: str) -> None:
    """Called in the worker's event loop: end the slots of a run; returns when they are gone."""
    await asyncio.to_thread(_end, token)


def _end(token: str) -> None:
    with _gate:
        hosted = _runs.pop(token, None)
    if hosted is not None:
        hosted.close()


class _HostedRun:
    """The slots of one run in this worker, and what of its folder is here.

    Parameters
    ----------
    run
        As the driver names it.
    """

    def __init__(self, run: RunOnCluster) -> None:
        self.cache = FileCache()
        self.cache.remove_old()
        self.sees_folder = _sees(Path(run.folder), run.probe)
        self._folder = (
            Path(run.folder)
            if self.sees_folder
            else self.cache.run_folder(run.token, Path(run.folder).name)
        )
        self._token = run.token
        self._data = get_worker().data
        self._lease = ""
        self._leased_at = 0.0
        self._jobs: dict[int, int] = {}
        self._cancelled: set[int] = set()
        self.is_ended = False
        n_slots = max(get_worker().state.nthreads // run.threads, 1)
        self.pool = WorkerPool(
            n_slots,
            context=str(self._folder),
            threads=run.threads,
            memory_limit_mib=run.memory_mib or _memory_mib(n_slots),
            log_path=self._folder / LOG,
            preload=JOB_MODULES,
            environment={"PYTHONHASHSEED": run.hash_seed},
        )
        threading.Thread(target=self._keep, name="automl-lease", daemon=True).start()

    def lease(self, key: str) -> None:
        """Serve the run as long as the worker holds the result of a task."""
        self._lease, self._leased_at = key, time.monotonic()

    def place(self, order: Order) -> tuple[str, ...]:
        """Have the files of an order where its job looks for them; digests of those that are missing."""
        return self.cache.place(self._folder, order.files)

    def cancel(self, number: int) -> None:
        """End a job, now or as soon as it begins."""
        self._cancelled.add(number)
        if (slot := self._jobs.get(number)) is not None:
            self.pool.cancel(slot)

    def run(self, order: Order) -> Answer:
        """Run a job in a slot of its own."""
        try:
            slot = self.pool.acquire()
        except AutoMLError as error:
            return Answer(failure=error.message)
        self._jobs[order.number] = slot
        try:
            get_worker().log_event(TOPIC, {"token": self._token, "job": order.number})
            return self._run(slot, order)
        except StorageError as error:
            return Answer(unstored=error.message)
        except AutoMLError as error:
            return Answer(failure=error.message)
        finally:
            del self._jobs[order.number]
            self._cancelled.discard(order.number)
            self.pool.release(slot)

    def _run(self, slot: int, order: Order) -> Answer:
        if order.number in self._cancelled:
            reason = "cancelled"
            return Answer(JobOutcome(TrialStatus.FAILED, [], reason, is_cancelled=True))
        target, payload = pickle.loads(order.job)
        outcome = self.pool.run(slot, Job(target, payload), limit_seconds=order.limit_seconds)
        files: dict[str, bytes] = {}
        if order.returns_files:
            from automl.evaluation.job_files import (  # slow, and seldom needed
                outputs_of,
                remove_outputs,
            )

            files = outputs_of(self._folder, payload)
            if not self.sees_folder:
                remove_outputs(self._folder, payload)
        return Answer(outcome, files)

    def close(self) -> None:
        """End all jobs and processes, and forget the run's files."""
        self.is_ended = True
        self.pool.close()
        if not self.sees_folder:
            self.cache.remove_run(self._folder)

    def _keep(self) -> None:
        """Serve as long as the driver lives; a job that was cancelled as it began is cancelled again."""
        while not self.is_ended:
            time.sleep(LOOK_SECONDS)
            for number in self._cancelled & self._jobs.keys():
                with suppress(KeyError):
                    self.pool.cancel(self._jobs[number])
            if self._is_given_up():
                _end(self._token)

    def _is_given_up(self) -> bool:
        """Whether the result of `open_run` is gone, or has not come."""
        if not self._lease:
            return False
        if self._lease in self._data:
            self._leased_at = -LEASE_SECONDS  # it was there: from now on it must stay
            return False
        return time.monotonic() > self._leased_at + LEASE_SECONDS


def _sees(folder: Path, probe: str) -> bool:
    return (folder / probe).exists() and os.access(folder, os.W_OK)


def _memory_mib(n_slots: int) -> int | None:
    """Part of this worker's memory for each slot; None if Dask sets no limit."""
    limit = get_worker().memory_manager.memory_limit
    return None if not limit else max(int(limit / 2**20 / n_slots), 1)
