"""Every family on every kind of table: it predicts, or it says why not."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

from automl.families import families, get_family
from automl.inference.prediction import raw_prediction
from automl.preprocessing import build_preprocessor
from automl.records import Task

TABLES = ("missing", "strings", "constant", "small_classes", "wide")
CASES = [
    (name, task, table)
    for name, family in families().items()
    for task in Task
    if ("classification" if task.is_classification else "regression") in family.kinds
    for table in TABLES
    if table != "wide" or task is not Task.MULTICLASS
]
#: Only on 1,000 columns are some families slow; the contract is the same with fewer.
WIDE_COLUMNS = {"catboost": 100, "gradient_boosting": 300, "gaussian_process": 300}

INSTALLED = [name for name, family in families().items() if family.unavailable is None]


def _frame(table: str, rng: np.random.Generator, n_rows: int, n_columns: int) -> pd.DataFrame:
    frame = pd.DataFrame({f"x{i}": rng.normal(size=n_rows) for i in range(n_columns)})
    if table == "missing":
        frame = frame.mask(rng.random(frame.shape) < 0.3)
        frame["empty_mostly"] = np.where(np.arange(n_rows) < 2, 1.0, np.nan)
    if table in ("strings", "missing"):
        texts = np.array(["red", "green", "blue", None], dtype=object)
        frame["color"] = pd.Categorical(texts[rng.integers(0, 4, n_rows)])
        frame["code"] = pd.Categorical([f"c{i}" for i in rng.integers(0, n_rows // 2, n_rows)])
    if table == "strings":
        frame = frame[["color", "code"]]
    if table == "constant":
        frame["constant"] = 3.0
        frame["constant_text"] = pd.Categorical(["a"] * n_rows)
    return frame


def _table(table: str, task: Task, n_columns: int = 5, n_rows: int = 90):
    rng = np.random.default_rng(7)
    if table == "small_classes":
        n_rows = {Task.BINARY: 6, Task.MULTICLASS: 9, Task.REGRESSION: 6}[task]
    frame = _frame(table, rng, n_rows, n_columns)
    if not task.is_classification:
        return frame, 1e4 + 500.0 * rng.normal(size=n_rows), None
    n_classes = 2 if task is Task.BINARY else 3
    y = (np.arange(n_rows) % n_classes).astype(np.int32)
    first = frame.columns[0]
    if first != "color":
        frame[first] = frame[first] + y
    return frame, y, n_classes


def _predictions(family, configuration, task, frame, y, n_classes, seed=3):
    training = np.arange(len(y)) % 5 != 4
    preprocessor = build_preprocessor(
        {key: value for key, value in configuration.values.items() if key.startswith("prep.")},
        seed=seed,
    )
    estimator = family.build(
        configuration,
        task=task,
        n_rows=int(training.sum()),
        n_columns=frame.shape[1],
        n_classes=n_classes or 0,
        seed=seed,
    )
    X = preprocessor.fit_transform(frame[training], y[training])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        family.fit(estimator, X, y[training])
    held_out = preprocessor.transform(frame[~training].reset_index(drop=True))
    return raw_prediction(estimator, held_out, n_classes)


def _check(prediction, n_rows, n_classes):
    assert np.isfinite(prediction).all()
    if n_classes is None:
        assert prediction.shape == (n_rows,)
    else:
        assert prediction.shape == (n_rows, n_classes)
        np.testing.assert_allclose(prediction.sum(axis=1), 1.0, atol=1e-5)


@pytest.mark.parametrize(("name", "task", "table"), CASES)
def test_a_family_predicts_or_says_why_not(name, task, table):
    family = get_family(name)
    n_columns = WIDE_COLUMNS.get(name, 1000) if table == "wide" else 5
    frame, y, n_classes = _table(table, task, n_columns, n_rows=40 if table == "wide" else 90)
    reason = family.supports(task, len(y), frame.shape[1], n_classes or 0)
    if reason is not None:
        assert name in reason
        return
    default = family.space(task).default()
    refusal = None
    try:
        prediction = _predictions(family, default, task, frame, y, n_classes)
    except ValueError as error:
        refusal = str(error)
    if refusal is not None:
        assert table == "small_classes", f"{name} should handle a {table} table: {refusal}"
        assert refusal
        return
    _check(prediction, (np.arange(len(y)) % 5 == 4).sum(), n_classes)


@pytest.mark.parametrize("task", list(Task))
@pytest.mark.parametrize("name", list(families()))
def test_random_configurations_fit_and_predict_the_same_twice(name, task):
    family = get_family(name)
    if family.supports(task, 72, 5, 3):
        pytest.skip("the family does not support this")
    frame, y, n_classes = _table("missing", task)
    space = family.space(task)
    rng = np.random.default_rng(11)
    for number in range(3):
        configuration = space.sample(rng)
        assert space.is_legal(configuration) is None
        first = _predictions(family, configuration, task, frame, y, n_classes)
        _check(first, 18, n_classes)
        if number == 0:
            second = _predictions(family, configuration, task, frame, y, n_classes)
            np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("name", [n for n in INSTALLED if n in families("classification")])
def test_a_class_that_the_training_rows_lack_gets_no_probability(name):
    family = get_family(name)
    rng = np.random.default_rng(5)
    X = rng.normal(size=(60, 3)).astype(np.float32)
    y = np.where(X[:, 0] > 0, 2, 0)
    configuration = family.space("classification").default()
    estimator = family.build(configuration, task=Task.MULTICLASS, n_classes=3)
    family.fit(estimator, X, y)
    prediction = raw_prediction(estimator, X, 3)
    _check(prediction, 60, 3)
    assert (prediction[:, 1] == 0).all()


@pytest.mark.parametrize("name", INSTALLED)
def test_weights_reach_the_estimator_where_the_family_says_so(name):
    family = get_family(name)
    kind = family.kinds[0]
    rng = np.random.default_rng(5)
    X = rng.normal(size=(80, 9)).astype(np.float32)
    signal = X[:, 0] + 0.5 * rng.normal(size=80)
    y = (signal > 0.5).astype(np.int32) if kind == "classification" else signal
    n_classes = 2 if kind == "classification" else None
    sample_weight = np.where(signal > 0.5, 20.0, 1.0)
    held_out = rng.normal(size=(200, 9)).astype(np.float32)

    def predict(**weights):
        class_weight = weights.get("class_weight")
        configuration = family.space(kind).default()
        estimator = family.build(configuration, task=kind, seed=1, class_weight=class_weight)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            family.fit(estimator, X, y, **weights)
        return raw_prediction(estimator, held_out, n_classes)

    plain = predict()
    changed = not np.array_equal(plain, predict(sample_weight=sample_weight))
    assert changed == family.capabilities.sample_weight
    if kind == "classification" and family.capabilities.sample_weight:
        class_weight = {0: 1.0, 1: 20.0}
        weighted = predict(class_weight=class_weight)
        assert not np.array_equal(plain, weighted)
        assert weighted[:, 1].sum() >= plain[:, 1].sum() - 10


@pytest.mark.parametrize(
    ("name", "kind"), [(name, kind) for name in INSTALLED for kind in get_family(name).kinds]
)
def test_a_fit_ends_after_a_number_of_iterations(name, kind):
    family = get_family(name)
    estimator = family.build(family.space(kind).default(), task=kind)
    limits = {
        key: value
        for key, value in estimator.get_params(deep=True).items()
        if key.split("__")[-1] in {"max_iter", "n_iter", "iterations"}
    }
    assert all(value is None or value > 0 for value in limits.values()), limits
