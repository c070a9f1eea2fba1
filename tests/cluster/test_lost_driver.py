"""A driver that is killed leaves nothing on the workers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from waiting import until

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

SABOTEURS = Path(__file__).parents[1] / "evaluation"
DRIVER = """
import sys
from pathlib import Path
from automl.evaluation.slots import Job
from automl.home import RunFolder
from automl.settings import Settings
from automl_tasks.run_slots import run_slots

folder, pids, address = sys.argv[1:]
settings = Settings(table="t.csv", target="y", cluster=address)
slots = run_slots(settings, RunFolder(Path(folder)), starts_at_once=True)
job = Job("saboteurs:fork_many", {"pids": pids, "n": 2, "seconds": 600.0})
slots.run(slots.acquire(), job, limit_seconds=None)
"""


def is_alive(pid: int) -> bool:
    """Whether a process runs; an ended one that nobody has collected does not."""
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def test_a_driver_that_is_killed_leaves_nothing_on_the_workers(cluster, tmp_path):
    folder, pids = tmp_path / "20260101-000000-abcd", tmp_path / "pids"
    folder.mkdir()
    pids.touch()
    driver = subprocess.Popen(
        [sys.executable, "-c", DRIVER, str(folder), str(pids), cluster.address],
        env={**os.environ, "PYTHONPATH": str(SABOTEURS)},
    )
    try:
        until(lambda: len(pids.read_text().split()) >= 2)
    finally:
        driver.kill()
        driver.wait()
    begun = [int(pid) for pid in pids.read_text().split()]
    assert any(map(is_alive, begun))
    until(lambda: not any(map(is_alive, begun)))
