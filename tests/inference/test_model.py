"""The final model on raw columns, and raw predictions of single estimators."""

import pickle
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import is_classifier, is_regressor
from sklearn.metrics import get_scorer

from automl.errors import AutoMLWarning, DataError, SettingsError
from automl.inference import model as model_module
from automl.inference.decision import DecisionRule
from automl.inference.forms import NumberForm
from automl.inference.model import FittedPipeline, Member, TableModel, label_array
from automl.inference.prediction import raw_prediction
from automl.inference.readings import Reading

TASKS = ("binary", "multiclass", "regression")


def probabilities_of(values, classes=None):
    values = np.asarray(values, dtype=float)
    classes = np.arange(values.shape[1]) if classes is None else classes
    return SimpleNamespace(classes_=classes, predict_proba=lambda X: values)


def test_probabilities_are_put_in_the_places_of_the_classes():
    estimator = probabilities_of([[0.25, 0.75]], classes=np.array([0, 2]))
    out = raw_prediction(estimator, None, 3)
    assert out.dtype == np.float32
    assert out.tolist() == [[0.25, 0.0, 0.75]]


def test_labels_become_one_hot_rows():
    estimator = SimpleNamespace(classes_=[0, 2], predict=lambda X: np.array([2, 0]))
    assert raw_prediction(estimator, None, 3).tolist() == [[0, 0, 1], [1, 0, 0]]


def test_rows_are_normalized():
    assert raw_prediction(probabilities_of([[0.2, 0.2]]), None, 2).tolist() == [[0.5, 0.5]]


@pytest.mark.parametrize("row", [[np.nan, 1.0], [np.inf, 1.0], [0.0, 0.0], [-0.5, 1.5]])
def test_bad_probabilities_are_errors(row):
    with pytest.raises(ValueError, match="predicted"):
        raw_prediction(probabilities_of([row]), None, 2)


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e300])
def test_bad_numbers_are_errors(value):
    with pytest.raises(ValueError, match="missing or infinite"):
        raw_prediction(SimpleNamespace(predict=lambda X: np.array([value])), None, None)


def test_predictions_have_the_original_labels(model_of, raw):
    assert set(model_of("binary").predict(raw)) == {"no", "yes"}
    predicted = model_of("multiclass").predict(raw)
    assert predicted.dtype.kind == "i"
    assert set(predicted) <= {10, 20, 30}
    assert model_of("regression").predict(raw).dtype == np.float64


def test_probabilities_sum_to_one_and_decide(model_of, raw):
    model = model_of("multiclass")
    shares = model.predict_proba(raw)
    assert shares.shape == (len(raw), 3)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-5)
    assert (model.classes_[shares.argmax(axis=1)] == model.predict(raw)).all()


@pytest.mark.parametrize("task", TASKS)
def test_a_score_takes_a_target_in_any_form(model_of, raw, task):
    model = model_of(task)
    y = model.predict(raw)
    for given_y in (
        y,
        list(y),
        pd.Series(y, index=range(7, 7 + len(y))),
        y[:, None],
        y.astype(object),
    ):
        assert model.score(raw, given_y) == pytest.approx(1.0)
    if task == "multiclass":
        assert model.score(raw, y.astype(str)) == 1.0
        y[: len(y) // 2] = 77
        assert model.score(raw, y) == 0.5


def test_a_score_reads_numbers_as_the_training_table_had_them(model_of, raw):
    model = model_of("regression", target_reading=Reading(NumberForm(",", ".")))
    y = np.arange(len(raw)) * 1000.0 + 1000.0
    expected = model.score(raw, y)
    assert model.score(raw, [f"{value:,.0f}".replace(",", ".") for value in y]) == expected
    with pytest.raises(DataError, match=r"must hold numbers; found '1,234\.5'"):
        model.score(raw, ["1,234.5", *y[1:]])


@pytest.mark.parametrize(
    ("task", "change", "message"),
    [
        ("binary", lambda y: [None, float("nan"), "", *y[3:]], "no target in 3 of 120 rows"),
        ("regression", lambda y: [np.nan, *y[1:]], "no target in 1 of 120 rows"),
        ("regression", lambda y: [np.inf, *y[1:]], "must hold finite numbers"),
        ("regression", lambda y: ["far", *y[1:]], "'y' must hold numbers; found 'far'"),
        ("binary", lambda y: ["maybe"] * len(y), "none of the model's labels; found 'maybe'"),
        ("binary", lambda y: y[:5], r"for each of 120 rows; got shape \(5,\)"),
    ],
)
def test_a_score_says_what_its_target_lacks(model_of, raw, task, change, message):
    model = model_of(task)
    with pytest.raises(DataError, match=message):
        model.score(raw, change(list(model.predict(raw))))


def test_members_are_blended_by_weight_and_bags_averaged(model_of, raw, typed):
    model = model_of("binary")
    one, two = model.members[0].pipelines
    bag = (one.predict(typed, 2) + two.predict(typed, 2)) / 2
    expected = 0.75 * bag + 0.25 * model.members[1].pipelines[0].predict(typed, 2)
    np.testing.assert_allclose(model.predict_proba(raw), expected, atol=1e-6)


def test_pipelines_that_share_a_preprocessor_run_it_once(schema, raw, typed):
    calls = []
    shared = SimpleNamespace(transform=lambda frame: calls.append(1) or np.zeros((len(frame), 1)))
    estimator = SimpleNamespace(predict=lambda X: np.ones(len(X)))
    members = [Member(1.0, [FittedPipeline(shared, estimator)] * 3) for _ in range(2)]
    model = TableModel(schema, members, task="regression", target="label")
    assert model.predict(raw).tolist() == [1.0] * len(raw)
    assert len(calls) == 1


def test_unseen_missing_reordered_and_retyped_values_are_handled(model_of, strange):
    for task in TASKS:
        assert len(model_of(task).predict(strange)) == 6


def test_single_rows_predict_like_the_table(model_of, raw):
    for task in TASKS:
        model = model_of(task)
        whole = model.raw(raw)
        for row in (0, 5, 77):
            np.testing.assert_allclose(model.raw(raw.iloc[[row]])[0], whole[row], atol=1e-6)


def test_rows_in_chunks_predict_like_the_table(model_of, raw, monkeypatch):
    model = model_of("binary")
    whole = model.predict_proba(raw)
    monkeypatch.setattr(model_module, "CHUNK_ROWS", 50)
    for model.n_jobs in (1, 3):
        np.testing.assert_array_equal(model.predict_proba(raw), whole)
    assert model.predict(raw.head(0)).shape == (0,)


def test_the_target_column_is_not_used_and_others_warn(model_of, raw):
    model = model_of("binary")
    expected = model.predict(raw)
    assert (model.predict(raw.assign(label="yes")) == expected).all()
    with pytest.warns(AutoMLWarning, match="'extra'"):
        assert (model.predict(raw.assign(extra=1)) == expected).all()


def test_missing_columns_and_wrong_types_are_named(model_of, raw):
    model = model_of("regression", strict=True)
    with pytest.raises(DataError, match=r"column 'color' \(nominal\) is missing"):
        model.predict(raw.drop(columns="color"))
    with pytest.raises(DataError, match="column 'size' must hold numbers; found 'tall'"):
        model.predict(raw.assign(size="tall"))


def test_the_threshold_decides_between_two_classes(model_of, raw):
    model = model_of("binary", threshold=0.8)
    positive = model.predict_proba(raw)[:, 1]
    assert ((model.predict(raw) == "yes") == (positive >= 0.8)).all()
    model.threshold_ = 0.0
    assert set(model.predict(raw)) == {"yes"}


def test_costs_of_two_classes_become_the_threshold(model_of):
    assert model_of("binary").threshold_ == 0.5
    assert model_of("binary", cost_matrix=[[0, 1], [4, 0]]).threshold_ == pytest.approx(0.2)
    assert model_of("binary", cost_matrix=[[0, 1], [4, 0]], threshold=0.6).threshold_ == 0.6
    with pytest.raises(DataError, match="makes every error free"):
        model_of("binary", cost_matrix=[[0, 0], [0, 0]])


@given(st.floats(0, 1), st.lists(st.floats(0.1, 10), min_size=2, max_size=2))
@settings(max_examples=60, deadline=None)
def test_the_threshold_of_costs_is_the_cheaper_decision(share, costs):
    matrix = np.array([[0.0, costs[0]], [costs[1], 0.0]])
    threshold = model_module._threshold(None, matrix)
    expected = np.array([1.0 - share, share]) @ matrix
    if abs(expected[0] - expected[1]) > 1e-9:
        assert DecisionRule(threshold).codes(np.array([[1 - share, share]]))[0] == expected.argmin()


def test_costs_of_more_classes_choose_the_cheapest_label(model_of, raw):
    costs = np.array([[0, 1, 1], [1, 0, 1], [100, 100, 0]])
    model = model_of("multiclass", cost_matrix=costs)
    expected = model.classes_[(model.predict_proba(raw) @ costs).argmin(axis=1)]
    assert (model.predict(raw) == expected).all()
    assert (model.predict(raw) == 30).sum() > (model_of("multiclass").predict(raw) == 30).sum()


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        ([1, 2], "i"),
        ([True, False], "b"),
        ([0.5, 1.5], "f"),
        (["a", "b"], "O"),
        (["a", 1], "O"),
        ([1, True], "O"),
    ],
)
def test_labels_keep_their_type(labels, kind):
    array = label_array(labels)
    assert array.dtype.kind == kind
    assert array.tolist() == labels


def test_scikit_learn_knows_what_it_is(model_of, raw, targets):
    classifier, regressor = model_of("binary"), model_of("regression")
    assert is_classifier(classifier)
    assert is_regressor(regressor)
    y = classifier.classes_[targets["binary"]]
    assert get_scorer("roc_auc")(classifier, raw, y) > 0.7
    assert classifier.score(raw, y) > 0.7
    assert get_scorer("r2")(regressor, raw, targets["regression"]) > 0.3
    assert "0.75 random_forest, 0.25 linear" in repr(classifier)
    assert classifier.get_params(deep=False)["task"] == "binary"


def test_a_pickle_predicts_alike(model_of, raw):
    for task in TASKS:
        model = model_of(task)
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(again.raw(raw), model.raw(raw))


def test_impossible_models_are_refused(schema, model_of, raw):
    member = Member(1.0, [FittedPipeline(None, None)])
    for members, keywords, message in [
        ([], {"task": "regression"}, "at least one member"),
        ([Member(1.0, [])], {"task": "regression"}, "at least one member"),
        ([Member(0.0, member.pipelines)], {"task": "regression"}, "one greater than 0"),
        ([member], {"task": "ranking"}, "task must be one of"),
        ([member], {"task": "regression", "classes": ["a", "b"]}, "do not fit the task"),
        ([member], {"task": "binary"}, "do not fit the task"),
        ([member], {"task": "binary", "classes": ["a", "b"], "cost_matrix": [[0.0]]}, "shape"),
        ([member], {"task": "binary", "classes": ["a", "b"], "threshold": 2.0}, "in \\[0, 1\\]"),
    ]:
        with pytest.raises(SettingsError, match=message):
            TableModel(schema, members, target="label", **keywords)
    with pytest.raises(SettingsError, match="fitted already"):
        model_of("binary").fit(raw)
    with pytest.raises(SettingsError, match="this one is a regression"):
        model_of("regression").predict_proba(raw)


def test_frames_are_left_as_they_were(model_of, raw):
    before = raw.copy(deep=True)
    model_of("binary").predict(raw)
    pd.testing.assert_frame_equal(raw, before)
