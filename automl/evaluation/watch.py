"""The supervisor's side of one slot: its worker, the limits of its job, and its end."""

from __future__ import annotations

import contextlib
import json
import signal
import socket
import time
from typing import Any

from automl.evaluation import processes

GRACE_SECONDS = 0.2
"""From SIGTERM to SIGKILL: enough to end in order, and no slot waits longer."""
SAMPLE_SECONDS = 0.05
"""Between looks at a worker's memory: at 1 GiB/s it grows by 50 MiB meanwhile."""


class Slot:
    """One worker at a time, and the job it runs.

    Parameters
    ----------
    line
        Socket to the driver.
    """

    def __init__(self, line: socket.socket) -> None:
        self.line = line
        self.worker = 0
        self.baseline_kib = 0
        self.number = 0
        self.deadline: float | None = None
        self.limit_kib: int | None = None
        self.peak_kib = 0
        self.verdict: tuple[str, str] | None = None
        self.kill_at: float | None = None
        self.died_at: float | None = None
        self.token: int | None = None

    def begin(self, number: int, deadline: float | None, limit_kib: int | None) -> None:
        """Watch the job `number` from now on."""
        if self.worker:
            self.number, self.deadline, self.limit_kib = number, deadline, limit_kib
            self.peak_kib = 0

    def end(self, number: int) -> None:
        """Stop watching; unless the worker is being ended already, answer with its memory."""
        if number != self.number or not self.worker or self.verdict:
            return
        retained = self.sample()
        self.tell("ended", number, self.peak_kib, retained)
        self.number, self.deadline, self.limit_kib = 0, None, None

    def sample(self) -> int:
        """Anonymous memory in KiB of the worker's tree beyond what it was forked with."""
        family = [self.worker, *processes.descendants(self.worker)]
        total = sum(max(0, processes.anonymous_kib(pid) - self.baseline_kib) for pid in family)
        if len(family) > 1 and self.limit_kib is not None and total > self.limit_kib:
            shared_once = sum(map(processes.proportional_kib, family))
            total = max(0, shared_once - self.baseline_kib)
        self.peak_kib = max(self.peak_kib, total)
        return total

    def check(self, now: float) -> None:
        """Enforce the limits of the running job."""
        if not self.worker:
            return
        if self.kill_at is not None and now >= self.kill_at:
            self.kill_at = None
            processes.kill_tree(self.worker)
        if not self.number or self.verdict:
            return
        if self.deadline is not None and now >= self.deadline:
            self.verdict = "timed_out", "over the time limit"
            self.kill_at = now + GRACE_SECONDS
            processes.send_signal(self.worker, signal.SIGTERM)
        elif self.limit_kib is not None and self.sample() > self.limit_kib:
            used, limit = self.peak_kib // 1024, self.limit_kib // 1024
            self.kill("out_of_memory", f"{used} MiB, over the memory limit of {limit} MiB")
        elif self.limit_kib is None:
            self.sample()

    def kill(self, status: str, reason: str) -> None:
        """End the worker and all its descendants at once."""
        if self.worker:
            self.verdict = self.verdict or (status, reason)
            processes.kill_tree(self.worker)

    def reset(self, token: int) -> None:
        """End the worker, if there is one, and answer when it is gone."""
        self.token = token
        self.kill("crashed", "the worker was replaced")
        if not self.worker and self.died_at is None:
            self._answer_reset()

    def _answer_reset(self) -> None:
        if self.token is not None:
            self.tell("reset", self.token)
            self.token = None

    def died(self, wait_status: int) -> None:
        """Note that the worker has ended; the driver hears of it from `bury`."""
        self.worker, self.kill_at, self.died_at = 0, None, time.monotonic()
        status = "killed" if processes.is_from_outside(wait_status) else "crashed"
        self.verdict = self.verdict or (status, processes.ending(wait_status))

    def bury(self) -> None:
        """Tell the driver how the worker ended, and be ready for the next."""
        status, reason = self.verdict or ("crashed", "the worker ended")
        self.tell("dead", self.number, status, reason, self.peak_kib)
        self.number, self.deadline, self.limit_kib, self.peak_kib = 0, None, None, 0
        self.verdict, self.died_at = None, None
        self._answer_reset()

    def tell(self, *message: Any) -> None:
        """Send one message to the driver, which may be gone."""
        with contextlib.suppress(OSError):
            self.line.send(json.dumps(message).encode(), socket.MSG_DONTWAIT)
