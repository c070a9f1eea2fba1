"""Memory limits from control groups of both versions and from the machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from automl.errors import AutoMLWarning
from automl.evaluation.machine_limits import (
    GREATEST_CROWDING,
    capacity_mib,
    crowding,
    memory_limit_mib,
    usable_cores,
)


def machine(root: Path, files: dict[str, str], *, mib: int = 16_000) -> Path:
    everything = {"proc/meminfo": f"MemTotal: {mib * 1024} kB\nMemFree: 1 kB\n", **files}
    for name, text in everything.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_without_control_groups_the_machine_counts(tmp_path: Path) -> None:
    root = machine(tmp_path, {})
    assert capacity_mib(root=root) == 16_000
    assert memory_limit_mib(4, root=root) == int(16_000 * 0.85 / 4)


def test_the_tightest_group_of_version_2_counts(tmp_path: Path) -> None:
    root = machine(
        tmp_path,
        {
            "proc/self/cgroup": "0::/user/job\n",
            "sys/fs/cgroup/user/job/memory.max": "max\n",
            "sys/fs/cgroup/user/memory.max": f"{2_048 << 20}\n",
            "sys/fs/cgroup/memory.max": f"{4_096 << 20}\n",
        },
    )
    assert capacity_mib(root=root) == 2_048
    assert memory_limit_mib(1, root=root) == 2_048 - 512


def test_a_container_of_version_1_sees_its_limit_at_the_mount(tmp_path: Path) -> None:
    root = machine(
        tmp_path,
        {
            "proc/self/cgroup": "5:cpu:/\n4:memory:/docker/0123\n0::/\n",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": f"{1_000 << 20}\n",
        },
    )
    assert capacity_mib(root=root) == 1_000


def test_version_1_without_a_limit_leaves_the_machine(tmp_path: Path) -> None:
    root = machine(
        tmp_path,
        {
            "proc/self/cgroup": "4:memory:/\n",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
        },
    )
    assert capacity_mib(root=root) == 16_000


def test_too_many_workers_for_the_memory_are_warned_about(tmp_path: Path) -> None:
    with pytest.warns(AutoMLWarning, match="use fewer workers"):
        assert memory_limit_mib(64, root=machine(tmp_path, {}, mib=2_000)) == 256


def test_the_real_machine_gives_a_limit() -> None:
    assert 64 < memory_limit_mib(1) < 1 << 30


@pytest.fixture
def eight_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(8)))


GROUPS = {"proc/self/cgroup": "3:cpu,cpuacct:/job\n0::/user/job\n"}


@pytest.mark.usefixtures("eight_cores")
@pytest.mark.parametrize(
    ("files", "n_cores"),
    [
        ({}, 8),
        ({"sys/fs/cgroup/user/job/cpu.max": "max 100000\n"}, 8),
        ({"sys/fs/cgroup/user/cpu.max": "250000 100000\n"}, 3),
        ({"sys/fs/cgroup/cpu.max": "1000 100000\n"}, 1),
        ({"sys/fs/cgroup/cpu.max": "1600000 100000\n"}, 8),
        ({"sys/fs/cgroup/cpu/job/cpu.cfs_quota_us": "200000\n",
          "sys/fs/cgroup/cpu/job/cpu.cfs_period_us": "100000\n"}, 2),
        ({"sys/fs/cgroup/cpu/job/cpu.cfs_quota_us": "-1\n",
          "sys/fs/cgroup/cpu/job/cpu.cfs_period_us": "100000\n"}, 8),
    ],
)  # fmt: skip
def test_usable_cores_are_the_affinity_or_the_tightest_quota(tmp_path, files, n_cores) -> None:
    assert usable_cores(root=machine(tmp_path, {**GROUPS, **files})) == n_cores


@pytest.mark.usefixtures("eight_cores")
def test_usable_cores_without_control_groups_are_the_affinity(tmp_path: Path) -> None:
    assert usable_cores(root=tmp_path) == 8


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("100 300 7", 4.0),
        ("100 0 7", 1.0),
        ("0 5 1", 6.0),
        ("1 99999 1", GREATEST_CROWDING),
        ("", 1.0),
    ],
)
def test_a_crowded_machine_shows_in_the_time_spent_waiting_for_a_core(
    tmp_path: Path, text: str, expected: float
) -> None:
    (tmp_path / "proc" / "self").mkdir(parents=True)
    (tmp_path / "proc" / "self" / "schedstat").write_text(text)
    assert crowding(root=tmp_path) == expected


def test_nobody_counts_where_there_is_no_such_file(tmp_path: Path) -> None:
    assert crowding(root=tmp_path) == 1.0
