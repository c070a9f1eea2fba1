"""How much memory one worker may take: from the control group and the machine."""

from __future__ import annotations

import contextlib
import warnings
from pathlib import Path

from automl.errors import AutoMLWarning

_MIB = 1 << 20
_LEAST_SLOT_MIB = 256
_RESERVE_MIB = 512
_RESERVE_SHARE = 0.15


def memory_limit_mib(n_slots: int, *, root: Path = Path("/")) -> int:
    """Memory of one of `n_slots` workers, MiB.

    The capacity is the smallest limit of the machine and of the process's control groups
    (version 1 or 2). The driver and the supervisor keep 512 MiB or 15 % of it, whichever is more;
    the slots share the rest equally, and get 256 MiB at least (with a warning).

    Parameters
    ----------
    n_slots : at least 1
    root
        Folder that holds ``proc`` and ``sys``.
    """
    capacity = capacity_mib(root=root)
    share = int((capacity - max(_RESERVE_MIB, _RESERVE_SHARE * capacity)) / n_slots)
    if share < _LEAST_SLOT_MIB:
        warnings.warn(
            f"{capacity} MiB of memory leave {max(0, share)} MiB for each of {n_slots} workers; "
            f"each may take {_LEAST_SLOT_MIB} MiB: use fewer workers",
            AutoMLWarning,
            stacklevel=2,
        )
    return max(_LEAST_SLOT_MIB, share)


def capacity_mib(*, root: Path = Path("/")) -> int:
    """Memory this process may use at all, MiB: the machine's or its control group's."""
    limits = [_machine_bytes(root), *_group_bytes(root)]
    return min(limits) // _MIB


def _machine_bytes(root: Path) -> int:
    for line in (root / "proc/meminfo").read_text().splitlines():
        if line.startswith("MemTotal:"):
            return int(line.split()[1]) * 1024
    return 1 << 62


def _group_bytes(root: Path) -> list[int]:
    """Limits of the process's control groups and all groups above them."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for line in (root / "proc/self/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if controllers == "":
                found += _limits_up(root / "sys/fs/cgroup", path, "memory.max")
                found += _limits_up(root / "sys/fs/cgroup/unified", path, "memory.max")
            elif "memory" in controllers.split(","):
                folder = root / "sys/fs/cgroup/memory"
                found += _limits_up(folder, path, "memory.limit_in_bytes")
    return found


def _limits_up(top: Path, path: str, name: str) -> list[int]:
    """Limits in the folder of a group and in those above it, up to the mount."""
    parts = [part for part in path.split("/") if part and part != ".."]
    found = []
    for depth in range(len(parts) + 1):
        with contextlib.suppress(OSError, ValueError):  # not visible here, or "max"
            found.append(int(top.joinpath(*parts[:depth], name).read_text()))
    return found
