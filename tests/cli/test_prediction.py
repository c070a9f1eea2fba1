"""`automl predict` with a small real model, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from tiny_models import tiny_bundle

from automl.errors import AutoMLWarning


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return tiny_bundle(tmp_path_factory.mktemp("models") / "classes")


@pytest.fixture(scope="module")
def numbers(tmp_path_factory):
    return tiny_bundle(tmp_path_factory.mktemp("models") / "numbers", "regression")


@pytest.mark.parametrize("name", ["out.csv", "out.csv.gz", "out.parquet"])
def test_one_row_per_row_in_the_format_of_the_suffix(automl, table, tmp_path, model, name):
    outcome = automl("predict", model, table, "-o", tmp_path / name)
    read = pd.read_parquet if name.endswith("parquet") else pd.read_csv
    frame = read(tmp_path / name)
    assert (outcome.code, outcome.out) == (0, "")
    assert list(frame.columns) == ["prediction"]
    expected = pd.read_csv(table)["x"].gt(20).map({True: "prediction", False: "no"})
    assert list(frame["prediction"]) == list(expected)


def test_probabilities_get_a_column_per_class(automl, table, tmp_path, model):
    automl("predict", model, table, "-o", tmp_path / "out.csv", "--proba")
    frame = pd.read_csv(tmp_path / "out.csv")
    assert list(frame.columns) == ["prediction", "no", "proba_prediction"]
    assert (frame["proba_prediction"].gt(0.5) == frame["prediction"].eq("prediction")).all()


def test_the_table_itself_is_never_overwritten(automl, table, tmp_path, model):
    before = Path(table).read_text()
    link = tmp_path / "link.csv"
    link.symlink_to(table)
    for output in (table, link):
        outcome = automl("predict", model, table, "-o", output)
        assert outcome.code == 2
        assert "is the table itself" in outcome.err
    assert Path(table).read_text() == before


def test_a_dash_writes_to_stdout(automl, table, model):
    assert len(automl("predict", model, table, "-o", "-").out.splitlines()) == 61


def test_a_regression_model_has_no_probabilities(automl, table, tmp_path, numbers):
    outcome = automl("predict", numbers, table, "-o", tmp_path / "out.csv", "--proba")
    assert outcome.code == 2
    assert "--proba" in outcome.err


def test_a_failed_write_leaves_the_old_file_and_no_other(
    automl, table, tmp_path, model, monkeypatch
):
    target = tmp_path / "out.csv"
    target.write_text("old")

    def fail(self, path, **_):
        path.write_text("half")
        raise OSError("disk full")

    monkeypatch.setattr(pd.DataFrame, "to_csv", fail)
    outcome = automl("predict", model, table, "-o", target)
    assert outcome.code == 2
    assert "disk full" in outcome.err
    assert target.read_text() == "old"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out.csv", "table.csv"]


def test_a_table_without_rows_is_refused(automl, tmp_path, model):
    empty = tmp_path / "empty.csv"
    empty.write_text("x,kind\n")
    assert automl("predict", model, empty, "-o", tmp_path / "out.csv").code == 3


def test_a_run_without_a_model_says_so(automl, table, runs):
    outcome = automl("predict", runs[0].run_id, table, "-o", "out.csv")
    assert outcome.code == 2
    assert "no model yet" in outcome.err


def test_a_folder_that_is_no_bundle_is_refused(automl, table, tmp_path):
    (tmp_path / "folder").mkdir()
    outcome = automl("predict", tmp_path / "folder", table, "-o", "out.csv")
    assert outcome.code in (2, 3)
    assert outcome.err.startswith("error: ")


def test_a_column_left_out_is_missing_in_every_row(automl, tmp_path, model):
    table, whole = tmp_path / "less.csv", tmp_path / "whole.csv"
    table.write_text("x\n1\n40\n")
    whole.write_text("x,kind\n1,\n40,\n")
    with pytest.warns(AutoMLWarning, match="lacks the column 'kind'; all values there") as caught:
        assert automl("predict", model, table, "-o", "out.csv").code == 0
    assert len(caught) == 1
    automl("predict", model, whole, "-o", "same.csv")
    assert Path("out.csv").read_bytes() == Path("same.csv").read_bytes()


def test_strict_refuses_what_is_left_out(automl, tmp_path, model):
    table = tmp_path / "less.csv"
    table.write_text("x\n1\n")
    outcome = automl("predict", model, table, "-o", "out.csv", "--strict")
    assert outcome.code == 3
    assert "column 'kind' (nominal) is missing from the table" in outcome.err
    assert not Path("out.csv").exists()


def test_a_table_of_something_else_is_refused(automl, tmp_path, model):
    table = tmp_path / "else.csv"
    table.write_text("weight,height\n1,2\n")
    outcome = automl("predict", model, table, "-o", "out.csv")
    assert outcome.code == 3
    assert "none of the model's columns, such as 'x', 'kind'" in outcome.err


def test_what_the_training_table_lacked_is_counted(automl, tmp_path, model):
    table = tmp_path / "odd.csv"
    table.write_text("x,kind\n-1,a\n49,z\n1000,b\n,y\n")
    outcome = automl("predict", model, table, "-o", "out.csv")
    note = "note: of 4 rows, unseen categories: kind 2; outside the training range: x 2"
    assert outcome.err.splitlines() == [note, "4 predictions written to out.csv"]
    found = automl("predict", model, table, "-o", "out.csv", "--json").json["deviations"]
    assert found == {
        "rows": 4,
        "filled": [],
        "unseen": {"kind": 2},
        "outside": {"x": 2},
    }
