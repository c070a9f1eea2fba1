"""A busy machine costs quality, never the model.

The short profile starts two busy loops. ``pytest tests/faults --busy 30`` starts thirty; the seconds that the
run is late are printed with ``-rP``.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from command_line import Command
from disturbed import NAME, TABLE, predictions

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]
BUDGET = 20


@contextmanager
def loops(count: int) -> Iterator[None]:
    """Processes that do nothing but keep the machine busy.

    Each is in a session of its own: Linux may share the cores among sessions first, and loops in the run's own would
    take nothing from the other programs of the machine and all from the run.
    """
    loop = [sys.executable, "-S", "-c", "while True: pass"]
    started = [subprocess.Popen(loop, start_new_session=True) for _ in range(count)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


def test_a_short_run_on_a_busy_machine_ends_with_a_model(
    home: Path, request: pytest.FixtureRequest
) -> None:
    command, count = Command(home), int(request.config.getoption("--busy"))
    with loops(count):
        started = time.monotonic()
        result = command.json(
            *("train", TABLE, "--target", "target", "--name", NAME, "--budget", f"{BUDGET}s")
        )
        late = time.monotonic() - started - BUDGET
    print(f"{count} loops: {late:+.1f} s beside {BUDGET} s")  # noqa: T201
    assert result["model"]["members"]
    assert predictions(command, result["run_id"], home)
    assert predictions(command, f"{NAME}@champion", home)
