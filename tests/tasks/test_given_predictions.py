"""Predictions that somebody else made."""

import numpy as np
import pandas as pd
import pytest

from automl.errors import AutoMLWarning, DataError, SettingsError
from automl_tasks import models, preprocessing

RNG = np.random.default_rng(1)
LABELS = np.where(RNG.random(60) < 0.5, "yes", "no")
GOOD = np.where(LABELS == "yes", 0.8, 0.3) + RNG.normal(0, 0.1, 60)
POOR = RNG.random(60)


def both(p):
    return np.column_stack([1 - p, p])


def test_a_blend_is_the_weighted_mean_whatever_its_sum():
    values = {"a": np.arange(4.0), "b": np.ones(4), "c": np.full(4, 9.0)}
    found = models.blend.fn(values, {"a": 6.0, "b": 2.0})
    np.testing.assert_allclose(found, 0.75 * values["a"] + 0.25)
    matrix = models.blend.fn({name: both(p) for name, p in values.items()}, {"a": 3, "b": 1})
    np.testing.assert_allclose(matrix[:, 1], found)
    assert models.blend.fn(values, {"a": 1, "b": 1, "c": 1}, combine="median")[0] == 1.0
    votes = models.blend.fn({"a": both(GOOD), "b": both(POOR)}, {"a": 2, "b": 1}, combine="vote")
    assert set(np.round(3 * votes[:, 1])) <= {0.0, 1.0, 2.0, 3.0}
    assert ((votes[:, 1] > 0.5) == (GOOD > 0.5)).all()


@pytest.mark.parametrize(
    ("predictions", "weights", "options", "error", "said"),
    [
        ({"a": [1.0]}, {"b": 1.0}, {}, SettingsError, "without predictions: b"),
        ({"a": [1.0]}, {"a": 0.0}, {}, SettingsError, "one above 0"),
        ({"a": [1.0]}, {"a": -1.0}, {}, SettingsError, "not be negative"),
        ({"a": [1.0]}, {"a": float("nan")}, {}, SettingsError, "not be negative"),
        ({"a": [1.0], "b": [1.0, 2.0]}, {"a": 1.0}, {}, DataError, "one shape"),
        ({"a": [1.0], "b": [2.0]}, {"a": 1, "b": 1}, {"combine": "vote"}, SettingsError, "vote"),
    ],
)
def test_a_blend_says_what_it_cannot_use(predictions, weights, options, error, said):
    with pytest.raises(error, match=said):
        models.blend.fn(predictions, weights, **options)


def test_a_vector_of_the_positive_class_is_a_matrix_of_two():
    vectors = {"good": GOOD.clip(0, 1), "poor": POOR}
    matrices = {name: both(p) for name, p in vectors.items()}
    folds = np.arange(60) % 5
    assert models.weigh_models.fn(vectors, LABELS) == models.weigh_models.fn(matrices, LABELS)
    scores = models.score_folds.fn(vectors, LABELS, folds, metric="auc")
    assert scores == models.score_folds.fn(matrices, LABELS, folds, metric="auc")
    assert min(scores["good"]) > max(np.mean(scores["poor"]), 0.5)
    with pytest.raises(DataError, match=r"'good' must have probabilities .* in \[0, 1\]"):
        models.weigh_models.fn({"good": GOOD * 2}, LABELS)


def test_folds_must_fit_and_rows_without_one_are_left_out():
    vectors = {"good": np.append(GOOD.clip(0, 1)[:-1], np.nan)}
    folds = np.append(np.arange(59) % 4, -1)
    assert len(models.score_folds.fn(vectors, LABELS, folds)["good"]) == 4
    with pytest.raises(DataError, match="folds must have shape"):
        models.score_folds.fn(vectors, LABELS, folds[:5])
    with pytest.raises(DataError, match="the predictions"):
        models.score_folds.fn(vectors, LABELS, np.zeros(60, dtype=int))


def test_a_selection_is_a_table_with_the_champion_first():
    rng = np.random.default_rng(0)
    scores = {name: list(rng.normal(i, 0.1, 30)) for i, name in enumerate("abc")}
    record = models.select_models.fn(scores, {"a": "one", "b": "one", "c": "two"})
    table = record.table()
    assert list(table["model"]) == ["c", "b", "a"]
    assert list(table["family"]) == ["two", "one", "one"]
    assert table["status"][0] == "winner"
    assert table["mean_score"].tolist() == pytest.approx([np.mean(scores[m]) for m in "cba"])
    worse = table.set_index("model").loc["b"]
    assert worse["against"] == "c"
    assert worse["pvalue"] < 0.05


def test_dates_that_were_not_typed_are_named():
    days = pd.date_range("2025-01-01", periods=30)
    frame = pd.DataFrame({"day": days.strftime("%Y-%m-%d"), "stamp": days, "x": range(30)})
    for task in (preprocessing.encode, preprocessing.fit_encoder):
        with pytest.warns(AutoMLWarning, match="for each date: day, stamp; type the frame first"):
            task.fn(frame)
    assert preprocessing.encode.fn(pd.DataFrame({"color": ["red", "blue"] * 15})).shape[0] == 30
