"""Sees workers of a cluster come and go."""

from __future__ import annotations

import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from distributed import Client, Future

from automl.errors import AutoMLError, AutoMLWarning, ServiceError
from automl_tasks.cluster import worker as far
from automl_tasks.cluster.connection import unfit
from automl_tasks.cluster.members import Member, Members, Seat
from automl_tasks.cluster.orders import Opened, RunOnCluster
from automl_tasks.cluster.reachable import named

POLL_SECONDS = 0.5
"""A lost worker is noticed within this; one question to the scheduler takes a millisecond or two."""
ASK_SECONDS = 5.0
"""For one answer of the scheduler, which is milliseconds away; one that is late is asked again."""
SILENT_SECONDS = 30.0
"""After which a scheduler that does not answer is given up; distributed itself tries as long to reach it."""
EMPTY_SECONDS = 60.0
"""Seconds that a run waits for workers when the last one is gone: a machine is replaced within a minute."""
MOST_DOUBTS = 3
"""Failures of one worker after which the run leaves it alone: one may be its restart. By judgement."""


class Watch:
    """A thread that keeps the members of a run up to date.

    Parameters
    ----------
    address
        Of the scheduler, for sentences.
    run
        As the workers know it.
    members
        Read and changed with `state` held, which is notified of changes.
    proof
        What a worker with this installation's key answers, see `automl_tasks.cluster.worker.key_proof`.
    on_lost
        Called, with `state` held, with the seats on workers that are gone.

    Attributes
    ----------
    failure : why no job can run any more; None while some can, or may soon
    """

    def __init__(
        self,
        client: Client,
        address: str,
        run: RunOnCluster,
        members: Members,
        state: threading.Condition,
        *,
        proof: str,
        on_lost: Callable[[list[Seat]], None],
    ) -> None:
        self._client, self._address, self._run = client, address, run
        self._members, self._state, self._proof = members, state, proof
        self._on_lost = on_lost
        self.failure: AutoMLError | None = None
        self._opening: dict[str, Future] = {}
        self._refused: dict[str, str] = {}
        self._doubts: Counter[str] = Counter()
        self._heard = self._had_members = time.monotonic()
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="automl-cluster", daemon=True)

    def start(self) -> None:
        """Look once, then repeatedly."""
        self._look()
        self._thread.start()

    def stop(self) -> None:
        """End the thread."""
        self._is_over.set()
        self._thread.join(ASK_SECONDS)

    @property
    def addresses(self) -> list[str]:
        """Workers that serve the run, or are about to."""
        with self._state:
            return [*self._members.addresses, *self._opening]

    def doubt(self, address: str, reason: str) -> None:
        """Take no more slots of a worker that failed; it is asked again, but not for ever."""
        with self._state:
            self._doubts[address] += 1
            if self._doubts[address] >= MOST_DOUBTS:
                self._refuse(address, reason)
            self._give_up(address)

    def _watch(self) -> None:
        while not self._is_over.wait(POLL_SECONDS) and self.failure is None:
            self._look()

    def _look(self) -> None:
        try:
            found: dict[str, int] = self._client.sync(
                self._client.scheduler.ncores, callback_timeout=ASK_SECONDS
            )
        except Exception as error:  # noqa: BLE001 - of whatever kind a lost connection is
            self._note_silence(error)
            return
        self._heard = time.monotonic()
        with self._state:
            for address in {*self._members.addresses, *self._opening} - found.keys():
                self._give_up(address)
            for address in self._refused.keys() - found.keys():
                del self._refused[address]
            known = {*self._members.addresses, *self._opening, *self._refused}
        self._invite({address: found[address] for address in found.keys() - known})
        self._note_emptiness()

    def _invite(self, new: dict[str, int]) -> None:
        """Have workers begin to serve the run, those with other versions excepted."""
        if not new:
            return
        try:
            reasons = unfit(self._client, list(new))
        except Exception:  # noqa: BLE001 - as in `_look`, where it will show again
            return
        for address, n_threads in new.items():
            with self._state:
                if address in reasons:
                    self._refuse(address, reasons[address])
                else:
                    self._members.expect(address, max(n_threads // self._run.threads, 1))
                    self._open(address)

    def _open(self, address: str) -> None:
        future = self._client.submit(
            far.open_run, self._run, workers=[address], retries=0, pure=False
        )
        self._opening[address] = future
        future.add_done_callback(lambda done: self._take(address, done))

    def _take(self, address: str, future: Future) -> None:
        """A worker has begun to serve the run, or cannot; called in a thread of distributed."""
        try:
            opened: Opened = future.result(timeout=ASK_SECONDS)
        except Exception as error:  # noqa: BLE001 - its own, or of whatever kind Dask raises
            if not self._is_over.is_set():
                self.doubt(address, f"cannot run trials: {type(error).__name__}: {error}")
            return
        with self._state:
            if self._opening.pop(address, None) is not None:
                is_foreign = not self._proof or opened.key_proof != self._proof
                self._members.join(
                    Member(address, opened, future, is_foreign or not opened.sees_folder)
                )
                self._state.notify_all()

    def _give_up(self, address: str) -> None:
        self._opening.pop(address, None)
        self._on_lost(self._members.leave(address))
        self._state.notify_all()

    def _refuse(self, address: str, reason: str) -> None:
        self._refused[address] = reason
        text = f"Dask worker {address} is not used: it {reason}"
        warnings.warn(text, AutoMLWarning, stacklevel=2)

    def _note_silence(self, error: Exception) -> None:
        if time.monotonic() > self._heard + SILENT_SECONDS or self._client.status == "closed":
            self._fail(f"{named(self._address)} is lost: {error}")

    def _note_emptiness(self) -> None:
        with self._state:
            if self._members.addresses or self._opening:
                self._had_members = time.monotonic()
                return
        if time.monotonic() > self._had_members + EMPTY_SECONDS:
            reasons = "; ".join(f"{name}: it {why}" for name, why in self._refused.items())
            because = f" ({reasons})" if reasons else ""
            self._fail(
                f"{named(self._address)} has had no worker to use for {EMPTY_SECONDS:g} s{because}"
            )

    def _fail(self, reason: str) -> None:
        with self._state:
            self.failure = ServiceError(f"{reason}; automl resume continues the run")
            self._state.notify_all()


def call(
    client: Client,
    addresses: list[str],
    function: Callable[..., Any],
    *arguments: Any,
    is_awaited: bool = False,
) -> None:
    """Call a function in the event loops of workers; those that are gone need not hear it."""
    if not addresses:
        return
    with suppress(Exception):
        client.sync(
            client._run,  # noqa: SLF001 - `run` itself cannot be limited in time
            function,
            *arguments,
            workers=addresses,
            wait=is_awaited,
            on_error="ignore",
            callback_timeout=ASK_SECONDS,
        )
