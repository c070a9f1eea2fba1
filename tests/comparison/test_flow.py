"""A real comparison through the orchestrator, in processes of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from automl.comparison.folder import ComparisonFolder
from automl.comparison.plan import Cell

METHODS = """
common: {trials: 5, families: "decision_tree,knn", folds: 3, candidate_limit: 2, portfolio: false}
methods:
  single: {optimizer: random, ensemble: none}
  stopped: {families: huber}
  blend: {optimizer: hypercube}
"""


def compare(folder: Path, *arguments: str) -> tuple[dict[str, Any], str]:
    done = subprocess.run(
        [sys.executable, "-m", "automl_flows.commands.cli", "compare", *arguments, "--json"],
        cwd=folder,
        env={**os.environ, "AUTOML_HOME": str(folder / "home")},
        capture_output=True,
        text=True,
        timeout=420,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


@pytest.mark.integration
@pytest.mark.timeout(900)
@pytest.mark.usefixtures("_with_server")
def test_a_comparison_runs_side_by_side_and_repeats_only_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "methods.yaml").write_text(METHODS, encoding="utf-8")
    arguments = ("methods.yaml", "sklearn:iris", "sklearn:wine", "-o", "out", "--workers", "2")
    result, told = compare(tmp_path, *arguments)
    assert "3 methods, 2 data sets, 1 seeds: 6 cells, 6 to run" in told
    assert {row["method"] for row in result["methods"]} == {"single", "blend", "stopped"}
    assert result["methods"][-1]["method"] == "stopped"
    assert result["methods"][-1]["failures"] == 2
    assert "no estimator for classification" in result["failures"][0]["reason"]
    assert result["missing"] == 0
    assert min(row["blend"] for row in result["scores"]) > 0.5
    folder = ComparisonFolder(tmp_path / "out")
    cell = Cell("blend", "iris", 0)
    record, rows = folder.read(cell), folder.read_rows(cell)
    assert record is not None
    assert record.score == pytest.approx(
        next(row["blend"] for row in result["scores"] if row["data_set"] == "iris")
    )
    assert set(record.facts["defaults"]) == {"decision_tree", "knn"}
    chosen = record.facts["champion"]
    (gain,) = (row for row in result["boosts"]["blend"] if row["data set"] == "iris")
    assert (gain["family"], gain["score"]) == (chosen["family"], f"{chosen['score']:.4f}")
    assert gain["default best"]
    assert "stopped" not in result["boosts"]
    assert rows.prediction.shape == (45, 3)
    assert rows.steps is not None
    assert len(record.trial_risks) == len(record.trial_seconds) == 5
    assert not (folder.path / "runs").exists()

    folder.remove(cell)
    others = {path: path.stat().st_mtime_ns for path in folder.path.glob("cells/*/*/*.json")}
    again, told = compare(tmp_path, *arguments)
    assert "6 cells, 1 to run" in told
    assert again["methods"] == result["methods"]  # equal seeds give equal models
    assert {path: path.stat().st_mtime_ns for path in others} == others


FAR_METHODS = """
common: {trials: 3, families: decision_tree, folds: 2, candidate_limit: 1, portfolio: false, ensemble: none}
methods:
  single: {optimizer: random}
  stopped: {families: huber}
"""
CLUSTER = """
from distributed import LocalCluster

if __name__ == "__main__":
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        print(cluster.scheduler_address, flush=True)
        input()
"""


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[str]:
    """Address of a scheduler with two workers, in processes of their own."""
    script = tmp_path / "cluster.py"
    script.write_text(CLUSTER, encoding="utf-8")
    environment = {
        **os.environ,
        "DASK_DISTRIBUTED__WORKER__DAEMON": "False",
    }
    with subprocess.Popen(
        [sys.executable, str(script)],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.communicate("\n")


@pytest.mark.integration
@pytest.mark.timeout(900)
@pytest.mark.usefixtures("_with_server")
def test_a_comparison_on_a_dask_cluster_gives_what_one_machine_gives(
    tmp_path: Path, cluster: str
) -> None:
    (tmp_path / "methods.yaml").write_text(FAR_METHODS, encoding="utf-8")
    arguments = ("methods.yaml", "sklearn:iris", "--no-curves")
    assert cluster.startswith("tcp://")
    found, told = compare(tmp_path, *arguments, "-o", "far", "--dask", cluster)
    assert "2 cells, 2 to run" in told
    assert found["missing"] == 0
    assert "no estimator for classification" in found["failures"][0]["reason"]
    near, _ = compare(tmp_path, *arguments, "-o", "near")
    assert found["scores"] == near["scores"]
