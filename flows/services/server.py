"""The local Prefect server of a run, and how to use one that is already running.

A `LocalServer` is one process in its own session (Ctrl-C does not reach it) that ends with the
process that started it. `local_server` decides whether one is needed: not when a flow calls us or `PREFECT_API_URL`
is set, not when `automl up` keeps one standing for this home, and not for a run whose time is over
before it has begun.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from automl.errors import ServiceError
from automl.privacy import UMASK, make_private_folder
from automl_flows.environment import TELEMETRY_OFF
from automl_flows.services.prefect_api import PrefectAPI, answers
from automl_flows.services.server_schema import ensure_database, remember_schema

HOST = "127.0.0.1"
READY_SECONDS = 120.0
"""Until a server counts as failed: its first start makes a database, slowly where the machine is
starved."""
STOP_SECONDS = 5.0
"""From SIGTERM to SIGKILL."""
DRAIN_SECONDS = 4.0
"""For what was sent to the server, and for what it has not written yet."""

SILENT_SECONDS = 10.0
"""A server that lives and has not answered so long is as good as none: a busy one takes seconds."""

ASK_SECONDS = 1.0
"""Between two questions whether it answers, and for the answer."""

SLOT_WAIT_SECONDS = 5
"""How soon a run asks again whether the one before it has ended; Prefect's 30 s leave the machine idle."""

_UNUSED_SERVICES = (
    "CANCELLATION_CLEANUP",
    "CLEANUP_RECONCILER",
    "EVENT_LOGGER",
    "EVENT_PERSISTER",
    "FOREMAN",
    "LATE_RUNS",
    "PAUSE_EXPIRATIONS",
    "REPOSSESSOR",
    "SCHEDULER",
    "TRIGGERS",
)
EMBEDDED = {
    **{f"PREFECT_SERVER_SERVICES_{name}_ENABLED": "false" for name in _UNUSED_SERVICES},
    "PREFECT_SERVER_REGISTER_BLOCKS_ON_START": "false",
    "PREFECT_SERVER_MEMOIZE_BLOCK_AUTO_REGISTRATION": "false",
}
OPEN_STATES = ["SCHEDULED", "PENDING", "RUNNING", "PAUSED", "CANCELLING"]
"""States of runs that have not ended, as Prefect calls them."""


class LocalServer:
    """A Prefect API server on this machine.

    Parameters
    ----------
    folder
        `PREFECT_HOME` of the server: its database, its log.
    url
        Base URL of a server that is already running; then start and stop do nothing.
    port
        Where it listens if that is free, else anywhere; 0 for any free one.
    embedded
        Without the services that only deployments need, and ended together with this process.
    is_idle
        Whether it is never started; a later one then gets what this one would have been told.
    lives
        Whether the process of a server that was already running is alive.
    """

    def __init__(
        self,
        folder: Path,
        *,
        url: str = "",
        port: int = 0,
        embedded: bool = True,
        is_idle: bool = False,
        lives: Callable[[], bool] | None = None,
    ) -> None:
        self.folder = folder
        self.url = url
        self.is_owned = not url
        self.is_idle = is_idle
        self._port = port
        self._embedded = embedded
        self._process: subprocess.Popen[bytes] | None = None
        self._lifeline = -1
        self._lives = lives
        self._began = datetime.now(UTC)
        self._heard = self._asked = time.monotonic()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def api_url(self) -> str:
        """What `PREFECT_API_URL` must be for clients."""
        return f"{self.url}/api"

    @property
    def api(self) -> PrefectAPI:
        """Its API."""
        return PrefectAPI(self.api_url)

    @property
    def pid(self) -> int:
        """Process id; 0 when the server is not ours or not started."""
        return self._process.pid if self._process else 0

    @property
    def log(self) -> Path:
        """What the server prints."""
        return self.folder / "server.log"

    def start(self) -> None:
        """Start the process and return at once; `wait_ready` waits for it.

        Requests made meanwhile wait in the socket's backlog instead of being refused.

        Raises
        ------
        ServiceError
            If the process cannot be started.
        """
        if not self.is_owned or self.is_idle or self._process:
            return
        try:
            make_private_folder(self.folder)
            ensure_database(self.folder)
            with listen_at_best(self._port) as listener:
                self.url = f"http://{HOST}:{listener.getsockname()[1]}"
                self._spawn(listener)
        except OSError as error:
            raise ServiceError(f"the local Prefect server cannot be started: {error}") from None

    def is_alive(self) -> bool:
        """Whether the process runs, however slow it is."""
        if self._process:
            return self._process.poll() is None
        if self.is_owned or not self.url:
            return False
        return self._lives() if self._lives else answers(f"{self.api_url}/health")

    def is_silent(self) -> bool:
        """Whether it has not answered for `SILENT_SECONDS`; to be asked often, it asks now and then.

        Those who were ready once are meant: a server that starts is silent as well.
        """
        now = time.monotonic()
        if now - self._asked >= ASK_SECONDS:
            self._asked = now
            if answers(f"{self.api_url}/health", ASK_SECONDS):
                self._heard = time.monotonic()
        return time.monotonic() - self._heard > SILENT_SECONDS

    def is_ready(self, timeout: float = 0.5) -> bool:
        """Whether the API answers within `timeout` seconds."""
        return self.is_alive() and answers(f"{self.api_url}/health", timeout)

    def wait_ready(self, timeout: float | None = None) -> None:
        """Return as soon as the API answers.

        Parameters
        ----------
        timeout : seconds; None for `READY_SECONDS`

        Raises
        ------
        ServiceError
            If the process ends or `timeout` seconds pass first; the message quotes its log.
        """
        timeout = READY_SECONDS if timeout is None else timeout
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            if self.is_ready(timeout=min(1.0, timeout)):
                self._heard = time.monotonic()
                if self.is_owned:
                    remember_schema(self.folder)
                return
            if not self.is_alive():
                raise ServiceError(
                    f"the local Prefect server ended during its start: {self._last_words()}"
                )
            time.sleep(0.05)
        raise ServiceError(f"the local Prefect server did not answer within {timeout:g} s")

    @contextmanager
    def connected(self) -> Iterator[None]:
        """Point the Prefect client of this process and thread context at the server.

        Heartbeats of flow runs are off: each costs a second at the end of every flow.
        """
        from prefect.settings import (
            PREFECT_API_URL,
            PREFECT_FLOWS_HEARTBEAT_FREQUENCY,
            PREFECT_HOME,
            temporary_settings,
        )

        settings = {
            PREFECT_API_URL: self.api_url,
            PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None,
            PREFECT_HOME: self.folder,
        }
        with temporary_settings(settings):
            yield

    def drain(self, timeout: float = 10.0) -> bool:
        """Wait until what the clients of this process reported is in the database.

        Returns
        -------
        Whether the last task run reached the database in time; False when the server is away.
        """
        deadline = time.monotonic() + timeout
        if not self.is_ready(ASK_SECONDS):
            return False
        flush_clients(timeout)
        seen: tuple[int, int] | None = None
        while time.monotonic() < deadline:
            counts = self._count_task_runs()
            if counts is None:
                return False
            if counts == seen and (counts[1] == 0 or not self.is_owned):
                return True  # others may use a standing server, and their runs go on
            seen = counts
            time.sleep(0.25)
        return False

    def stop(self) -> None:
        """End the process if it is ours; at most about five seconds."""
        process, self._process = self._process, None
        if self._lifeline >= 0:
            os.close(self._lifeline)
            self._lifeline = -1
        if process is None:
            return
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def release(self) -> int:
        """Leave the process running after this one ends; returns its process id."""
        process, self._process = self._process, None
        if process is None:
            return 0
        process.returncode = 0  # no "still running" warning when the handle is collected
        return process.pid

    def _spawn(self, listener: socket.socket) -> None:
        command = [
            sys.executable,
            "-P",
            "-m",
            "automl_flows.services.server_process",
            str(listener.fileno()),
        ]
        descriptors = [listener.fileno()]
        read_end = -1
        if self._embedded:
            read_end, self._lifeline = os.pipe()
            command.append(str(read_end))
            descriptors.append(read_end)
        try:
            with self.log.open("wb") as log:
                self._process = subprocess.Popen(
                    command,
                    env=self._environment(listener.getsockname()[1]),
                    pass_fds=descriptors,
                    start_new_session=True,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    cwd=self.folder,
                    umask=UMASK,
                )
        finally:
            if read_end >= 0:
                os.close(read_end)

    def _environment(self, port: int) -> dict[str, str]:
        inherited = {key: value for key, value in os.environ.items() if key != "PREFECT_API_URL"}
        return {
            **inherited,
            **TELEMETRY_OFF,
            **(EMBEDDED if self._embedded else {}),
            "PREFECT_SERVER_DEPLOYMENTS_CONCURRENCY_SLOT_WAIT_SECONDS": str(SLOT_WAIT_SECONDS),
            "PREFECT_HOME": str(self.folder),
            "PREFECT_SERVER_API_HOST": HOST,
            "PREFECT_SERVER_API_PORT": str(port),
            "PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL": "WARNING",
        }

    def _last_words(self) -> str:
        lines = self.log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return lines[-1] if lines else f"its log {self.log} is empty"

    def _count_task_runs(self) -> tuple[int, int] | None:
        """Numbers of all task runs and of those that have not ended; None when unreachable."""
        # what killed drivers left open stays so
        since = {"expected_start_time": {"after_": self._began.isoformat()}}
        open_only = {"task_runs": {**since, "state": {"type": {"any_": OPEN_STATES}}}}
        try:
            counts = (self.api.post("task_runs/count", body) for body in ({}, open_only))
            return int(next(counts)), int(next(counts))
        except OSError:
            return None


def listen(port: int) -> socket.socket:
    """Listening socket on this machine only; port 0 takes any free one."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
        listener.listen(128)
    except OSError:
        listener.close()
        raise
    return listener


def listen_at_best(port: int) -> socket.socket:
    """Listening socket at a port, or at any free one where another program has it.

    Raises
    ------
    OSError
        If no port is free.
    """
    try:
        return listen(port)
    except OSError:
        return listen(0)


def flush_clients(timeout: float) -> None:
    """Send the events and log lines that the Prefect client of this process still holds."""
    if "prefect.events.worker" in sys.modules:
        sys.modules["prefect.events.worker"].EventsWorker.drain_all(timeout, at_exit=False)
    if "prefect.logging.handlers" in sys.modules:
        sys.modules["prefect.logging.handlers"].APILogWorker.drain_all(timeout, at_exit=False)
