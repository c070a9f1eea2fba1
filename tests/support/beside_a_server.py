"""Python that runs beside a Prefect server of its own, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

BEGINNING = """
import sys
from automl_flows.environment import prepare_environment
prepare_environment()
from automl.home import Home, default_home
from automl_flows.services.server import LocalServer
home = Home(default_home())
home.prepare()

def drained():
    # a busy server is not ready each time, or not done in time
    assert any(server.drain(60.0) for _ in range(5)), "the server does not keep what it is told"

with LocalServer(home.path / "prefect") as server:
    server.wait_ready()
    with server.connected():
        exec(sys.argv[1])
        server.drain()
"""


def run_beside_server(
    code: str, *arguments: str, home: Path, seconds: float = 280.0, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run code that uses the server of a new home.

    Parameters
    ----------
    arguments
        `sys.argv[2:]` of the code, which calls `drained()` before it looks at what the server knows.
    """
    return subprocess.run(
        [sys.executable, "-c", BEGINNING, code, *arguments],
        env={**os.environ, "AUTOML_HOME": str(home), **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds,
    )
