"""The experiment of document L14: its learners, its tables and what it makes of predictions."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize_scalar
from sklearn.ensemble import GradientBoostingRegressor

from automl.ensembles.agnostic import agnostic_bayes
from automl.ensembles.problem import EnsembleProblem
from automl.families.registry import load_families
from automl.metrics.bootstraps import bootstrap_multiplicities
from automl.metrics.building import build_index
from automl.randomness import Purpose, stream
from automl.records import Task

FOLDER = Path(__file__).parents[2] / "benchmarks" / "esmbo"
MODULES = ("learners", "problems", "experiment", "published", "report")


@pytest.fixture(scope="module")
def module() -> Iterator[Callable[[str], ModuleType]]:
    hidden = {name: sys.modules.pop(name) for name in MODULES if name in sys.modules}
    sys.path.insert(0, str(FOLDER))
    yield importlib.import_module
    sys.path.remove(str(FOLDER))
    for name in MODULES:
        sys.modules.pop(name, None)
    sys.modules.update(hidden)


# --- learners -------------------------------------------------------------------------------------


@pytest.mark.parametrize("s", [0.0, 0.2, 0.5, 0.9, 1.0])
def test_a_leaf_takes_the_value_of_least_loss(module, s):
    leaf_values = module("learners").leaf_values
    rng = np.random.default_rng(int(100 * s))
    for _ in range(30):
        r = np.round(rng.normal(size=25), rng.integers(0, 4))
        leaf = np.unique(rng.integers(5, size=25), return_inverse=True)[1]
        values = leaf_values(r, leaf, s)
        for code, value in enumerate(values):
            own = r[leaf == code]

            def loss(c, own=own):
                return float((s * (own - c) ** 2 / 2 + (1 - s) * np.abs(own - c)).sum())

            free = minimize_scalar(loss, bounds=(-5, 5), method="bounded").fun
            assert loss(value) <= min(free, *map(loss, own)) + 1e-9


def test_the_ends_of_the_blend_are_the_mean_and_the_median(module):
    leaf_values = module("learners").leaf_values
    r = np.random.default_rng(0).normal(size=40)
    leaf = np.repeat([0, 1, 2], [1, 12, 27])
    for s, center in ((1.0, np.mean), (0.0, np.median)):
        expected = [center(r[leaf == code]) for code in range(3)]
        np.testing.assert_allclose(leaf_values(r, leaf, s), expected)


def test_all_squared_loss_is_scikit_learns_boosting(module):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(150, 4)).astype(np.float32)
    y = X[:, 0] - X[:, 1] ** 2 + rng.normal(0, 0.1, 150)
    ours = module("learners").BlendedBoostingRegressor(n_estimators=20).fit(X, y)
    theirs = GradientBoostingRegressor(n_estimators=20).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-6)


def test_every_space_builds_its_learner(module):
    del module
    rng = np.random.default_rng(2)
    X, z = rng.normal(size=(40, 3)), rng.normal(size=40)
    found = load_families(FOLDER / "spaces")
    assert sum(len(family.kinds) for family in found.values()) == 7
    for family in found.values():
        for kind in family.kinds:
            y = z if kind == "regression" else (z > 0).astype(int)
            for _ in range(3):
                configuration = family.space(kind).sample(rng)
                estimator = family.build(configuration, task=kind, seed=3)
                assert np.isfinite(family.fit(estimator, X, y).predict(X)).all()


# --- tables ---------------------------------------------------------------------------------------


def write_data(folder: Path, n_rows: int) -> None:
    rng = np.random.default_rng(3)
    x, word = rng.normal(size=n_rows), rng.choice(["a", "b"], n_rows)
    frame = pd.DataFrame({"x": x, "word": word, "z": rng.normal(size=n_rows)})
    frame["label"] = rng.choice(["p", "q", "r"], n_rows, p=[0.5, 0.3, 0.2])
    frame["y"] = x + (word == "a") + rng.normal(0, 0.1, n_rows)
    columns = {"x": "numeric", "word": "nominal", "z": "numeric"}
    facts = {"rows": n_rows, "features": 3, "n_datetime": 0}
    for name, target in (("some_classes", "label"), ("some_numbers", "y")):
        frame[[*columns, target]].to_csv(folder / f"{name}.csv", index=False)
    pd.DataFrame(
        [
            {"name": "some_classes", "task": "multiclass", "target": "label", **facts},
            {"name": "some_numbers", "task": "regression", "target": "y", **facts},
        ]
    ).assign(file=lambda frame: frame.name + ".csv").to_csv(folder / "catalog.csv", index=False)
    types = {name: {"columns": columns} for name in ("some_classes", "some_numbers")}
    (folder / "schema.json").write_text(json.dumps(types))


def test_a_table_is_cut_into_three_parts_and_two_classes(module, tmp_path):
    problems = module("problems")
    write_data(tmp_path, 300)
    assert sorted(problems.problem_names(tmp_path)) == [
        ("some_classes", True),
        ("some_numbers", False),
    ]
    found = problems.read_problem(tmp_path, "some_classes")
    assert [len(y) for y in (found.y, found.y_validation, found.y_test)] == [120, 90, 90]
    assert set(found.y) == set(found.y_test) == {0, 1}
    assert found.X.shape[1] == found.X_test.shape[1]
    np.testing.assert_allclose(found.X[:, 0].std(), 1.0, rtol=1e-5)
    labels = pd.Series(np.repeat(["p", "q", "r"], [50, 30, 20]))
    sides = [problems.two_classes(labels, seed).mean() for seed in range(20)]
    assert min(sides) >= 0.2
    assert max(sides) <= 0.8
    assert 0.5 in sides


# --- the report -----------------------------------------------------------------------------------


def accuracy_of(y):
    return build_index("accuracy", task=Task.BINARY, y_all=y, decision="given")


def test_weights_after_all_configurations_are_those_of_agnostic_bayes(module):
    rng = np.random.default_rng(4)
    y = rng.integers(0, 2, 60)
    predictions = np.where(rng.random((8, 60)) < 0.3, 1 - y, y)
    loss = (predictions != y).astype(float)
    counts = bootstrap_multiplicities(60, 50, np.random.default_rng(5))
    found = module("report").weights_over_time(loss, np.zeros(8, dtype=bool), counts)
    expected = agnostic_bayes(
        EnsembleProblem(list(predictions), y, accuracy_of(y), np.random.default_rng(5))
    )
    np.testing.assert_allclose(found[-1], expected)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    assert (np.triu(found, 1) == 0).all()


def test_a_failed_fit_is_never_chosen(module):
    weights_over_time = module("report").weights_over_time
    loss = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 0.0]])
    has_failed = np.array([True, False, False])
    found = weights_over_time(loss, has_failed, None)
    assert found.tolist() == [[0, 0, 0], [0, 1, 0], [0, 0, 1]]


def test_the_printed_tables_are_consistent(module):
    published = module("published").PUBLISHED
    assert len(published) == 7
    for printed in published.values():
        frequency = np.array([printed.frequency[name] for name in printed.order])
        np.testing.assert_allclose(frequency + frequency.T, 1.0, atol=0.011)
        ranks = [printed.rank[name] for name in printed.order]
        np.testing.assert_allclose(0.5 + (1 - frequency).sum(axis=1), ranks, atol=0.021)
        assert ranks == sorted(ranks)


def test_the_experiment_continues_after_a_kill_and_its_report_is_complete(
    module, tmp_path, monkeypatch, capsys
):
    experiment, report = module("experiment"), module("report")
    monkeypatch.setattr(experiment, "N_CONFIGURATIONS", 7)
    monkeypatch.setattr(experiment, "N_BOOTSTRAPS", 4)
    monkeypatch.setattr(report, "N_BOOTSTRAPS", 4)
    monkeypatch.setattr(report, "N_CONFIGURATIONS", 7)
    data, out = tmp_path / "data", tmp_path / "out"
    data.mkdir()
    write_data(data, 200)

    def call(main: Any, *arguments: str) -> None:
        monkeypatch.setattr(sys, "argv", ["x", *arguments])
        main()

    call(experiment.main, str(data), str(out), "--families", "svm", "--methods", "random", "smbo")
    kept = {path: path.read_bytes() for path in (out / "cells").glob("*.npz")}
    assert len(kept) == 4
    gone = next(iter(kept))
    gone.unlink()
    call(experiment.main, str(data), str(out), "--families", "svm")
    assert len(list((out / "cells").glob("*.npz"))) == 6
    with np.load(gone) as again:
        assert again["validation"].shape[0] == 7
        assert again["test"].shape == (7, len(again["y_test"]))
    call(report.main, str(out), "--draws", "20")
    assert "Support Vector Regressor" in capsys.readouterr().out
    results = json.loads((out / "report" / "result.json").read_text())
    assert [(entry["kind"], entry["space"]) for entry in results] == [
        ("regression", "svm"),
        ("classification", "svm"),
    ]
    for entry in results:
        frequency = np.array(entry["winning_frequency"])
        np.testing.assert_allclose(frequency + frequency.T, 1.0)
        assert sum(entry["expected_rank"]) == pytest.approx(10.0)
    for name in ("tables.md", "curves.csv", "figure_1.png", "figure_2.png"):
        assert (out / "report" / name).stat().st_size > 0


def test_ers_stands_for_agnostic_bayes_over_the_random_search(module, tmp_path):
    """The test loss of ERS at the end is that of a vote by these weights."""
    del tmp_path
    report = module("report")
    rng = np.random.default_rng(6)
    cell = {
        "is_classification": np.array(True),
        "y_validation": rng.integers(0, 2, 40),
        "validation": rng.integers(0, 2, (5, 40)).astype(np.int8),
        "y_test": rng.integers(0, 2, 30),
        "test": rng.integers(0, 2, (5, 30)).astype(np.int8),
        "has_failed": np.zeros(5, dtype=bool),
    }
    counts = bootstrap_multiplicities(40, 50, stream(1, Purpose.BOOTSTRAP))
    y = cell["y_validation"]
    weights = agnostic_bayes(
        EnsembleProblem(list(cell["validation"]), y, accuracy_of(y), stream(1, Purpose.BOOTSTRAP))
    )
    votes = [weights[cell["test"][:, i] == 1].sum() > 0.5 for i in range(30)]
    found = report.losses_over_time(cell, counts, ties="better")
    np.testing.assert_array_equal(found[-1], np.array(votes) != cell["y_test"])
