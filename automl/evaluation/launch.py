"""The driver's side of one supervisor process: start, readiness, end."""

from __future__ import annotations

import contextlib
import os
import select
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any
from uuid import uuid4

from automl.errors import AutoMLError
from automl.evaluation import processes

MARKER = "AUTOML_SLOTS"
_LOG_TAIL_BYTES = 2000
"""Bytes of a log, where its last line is looked for."""
_START_CHECK_SECONDS = 0.1
"""Between looks whether a supervisor that is starting still lives."""
_LONGEST_KILL_SECONDS = 5.0
"""On a starved machine what was killed is there for seconds; what stays longer is not ours to end."""


class SupervisorLostError(Exception):
    """The supervisor ended or no longer answers."""


class SupervisorProcess:
    """A running supervisor and the driver's ends of its sockets.

    The constructor does not wait for the supervisor's imports; `wait_ready` does.

    Parameters
    ----------
    n_slots : number of lines
    context : handed to every job
    threads : threads of the numerical libraries in each worker
    log_path
        File that the output of all workers is appended to; a temporary one when None.
    libraries : modules imported before the workers are forked
    environment : variables of the supervisor and its workers, beside those of this process

    Raises
    ------
    AutoMLError
        If no process can be started, or this is not Linux.
    """

    def __init__(
        self,
        n_slots: int,
        *,
        context: str,
        threads: int,
        log_path: Path | None,
        libraries: tuple[str, ...],
        environment: Mapping[str, str],
    ) -> None:
        if sys.platform != "linux":
            raise AutoMLError(f"worker slots need Linux; this is {sys.platform}")
        self.marker = f"{MARKER}={uuid4().hex}"
        self._ready = False
        self._is_ending = False
        self._last_line = "it wrote nothing"
        self._gate = threading.Lock()
        self._log: IO[bytes] = (
            tempfile.TemporaryFile("a+b") if log_path is None else log_path.open("a+b")  # noqa: SIM115
        )
        pairs = [
            socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(n_slots + 1)
        ]
        (self.control, control), *lines = pairs
        self._lines = {slot: own for slot, (own, _) in enumerate(lines)}
        theirs = [line for _, line in lines]
        command = [
            *(sys.executable, "-P", "-m", "automl.evaluation.supervisor"),
            *("--control", str(control.fileno())),
            *("--lines", ",".join(str(line.fileno()) for line in theirs)),
            *("--driver", str(os.getpid())),
            *("--context", context),
            *("--threads", str(threads)),
            *("--libraries", ",".join(libraries)),
        ]
        try:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=self._log,
                env={**_environment(threads, self.marker), **environment},
                pass_fds=[end.fileno() for end in (control, *theirs)],
                start_new_session=True,
            )
        except OSError as error:
            raise AutoMLError(f"{sys.executable}: no process can be started: {error}") from error
        finally:
            for end in (control, *theirs):
                end.close()

    @property
    def is_running(self) -> bool:
        """Whether the process has not ended."""
        return self.process.poll() is None

    def take_line(self, slot: int) -> socket.socket | None:
        """The driver's end of a slot's line, once; whoever takes it closes it."""
        with self._gate:
            return self._lines.pop(slot, None)

    def wait_ready(self, timeout: float) -> None:
        """Return when the imports are done and workers can be forked.

        Raises
        ------
        SupervisorLostError
            If something ends the supervisor before.
        AutoMLError
            If it ends by itself before, or is not ready after `timeout` seconds.
        """
        until = time.monotonic() + timeout
        while not self.is_ready_within(_START_CHECK_SECONDS):
            if self._is_ending or not self.is_running:
                code = self.process.returncode
                if code is None or code < 0:
                    raise SupervisorLostError("the supervisor of the slots was ended as it started")
                raise AutoMLError(
                    "the supervisor of the worker slots ended with code "
                    f"{code} while it started: {self._last_line}"
                )
            if time.monotonic() > until:
                raise AutoMLError(
                    f"the supervisor of the worker slots was not ready after {timeout:g} s"
                )

    def is_ready_within(self, seconds: float) -> bool:
        """Whether the imports are done, waiting for that at most so long."""
        with self._gate:
            if self._ready or self._is_ending:
                return self._ready
            poller = select.poll()
            poller.register(self.control, select.POLLIN)
            if poller.poll(1000 * seconds):
                with contextlib.suppress(OSError):
                    self._ready = self.control.recv(64, socket.MSG_DONTWAIT) == b"ready"
                if not self._ready:  # its end: the process is ending
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        self.process.wait(1.0)
                    self._last_line = self._read_last_line()
            return self._ready

    def _read_last_line(self) -> str:
        """Last line that the supervisor or a worker wrote."""
        size = os.fstat(self._log.fileno()).st_size
        data = os.pread(self._log.fileno(), _LOG_TAIL_BYTES, max(0, size - _LOG_TAIL_BYTES))
        lines = data.decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else "it wrote nothing"

    def end(self, grace: float) -> None:
        """End the supervisor and everything below it; waits at most about `grace` seconds.

        The lines that were taken stay open: the threads that wait on them see their end.
        """
        is_ready = self.is_ready_within(0.0)
        self._is_ending = True
        with contextlib.suppress(OSError):
            if is_ready:
                self.control.shutdown(socket.SHUT_RDWR)
            else:
                self.process.kill()  # still importing: it has no children
        try:
            self.process.wait(grace)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if self.process.returncode != 0 and is_ready:
            self._kill_rest()
        with self._gate:
            self.control.close()
            self._log.close()
            while self._lines:
                self._lines.popitem()[1].close()

    def _kill_rest(self) -> None:
        """End what a supervisor left that did not end in order."""
        until = time.monotonic() + _LONGEST_KILL_SECONDS
        left = processes.kill_marked(self.marker)
        while left and time.monotonic() < until:
            time.sleep(0.005)
            ending = {pid for pid in left if not processes.has_ended(pid)}
            left = ending | processes.kill_marked(self.marker)


def _environment(threads: int, marker: str) -> dict[str, str]:
    """Environment of the supervisor: the driver's import path, fixed threads and hashes.

    OpenBLAS and MKL start threads when they are loaded, so they get one there; the worker sets
    `threads` after its fork. Arrow's allocator would start one too.
    """
    name, _, value = marker.partition("=")
    own: dict[str, Any] = {
        name: value,
        "OMP_NUM_THREADS": threads,
        "OMP_WAIT_POLICY": "PASSIVE",
        "OPENBLAS_NUM_THREADS": 1,
        "MKL_NUM_THREADS": 1,
        "BLIS_NUM_THREADS": 1,
        "JE_ARROW_MALLOC_CONF": "background_thread:false",
        "NUMEXPR_NUM_THREADS": threads,
        "LOKY_MAX_CPU_COUNT": threads,
        "PYTHONPATH": os.pathsep.join(str(Path(entry).absolute()) for entry in sys.path),
        "PYTHONHASHSEED": os.environ.get("PYTHONHASHSEED", "0"),
        "PYTHONUNBUFFERED": "",
    }
    return {**os.environ, **{key: str(text) for key, text in own.items()}}
