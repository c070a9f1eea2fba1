"""What is reported of the ensembles' benchmark."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest

from automl.metrics.building import build_index
from automl.records import Task


@pytest.fixture(scope="module")
def report(benchmark_module: Callable[..., ModuleType]) -> ModuleType:
    return benchmark_module("ensembles_report", "evidence")


def test_the_level_decides_by_the_p_value_alone(report: ModuleType) -> None:
    index = pd.MultiIndex.from_tuples([("a", 0), ("a", 1), ("b", 0)], names=["table", "seed"])
    ensemble, single = pd.Series([1.0, 0.0, 0.5], index), pd.Series([0.0, 1.0, 0.6], index)
    line = report.level_line("x", ensemble, single, pd.Series([0.01, 0.45, 0.9], index))
    scores, costs = line.splitlines()
    # at 0.05: table a (1 + 1) / 2, b 0.6; at 0.5: a (1 + 0) / 2, b 0.6; always: a 0.5, b 0.5
    assert scores.startswith("| x | 2 | 0.8000 (0.33) |")
    assert "| 0.5500 (0.67) | 0.5500 (0.67) | 0.5000 (1.00) |" in scores
    assert "| +0.0000 ± 0.0000 | +0.0000 ± 0.0000 | -0.0500 ± 0.0500 |" in costs


def test_ranks_wins_and_probabilities_of_saved_predictions(
    report: ModuleType, tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    (tmp_path / "predictions").mkdir()
    lines = []
    for table in ("a", "b", "c"):
        y = rng.normal(size=200)
        index = build_index("mse", task=Task.REGRESSION, y_all=y)
        for method, noise in (("single", 1.0), ("greedy", 0.1)):
            raw = y + noise * rng.normal(size=200)
            np.savez(
                tmp_path / "predictions" / f"{table}-0-{method}.npz",
                y=y,
                raw=raw,
                threshold=0.5,
                index=json.dumps(index.to_json()),
            )
            facts = {"predict_ms": 1.0, "members": 2, "models": 2, "pvalue": 0.2}
            facts |= {"learn_seconds": 0.1, "score": index.score(y, raw)}
            lines.append(json.dumps({"table": table, "seed": 0, "method": method, **facts}))
    (tmp_path / "ensembles.jsonl").write_text("\n".join(lines))
    text = report.text(tmp_path)
    assert "| greedy |  | 1.00 (1.00) | 1.00 |" in text
    assert "| single | 0.00 (0.00) |  | 2.00 |" in text
    assert report.keys(tmp_path / "ensembles.jsonl") >= {("a", 0, "single"), ("c", 0, "greedy")}
    assert report.text(tmp_path / "absent") == "no results"
