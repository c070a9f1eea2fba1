"""`automl evaluate` with small real models, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import accuracy_score, log_loss, mean_absolute_error, r2_score
from tiny_models import tiny_bundle, tiny_model, training_rows

from automl.errors import AutoMLWarning
from automl.inference.bundle import write_bundle
from automl.inference.forms import NumberForm
from automl.inference.readings import Reading
from automl.run.model_evaluation import Measure, evaluate_model, labelled_rows


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return tiny_bundle(tmp_path_factory.mktemp("models") / "classes")


@pytest.fixture(scope="module")
def numbers(tmp_path_factory):
    return tiny_bundle(tmp_path_factory.mktemp("models") / "numbers", "regression")


@pytest.fixture
def rows():
    """Every fifth label is wrong."""
    raw = training_rows(50)
    right = raw["x"] > 20
    wrong = np.arange(50) % 5 == 0
    return raw.assign(y=np.where(right ^ wrong, "prediction", "no"))


def written(frame: pd.DataFrame) -> Path:
    path = Path("labelled.csv")
    frame.to_csv(path, index=False)
    return path


def test_classes_are_scored_as_scikit_learn_does(automl, rows, model):
    found = automl("evaluate", model, written(rows), "--json").json
    own = tiny_model()
    expected = {
        "accuracy": accuracy_score(rows["y"], own.predict(rows)),
        "log_loss": log_loss(rows["y"], own.predict_proba(rows)),
    }
    assert {name: found["metrics"][name] for name in expected} == pytest.approx(expected, abs=1e-6)
    assert (found["rows"], found["unlabelled"], found["target"]) == (50, 0, "y")
    low, high = found["intervals"]["metrics"]["accuracy"]
    assert low < expected["accuracy"] < high
    assert high - low == pytest.approx(2 * 1.96 * np.sqrt(0.8 * 0.2 / 50), rel=0.2)


def test_numbers_are_scored_in_their_own_units(automl, rows, numbers):
    rows["y"] = rows["x"] + np.resize([-3.0, 3.0], 50)
    found = automl("evaluate", numbers, written(rows), "--json").json["metrics"]
    predicted = tiny_model("regression").predict(rows)
    assert found["mae"] == pytest.approx(mean_absolute_error(rows["y"], predicted), abs=1e-4)
    assert found["r2"] == pytest.approx(r2_score(rows["y"], predicted), abs=1e-4)


def test_a_bundle_reads_the_target_as_its_training_table_had_it(automl, rows, tmp_path):
    model = tiny_model("regression")
    model.target_reading = Reading(NumberForm(",", "."), words=("none",))
    write_bundle(model, tmp_path / "numbers")
    rows["y"] = rows["x"] * 1000 + 0.5
    metrics = automl("evaluate", tmp_path / "numbers", written(rows), "--json").json["metrics"]
    thousands = rows.assign(y=[f"{y:_}".replace(".", ",").replace("_", ".") for y in rows["y"]])
    found = automl("evaluate", tmp_path / "numbers", written(thousands), "--json").json
    assert found["metrics"] == pytest.approx(metrics)
    thousands.loc[3, "y"] = "none"
    found = automl("evaluate", tmp_path / "numbers", written(thousands), "--json").json
    assert (found["rows"], found["unlabelled"]) == (49, 1)


def test_the_table_names_each_metric_with_its_interval(automl, rows, model):
    outcome = automl("evaluate", model, written(rows))
    lines = {line.split("  ")[0]: line for line in outcome.out.splitlines()}
    assert "50 rows" in lines["metric"]
    assert "0.8  0." in " ".join(lines["accuracy"].split(" " * 3))
    assert " to " in lines["score"]
    assert "not in the home" in outcome.err


def test_rows_without_a_label_are_left_out_and_counted(automl, rows, model):
    rows.loc[:9, "y"] = None
    outcome = automl("evaluate", model, written(rows))
    assert "40 rows" in outcome.out.splitlines()[0]
    assert "10 rows without a label in column 'y' are left out" in outcome.err


def test_strict_refuses_rows_without_a_label(automl, rows, model):
    rows.loc[:9, "y"] = None
    outcome = automl("evaluate", model, written(rows), "--strict")
    assert (outcome.code, outcome.out) == (3, "")
    assert "target column 'y' holds no target in 10 of 50 rows" in outcome.err


def test_a_missing_column_is_filled_as_in_a_prediction(automl, rows, model):
    table = written(rows.drop(columns="kind"))
    with pytest.warns(AutoMLWarning, match="lacks the column 'kind'"):
        assert automl("evaluate", model, table, "--json").json["deviations"]["filled"] == ["kind"]
    assert "column 'kind' (nominal) is missing" in automl("evaluate", model, table, "--strict").err


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda rows: rows.drop(columns="y"), "there is no target column 'y'"),
        (lambda rows: rows.assign(y=None), "holds no target in any of its 50 rows"),
        (lambda rows: rows.assign(y="maybe"), "labels that the training rows lack: 'maybe'"),
        (lambda rows: rows.assign(x="far"), "column 'x'"),
        (lambda rows: rows[["y"]], "none of the model's columns"),
    ],
)
def test_what_cannot_be_scored_gets_one_sentence(automl, rows, model, change, sentence):
    outcome = automl("evaluate", model, written(change(rows)))
    assert (outcome.code, outcome.out) == (3, "")
    assert len(outcome.err.splitlines()) == 1
    assert outcome.err.startswith("error: ")
    assert outcome.err.count("labelled.csv") == 1
    assert sentence in outcome.err


def test_a_run_without_a_model_says_so(automl, rows, runs):
    assert "no model yet" in automl("evaluate", runs[0].run_id, written(rows)).err


def test_rows_go_by_position_whatever_their_index(rows):
    model = tiny_model()
    found = labelled_rows(model, rows.set_axis([0] * len(rows)), Measure())
    expected = labelled_rows(model, rows, Measure())
    assert evaluate_model(model, found, Measure()) == evaluate_model(model, expected, Measure())


def test_rows_of_one_class_have_values_all_the_same(automl, rows, model):
    found = automl("evaluate", model, written(rows.assign(y="no")), "--json")
    assert found.code == 0
    assert None not in found.json["metrics"].values()
