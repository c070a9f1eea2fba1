"""The driver's side of one slot: its line to the supervisor and its channel to the worker."""

from __future__ import annotations

import contextlib
import itertools
import json
import select
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

from automl.evaluation import channel as messages
from automl.evaluation.launch import SupervisorLostError, SupervisorProcess

_OVERDUE_SECONDS = 3.0
"""What a supervisor has to answer, beyond a limit: it kills within `GRACE_SECONDS`, on a busy machine
later."""
_LAST_WORDS_SECONDS = 0.25
"""For the supervisor's line on a worker whose channel has ended; both end at the same moment."""
_LOOK_SECONDS = 0.2
"""Between two looks whether a job's time is over."""
_MESSAGE_BYTES = 1 << 16
_numbers = itertools.count(1)


class Seat:
    """One slot as its driver sees it.

    `lock` is held by the thread that runs a job; `cancel` may be called from any other.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._gate = threading.Lock()
        self._is_busy = False
        self._is_cancelled = False
        self._number = 0
        self._is_clean = True
        self._overdue: float | None = None
        self._supervisor: SupervisorProcess | None = None
        self._line: socket.socket | None = None
        self._channel: socket.socket | None = None
        self._reader: messages.MessageReader | None = None

    @contextlib.contextmanager
    def occupied(self) -> Iterator[None]:
        """Hold the seat for one job: from here on `cancel` has something to cancel."""
        with self.lock:
            with self._gate:
                self._is_busy, self._is_cancelled = True, False
            try:
                yield
            finally:
                with self._gate:
                    self._is_busy, self._number = False, 0

    def attach(self, supervisor: SupervisorProcess, slot: int) -> None:
        """Use the lines of `supervisor`, and have a worker there."""
        if supervisor is not self._supervisor:
            self.detach()
            self._supervisor, self._line = supervisor, supervisor.take_line(slot)
            self._is_clean = True
        if not self._is_clean:
            self.replace()
        elif self._channel is None:
            self.fork()

    def detach(self) -> None:
        """Close the sockets of the seat."""
        messages.close(self._channel)
        messages.close(self._line)
        self._supervisor = self._line = self._channel = self._reader = None

    def fork(self) -> None:
        """Ask for a fresh worker; its start is not awaited."""
        messages.close(self._channel)
        self._channel, theirs = socket.socketpair()
        self._reader = messages.MessageReader(self._channel)
        with theirs:
            self._tell(["fork"], theirs.fileno())
        self._is_clean = True

    def replace(self) -> None:
        """End the worker and all it has started, in whatever state, and ask for a fresh one."""
        self._is_clean = False
        token = next(_numbers)
        self._tell(["reset", token])
        self._overdue = time.monotonic() + _OVERDUE_SECONDS
        while self._wait_for_line() != ["reset", token]:
            pass
        self.fork()

    def begin(self, frames: list[Any], limit_seconds: float | None, limit_kib: int | None) -> None:
        """Hand a job to the worker, watched by the supervisor from now on."""
        assert self._channel is not None
        now = time.monotonic()
        deadline = None if limit_seconds is None else now + limit_seconds
        self._overdue = None if deadline is None else deadline + _OVERDUE_SECONDS
        with self._gate:
            self._number, self._is_clean = next(_numbers), False
            self._tell(["begin", self._number, deadline, limit_kib])
            if self._is_cancelled:
                self._tell_cancelled()
        with contextlib.suppress(OSError):  # the worker is gone: the line tells
            messages.send(self._channel, frames)

    def cancel(self) -> None:
        """End the running job, if there is one; safe from any thread."""
        with self._gate:
            if self._is_busy:
                self._is_cancelled = True
                if self._number:
                    with contextlib.suppress(SupervisorLostError):
                        self._tell_cancelled()

    def kill(self, status: str, reason: str) -> list[Any]:
        """End the running job; the supervisor's answer when it is done."""
        self._tell(["kill", self._number, status, reason])
        self._overdue = time.monotonic() + _OVERDUE_SECONDS
        return self._wait_for_line()

    def end(self) -> list[Any]:
        """Stop the watch; the supervisor's answer: ``ended`` or ``dead`` and what goes with it."""
        self._tell(["end", self._number])
        self._overdue = time.monotonic() + _OVERDUE_SECONDS
        event = self._wait_for_line()
        self._is_clean = event[0] == "ended"
        return event

    def wait(self) -> list[Any] | None:
        """Wait for a moment until the worker has sent something or the line says that it is dead.

        Returns
        -------
            The supervisor's message if there is one about the job that runs, or about an idle
            worker that died before it.

        Raises
        ------
        SupervisorLostError
            If the supervisor is gone or long overdue.
        """
        assert self._line is not None
        assert self._channel is not None
        ready = self._poll(self._line, self._channel, seconds=_LOOK_SECONDS)
        return self._event() if self._line.fileno() in ready else None

    def last_words(self) -> list[Any] | None:
        """Message about a worker whose channel has ended, unless the worker lives on."""
        assert self._line is not None
        ready = self._poll(self._line, seconds=_LAST_WORDS_SECONDS)
        return self._event() if ready else None

    def is_about_this_job(self, event: list[Any]) -> bool:
        """Whether a ``dead`` message is about the job that was begun last."""
        return bool(event[1] == self._number)

    def messages(self) -> Iterator[tuple[str, Any]]:
        """Messages of the worker that are complete by now.

        Raises
        ------
        ChannelClosedError, MessageError
            From `MessageReader.read`.
        """
        assert self._reader is not None
        return self._reader.read()

    def _tell_cancelled(self) -> None:
        self._tell(["kill", self._number, "cancelled", "cancelled"])

    def _wait_for_line(self) -> list[Any]:
        assert self._line is not None
        while not self._poll(self._line):
            pass
        return self._event()

    def _poll(self, *sockets: socket.socket, seconds: float = 1.0) -> set[int]:
        poller = select.poll()
        for each in sockets:
            poller.register(each, select.POLLIN)
        ready = {descriptor for descriptor, _ in poller.poll(1000 * seconds)}
        is_running = self._supervisor is not None and self._supervisor.is_running
        if not ready and not is_running:
            raise SupervisorLostError("the supervisor of the slots ended")
        is_overdue = self._overdue is not None and time.monotonic() > self._overdue
        if is_overdue and sockets[0].fileno() not in ready:  # the first is the line
            raise SupervisorLostError("the supervisor of the slots does not answer")
        return ready

    def _event(self) -> list[Any]:
        assert self._line is not None
        try:
            data = self._line.recv(_MESSAGE_BYTES, socket.MSG_DONTWAIT)
        except OSError as error:
            raise SupervisorLostError(f"the supervisor of the slots ended: {error}") from error
        if not data:
            raise SupervisorLostError("the supervisor of the slots ended")
        event: list[Any] = json.loads(data)
        return event

    def _tell(self, message: list[Any], descriptor: int | None = None) -> None:
        data = json.dumps(message).encode()
        if self._line is None:
            raise SupervisorLostError("the supervisor of the slots ended")
        try:
            if descriptor is None:
                self._line.send(data)
            else:
                socket.send_fds(self._line, [data], [descriptor])
        except OSError as error:
            raise SupervisorLostError(f"the supervisor of the slots ended: {error}") from error
