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

from automl.evaluation import processes
from automl.evaluation.watch import SAMPLE_SECONDS, Slot
from automl.extensions import installed

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
    "sklearn.feature_extraction.text",
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
_IDLE_SECONDS = 0.25
"""Between looks where nothing is due: a driver that died is noticed within it."""
_STRAY_SECONDS = 0.002
"""Between looks while what was killed is still there: a slot waits for it."""
_BURIAL_SECONDS = 1.0
"""How long the children of a dead worker have to end before its end is reported anyway."""
_LOG_BYTES = 32 << 20
_MESSAGE_BYTES = 1 << 16


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
                waits.append(SAMPLE_SECONDS)
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
    installed()  # so that no worker looks for entry points


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
