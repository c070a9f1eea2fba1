"""Records of a comparison as any program may write them, without runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from automl.comparison.folder import CellRecord, CellRows, ComparisonFolder
from automl.comparison.plan import Cell, ComparisonPlan
from automl.metrics.building import build_index
from automl.metrics.index import PerformanceIndex
from automl.records import Task

N_ROWS = 80
Quality = Callable[[str, int], float]


def make_rows(quality: float, seed: int) -> tuple[CellRows, PerformanceIndex]:
    """Test rows of a binary target; the greater the quality the nearer is the answer."""
    truth = np.random.default_rng(seed)
    y = truth.integers(0, 2, N_ROWS)
    noise = np.random.default_rng([seed, int(1000 * quality)]).normal(0.0, 1.0, (3, N_ROWS))
    answers = []
    for worse, of_step in zip((0.5, 0.2, 0.0), noise, strict=True):
        p = 1.0 / (1.0 + np.exp(-((quality - worse) * 3.0 * (2 * y - 1) + of_step)))
        answers.append(np.column_stack([1.0 - p, p]))
    index = build_index(task=Task.BINARY, y_all=y)
    return CellRows(y, answers[-1], None, np.array([1, 3, 6]), np.stack(answers)), index


def add_cell(
    folder: ComparisonFolder, cell: Cell, quality: float, *, with_steps: bool = True
) -> None:
    rows, index = make_rows(quality, 100 * cell.seed + len(cell.data_set))
    if not with_steps:
        rows = CellRows(rows.y, rows.prediction)
    risks = [None, *np.round(1.5 - quality - 0.1 * np.arange(6), 6)]
    record = CellRecord(
        cell,
        "finished",
        score=index.score(rows.y, rows.prediction),
        validated_score=1.0 - risks[-1],
        seconds=1.5,
        index=index.to_json(),
        trial_risks=tuple(risks),
        trial_seconds=tuple(map(float, range(7))),
        facts={
            "defaults": {"knn": 0.1 * cell.seed, "lda": 0.4, "qda": None},
            "champion": {"family": ("svm", "knn")[cell.seed], "score": quality},
        },
    )
    folder.write(record, rows)


@pytest.fixture
def plan() -> ComparisonPlan:
    methods = {"good": {"optimizer": "tpe"}, "bad": {"optimizer": "hypercube"}, "fails": {}}
    tables = {name: {"table": f"{name}.csv", "target": "y"} for name in ("a", "bb", "ccc")}
    return ComparisonPlan(methods, tables, n_seeds=2)


@pytest.fixture
def filled(tmp_path: Path, plan: ComparisonPlan) -> ComparisonFolder:
    """Two methods that finished everything, and one that failed on one data set."""
    folder = ComparisonFolder(tmp_path / "out")
    folder.write_plan(plan)
    for cell in plan.cells():
        if cell.method == "fails" and cell.data_set == "a":
            folder.write(CellRecord(cell, "failed", "no memory"))
        else:
            add_cell(folder, cell, {"good": 0.8, "bad": 0.2, "fails": 0.5}[cell.method])
    return folder
