"""A run whose time was over before it began: the constant, and nothing that only a search needs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from command_line import Command
from sklearn.datasets import load_iris

from automl.home import Home
from automl_flows.services.reconciliation import reconcile
from automl_flows.services.server import LocalServer

pytestmark = [
    pytest.mark.integration,
    pytest.mark.timeout(300),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of SQLAlchemy, through MLflow
]
HEAVY = (
    *("prefect", "mlflow", "skops", "dask", "distributed", "_pytest", "lightgbm", "matplotlib"),
    *("sklearn.cluster", "sklearn.ensemble", "sklearn.linear_model", "sklearn.metrics"),
    *("sklearn.preprocessing", "sklearn.tree", "sklearn.feature_extraction.text"),
)
PROGRAM = f"""
import sys
from automl_flows.commands import process
process.BEGAN -= 25.0
from automl_flows.commands import cli

def leave(code):
    print("loaded:", *[name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)
    process.leave(code)

cli.leave = leave
cli.main()
"""


@pytest.fixture(scope="module")
def late(tmp_path_factory: pytest.TempPathFactory) -> tuple[Command, dict[str, Any], str]:
    """Home, result and standard error of a late run."""
    command = Command(tmp_path_factory.mktemp("home"))
    table = command.home / "flowers.csv"
    load_iris(as_frame=True).frame.to_csv(table, index=False)
    arguments = ["train", str(table), "--target", "target", "--budget", "20s", "--json"]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments, "--home", str(command.home)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return command, json.loads(done.stdout), done.stderr


def test_it_ends_with_the_constant_and_says_so(late: tuple[Command, dict[str, Any], str]) -> None:
    _, result, _ = late
    assert result["champion"]["family"] == "constant"
    assert result["model"]["registration"] == "pending"
    assert any("the constant is the model" in text for text in result["given_up"])
    assert any("left no time to begin it" in text for text in result["warnings"])


def test_it_starts_no_process_and_loads_nothing_heavy(
    late: tuple[Command, dict[str, Any], str],
) -> None:
    command, result, stderr = late
    folder = Path(command.home) / "runs" / result["run_id"]
    assert stderr.splitlines()[-1].strip() == "loaded:"
    assert not (command.home / "prefect").exists()
    assert not (folder / "mirror.log").exists()
    assert (folder / "workers.log").read_bytes() == b""


def test_the_model_and_the_page_are_completed_later(
    late: tuple[Command, dict[str, Any], str], tmp_path: Path
) -> None:
    command, result, _ = late
    command.json("sync")
    (run,) = command.json("runs")
    assert run["status"] == "finished"
    rows = tmp_path / "rows.csv"
    table = command.home / "flowers.csv"
    command.json("predict", "flowers-target@champion", str(table), "-o", str(rows))
    assert len(rows.read_text().splitlines()) == 151
    with LocalServer(command.home / "prefect") as server:
        server.wait_ready()
        assert reconcile(Home(command.home), server.api, seconds=60.0) == 1
        tags = {"tags": {"all_": [result["run_id"]]}}
        (flow_run,) = server.api.post("flow_runs/filter", {"flow_runs": tags})
        assert flow_run["state_type"] == "COMPLETED"
