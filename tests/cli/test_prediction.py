"""`automl predict` with a stand-in for the model, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from automl.errors import DataError
from automl_flows import prediction


class Classes:
    classes_ = np.array(["no", "prediction"])

    def predict(self, frame):
        return np.where(frame["x"] > 20, "prediction", "no")

    def predict_proba(self, frame):
        return np.tile([0.25, 0.75], (len(frame), 1))


class Numbers:
    def predict(self, frame):
        return frame["x"].to_numpy(float)


@pytest.fixture
def model(monkeypatch):
    chosen = [Classes()]
    monkeypatch.setattr(prediction, "load_model", lambda *_, **__: chosen[0])
    return chosen


@pytest.mark.parametrize("name", ["out.csv", "out.csv.gz", "out.parquet"])
def test_one_row_per_row_in_the_format_of_the_suffix(automl, table, tmp_path, model, name):
    outcome = automl("predict", "m", table, "-o", tmp_path / name)
    read = pd.read_parquet if name.endswith("parquet") else pd.read_csv
    frame = read(tmp_path / name)
    assert (outcome.code, outcome.out) == (0, "")
    assert list(frame.columns) == ["prediction"]
    assert len(frame) == 60


def test_probabilities_get_a_column_per_class(automl, table, tmp_path, model):
    automl("predict", "m", table, "-o", tmp_path / "out.csv", "--proba")
    frame = pd.read_csv(tmp_path / "out.csv")
    assert list(frame.columns) == ["prediction", "no", "proba_prediction"]
    assert frame["no"].eq(0.25).all()


def test_the_table_itself_is_never_overwritten(automl, table, tmp_path, model):
    before = Path(table).read_text()
    link = tmp_path / "link.csv"
    link.symlink_to(table)
    for output in (table, link):
        outcome = automl("predict", "m", table, "-o", output)
        assert outcome.code == 2
        assert "is the table itself" in outcome.err
    assert Path(table).read_text() == before


def test_a_dash_writes_to_stdout(automl, table, model):
    assert len(automl("predict", "m", table, "-o", "-").out.splitlines()) == 61


def test_a_regression_model_has_no_probabilities(automl, table, tmp_path, model):
    model[0] = Numbers()
    outcome = automl("predict", "m", table, "-o", tmp_path / "out.csv", "--proba")
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
    outcome = automl("predict", "m", table, "-o", target)
    assert outcome.code == 2
    assert "disk full" in outcome.err
    assert target.read_text() == "old"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out.csv", "table.csv"]


def test_a_table_without_rows_is_refused(automl, tmp_path, model):
    empty = tmp_path / "empty.csv"
    empty.write_text("x,kind\n")
    assert automl("predict", "m", empty, "-o", tmp_path / "out.csv").code == 3


def test_a_run_without_a_model_says_so(automl, table, runs):
    outcome = automl("predict", runs[0].run_id, table, "-o", "out.csv")
    assert outcome.code == 2
    assert "no model yet" in outcome.err


def test_a_folder_that_is_no_bundle_is_refused(automl, table, tmp_path):
    (tmp_path / "folder").mkdir()
    outcome = automl("predict", tmp_path / "folder", table, "-o", "out.csv")
    assert outcome.code in (2, 3)
    assert outcome.err.startswith("error: ")


def test_what_the_model_misses_is_said_of_the_table(automl, table, tmp_path, model):
    class Strict(Numbers):
        def predict(self, frame):
            raise DataError.of(["column 'a' is missing from the table", "column 'b' is too"])

    model[0] = Strict()
    outcome = automl("predict", "m", table, "-o", tmp_path / "out.csv")
    assert outcome.code == 3
    assert outcome.err.splitlines() == [
        f"error: 2 problems in {table}:",
        "  - column 'a' is missing from the table",
        "  - column 'b' is too",
    ]
