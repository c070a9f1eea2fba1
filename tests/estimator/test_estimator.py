"""`AutoML`: the whole line in one call."""

import json
import pickle
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import DataConversionWarning, NotFittedError

import automl_flows
from automl.errors import AutoMLWarning, DataError, SettingsError
from automl_flows import AutoML, Result, estimator

FRAME = pd.DataFrame({"size": [1.0, 2.0, 3.0], "kind": ["a", "b", "a"]}, index=[9, "x", 3])


class CaughtError(Exception):
    """Stops a fit at the point where the run would begin."""


@pytest.fixture
def begun(monkeypatch):
    """What the run would begin with: (settings, frame)."""
    found = []

    def train(settings, frame, home, **_):
        found.append((settings, frame))
        raise CaughtError

    monkeypatch.setattr(estimator, "_train", train)

    def fit(model, *arguments, **options):
        with pytest.raises(CaughtError):
            model.fit(*arguments, **options)
        return found[-1]

    return fit


def test_parameters_are_those_of_the_constructor_and_survive_cloning():
    model = AutoML(budget="2m", families=["svm", "ridge"], settings={"folds": 8})
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert copy.set_params(trials=5, budget=None) is copy
    assert (copy.trials, copy.budget, model.budget) == (5, None, "2m")
    assert repr(model).startswith("AutoML(budget='2m'")
    assert pickle.loads(pickle.dumps(model)).get_params() == model.get_params()


def test_what_nobody_must_overlook_is_a_warning(monkeypatch, tmp_path):
    notices = ["no better than the baseline: x", "the model is not registered yet"]
    result = {"run_id": "r", "leaderboard": [], "notices": notices}
    monkeypatch.setattr(estimator, "_train", lambda *_, **__: result)
    monkeypatch.setattr(estimator, "_model_of", lambda *_: object())
    frame = pd.DataFrame({"x": range(10), "y": [0, 1] * 5})
    with pytest.warns(AutoMLWarning) as told:
        model = AutoML(trials=1, home=tmp_path).fit(frame, target="y")
    assert [str(warning.message) for warning in told] == notices
    assert model.result_["notices"] == notices


def test_parameters_become_settings(begun):
    model = AutoML(
        budget="90s",
        preset="fast",
        families=["svm", "ridge"],
        metric={"accuracy": 1.0, "log_loss": 2.0},
        positive=1.0,
        cost_matrix=np.array([[0, 5], [1, 0]]),
        roles={"size": "nominal"},
        test_share=0.2,
        seed=3,
        workers=1,
        name="beans",
        settings={"racing": False},
    )
    settings, _ = begun(model, FRAME, target="kind")
    assert settings.budget_seconds == 90.0
    assert settings.folds == 3
    assert settings.families == ("svm", "ridge")
    assert settings.positive == "1"
    assert settings.cost_matrix == [[0.0, 5.0], [1.0, 0.0]]
    assert (settings.problem, settings.target, settings.racing) == ("beans", "kind", False)
    assert (settings.roles, settings.test_share, settings.seed) == ({"size": "nominal"}, 0.2, 3)


def test_without_parameters_the_defaults_hold(begun):
    settings, _ = begun(AutoML(), FRAME, target="kind")
    assert settings.seconds == 600.0
    assert settings.preset == "balanced"
    assert settings.problem == "frame-kind"


@pytest.mark.parametrize(
    ("y", "name"),
    [
        ([1, 2, 1], "target"),
        (np.array([1, 2, 1]), "target"),
        (pd.Series([1, 2, 1], index=[5, 5, 5]), "target"),
        (pd.Series([1, 2, 1], name="size"), "size_"),
        (pd.DataFrame({"label": [1, 2, 1]}), "target"),
        (pd.Categorical([1, 2, 1]), "target"),
    ],
)
def test_targets_of_any_kind_go_by_position(begun, y, name):
    settings, frame = begun(AutoML(), FRAME[["size"]], y)
    assert settings.target == name
    assert list(frame[name]) == [1, 2, 1]
    assert list(frame.index) == [0, 1, 2]


def test_a_matrix_of_one_column_is_a_target_with_a_warning(begun):
    with pytest.warns(DataConversionWarning, match="A column-vector y was passed"):
        _, frame = begun(AutoML(), FRAME[["size"]], np.array([[1], [2], [1]]))
    assert list(frame["target"]) == [1, 2, 1]


def test_arrays_get_names_and_weights_get_a_column(begun):
    settings, frame = begun(
        AutoML(), np.arange(6).reshape(3, 2), list("aba"), sample_weight=[1, 2, 3]
    )
    assert list(frame.columns) == ["x0", "x1", "target", "sample_weight"]
    assert settings.weights == "sample_weight"
    assert list(frame["sample_weight"]) == [1, 2, 3]


def test_the_frame_of_the_caller_is_not_changed(begun):
    frame = FRAME.copy()
    begun(AutoML(), frame, [1, 2, 3], sample_weight=[1, 1, 1])
    pd.testing.assert_frame_equal(frame, FRAME)


@pytest.mark.parametrize(
    ("options", "arguments", "keywords", "kind", "message"),
    [
        ({}, (FRAME,), {}, SettingsError, "requires y to be passed, but the target y is None"),
        ({}, (FRAME, [1, 2, 1]), {"target": "kind"}, SettingsError, "got both"),
        ({}, (FRAME, [1, 2]), {}, DataError, "X has 3 rows and y has 2"),
        ({}, (FRAME, [1, 2, 1]), {"sample_weight": [1]}, DataError, "sample_weight has 1"),
        ({}, (FRAME, FRAME), {}, DataError, "y must have one column; got 2"),
        ({}, (np.zeros(3), [1, 2, 1]), {}, DataError, "two dimensions"),
        ({"families": "lightgmb"}, (FRAME,), {"target": "kind"}, SettingsError, "lightgbm"),
        ({"optimizer": "hypercubes"}, (FRAME,), {"target": "kind"}, SettingsError, "hypercube"),
        ({"preset": "quick"}, (FRAME,), {"target": "kind"}, SettingsError, "preset"),
        ({"budget": "soon"}, (FRAME,), {"target": "kind"}, SettingsError, "duration"),
        ({"settings": {"fodls": 3}}, (FRAME,), {"target": "kind"}, SettingsError, "'folds'"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_starts(
    options, arguments, keywords, kind, message, monkeypatch
):
    monkeypatch.setattr(estimator, "_train", lambda *_, **__: pytest.fail("it has started"))
    with pytest.raises(kind, match=message):
        AutoML(**options).fit(*arguments, **keywords)


def test_sparse_matrices_are_refused():
    from scipy import sparse

    with pytest.raises(DataError, match="sparse"):
        AutoML().fit(sparse.eye(3), [1, 2, 1])


@pytest.mark.parametrize("file", ["loans.csv", Path("loans.csv")])
def test_a_file_is_no_frame(file):
    with pytest.raises(
        DataError, match=r"got the text 'loans.csv': read a file with pandas.read_csv"
    ):
        AutoML().fit(file, target="paid")


def test_a_wrong_name_among_the_settings_is_told_with_the_right_one(tmp_path):
    with pytest.raises(SettingsError, match="'bugdet'; did you mean 'budget'"):
        AutoML(settings={"bugdet": "60s"}, home=tmp_path).fit(FRAME, target="kind")
    with pytest.raises(TypeError, match="bugdet"):
        AutoML(bugdet="60s")


@pytest.mark.parametrize("method", ["predict", "predict_proba", "score"])
def test_nothing_is_predicted_before_the_fit(method):
    with pytest.raises(NotFittedError, match="call fit first"):
        getattr(AutoML(), method)(FRAME)


def test_rows_without_a_target_are_left_out_of_a_score():
    model = AutoML()
    model.model_ = SimpleNamespace(
        target="kind", task="auto", target_reading=None, score=lambda X, y: (X, list(y))
    )
    model._columns_in, model.feature_names_in_ = ["size"], np.array(["size"], dtype=object)
    frame = FRAME.assign(kind=["a", None, "b"])
    with pytest.warns(AutoMLWarning, match="1 of 3 rows is dropped: target column 'kind'") as told:
        rows, y = model.score(frame)
    assert len(told) == 1
    assert (list(rows.index), y) == ([9, 3], ["a", "b"])
    with pytest.raises(DataError, match="no target in any of its 3 rows"):
        model.score(frame.assign(kind=None))
    with pytest.raises(DataError, match="with the target column 'kind'"):
        model.score(FRAME[["size"]])


def test_rows_without_a_target_are_counted_after_the_fit(monkeypatch, tmp_path):
    note = "2 of 10 rows are dropped: target column 'y' holds no target there"
    result = {"run_id": "r", "leaderboard": [], "notices": []}
    monkeypatch.setattr(estimator, "_train", lambda *_, **__: result)
    monkeypatch.setattr(estimator, "_model_of", lambda *_: object())
    monkeypatch.setattr(estimator, "data_facts", lambda _: {"notes": ["other", note]})
    with pytest.warns(AutoMLWarning) as told:
        AutoML(trials=1, home=tmp_path).fit(FRAME, target="kind")
    assert [str(warning.message) for warning in told] == [note]


def test_its_kind_is_that_of_the_task():
    assert is_regressor(AutoML(task="regression"))
    assert is_classifier(AutoML(task="multiclass"))
    assert not is_classifier(AutoML())


def test_the_package_offers_it_and_results_and_nothing_else():
    assert automl_flows.__all__ == ["AutoML", "Result"]
    assert automl_flows.Result is type(Result({}, None))
    with pytest.raises(AttributeError, match="no attribute 'Automl'"):
        _ = automl_flows.Automl


SCRIPT = """
import asyncio, json, sys
import numpy as np, pandas as pd
from automl_flows import AutoML

rng = np.random.default_rng(0)
n = 150
frame = pd.DataFrame({"size": rng.normal(size=n), "color": rng.choice(["red", "blue"], n)})
frame.index = [f"row {i}" for i in range(n)]
frame.loc["row 3", "size"] = None
y = np.where(frame["size"].fillna(0) + (frame["color"] == "red") + rng.normal(0, .3, n) > .5, "yes", "no")

model = AutoML(
    trials=5, families=["gaussian_nb", "logistic_regression"], workers=2, seed=1,
    settings={"folds": 3, "candidate_repeats": 1}, home=sys.argv[1],
)

async def cell():
    "A notebook's cell: a loop runs in the main thread."
    return model.fit(frame, list(y), sample_weight=np.ones(n))

assert asyncio.run(cell()) is model
later = frame.head(4).assign(color=["green", None, "red", "blue"])[["color", "size"]]
print(json.dumps({
    "run": model.run_id_,
    "classes": list(model.classes_),
    "features": list(model.feature_names_in_),
    "score": model.score(frame, y),
    "same": bool((model.model_.predict(later) == model.predict(later)).all()),
    "proba": model.predict_proba(later).sum(axis=1).tolist(),
    "trials": len(model.leaderboard_),
    "registered": model.result_["model"]["registered"],
    "champion": model.leaderboard_.iloc[0]["status"],
}))
"""


@pytest.mark.integration
def test_it_fits_in_an_unguarded_script_under_a_running_loop(tmp_path):
    script = tmp_path / "unguarded.py"
    script.write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path / "home")],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["classes"] == ["no", "yes"]
    assert found["features"] == ["size", "color"]
    assert found["score"] > 0.7
    assert found["same"]
    assert found["proba"] == pytest.approx([1.0] * 4, abs=1e-5)
    assert found["trials"] == 5
    assert found["registered"] == "frame-target/1@champion"
    assert (tmp_path / "home" / "runs" / found["run"] / "bundle").is_dir()
    assert "Traceback" not in done.stderr


def test_weights_must_be_one_column(begun):
    with pytest.raises(DataError, match="sample_weight must have one column; got 2"):
        AutoML().fit(FRAME[["size"]], [1, 2, 1], sample_weight=np.ones((3, 2)))
