"""The process that runs trials, one after the other, until its channel closes.

This is the one place that catches every exception: what a job calls is third-party code.
"""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import importlib
import os
import random
import resource
import signal
import socket
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

from automl.errors import StorageError, is_full
from automl.evaluation import channel as messages
from automl.records import TrialStatus

MOST_WARNINGS = 20
"""Kept of a trial: a fit may warn in every iteration, and the first say it all."""
_REASON_CHARACTERS = 500
"""Characters of an error's first line, which tables show."""
_TRACEBACK_CHARACTERS = 20_000
"""The end of a traceback, where the error is; all of a recursion's would fill the journal."""
_SPARE_DESCRIPTORS = 256
"""Files that trials may leave open: well below the usual limit of 1,024 for a process."""
_LIMITS = (
    resource.RLIMIT_AS,
    resource.RLIMIT_CPU,
    resource.RLIMIT_DATA,
    resource.RLIMIT_FSIZE,
    resource.RLIMIT_NOFILE,
    resource.RLIMIT_NPROC,
    resource.RLIMIT_STACK,
)


def serve(
    channel: socket.socket, *, context: str, threads: int, pools: ThreadpoolController
) -> None:
    """Run the jobs that arrive on `channel` until it closes.

    Parameters
    ----------
    channel
        Each job is ``(target, payload)``; answered by ``("part", value)`` for every result and
        one ``("done", ending)``.
    context
        Handed to every job.
    threads : number of threads of the numerical libraries
    pools
        The numerical libraries loaded before the fork.
    """
    own = os.getpid()
    os.register_at_fork(after_in_child=lambda: messages.close(channel))
    faulthandler.enable()
    pools.limit(limits=threads)
    surroundings = Surroundings(channel)
    while True:
        try:
            target, payload = messages.receive(channel)
        except messages.ChannelClosedError:
            return
        except messages.MessageError as error:
            ending = _ending(TrialStatus.FAILED, f"the job cannot be read: {error}")
        else:
            ending = run_job(channel, target, context, payload)
            del payload
        if os.getpid() != own:  # a job forked and its child came back here
            os._exit(0)
        ending["recycle"] = surroundings.restore()
        pools.limit(limits=threads)
        try:
            messages.send(channel, messages.encode(("done", ending)))
        except OSError:
            return


def run_job(channel: socket.socket, target: str, context: str, payload: object) -> dict[str, Any]:
    """Run one job, send its results, and say how it ended."""
    ending = _ending(TrialStatus.COMPLETE, "")
    with _collected_warnings() as texts:
        try:
            for value in _results(resolve(target)(context, payload)):
                messages.send(channel, messages.encode(("part", value)))
        except StorageError as error:
            ending = _ending(messages.UNSTORED, str(error))
        except MemoryError as error:
            ending = _ending(TrialStatus.OUT_OF_MEMORY, _describe(error), _trace(error))
        except BaseException as error:  # noqa: BLE001 - SystemExit of a library ends a trial too
            status = messages.UNSTORED if is_full(error) else TrialStatus.FAILED
            ending = _ending(status, _describe(error), _trace(error))
    ending["warnings"] = tuple(texts)
    return ending


def resolve(target: str) -> Callable[[str, Any], Any]:
    """Function named by ``module:function``.

    Raises
    ------
    ImportError, AttributeError
        If there is no such module or function.
    """
    module, _, name = target.partition(":")
    function = importlib.import_module(module)
    for part in name.split("."):
        function = getattr(function, part)
    return function  # type: ignore[return-value]


def _results(value: Any) -> Iterator[Any]:
    if isinstance(value, Generator):
        yield from value
    else:
        yield value


class Surroundings:
    """State of the process that a job may change, as it was before the first job.

    Parameters
    ----------
    channel
        The worker's channel; it must stay the same open socket.
    """

    def __init__(self, channel: socket.socket) -> None:
        self._folder = Path.cwd()
        self._environment = dict(os.environ)
        self._handlers = {number: signal.getsignal(number) for number in signal.valid_signals()}
        self._mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
        self._umask = os.umask(0o022)
        os.umask(self._umask)
        self._path = list(sys.path)
        self._recursion = sys.getrecursionlimit()
        self._floating = np.geterr()
        self._random = random.Random(0).getstate()  # noqa: S311 - see `restore`
        self._numpy_random = np.random.RandomState(0).get_state()
        self._channel = channel
        self._fixed = self._fixtures()
        self._n_descriptors = _n_descriptors()
        self._restore_interpreter()

    def restore(self) -> str:
        """Put back what can be put back; return why the process must be replaced, or nothing.

        The global random states are put back too, so that a library that draws from them gives
        the same results in whatever order trials run.
        """
        try:
            self._restore_interpreter()
            self._restore_process()
            sys.stdout.flush()
            sys.stderr.flush()
        except Exception as error:  # noqa: BLE001 - after a job anything may be broken
            return f"the process could not be reset: {_describe(error)}"
        return self._doubt()

    def _restore_process(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in self._handlers.items():
            if handler is not None and signal.getsignal(number) != handler:
                signal.signal(number, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)
        os.umask(self._umask)
        os.chdir(self._folder)
        if dict(os.environ) != self._environment:
            os.environ.clear()
            os.environ.update(self._environment)

    def _restore_interpreter(self) -> None:
        sys.stdin, sys.stdout, sys.stderr = sys.__stdin__, sys.__stdout__, sys.__stderr__
        sys.path[:] = self._path
        sys.setrecursionlimit(self._recursion)
        sys.settrace(None)
        sys.setprofile(None)
        gc.enable()
        np.seterr(**self._floating)
        random.setstate(self._random)
        np.random.set_state(self._numpy_random)  # noqa: NPY002

    def _doubt(self) -> str:
        """Why this process cannot be trusted with another job, or nothing."""
        try:
            doubts = (
                (threading.active_count() > 1, "a thread was left running"),
                (_has_children(), "child processes were left"),
                (sys.__stdout__ is None or sys.__stdout__.closed, "the output was closed"),
                (sys.__stderr__ is None or sys.__stderr__.closed, "the error output was closed"),
                (self._fixtures() != self._fixed, "descriptors, limits or priority were changed"),
                (_n_descriptors() > self._n_descriptors + _SPARE_DESCRIPTORS, "files were left"),
            )
        except OSError as error:
            return f"descriptors were closed: {error}"
        return next((reason for is_true, reason in doubts if is_true), "")

    def _fixtures(self) -> tuple[object, ...]:
        files = [os.fstat(descriptor) for descriptor in (0, 1, 2, self._channel.fileno())]
        return (
            *((file.st_dev, file.st_ino) for file in files),
            *map(resource.getrlimit, _LIMITS),
            os.getpriority(os.PRIO_PROCESS, 0),
        )


def _has_children() -> bool:
    """Whether a descendant still runs; the ended ones are reaped."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def _n_descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


@contextlib.contextmanager
def _collected_warnings() -> Iterator[list[str]]:
    """Distinct texts of the first warnings, instead of printing them."""
    texts: list[str] = []

    def collect(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
        if len(texts) < MOST_WARNINGS:
            text = _shorten(f"{category.__name__}: {message}")
            if text not in texts:
                texts.append(text)

    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.showwarning = collect
        yield texts


def _ending(status: str, reason: str, trace: str = "") -> dict[str, Any]:
    return {"status": status, "reason": reason, "traceback": trace, "warnings": ()}


def _describe(error: BaseException) -> str:
    """``TypeName: first line of the message``."""
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - a class of a third party may fail to print itself
        text = "(its message cannot be printed)"
    return _shorten(f"{type(error).__name__}: {text}".removesuffix(": "))


def _shorten(text: str) -> str:
    first = text.strip().splitlines()[0] if text.strip() else text
    return first.encode(errors="replace").decode()[:_REASON_CHARACTERS]


def _trace(error: BaseException) -> str:
    try:
        text = "".join(traceback.format_exception(error))
    except Exception:  # noqa: BLE001 - as in `_describe`
        return ""
    return text.encode(errors="replace").decode()[-_TRACEBACK_CHARACTERS:]
