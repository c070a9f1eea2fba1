"""Linux processes: trees, their memory, and their end."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import signal
import time
from pathlib import Path

_PR_SET_PDEATHSIG = 1
"""Option of prctl(2), from ``linux/prctl.h``."""
_PR_SET_CHILD_SUBREAPER = 36
"""Option of prctl(2), from ``linux/prctl.h``."""
_FREEZE_ROUNDS = 50
"""Each round stops what the tree forked meanwhile; a tree that outruns them is killed as far as it is
known."""
_SIGNALS_OF_OTHERS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)
_libc = ctypes.CDLL(None, use_errno=True)


def die_with_parent() -> None:
    """Have the kernel kill this process with SIGKILL when its parent ends."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def release_freed_memory() -> None:
    """Give what was freed back to the system: the allocator keeps the pages of many small arrays."""
    gc.collect()
    if hasattr(_libc, "malloc_trim"):  # glibc
        _libc.malloc_trim(0)


def become_subreaper() -> None:
    """Become the parent of every descendant that loses its own."""
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def children(pid: int) -> list[int]:
    """Direct children of all threads of a process; empty if it is gone."""
    pids: list[int] = []
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        return pids
    for thread in threads:
        with contextlib.suppress(OSError):
            text = (thread / "children").read_bytes()
            pids.extend(map(int, text.split()))
    return pids


def descendants(pid: int) -> list[int]:
    """Children, their children and so on, parents first."""
    pids = children(pid)
    for child in pids:  # grows while it is walked
        pids.extend(children(child))
    return pids


def status_fields(pid: int) -> dict[bytes, bytes]:
    """Fields of ``/proc/PID/status``; empty if the process is gone."""
    try:
        lines = Path(f"/proc/{pid}/status").read_bytes().splitlines()
    except OSError:
        return {}
    return {name: value.strip() for name, _, value in (line.partition(b":") for line in lines)}


def anonymous_kib(pid: int) -> int:
    """Anonymous memory, resident or swapped, in KiB; 0 if the process is gone."""
    fields = status_fields(pid)
    return sum(int(fields.get(name, b"0 kB").split()[0]) for name in (b"RssAnon", b"VmSwap"))


def proportional_kib(pid: int) -> int:
    """Anonymous memory in KiB with pages shared by a fork divided by their users.

    Walks the page tables: milliseconds for gigabytes.
    """
    total = 0
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_bytes().splitlines():
            if line.startswith((b"Pss_Anon:", b"SwapPss:")):
                total += int(line.split()[1])
    return total


def send_signal(pid: int, number: int) -> None:
    """Signal a process, unless it is gone or not ours."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def kill_tree(root: int) -> None:
    """Kill a process and all its descendants, whatever their session or group.

    All are stopped first and walked again until nothing new appears, so that none can start
    another one, lose its parent or hand its number to a stranger meanwhile.
    """
    frozen = {root}
    send_signal(root, signal.SIGSTOP)
    for _ in range(_FREEZE_ROUNDS):
        new = [pid for pid in descendants(root) if pid not in frozen]
        for pid in new:
            send_signal(pid, signal.SIGSTOP)
        frozen.update(new)
        if not new and not any(map(_is_running, frozen)):
            break
        if not new:
            time.sleep(0.0005)
    for pid in frozen:
        send_signal(pid, signal.SIGKILL)


def kill_marked(marker: str) -> set[int]:
    """Kill every process whose environment has the entry `marker`; return their numbers.

    The last resort after a supervisor that was killed itself: its workers die with it, but
    children of theirs may not. A process that is ending has no environment any more.
    """
    wanted, own, killed = marker.encode(), os.getpid(), set()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == own:
            continue
        with contextlib.suppress(OSError):
            if wanted in (entry / "environ").read_bytes().split(b"\0"):
                send_signal(int(entry.name), signal.SIGKILL)
                killed.add(int(entry.name))
    return killed


def has_ended(pid: int) -> bool:
    """Whether a process is gone, or waits only for its parent to collect it."""
    return status_fields(pid).get(b"State", b"X")[:1] in b"ZX"


def _is_running(pid: int) -> bool:
    state = status_fields(pid).get(b"State", b"X")[:1]
    return state not in b"TtZXD"


def is_from_outside(wait_status: int) -> bool:
    """Whether a process was ended by a signal that others send, from the status of ``waitpid``.

    The kernel's for lack of memory is one of them.
    """
    return -os.waitstatus_to_exitcode(wait_status) in _SIGNALS_OF_OTHERS


def ending(wait_status: int) -> str:
    """How a process ended, in words, from the status of ``waitpid``."""
    code = os.waitstatus_to_exitcode(wait_status)
    if code >= 0:
        return f"the worker exited with code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = "unknown"
    hint = ", by the kernel for lack of memory or from outside" if -code == signal.SIGKILL else ""
    return f"the worker was killed by signal {-code} ({name}){hint}"
