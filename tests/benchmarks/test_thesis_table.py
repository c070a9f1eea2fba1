"""The thesis' table 5.1: the printed numbers, and how ours are computed from folds."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from automl.families.registry import get_family
from automl.metrics.building import build_index
from automl.records import Configuration, Task
from automl.selection.clusters import Candidate
from automl.selection.levels import select

THESIS = Path(__file__).parents[2] / "benchmarks" / "thesis"


@pytest.fixture(scope="module")
def report() -> Iterator[ModuleType]:
    before = dict(sys.modules)
    for name in ("report", "printed"):
        sys.modules.pop(name, None)
    sys.path.insert(0, str(THESIS))
    yield importlib.import_module("report")
    sys.path.remove(str(THESIS))
    for name in set(sys.modules) - set(before):
        if str(THESIS) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def test_the_printed_boosts_follow_from_the_printed_scores(report: ModuleType) -> None:
    rows = report.printed_rows()
    assert len(rows) == 31
    assert sum(row.score > row.best for row in rows.values()) == 26
    assert rows["sonar"].boost == pytest.approx(0.0588, abs=2e-4)
    assert all(row.worst < row.best <= row.score for row in rows.values())


def test_all_families_of_the_thesis_are_ours(report: ModuleType) -> None:
    assert len(set(report.FAMILIES.values())) == 17
    for name in report.FAMILIES.values():
        assert get_family(name).space(Task.MULTICLASS).default().family == name


@pytest.mark.parametrize("baseline", ["random_labels", "frequencies"])
def test_the_index_of_folds_is_the_programs(report: ModuleType, baseline: Any) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 60)
    prediction = rng.dirichlet(np.ones(3), 60)
    index = build_index(task=Task.MULTICLASS, y_all=y, n_classes=3, brier_baseline=baseline)
    folds = {name: [value] for name, value in index.metrics(y, prediction).items()}
    found = report.index_scores(dict(index.baselines), folds)
    assert found == pytest.approx([index.score(y, prediction)])


def written(out: Path) -> dict[str, Any]:
    """A plan, two defaults and one run of wine."""
    y = np.repeat([0, 1, 2], [6, 7, 5])
    index = build_index(task=Task.MULTICLASS, y_all=y, n_classes=3, brier_baseline="random_labels")
    plan = out / "plans" / "wine-half"
    plan.mkdir(parents=True)
    (plan / "plan.json").write_text(json.dumps({"index": index.to_json()}))
    folder = out / "defaults" / "wine"
    folder.mkdir(parents=True)
    rng = np.random.default_rng(1)
    prediction = rng.dirichlet(np.ones(3), len(y))
    metrics = index.metrics(y, prediction) | {"brier_of_labels": 1.0}
    folds = {name: [value] * 30 for name, value in metrics.items()}
    done = {"status": "complete", "reason": "", "folds": folds}
    (folder / "knn.ours.half.json").write_text(json.dumps(done))
    (folder / "qda.ours.half.json").write_text(
        json.dumps({"status": "timed_out", "reason": "not finished", "folds": {}})
    )
    scores = tuple(np.random.default_rng(2).normal(0.9, 0.01, 30))
    record = select(
        [
            Candidate("a", Configuration("lda", {}), scores),
            Candidate("b", Configuration("knn", {}), tuple(s - 0.3 for s in scores)),
        ],
        test="thesis",
    )
    run = {
        "champion": "a",
        "data": {"baselines": dict(index.baselines)},
        "stages": {"selection": record.to_json()},
        "trials": [{"id": "a", "family": "lda"}, {"id": "b", "family": "knn"}],
        "fresh": [
            {"origin": name, "status": "complete", "metrics": {"brier": 0.1}} for name in "ab"
        ],
    }
    (out / "optimized").mkdir()
    (out / "optimized" / "wine.json").write_text(json.dumps(run))
    return {"default": index.score(y, prediction), "score": float(np.mean(scores)), "index": index}


def test_a_row_has_ours_beside_the_printed_numbers(report: ModuleType, tmp_path: Path) -> None:
    known = written(tmp_path)
    champion, highest = report.row_of(tmp_path, "wine", "random_labels")
    assert champion == highest
    assert champion.best == pytest.approx(known["default"])
    assert (champion.best_default, champion.family, champion.missing) == ("knn", "lda", ("qda",))
    assert champion.score == pytest.approx(known["score"])
    cells, rows = report.table_cells(tmp_path, "random_labels")
    wine = next(cell for cell in cells if cell["data set"] == "wine")
    assert wine["score"] == f"{known['score']:.4f} (0.9544)"
    assert "ours 1 of 1 by the champion" in report.summary(rows)


def test_the_other_baseline_changes_the_score_by_the_brier_score_alone(
    report: ModuleType, tmp_path: Path
) -> None:
    known = written(tmp_path)
    run = report.read_run(tmp_path, "wine")
    spread = 1.0 - known["index"].baselines["accuracy"]
    found = report.fresh_scores(run, "frequencies")["a"]
    assert found == pytest.approx(known["score"] + 0.25 * 0.1 * (1 / (2 * spread) - 1 / spread))


def test_a_figure_is_drawn_of_a_run_and_its_defaults(report: ModuleType, tmp_path: Path) -> None:
    written(tmp_path)
    path = report.draw(tmp_path, "wine")
    assert path.exists()
    assert report.draw(tmp_path, "iris") is None
