"""The process between a driver and its workers: forks them, watches them, ends them.

Run as ``python -m automl.evaluation.supervisor`` by `automl.evaluation.launch`. It is single
threaded, has its own session, loads the numerical libraries once, and forks one worker per slot
on request. It adopts every process a trial leaves behind, and ends all of them when the driver
is gone.

For each slot there is one *line*, a socket of whole JSON messages:

==================================================  =============================================
from the driver                                     to the driver
==================================================  =============================================
``fork`` + the worker's end of a channel            (none)
``begin``, number, deadline, limit in KiB           (none)
``end``, number                                     ``ended``, number, peak KiB, retained KiB
``kill``, number, status, why                       (none)
``reset``, token                                    ``reset``, token: there is no worker now
(none; whenever the worker has ended)               ``dead``, number, status, why, peak KiB
==================================================  =============================================

The control socket carries ``ready`` to the driver; its end means that the driver is gone.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from automl.evaluation import processes

PRELOADED = (
    "numpy",
    "pandas",
    "scipy.sparse",
    "scipy.special",
    "scipy.stats",
    "sklearn.calibration",
    "sklearn.cluster",
    "sklearn.compose",
    "sklearn.discriminant_analysis",
    "sklearn.ensemble",
    "sklearn.feature_selection",
    "sklearn.gaussian_process",
    "sklearn.impute",
    "sklearn.linear_model",
    "sklearn.model_selection",
    "sklearn.naive_bayes",
    "sklearn.neighbors",
    "sklearn.neural_network",
    "sklearn.pipeline",
    "sklearn.preprocessing",
    "sklearn.svm",
    "sklearn.tree",
    "lightgbm",
)
GRACE_SECONDS = 0.2
_SAMPLE_SECONDS = 0.05
_IDLE_SECONDS = 0.25
_STRAY_SECONDS = 0.002
_BURIAL_SECONDS = 1.0
_LOG_BYTES = 32 << 20
_MESSAGE_BYTES = 1 << 16


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
        self.verdict = self.verdict or ("crashed", processes.ending(wait_status))

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


class Supervisor:
    """The loop over the driver's messages, the ends of processes and the clock.

    Parameters
    ----------
    control
        Socket whose end means that the driver is gone.
    slots
        One per worker.
    driver : process number
    context, threads
        Handed to the workers.
    """

    def __init__(
        self,
        control: socket.socket,
        slots: Sequence[Slot],
        *,
        driver: int,
        context: str,
        threads: int,
    ) -> None:
        self._control, self._slots = control, slots
        self._driver, self._context, self._threads = driver, context, threads
        self._alarm, self._alarm_end = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._own = os.getpid()
        self._had_strays = False
        self._stopping = False

    def run(self) -> None:
        """Serve until the driver closes the control socket or is gone; then end everything."""
        from threadpoolctl import ThreadpoolController  # after the preloading

        self._pools = ThreadpoolController()
        self._watch_signals()
        gc.collect()
        gc.freeze()
        poller = select.poll()
        for descriptor in (self._control.fileno(), self._alarm):
            poller.register(descriptor, select.POLLIN)
        lines = {slot.line.fileno(): slot for slot in self._slots}
        for descriptor in lines:
            poller.register(descriptor, select.POLLIN)
        self._control.send(b"ready")
        while not self._stopping and os.getppid() == self._driver:
            ready = poller.poll(1000 * self._patience())
            self._reap()
            for descriptor, _ in ready:
                if descriptor == self._control.fileno():
                    self._stopping = True
                elif descriptor == self._alarm:
                    self._clear_alarm()
                else:
                    self._listen(lines[descriptor])
            now = time.monotonic()
            for slot in self._slots:
                slot.check(now)
            _bound_log()
        self._end_everything()

    def _watch_signals(self) -> None:
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._on_signal)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.set_wakeup_fd(self._alarm_end, warn_on_full_buffer=False)

    def _on_signal(self, number: int, _: object) -> None:
        if number != signal.SIGCHLD:
            self._stopping = True

    def _clear_alarm(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while os.read(self._alarm, 4096):
                pass

    def _patience(self) -> float:
        """Seconds until something must be looked at."""
        now = time.monotonic()
        waits = [_STRAY_SECONDS if self._had_strays else _IDLE_SECONDS]
        for slot in self._slots:
            if slot.died_at is not None:
                waits.append(_STRAY_SECONDS)
            elif slot.kill_at is not None:
                waits.append(slot.kill_at - now)
            elif slot.number and not slot.verdict:
                waits.append(_SAMPLE_SECONDS)
                if slot.deadline is not None:
                    waits.append(slot.deadline - now)
        return max(0.0005, min(waits))

    def _listen(self, slot: Slot) -> None:
        try:
            data, files, *_ = socket.recv_fds(slot.line, _MESSAGE_BYTES, 1)
        except OSError:
            data, files = b"", []
        if not data:
            self._stopping = True
            return
        verb, *rest = json.loads(data)
        if verb == "fork":
            self._fork(slot, files[0])
        elif verb == "begin":
            slot.begin(*rest)
        elif verb == "end":
            slot.end(*rest)
        elif verb == "reset":
            slot.reset(*rest)
        elif verb == "kill" and rest[0] == slot.number:
            slot.kill(*rest[1:])

    def _fork(self, slot: Slot, descriptor: int) -> None:
        """Start a worker whose channel is `descriptor`."""
        os.set_inheritable(descriptor, False)  # `recv_fds` of Python 3.11 ignores its flags
        slot.baseline_kib = processes.anonymous_kib(os.getpid())
        sys.stdout.flush()
        try:
            slot.worker = os.fork()
        except OSError as error:
            slot.verdict = "crashed", f"no worker could be started: {error}"
            slot.died_at = time.monotonic()
        if slot.worker == 0 and slot.died_at is None:
            try:
                self._become_worker(descriptor)
            finally:
                os._exit(70)
        os.close(descriptor)

    def _become_worker(self, descriptor: int) -> None:
        """Run jobs in the forked process; never returns."""
        processes.die_with_parent()
        if os.getppid() != self._own:  # it ended before the kernel knew
            os._exit(0)
        os.setsid()
        processes.become_subreaper()
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        for inherited in (self._control, *(slot.line for slot in self._slots)):
            inherited.close()
        os.close(self._alarm)
        os.close(self._alarm_end)
        with contextlib.suppress(OSError):
            Path("/proc/self/oom_score_adj").write_text("800")
        worker = importlib.import_module("automl.evaluation.worker")
        with socket.socket(fileno=descriptor) as channel:
            worker.serve(channel, context=self._context, threads=self._threads, pools=self._pools)
        os._exit(0)

    def _reap(self) -> None:
        """Collect ended processes, end the ones they left behind, and tell the driver."""
        workers = {slot.worker: slot for slot in self._slots if slot.worker}
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if not pid:
                    break
                if pid in workers:
                    workers.pop(pid).died(status)
        dead = [slot for slot in self._slots if slot.died_at is not None]
        if not dead and not self._had_strays:
            return
        strays = [pid for pid in processes.children(os.getpid()) if pid not in workers]
        for pid in strays:
            processes.kill_tree(pid)
        self._had_strays = bool(strays)
        for slot in dead:
            if not strays or time.monotonic() > (slot.died_at or 0.0) + _BURIAL_SECONDS:
                slot.bury()

    def _end_everything(self) -> None:
        """Kill all descendants and wait for their end."""
        until = time.monotonic() + 5.0
        while time.monotonic() < until:
            for pid in processes.children(os.getpid()):
                processes.kill_tree(pid)
            try:
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
            except ChildProcessError:
                return
            time.sleep(0.002)


def _bound_log() -> None:
    """Empty the log of the workers when noise has made it huge."""
    with contextlib.suppress(OSError):
        if os.fstat(2).st_size > _LOG_BYTES:
            os.ftruncate(2, 0)


@contextlib.contextmanager
def _ending_without(driver: int) -> Iterator[None]:
    """End this process if the driver ends meanwhile; for the seconds of the imports."""

    def check(*_: object) -> None:
        if os.getppid() != driver:
            os._exit(1)

    signal.signal(signal.SIGALRM, check)
    signal.setitimer(signal.ITIMER_REAL, _IDLE_SECONDS, _IDLE_SECONDS)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)


def _load(names: Sequence[str]) -> None:
    for name in (*filter(None, names), "automl.evaluation.worker"):
        importlib.import_module(name)


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry of the process; its arguments come from `automl.evaluation.launch` alone."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--control", type=int, required=True)
    parser.add_argument("--lines", required=True)
    parser.add_argument("--driver", type=int, required=True)
    parser.add_argument("--context", required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--libraries", default="")
    options = parser.parse_args(arguments)
    processes.become_subreaper()
    with _ending_without(options.driver):
        _load(options.libraries.split(","))
    Supervisor(
        socket.socket(fileno=options.control),
        [Slot(socket.socket(fileno=int(text))) for text in options.lines.split(",")],
        driver=options.driver,
        context=options.context,
        threads=options.threads,
    ).run()
    os._exit(0)  # without the libraries' farewells


if __name__ == "__main__":
    main()
