"""`automl serve` with the real local server: a schedule fires, a dropped file begins a run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pandas as pd
import psutil
import pytest
from waiting import until

from automl.data.digests import digest_frame
from automl.data.table import Table
from automl.home import Home
from automl.run.finished_runs import finished_runs, table_digest
from automl_flows.services.standing import start_services, stop_services

pytestmark = pytest.mark.integration

_SETTINGS = """
preset: fast
families: [logistic_regression]
portfolio: false
workers: 1
trials: 2
"""
_PATIENCE = 200.0


@pytest.fixture
def home(tmp_path: Path, own_ports: None) -> Iterator[Home]:
    home = Home(tmp_path / "home")
    start_services(home.path, ("prefect",))
    yield home
    stop_services(home.path)


def automl(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "automl_flows.commands.cli", *arguments]


@pytest.mark.skipif(
    tuple(map(int, version("sqlalchemy").split(".")[:2])) >= (2, 1),
    reason="Prefect 3.8.8's scheduler fails with SQLAlchemy 2.1; 2.0 is required",
)
@pytest.mark.timeout(600)
def test_a_schedule_and_a_dropped_file_retrain_and_nothing_is_left_running(
    home: Home, versions: dict[str, Path], tmp_path: Path
) -> None:
    (tmp_path / "settings.yaml").write_text(_SETTINGS)
    (tmp_path / "inbox").mkdir()
    common = ["--home", str(home.path)]
    options = [
        "--target",
        "target",
        "--name",
        "tumors",
        "--config",
        str(tmp_path / "settings.yaml"),
    ]
    subprocess.run(
        automl("train", str(versions["first"]), *options, *common),
        check=True, capture_output=True, timeout=_PATIENCE,
    )  # fmt: skip
    schedule = ["--table", str(versions["second"]), "--interval", "10s"]
    watch = ["--watch", str(tmp_path / "inbox"), "--settle", "1s"]
    service = subprocess.Popen(
        automl("serve", "--name", "tumors", *schedule, *watch, *common),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        part = tmp_path / "inbox" / "third.csv.part"
        part.write_bytes(versions["third"].read_bytes())
        part.rename(tmp_path / "inbox" / "third.csv")
        (tmp_path / "inbox" / "bad.csv").write_text("a,b\n1\n")
        second = digest_frame(pd.read_csv(versions["second"]))
        third = digest_frame(pd.read_csv(versions["third"]))
        reason = tmp_path / "inbox" / "failed" / "bad.csv.reason.txt"

        def is_done() -> bool:
            assert service.poll() is None, "the service ended"
            digests = {table_digest(run) for run in finished_runs(home, "tumors")}
            return reason.exists() and {second, third} <= digests

        until(is_done, _PATIENCE, pause=0.2)
        family = psutil.Process(service.pid).children(recursive=True)
    finally:
        os.kill(service.pid, signal.SIGTERM)
        _, said = service.communicate(timeout=_PATIENCE)
    assert service.returncode == 143, said
    _, left = psutil.wait_procs(family, timeout=_PATIENCE)
    assert not left
    assert said.count("bad.csv: set aside in failed/bad.csv: bad.csv, line 2: 1 fields") == 1
    assert "third.csv: a run has begun" in said
    assert {path.name for path in reason.parent.iterdir()} == {"bad.csv", "bad.csv.reason.txt"}
    _check_runs(home)


def _check_runs(home: Home) -> None:
    """Each table once; every comparison on rows that neither model was trained on."""
    first, *later = finished_runs(home, "tumors")
    assert len({table_digest(run) for run in (first, *later)}) == 1 + len(later) == 3
    for run in later:
        record = json.loads((run.stages / "promotion.json").read_text())
        held = set(Table.load(run.path / "challenge").row_digests.tolist())
        assert len(held) == record["rows"] >= 30
        assert record["promote"] == (record["pvalue"] <= record["level"])
        assert not held & set(Table.load(run.table).row_digests.tolist())
    assert not held & set(Table.load(first.table).row_digests.tolist())
