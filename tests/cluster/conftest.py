"""A real Dask scheduler and real workers on 127.0.0.1, in processes of their own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from distributed import Client
from waiting import until

SABOTEURS = Path(__file__).parents[1] / "evaluation"
START_SECONDS = 120.0


class Cluster:
    """A scheduler and the workers that a test starts and ends, all with the same environment."""

    def __init__(self, folder: Path, **environment: str) -> None:
        self.folder, self._environment, self._processes = folder, environment, []
        file = folder / "scheduler.json"
        self.scheduler = self._start(
            "scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(file)
        )
        until(lambda: file.exists() and file.stat().st_size, START_SECONDS)
        self.address = json.loads(file.read_text())["address"]

    def worker(self, *, threads=1, hides="", **environment) -> subprocess.Popen:
        """Start a worker; with `hides`, one that does not see that folder."""
        number = len(self._processes)
        command = (
            *("worker", self.address, "--no-nanny", "--nthreads", str(threads)),
            *("--local-directory", str(self.folder / f"w{number}"), "--memory-limit", "2GiB"),
        )
        return self._start(*command, hides=hides, **environment)

    def wait_for_workers(self, n_workers: int) -> None:
        """Wait until so many workers are there."""
        with Client(self.address, set_as_default=False) as client:
            client.wait_for_workers(n_workers, timeout=START_SECONDS)

    def _start(self, *command: str, hides="", **environment) -> subprocess.Popen:
        hidden = ["unshare", "-m", "sh", "-c", f'mount -t tmpfs none "{hides}" && exec "$@"', "sh"]
        log = (self.folder / f"{command[0]}{len(self._processes)}.log").open("w")
        process = subprocess.Popen(
            [*(hidden if hides else ()), sys.executable, "-m", "dask", *command, "--no-dashboard"],
            env={**os.environ, "PYTHONPATH": str(SABOTEURS), **self._environment, **environment},
            stdout=log,
            stderr=log,
        )
        log.close()
        self._processes.append(process)
        return process

    def stop(self, process: subprocess.Popen) -> None:
        """End a process at once."""
        process.send_signal(signal.SIGKILL)
        process.wait()

    def close(self) -> None:
        """End everything."""
        for process in self._processes:
            self.stop(process)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A scheduler with two workers of one thread."""
    found = Cluster(tmp_path_factory.mktemp("cluster"))
    try:
        for _ in range(2):
            found.worker()
        found.wait_for_workers(2)
        yield found
    finally:
        found.close()


@pytest.fixture
def empty_cluster(tmp_path: Path) -> Iterator[Cluster]:
    """A scheduler without workers."""
    found = Cluster(tmp_path)
    yield found
    found.close()
