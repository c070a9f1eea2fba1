"""Constants are stored as plain numbers, to the last bit."""

import hashlib
import json
import subprocess
import sys

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier, DummyRegressor

from automl.errors import DataError
from automl.inference.bundle import load_bundle, write_bundle
from automl.inference.constant import constant_of_text, constant_text, is_constant
from automl.inference.model import FittedPipeline, Member, TableModel

ROWS = np.zeros((7, 2))
CODES = np.array([0, 0, 2, 2, 2, 5, 5], dtype=np.int32)
SIZES = np.array([0.1, 0.7, 1.3, 0.2, 0.9, 0.4, 3.1])


def classifier():
    return DummyClassifier(strategy="prior").fit(ROWS, CODES, SIZES)


def regressor():
    return DummyRegressor(strategy="mean").fit(ROWS, SIZES, SIZES)


def test_frequencies_come_back_to_the_last_bit():
    again = constant_of_text(constant_text(classifier()))
    np.testing.assert_array_equal(again.predict_proba(ROWS), classifier().predict_proba(ROWS))
    np.testing.assert_array_equal(again.classes_, [0, 2, 5])
    assert is_constant(again)


def test_a_mean_comes_back_to_the_last_bit():
    again = constant_of_text(constant_text(regressor()))
    np.testing.assert_array_equal(again.predict(ROWS), regressor().predict(ROWS))
    assert is_constant(again)


@pytest.mark.parametrize(
    "other",
    [
        DummyClassifier(strategy="prior"),  # not fitted
        DummyClassifier(strategy="stratified", random_state=0).fit(ROWS, CODES),
        DummyRegressor(strategy="quantile", quantile=0.3).fit(ROWS, SIZES),
        DummyClassifier(strategy="prior").fit(ROWS, np.column_stack([CODES, CODES])),
        None,
    ],
    ids=["not fitted", "draws", "quantile", "two targets", "nothing"],
)
def test_what_says_something_else_is_no_constant(other):
    assert not is_constant(other)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nonsense", "Expecting value"),
        ("[]", "an object with fields"),
        ('{"value": NaN}', "value must be a finite number"),
        ('{"value": 1, "classes": [0]}', "no field has this name"),
        ('{"classes": [], "probabilities": []}', "classes must be distinct"),
        ('{"classes": [1, 0], "probabilities": [0.5, 0.5]}', "classes must be distinct"),
        ('{"classes": [-1, 0], "probabilities": [0.5, 0.5]}', "classes must be distinct"),
        ('{"classes": [0, 1], "probabilities": [1.0]}', "probabilities must be one of each"),
        ('{"classes": [0, 1], "probabilities": [-0.5, 1.5]}', "none negative"),
        ('{"classes": [0, 1], "probabilities": [0.5, 0.6]}', "sum of probabilities must be 1"),
        ('{"classes": [0.5], "probabilities": [1.0]}', "must be a whole number"),
    ],
)
def test_text_that_is_no_constant_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        constant_of_text(text)


def model(schema, task):
    is_regression = task == "regression"
    pipeline = FittedPipeline(None, regressor() if is_regression else classifier())
    classes = None if is_regression else list("abcdef")
    return TableModel(
        schema, [Member(1.0, [pipeline], "constant")], task=task, target="label", classes=classes
    )


@pytest.mark.parametrize("task", ["multiclass", "regression"])
@pytest.mark.parametrize("n_rows", [0, 1, 120])
def test_a_bundle_holds_it_without_a_preprocessor(schema, raw, tmp_path, task, n_rows):
    written = model(schema, task)
    manifest = write_bundle(written, tmp_path / "model")
    assert manifest["preprocessors"] == []
    assert [entry["storage"] for entry in manifest["estimators"]] == ["native"]
    again, rows = load_bundle(tmp_path / "model"), raw.head(n_rows)
    np.testing.assert_array_equal(again.raw(rows), written.raw(rows))


def test_a_file_of_somebody_that_is_no_constant_is_refused_with_its_name(schema, tmp_path):
    folder = tmp_path / "model"
    content = write_bundle(model(schema, "regression"), folder)
    (part,) = content["estimators"][0]["parts"]
    (folder / part["file"]).write_text('{"value": null}')
    content["files"][part["file"]] = hashlib.sha256(b'{"value": null}').hexdigest()
    (folder / "manifest.json").write_text(json.dumps(content))
    with pytest.raises(DataError, match=r"000\.0\.json cannot be read: .* value must be a finite"):
        load_bundle(folder)


def test_neither_writing_nor_reading_one_loads_skops(schema, raw, tmp_path):
    write_bundle(model(schema, "multiclass"), tmp_path / "first")
    raw.head(3).to_csv(tmp_path / "rows.csv", index=False)
    program = (
        "import sys, pandas\n"
        "from automl.inference.bundle import load_bundle, write_bundle\n"
        f"model = load_bundle({str(tmp_path / 'first')!r})\n"
        f"write_bundle(model, {str(tmp_path / 'second')!r})\n"
        f"model.predict(pandas.read_csv({str(tmp_path / 'rows.csv')!r}))\n"
        "assert not {'skops', 'dask', '_pytest', 'lightgbm'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
