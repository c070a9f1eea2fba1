"""The meta-learning replays on small tables."""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks" / "metalearning"


@pytest.fixture
def modules(monkeypatch):
    """The scripts, which import each other by their bare names."""
    before = set(sys.modules)
    monkeypatch.setattr(sys, "path", [str(FOLDER), *sys.path])
    names = ("flow_tables", "learning", "starting", "report")
    yield argparse.Namespace(**{name: importlib.import_module(name) for name in names})
    for name in set(sys.modules) - before:
        if "benchmarks" in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


@pytest.fixture
def metadata(tmp_path):
    """Eight tasks, on which large trees help the more the higher the class entropy is."""
    folder = tmp_path / "metadata" / "openml_sklearn_flows"
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    parts, qualities = [], []
    for task in range(1, 9):
        depth = rng.integers(1, 11, size=40)
        rate = np.exp(rng.uniform(np.log(0.01), np.log(2.0), size=40))
        score = 0.9 - 0.02 * np.abs(depth - task) - 0.01 * np.log(rate) ** 2 / 10
        parts.append(
            pd.DataFrame(
                {
                    "algorithm": "SAMME",
                    "learning_rate": rate,
                    "base_estimator__max_depth": depth,
                    "n_estimators": 100,
                    "imputer__strategy": "mean",
                    "predictive_accuracy": score,
                    "task_id": task,
                }
            )
        )
        qualities.append({"task_id": task, "ClassEntropy": float(task), "kNN1NAUC": rng.random()})
    pd.concat(parts).to_csv(folder / "adaboost.csv.gz", index=False)
    pd.DataFrame(qualities).to_csv(folder / "task_qualities.csv.gz", index=False)
    return tmp_path / "metadata"


def test_a_data_set_is_left_out_searched_and_reported(modules, metadata, tmp_path, capsys):
    out, flow = tmp_path / "out", "flow_adaboost"
    data = modules.flow_tables.stored_flow(metadata, flow, out)
    assert data.meta_names == ("ClassEntropy", "kNN1NAUC")
    assert len(data.sample(0.25)) == 80
    for number in (3, 4):
        modules.learning.study(data, number, 1.0, out)
        options = argparse.Namespace(out=out, trials=6, seeds=1)
        modules.starting.study(data, number, options)
    learners = json.loads((out / "learning" / flow / "4.json").read_text())["learners"]
    assert learners["none/standardized"] == pytest.approx({"rmse": 1.0, "tau": 0.0}, abs=1e-9)
    both, alone = (learners[f"{kind}/standardized/4"]["tau"] for kind in ("both", "configuration"))
    assert both > alone
    entry = json.loads((out / "starting" / flow / "5.json").read_text())
    assert entry["curves"]["gbqr/best/0"][2] > entry["curves"]["gbqr/bad/0"][0]
    assert all(np.all(np.diff(curve) >= 0.0) for curve in entry["curves"].values())
    capsys.readouterr()
    for number in (3, 4):  # finished ones are not repeated
        modules.learning.study(data, number, 1.0, out)
        modules.starting.study(data, number, options)
    assert capsys.readouterr().out == ""
    modules.report.SHOWN_TRIALS = (3, 6)
    modules.report.show_learning(out, flow)
    modules.report.show_starting(out, [flow])
    text = capsys.readouterr().out
    assert "2 data sets left out one by one" in text
    assert "| gbqr/delta |" in text
    modules.learning.importances(data, 1.0, out)
    told = json.loads((out / "importances" / f"{flow}.json").read_text())
    assert set(told) == {*data.names_of_x, *data.meta_names}
    assert set(sorted(told, key=told.get)[-2:]) == {"ClassEntropy", "max_depth"}
    modules.report.draw(out, tmp_path / "figures")
    names = {path.name for path in (tmp_path / "figures").iterdir()}
    assert names == {f"figure_6.{i}.png" for i in range(1, 8)}


def test_starts_are_of_the_searched_data_sets_own_configurations(modules, metadata, tmp_path):
    data = modules.flow_tables.stored_flow(metadata, "flow_adaboost", tmp_path / "out")
    scores = data.tables[2].scores
    problem = modules.starting.Problem(data, 2, scores)
    assert len(problem.others) == 7
    for name, start in problem.starts.items():
        assert len(set(start)) == 3, name
    best = np.sort(scores[problem.starts["best"]])
    assert best == pytest.approx(np.sort(scores)[-3:])
    tried = modules.starting.search(problem, "gbqr", "knn", 0, 10)
    assert tried[:3] == problem.starts["knn"]
    assert len(set(tried)) == 10
