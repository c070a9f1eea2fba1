"""The performance index (B14, section 3.2)."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from automl.errors import SettingsError
from automl.metrics.building import build_index
from automl.metrics.index import PerformanceIndex
from automl.records import Task

Y = np.array([0, 1, 2, 0, 1, 0, 2, 0], dtype=np.int32)


def build(spec="index", y=Y, task=Task.MULTICLASS, **options):
    n_classes = 0 if task is Task.REGRESSION else int(y.max()) + 1
    return build_index(spec, task=task, y_all=y, n_classes=n_classes, **options)


def probabilities(y, seed=0):
    return np.random.default_rng(seed).dirichlet(np.ones(y.max() + 1), len(y)).astype(np.float32)


def test_the_default_index_is_the_mean_of_four_homogenized_metrics():
    index, p = build(), probabilities(Y)
    found = index.metrics(Y, p)
    base, ideals = index.baselines, {"accuracy": 1.0, "f_beta": 1.0, "brier": 0.0, "mcc": 1.0}
    parts = [(found[name] - base[name]) / (ideals[name] - base[name]) for name in ideals]
    assert index.score(Y, p) == pytest.approx(np.mean(parts))


def test_the_default_index_of_a_number_is_r2_and_mae():
    y = np.array([1.0, 3.0, 4.0, 8.0])
    index = build(y=y, task=Task.REGRESSION)
    assert dict(index.weights) == {"r2": 0.5, "mae": 0.5}
    prediction = y + np.array([0.5, -0.5, 0.5, -0.5])
    expected = 0.5 * (1 - 0.25 / y.var()) + 0.5 * (1 - 0.5 / np.abs(y - y.mean()).mean())
    assert index.score(y, prediction) == pytest.approx(expected)


def test_homogenized_mse_equals_homogenized_r2():
    y = np.array([1.0, 3.0, 4.0, 8.0])
    scores = [build(s, y, Task.REGRESSION).score(y[:2], y[2:]) for s in ("r2", "mse")]
    assert scores[0] == pytest.approx(scores[1])


@pytest.mark.parametrize("spec", ["r2", "mae", "mse"])
@given(seed=st.integers(0, 1000))
@settings(max_examples=15, deadline=None)
def test_the_mean_over_folds_equals_pooling(spec, seed):
    rng = np.random.default_rng(seed)
    y, prediction = rng.normal(size=23), rng.normal(size=23)
    index = build(spec, y, Task.REGRESSION)
    folds = np.array_split(np.arange(23), 5)
    scores = [index.score(y[fold], prediction[fold]) for fold in folds]
    pooled = index.score(y, prediction)
    assert index.aggregate(scores, [len(fold) for fold in folds]) == pytest.approx(pooled)


@pytest.mark.parametrize("is_flat", [False, True])
@given(seed=st.integers(0, 1000))
@settings(max_examples=15, deadline=None)
def test_the_metrics_of_rows_say_their_score(is_flat, seed):
    rng = np.random.default_rng(seed)
    y = np.full(23, 2.0) if is_flat else rng.normal(size=23)
    number = build({"r2": 1, "mae": 2, "rmse": 1}, y, Task.REGRESSION)
    rows = y[:9], rng.normal(size=9), rng.uniform(0.1, 2, 9)
    assert number.of_metrics(number.metrics(*rows)) == pytest.approx(number.score(*rows))
    index, p = build(), probabilities(Y, seed)
    assert index.of_metrics(index.metrics(Y, p)) == pytest.approx(index.score(Y, p))


def test_weights_are_divided_by_their_sum_and_aliases_are_understood():
    assert dict(build({"accuracy": 3, "auc": 1}).weights) == {"accuracy": 0.75, "roc_auc": 0.25}
    assert build("f1").name == "f_beta"


def test_labels_become_one_hot_rows():
    labels = np.array([0, 1, 1, 0, 2, 0, 2, 1])
    assert build().score(Y, labels) == build().score(Y, np.eye(3, dtype=np.float32)[labels])


def test_repeating_a_row_equals_doubling_its_weight():
    p, weight = probabilities(Y), np.array([2.0, 1, 1, 1, 1, 1, 1, 1])
    repeated = np.r_[0, np.arange(8)]
    index = build({"accuracy": 1, "f_beta": 1, "brier": 1, "mcc": 1, "roc_auc": 1, "log_loss": 1})
    assert index.score(Y, p, weight) == pytest.approx(index.score(Y[repeated], p[repeated]))
    assert build(sample_weight=weight).baselines == pytest.approx(build(y=Y[repeated]).baselines)


@pytest.mark.parametrize(
    "index",
    [
        build(positive=1, beta=0.5),
        build(cost_matrix=1 - np.eye(3)),
        build({"log_loss": 0.3, "mcc": 0.7}),
        build(y=np.arange(5.0), task=Task.REGRESSION),
    ],
)
def test_an_index_survives_json_and_pickle(index):
    assert PerformanceIndex.from_json(json.loads(json.dumps(index.to_json()))) == index
    assert pickle.loads(pickle.dumps(index)) == index


def test_a_users_function_enters_as_it_is(tmp_path):
    file = tmp_path / "profit.py"
    file.write_text(
        "def profit(y_true, prediction):\n    return float((prediction[:, 1] > 0.2).sum())\n"
    )
    index = pickle.loads(pickle.dumps(build(f"{file}:profit")))
    p = probabilities(Y)
    assert index.score(Y, p) == (p[:, 1] > 0.2).sum()
    assert index.metrics(Y, p)[f"{file}:profit"] == index.score(Y, p)


def test_a_function_of_a_module_is_a_metric():
    index = build("sklearn.metrics:r2_score", np.arange(5.0), Task.REGRESSION)
    assert index.score(np.arange(5.0), np.arange(5.0)) == 1.0


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("raise RuntimeError('bang')", "RuntimeError: bang"),
        ("return None", "it must return one number for all rows; it returned None"),
        ("return y - prediction[:, 1]", r"it must return one number .* an array of shape \(\d+,\)"),
        ("return y[99]", "IndexError"),
        ("return 'good'", "it must return one number for all rows; it returned 'good'"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("return float('nan')", "it returned nan, and a finite number is expected"),
        ("return -float('inf')", "it returned -inf"),
    ],
)
def test_a_scorer_that_cannot_score_the_table_is_refused_by_name(tmp_path, body, reason):
    file = tmp_path / "mine.py"
    file.write_text(f"def broken(y, prediction):\n    {body}\n")
    with pytest.raises(SettingsError, match=rf"mine.py:broken' cannot score this table: {reason}"):
        build(f"{file}:broken")


@pytest.mark.parametrize(
    ("text", "reason"), [("1 / 0", "division by zero"), ("raise SystemExit(3)", "SystemExit: 3")]
)
def test_a_metric_file_that_fails_to_load_is_named(tmp_path, text, reason):
    file = tmp_path / "mine.py"
    file.write_text(f"{text}\n")
    with pytest.raises(SettingsError, match=rf"mine.py cannot be loaded: .*{reason}"):
        build(f"{file}:f")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"spec": "acuracy"}, "did you mean 'accuracy'"),
        ({"spec": "r2"}, "does not serve"),
        ({"spec": {}}, "positive sum"),
        ({"spec": {"accuracy": -1.0}}, "must be a number >= 0"),
        ({"spec": "cost"}, "needs a cost matrix"),
        ({"spec": "f_beta_positive"}, "needs a positive class"),
        ({"spec": "nowhere.py:f"}, "does not exist"),
        ({"spec": "no_such_module:f"}, "cannot be imported"),
        ({"spec": "json:no_such_function"}, "has no function"),
        ({"beta": 0.0}, "beta must be positive"),
        ({"positive": 3}, "positive class"),
        ({"brier_baseline": "other"}, "Brier baseline"),
        ({"y": np.arange(3.0), "task": Task.REGRESSION, "positive": 1}, "target with classes"),
    ],
)
def test_unusable_settings_are_refused(options, words):
    with pytest.raises(SettingsError, match=words):
        build(**options)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_predictions_that_are_not_finite_are_refused(value):
    p = probabilities(Y)
    p[0, 0] = value
    with pytest.raises(ValueError, match="finite"):
        build().score(Y, p)


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="7 predictions for 8 rows"):
        build().score(Y, probabilities(Y)[:7])
    with pytest.raises(ValueError, match="2 probabilities for 3 classes"):
        build().score(Y, probabilities(Y)[:, :2])
    with pytest.raises(ValueError, match="predictions for 0 rows"):
        build().score(Y[:0], probabilities(Y)[:0])


def test_a_constant_target_gives_finite_scores():
    index = build(y=np.ones(4), task=Task.REGRESSION)
    assert index.score(np.ones(4), np.ones(4)) > index.score(np.ones(4), np.zeros(4)) > -np.inf
