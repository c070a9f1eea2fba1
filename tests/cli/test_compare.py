"""`automl compare`: what is refused before anything is started, and reports of what is there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from filelock import FileLock

METHODS = "common: {trials: 3, families: knn}\nmethods:\n  a: {optimizer: random}\n  b: {}\n"


@pytest.fixture
def methods(tmp_path: Path) -> Path:
    path = tmp_path / "methods.yaml"
    path.write_text(METHODS, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("methods: {a: {}}", "at least two methods are needed; got a"),
        (
            "methods: {a: {trial: 3}, b: {}}",
            "method a: unknown setting 'trial'; did you mean 'trials'",
        ),
        ("methods: {a: {optimizer: tep}, b: {}}", "method a: setting optimizer: must be one of"),
        ("methods: {a: {families: knm}, b: {}}", "did you mean 'knn'"),
        ("methods: {a: {metric: rmse}, b: {}}", "method a on data set table: metric rmse"),
        (
            "{common: {metric: rmse}, methods: {a: {metric: mcc}, b: {metric: mcc}}}",
            "the common metric on data set table: metric rmse",
        ),
        ("methods: {a: {folds: 1}, b: {}}", "method a: setting folds"),
        (
            "methods: {a: {}, b: {ensemble_combine: median}}",
            "method b on data set table: setting ensemble_combine",
        ),
    ],
)
def test_a_method_that_cannot_run_is_refused_before_the_start(
    automl, methods, table, tmp_path, text, words
):
    methods.write_text(text, encoding="utf-8")
    found = automl("compare", methods, table, "-o", tmp_path / "out")
    assert (found.code, words in found.err) == (2, True), found.err
    assert not (tmp_path / "out").exists()


def test_every_table_is_checked_before_the_start(automl, methods, table, tmp_path):
    bad = tmp_path / "bad.csv"
    bad.write_text("x,y\n1,a\n2,a\n", encoding="utf-8")
    found = automl("compare", methods, table, bad, "-o", tmp_path / "out")
    assert found.code == 3
    assert "bad.csv" in found.err
    assert "target of" in found.err
    assert "Traceback" not in found.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["methods.yaml"], 2, "at least one data set"),
        ([], 2, "needs METHODS.yaml"),
        (["methods.yaml", "none.csv"], 3, "there is no file"),
        (["methods.yaml", "table.csv", "--target", "z"], 3, "z"),
        (["methods.yaml", "table.csv", "--test-share", "1"], 2, "--test-share must be"),
        (["methods.yaml", "table.csv", "--report-only"], 2, "--report-only takes no methods"),
        (["--report-only"], 2, "holds no comparison"),
        (["methods.yaml", "table.csv", "table.csv"], 2, "two data sets are called table"),
        (["methods.yaml", "table.csv", "--dask", "here"], 2, "address like tcp://HOST:8786; got"),
        (["methods.yaml", "table.csv", "--seeds", "0"], 2, "seeds"),
    ],
)
def test_wrong_arguments_are_one_sentence(automl, methods, table, arguments, code, words):
    found = automl("compare", *arguments, "-o", "out")
    assert (found.code, words in found.err) == (code, True), found.err
    assert not Path("out").exists()


def test_a_comparison_that_another_process_runs_is_left_as_it_is(automl, methods, table, tmp_path):
    from automl.comparison.folder import CellRecord, ComparisonFolder
    from automl.comparison.plan import Cell, ComparisonPlan

    folder = ComparisonFolder(tmp_path / "out")
    known = {"table": str(Path(table).resolve()), "target": "y"}
    folder.write_plan(ComparisonPlan({"a": {"trials": 3}, "c": {}}, {"other": known}))
    failed = Cell("a", "other", 0)
    folder.write(CellRecord(failed, "failed", "no memory"))
    before = (folder.path / "plan.json").read_bytes()
    methods.write_text("methods: {d: {}, b: {}}", encoding="utf-8")
    with FileLock(folder.path / "lock"):
        found = automl("compare", methods, table, "-o", folder.path, "--retry-failed")
    assert (found.code, "another process runs the comparison" in found.err) == (2, True), found.err
    assert (folder.path / "plan.json").read_bytes() == before
    assert folder.read(failed) is not None


def test_a_cluster_that_is_not_there_is_one_sentence(automl, methods, table):
    found = automl("compare", methods, table, "-o", "out", "--dask", "tcp://localhost:1")
    assert found.code == 4
    assert "no Dask scheduler answers at tcp://localhost:1" in found.err
    assert not Path("out").exists()


def test_records_of_any_program_are_reported(automl, tmp_path):
    from automl.comparison.folder import CellRecord, ComparisonFolder
    from automl.comparison.plan import ComparisonPlan

    folder = ComparisonFolder(tmp_path / "out")
    plan = ComparisonPlan({"a": {}, "b": {}}, {"one": {"table": "t.csv", "target": "y"}})
    folder.write_plan(plan)
    for cell in plan.cells():
        folder.write(CellRecord(cell, "failed", "it was too large"))
    found = automl("compare", "-o", tmp_path / "out", "--report-only")
    assert found.code == 0, found.err
    assert "failed: a on one, seed 0: it was too large" in found.out
    as_json = automl("compare", "-o", tmp_path / "out", "--report-only", "--json").json
    assert [row["expected_rank"] for row in as_json["methods"]] == [1.5, 1.5]
    assert json.loads((tmp_path / "out" / "result.json").read_text())["places"] == 1
