"""Ends of processes as the kernel tells them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from uuid import uuid4

from automl.evaluation.processes import has_ended, kill_marked


def test_a_killed_process_has_ended_before_its_parent_collects_it() -> None:
    marker = f"AUTOML_TEST={uuid4().hex}"
    name, _, value = marker.partition("=")
    process = subprocess.Popen(
        ["cat"],
        env={**os.environ, name: value},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    process.stdin.write(b"is up\n")
    process.stdin.flush()
    assert process.stdout.readline() == b"is up\n"
    assert not has_ended(process.pid)
    assert kill_marked(marker) == {process.pid}
    until = time.monotonic() + 10.0
    while not has_ended(process.pid) and time.monotonic() < until:
        time.sleep(0.001)
    assert has_ended(process.pid)
    assert process.returncode is None
    assert kill_marked(marker) == set()
    process.communicate()
    assert has_ended(process.pid)


_FREES_SMALL_ARRAYS = """
import numpy as np, psutil
from automl.evaluation.processes import release_freed_memory

def mib():
    return psutil.Process().memory_info().rss / 2**20

arrays = [np.ones(1000) for _ in range(25_000)]
last = np.ones(1000)
full = mib()
del arrays
release_freed_memory()
print(full - mib())
"""


def test_the_system_gets_back_the_memory_of_many_small_arrays() -> None:
    told = subprocess.run(
        [sys.executable, "-c", _FREES_SMALL_ARRAYS], capture_output=True, text=True, check=True
    )
    assert float(told.stdout) > 150
