"""A real comparison through the orchestrator, in processes of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from automl.comparison.folder import ComparisonFolder
from automl.comparison.plan import Cell

METHODS = """
common: {trials: 5, families: "decision_tree,knn", folds: 3, candidate_limit: 2, portfolio: false}
methods:
  single: {optimizer: random, ensemble: none}
  stopped: {memory_mib: 1}
  blend: {optimizer: hypercube}
"""


def compare(folder: Path, *arguments: str) -> tuple[dict[str, Any], str]:
    done = subprocess.run(
        [sys.executable, "-m", "automl_flows.cli", "compare", *arguments, "--json"],
        cwd=folder,
        env={**os.environ, "OMP_NUM_THREADS": "1", "AUTOML_HOME": str(folder / "home")},
        capture_output=True,
        text=True,
        timeout=380,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


@pytest.mark.integration
@pytest.mark.timeout(900)
def test_a_comparison_runs_side_by_side_and_repeats_only_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "methods.yaml").write_text(METHODS, encoding="utf-8")
    arguments = ("methods.yaml", "sklearn:iris", "sklearn:wine", "-o", "out", "--workers", "2")
    result, told = compare(tmp_path, *arguments)
    assert "3 methods, 2 data sets, 1 seeds: 6 cells, 6 to run" in told
    assert {row["method"] for row in result["methods"]} == {"single", "blend", "stopped"}
    assert result["methods"][-1]["method"] == "stopped"
    assert result["methods"][-1]["failures"] == 2
    assert "memory limit" in result["failures"][0]["reason"]
    assert result["missing"] == 0
    assert min(row["blend"] for row in result["scores"]) > 0.5
    folder = ComparisonFolder(tmp_path / "out")
    cell = Cell("blend", "iris", 0)
    record, rows = folder.read(cell), folder.read_rows(cell)
    assert record is not None
    assert record.score == pytest.approx(
        next(row["blend"] for row in result["scores"] if row["data_set"] == "iris")
    )
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
