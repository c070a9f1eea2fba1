"""How much memory one worker may take, and how many cores there are: control group and machine."""

from __future__ import annotations

import contextlib
import math
import os
import warnings
from collections.abc import Iterator
from pathlib import Path

from automl.errors import AutoMLWarning

_MIB = 1 << 20
_LEAST_SLOT_MIB = 256
"""With less, few fits have room beside the imports (by judgement): there is a warning."""
_RESERVE_MIB = 512
"""For the driver, the server and the mirror (by judgement)."""
_RESERVE_SHARE = 0.15
"""The same of a large machine, whose tables and files in memory are larger too (by judgement)."""


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


GREATEST_CROWDING = 32.0
"""More is the start of a process, not the machine."""


def crowding(*, root: Path = Path("/")) -> float:
    """How much longer this process has taken for its work because others had the cores; at least 1.

    Of its first thread since its start, as Linux's scheduler counts: waiting for data or for others is no
    work. 1 if nothing is counted.

    Parameters
    ----------
    root
        Folder that holds ``proc``.
    """
    try:
        ran, waited, _ = map(int, (root / "proc/self/schedstat").read_text().split())
    except (OSError, ValueError):
        return 1.0
    return min(1.0 + waited / max(ran, 1), GREATEST_CROWDING)


def usable_cores(*, root: Path = Path("/")) -> int:
    """Cores this process may use: its affinity, or less where a control group has a quota.

    A quota that is no whole number of cores is rounded up.

    Parameters
    ----------
    root
        Folder that holds ``proc`` and ``sys``.
    """
    n_cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return min([n_cores or 1, *(max(1, math.ceil(quota)) for quota in _group_quotas(root))])


def _machine_bytes(root: Path) -> int:
    for line in (root / "proc/meminfo").read_text().splitlines():
        if line.startswith("MemTotal:"):
            return int(line.split()[1]) * 1024
    return 1 << 62


def _group_bytes(root: Path) -> list[int]:
    """Memory limits of the process's control groups and all groups above them."""
    limits: list[int] = []
    for folder in _group_folders(root, "memory"):
        for name in ("memory.max", "memory.limit_in_bytes"):
            with contextlib.suppress(OSError, ValueError):  # not visible here, or "max"
                limits.append(int((folder / name).read_text()))
    return limits


def _group_quotas(root: Path) -> list[float]:
    """Cores that the process's control groups and all groups above them are given."""
    quotas: list[float] = []
    for folder in _group_folders(root, "cpu"):
        with contextlib.suppress(OSError, ValueError):
            quota, period = map(int, (folder / "cpu.max").read_text().split())
            quotas.append(quota / period)
        with contextlib.suppress(OSError, ValueError):
            quota = int((folder / "cpu.cfs_quota_us").read_text())
            period = int((folder / "cpu.cfs_period_us").read_text())
            if quota > 0:  # -1: no limit
                quotas.append(quota / period)
    return quotas


def _group_folders(root: Path, controller: str) -> Iterator[Path]:
    """Folders of the process's control groups, of both versions, and of all groups above them."""
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            yield from _folders_up(root / "sys/fs/cgroup", path)
            yield from _folders_up(root / "sys/fs/cgroup/unified", path)
        elif controller in controllers.split(","):
            yield from _folders_up(root / "sys/fs/cgroup" / controller, path)


def _folders_up(top: Path, path: str) -> list[Path]:
    """Folder of a group and those above it, up to the mount."""
    parts = [part for part in path.split("/") if part and part != ".."]
    return [top.joinpath(*parts[:depth]) for depth in range(len(parts) + 1)]
