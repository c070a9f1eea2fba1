"""Jobs that misbehave in every way a trial can; they run in workers only."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from automl.errors import StorageError

FOREVER = 600.0
MIB = 1 << 20


def echo(context: str, payload: dict[str, Any]) -> Any:
    return context, payload


def pause(_: str, payload: dict[str, Any]) -> str:
    time.sleep(payload["seconds"])
    return "done"


def note(payload: dict[str, Any]) -> None:
    """Write down this process, so that the test can see whether it is left."""
    with Path(payload["pids"]).open("a") as file:
        file.write(f"{os.getpid()}\n")


def child(payload: dict[str, Any]) -> bool:
    """Fork; true in the child, which has been written down."""
    if os.fork():
        return False
    note(payload)
    return True


def hang(_: str, payload: dict[str, Any]) -> None:
    time.sleep(FOREVER)


def spin_in_c(_: str, payload: dict[str, Any]) -> None:
    ctypes.PyDLL(None).sleep(int(FOREVER))  # keeps the interpreter's lock


def ignore_sigterm(_: str, payload: dict[str, Any]) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        time.sleep(0.01)


def block_signals(_: str, payload: dict[str, Any]) -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    time.sleep(FOREVER)


def stop_itself(_: str, payload: dict[str, Any]) -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def stream_then_hang(_: str, payload: dict[str, Any]) -> Any:
    yield from range(payload["n"])
    note(payload)
    time.sleep(FOREVER)


def stream_then_raise(_: str, payload: dict[str, Any]) -> Any:
    yield 1
    raise ValueError("second\nline")


def hog(_: str, payload: dict[str, Any]) -> None:
    kept = []
    for _ in range(payload["mib"]):
        kept.append(np.ones(MIB, dtype=np.int8))  # noqa: PERF401
    time.sleep(FOREVER)


def hog_in_children(_: str, payload: dict[str, Any]) -> None:
    for _ in range(4):
        if child(payload):
            os.setsid()
            kept = np.ones(payload["mib"] * MIB // 4, dtype=np.int8)
            time.sleep(FOREVER)
            del kept
    time.sleep(FOREVER)


def share_with_children(_: str, payload: dict[str, Any]) -> str:
    """Take half the limit once and share it with four forks: allowed."""
    kept = np.ones(payload["mib"] * MIB, dtype=np.int8)
    for _ in range(4):
        if child(payload):
            time.sleep(FOREVER)
    time.sleep(0.3)
    return str(kept.size)


KEPT: list[Any] = []


def keep(_: str, payload: dict[str, Any]) -> None:
    KEPT.append(np.ones(payload["mib"] * MIB, dtype=np.int8))


def ask_for_too_much(_: str, payload: dict[str, Any]) -> None:
    np.ones(1 << 55, dtype=np.int8)


def segfault(_: str, payload: dict[str, Any]) -> None:
    ctypes.string_at(0)


def leave(_: str, payload: dict[str, Any]) -> None:
    os._exit(3)


def abort(_: str, payload: dict[str, Any]) -> None:
    os.abort()


def become_sleep(_: str, payload: dict[str, Any]) -> None:
    os.execv("/bin/sleep", ["sleep", "601.5"])


def system_exit(_: str, payload: dict[str, Any]) -> None:
    sys.exit("enough")


def interrupt(_: str, payload: dict[str, Any]) -> None:
    raise KeyboardInterrupt


class MuteError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


def mute(_: str, payload: dict[str, Any]) -> None:
    raise MuteError


def recurse(_: str, payload: dict[str, Any]) -> None:
    recurse(_, payload)


def not_a_number(_: str, payload: dict[str, Any]) -> float:
    return float("nan")


def unpicklable(_: str, payload: dict[str, Any]) -> Any:
    return threading.Lock()


class Unreadable:
    def __reduce__(self) -> Any:
        return explode, ()


def explode() -> None:
    raise RuntimeError("rebuilt in the wrong place")


def unreadable(_: str, payload: dict[str, Any]) -> Any:
    return Unreadable()


def change_session(_: str, payload: dict[str, Any]) -> str:
    """Leave a child, a grandchild without parent, and a program with an empty environment."""
    if child(payload):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.setsid()
        if child(payload):
            time.sleep(FOREVER)
        if child(payload):
            os.setsid()
            time.sleep(FOREVER)
        if payload.get("daemonize", True):
            os._exit(0)
        time.sleep(FOREVER)
    program = subprocess.Popen(["/bin/sleep", "603.25"], env={}, start_new_session=True)
    with Path(payload["pids"]).open("a") as file:
        file.write(f"{program.pid}\n")
    time.sleep(payload["seconds"])
    return "left"


def fork_many(_: str, payload: dict[str, Any]) -> None:
    for _ in range(payload["n"]):
        if child(payload):
            os.setsid()
            if child(payload):
                os.setsid()
            time.sleep(FOREVER)
    time.sleep(payload["seconds"])


def rabbit(_: str, payload: dict[str, Any]) -> None:
    """Leave a process that hides by being another one all the time."""
    if child(payload):
        until = time.monotonic() + 20.0
        while time.monotonic() < until:
            os.setsid()
            if os.fork():
                os._exit(0)
    time.sleep(payload["seconds"])


def fork_and_return(_: str, payload: dict[str, Any]) -> str:
    if child(payload):
        return "child"
    while not Path(payload["pids"]).read_text():
        time.sleep(0.001)
    return "parent"


def close_descriptors(_: str, payload: dict[str, Any]) -> None:
    os.closerange(0, 1000)
    time.sleep(FOREVER)


def close_output(_: str, payload: dict[str, Any]) -> str:
    sys.stdout.close()
    os.close(1)
    return "silent"


def write_everywhere(_: str, payload: dict[str, Any]) -> None:
    for descriptor in range(3, 100):
        with contextlib.suppress(OSError):
            os.write(descriptor, b"not a message at all, but long enough to be taken for one")
    time.sleep(FOREVER)


def flood(_: str, payload: dict[str, Any]) -> str:
    line = "x" * 1023 + "\n"
    for _ in range(payload["mib"]):
        sys.stdout.write(line * 1024)
        os.write(2, line.encode() * 1024)
    return "said"


def read_input(_: str, payload: dict[str, Any]) -> str:
    return input()


def announce(_: str, payload: dict[str, Any]) -> str:
    with Path(payload["pids"]).open("a") as file:
        file.write(f"{os.getpid()}\n")
    time.sleep(payload["seconds"])
    return "awake"


def fill_disk(_: str, payload: dict[str, Any]) -> None:
    if payload["is_ours"]:
        raise StorageError("t.npy: predictions cannot be written: No space left on device")
    with Path("/dev/full").open("w") as file:
        file.write("x" * 10**6)


def kill_group(_: str, payload: dict[str, Any]) -> None:
    os.killpg(0, signal.SIGKILL)


def kill_supervisor(_: str, payload: dict[str, Any]) -> None:
    if payload.get("with_child") and child(payload):
        os.setsid()
        time.sleep(FOREVER)
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(FOREVER)


def stop_supervisor_and_stream(_: str, payload: dict[str, Any]) -> Any:
    os.kill(os.getppid(), signal.SIGSTOP)
    while True:
        yield 0
        time.sleep(0.05)


def leave_thread(_: str, payload: dict[str, Any]) -> int:
    threading.Thread(target=time.sleep, args=(FOREVER,)).start()
    return os.getpid()


def change_surroundings(_: str, payload: dict[str, Any]) -> int:
    os.chdir("/")
    os.environ["SABOTAGE"] = "1"
    os.environ.pop("PATH", None)
    os.umask(0o777)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, lambda *_: None)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    sys.path.clear()
    sys.stdout = None
    sys.setrecursionlimit(100)
    np.seterr(all="raise")
    np.random.seed(payload["seed"])  # noqa: NPY002 - what careless libraries do
    warnings.simplefilter("error")
    return os.getpid()


def surroundings(_: str, payload: dict[str, Any]) -> dict[str, Any]:
    time.sleep(0.1)
    umask = os.umask(0)
    os.umask(umask)
    return {
        "folder": str(Path.cwd()),
        "environment": dict(os.environ),
        "umask": umask,
        "handlers": [str(signal.getsignal(n)) for n in (signal.SIGTERM, signal.SIGINT)],
        "blocked": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, ())),
        "path": list(sys.path),
        "recursion": sys.getrecursionlimit(),
        "floating": np.geterr(),
        "draw": float(np.random.random()),  # noqa: NPY002
    }


def warn(_: str, payload: dict[str, Any]) -> str:
    for number in range(payload["n"]):
        warnings.warn(f"number {number % 30}", UserWarning, stacklevel=1)
    return "warned"


def large(_: str, payload: dict[str, Any]) -> Any:
    return np.arange(payload["n"], dtype=np.float64)


def worker_pid(_: str, payload: dict[str, Any]) -> int:
    return os.getpid()


def supervisor_threads(_: str, payload: dict[str, Any]) -> int:
    return sum(1 for _ in Path(f"/proc/{os.getppid()}/task").iterdir())


def libraries(_: str, payload: dict[str, Any]) -> dict[str, Any]:
    """Enter the parallel regions of every numerical library after the fork."""
    from lightgbm import LGBMClassifier
    from sklearn.ensemble import HistGradientBoostingClassifier
    from threadpoolctl import threadpool_info

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 8)), rng.integers(0, 2, 400)
    boosted = LGBMClassifier(n_estimators=5, n_jobs=2, verbose=-1).fit(X, y).predict(X)
    histogram = HistGradientBoostingClassifier(max_iter=5).fit(X, y).predict(X)
    product = rng.normal(size=(300, 300)) @ rng.normal(size=(300, 300))
    return {
        "finite": bool(np.isfinite(product).all()) and boosted.shape == histogram.shape,
        "threads": sorted({pool["num_threads"] for pool in threadpool_info()}),
    }
