"""Members that take the predictions of others, and members that vote or meet in the middle."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.linear_model import LogisticRegression, Ridge

from automl.errors import SettingsError
from automl.inference.bundle import load_bundle, read_manifest, write_bundle
from automl.inference.calibration import Calibration
from automl.inference.model import FittedPipeline, Member, TableModel
from automl.inference.second_layer import StackInputs

TASKS = ("binary", "multiclass", "regression")


# --- what the second layer takes -------------------------------------------------------------------


def test_of_two_classes_the_second_is_taken():
    shares = np.array([[0.25, 0.75], [0.5, 0.5], [1.0, 0.0]], dtype=np.float32)
    stack = StackInputs(np.array([0.5]), np.array([0.25]))
    np.testing.assert_array_equal(stack.transform([shares]), [[1.0], [0.0], [-2.0]])


def test_of_more_classes_all_are_taken_and_values_stay_as_they_are():
    rng = np.random.default_rng(0)
    shares = rng.dirichlet(np.ones(3), size=5).astype(np.float32)
    values = rng.normal(size=5).astype(np.float32)
    stack = StackInputs(np.zeros(4), np.ones(4))
    found = stack.transform([shares, values])
    np.testing.assert_allclose(found, np.column_stack([shares, values]))


@given(arrays(np.float32, (12, 2), elements=st.floats(-1e3, 1e3, width=32)))
def test_training_columns_are_standardized(values):
    parts = list(values.T)
    found = StackInputs.fit(parts).transform(parts).astype(np.float64)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found.mean(axis=0), 0.0, atol=1e-2)
    for column, raw in zip(found.T, values.T, strict=True):
        if raw.std() > 1e-3 * abs(raw).max():
            assert column.std() == pytest.approx(1.0, abs=1e-2)


def test_features_are_appended_as_an_array_or_a_frame():
    values = np.arange(4.0, dtype=np.float32)
    stack = StackInputs(np.zeros(1), np.ones(1))
    features = np.ones((4, 2), dtype=np.float32)
    np.testing.assert_array_equal(
        stack.transform([values], features), np.column_stack([values, features])
    )
    frame = pd.DataFrame({"f0": values, "f1": pd.Categorical(list("abab"))})
    found = stack.transform([values], frame)
    assert list(found.columns) == ["input0", "f0", "f1"]
    assert found["f1"].dtype == "category"


def test_inputs_survive_their_text_exactly():
    stack = StackInputs.fit([np.random.default_rng(1).normal(size=20)])
    again = StackInputs.from_json(json.loads(json.dumps(stack.to_json())))
    assert again.center.tolist() == stack.center.tolist()
    assert again.scale.tolist() == stack.scale.tolist()


# --- models with two layers ------------------------------------------------------------------------


@pytest.fixture
def stacked_of(model_of, typed, targets):
    """Function that puts a linear member over the two of `model_of`."""

    def build(task, *, weights=(0.0, 0.0, 1.0), with_features=False):
        base = model_of(task)
        y, n_classes = targets[task], None if task == "regression" else len(base.classes_)
        parts = [member.predict(typed, n_classes, {}) for member in base.members]
        stack = StackInputs.fit(parts)
        preprocessor = base.members[1].pipelines[0].preprocessor if with_features else None
        features = preprocessor.transform(typed) if with_features else None
        linear = Ridge() if task == "regression" else LogisticRegression(max_iter=500)
        top = linear.fit(stack.transform(parts, features), y)
        members = [
            Member(weights[0], base.members[0].pipelines, "random_forest", "a"),
            Member(weights[1], base.members[1].pipelines, "linear", "b"),
            Member(weights[2], [FittedPipeline(preprocessor, top, stack)], "top", "c", (0, 1)),
        ]
        return TableModel(base.schema, members, task=task, target="label", classes=base.classes)

    return build


@pytest.mark.parametrize("task", TASKS)
def test_a_second_layer_takes_predictions_and_features(task, stacked_of, raw, typed):
    model = stacked_of(task, weights=(0.0, 0.25, 0.75), with_features=True)
    n_classes = None if task == "regression" else len(model.classes_)
    bag, linear = (
        np.mean([p.predict(typed, n_classes).astype(float) for p in member.pipelines], axis=0)
        for member in model.members[:2]
    )
    columns = []
    for part in (bag, linear):
        if task == "regression":
            columns.append(part[:, None])
        else:
            columns.append(part[:, 1:] if task == "binary" else part)
    (top,) = model.members[2].pipelines
    scaled = (np.hstack(columns) - top.stack.center) / top.stack.scale
    matrix = np.hstack([scaled, top.preprocessor.transform(typed)])
    predict = top.estimator.predict if task == "regression" else top.estimator.predict_proba
    expected = 0.25 * linear + 0.75 * predict(matrix)
    np.testing.assert_allclose(model.raw(raw), expected, rtol=1e-4, atol=1e-5)


def test_every_member_that_matters_predicts_once(stacked_of, raw, monkeypatch):
    counts = {}
    predict = Member.predict

    def counted(member, *arguments):
        counts[member.trial] = counts.get(member.trial, 0) + 1
        return predict(member, *arguments)

    both = stacked_of("binary", weights=(1.0, 0.0, 1.0))
    one = stacked_of("binary", weights=(1.0, 0.0, 0.0))
    monkeypatch.setattr(Member, "predict", counted)
    both.predict(raw)
    assert counts == {"a": 1, "b": 1, "c": 1}
    counts.clear()
    one.predict(raw)
    assert counts == {"a": 1}


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("with_features", [False, True])
def test_two_layers_are_stored_and_predict_alike(
    task, with_features, stacked_of, raw, strange, tmp_path
):
    model = stacked_of(task, with_features=with_features)
    manifest = write_bundle(model, tmp_path / "model")
    assert [member["inputs"] for member in manifest["members"]] == [[], [], [0, 1]]
    again = load_bundle(tmp_path / "model")
    assert [member.weight for member in again.members] == [0.0, 0.0, 1.0]
    for frame in (raw, strange):
        np.testing.assert_array_equal(again.raw(frame), model.raw(frame))


def test_a_bundle_from_before_there_were_layers_still_loads(model_of, raw, tmp_path):
    model = model_of("binary")
    write_bundle(model, tmp_path / "model")
    manifest = read_manifest(tmp_path / "model")
    del manifest["combine"]
    for member in manifest["members"]:
        del member["inputs"]
        for pipeline in member["pipelines"]:
            del pipeline["stack"]
    (tmp_path / "model" / "manifest.json").write_text(json.dumps(manifest | {"format": 2}))
    again = load_bundle(tmp_path / "model")
    np.testing.assert_array_equal(again.raw(raw), model.raw(raw))


@pytest.mark.parametrize("inputs", [(3,), (-1,), (2,)])
def test_inputs_must_be_members_of_the_first_layer(inputs, stacked_of):
    model = stacked_of("binary")
    bad = Member(1.0, model.members[2].pipelines, inputs=inputs)
    with pytest.raises(SettingsError, match="positions of members of the first layer"):
        TableModel(
            model.schema,
            [*model.members[:2], bad],
            task="binary",
            target="label",
            classes=model.classes,
        )


def test_pipelines_must_fit_their_layer(stacked_of):
    model = stacked_of("binary")
    keywords = {"task": "binary", "target": "label", "classes": model.classes}
    first, _, second = (member.pipelines for member in model.members)
    for members in (
        [Member(1.0, second)],
        [Member(1.0, first), Member(1.0, first, inputs=(0,))],
        [Member(1.0, [FittedPipeline(None, first[0].estimator)])],
    ):
        with pytest.raises(SettingsError, match="must take predictions exactly if it has inputs"):
            TableModel(model.schema, members, **keywords)


# --- other combinations ----------------------------------------------------------------------------


def member_predictions(model, typed, n_classes):
    return [member.predict(typed, n_classes, {}) for member in model.members]


def test_members_vote_with_their_weights(model_of, raw, typed):
    model = model_of("multiclass", combine="vote")
    forest, linear = (p.argmax(axis=1) for p in member_predictions(model, typed, 3))
    expected = 0.75 * np.eye(3)[forest] + 0.25 * np.eye(3)[linear]
    np.testing.assert_allclose(model.predict_proba(raw), expected, atol=1e-7)
    np.testing.assert_array_equal(model.predict(raw), model.classes_[forest])


def test_equal_weights_give_the_usual_median(model_of, raw, typed, targets):
    base = model_of("regression")
    bag = base.members[0].pipelines
    members = [
        *(Member(1.0, [pipeline]) for pipeline in bag),
        Member(1.0, base.members[1].pipelines),
        Member(0.0, bag),
    ]
    for used in (members, [*members[:3], Member(1.0, bag)]):
        model = TableModel(base.schema, used, task="regression", target="y", combine="median")
        weighted = [m.predict(typed, None, {}) for m in used if m.weight]
        np.testing.assert_allclose(model.predict(raw), np.median(weighted, axis=0), rtol=1e-6)


def test_a_heavy_member_is_the_median(model_of, raw, typed):
    model = model_of("regression", combine="median")
    heavy = model.members[0].predict(typed, None, {})
    np.testing.assert_allclose(model.predict(raw), heavy, rtol=1e-6)


@pytest.mark.parametrize(("task", "combine"), [("binary", "median"), ("regression", "vote")])
def test_combinations_that_do_not_fit_the_task_are_refused(task, combine, model_of):
    with pytest.raises(SettingsError, match=r"combine: a (median|vote) needs"):
        model_of(task, combine=combine)


@pytest.mark.parametrize("task", ["binary", "multiclass"])
def test_a_blend_is_calibrated_and_its_calibration_is_stored(task, model_of, raw, tmp_path):
    plain = model_of(task)
    biases = (0.5, -0.25, 0.0)[: len(plain.classes_)]
    model = model_of(task, calibration=Calibration(1.5, biases))
    expected = plain.predict_proba(raw).astype(float) ** 1.5 * np.exp(biases)
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(raw), expected, rtol=1e-4, atol=1e-6)
    manifest = write_bundle(model, tmp_path / "model")
    again = load_bundle(tmp_path / "model")
    assert again.calibration == model.calibration
    np.testing.assert_array_equal(again.raw(raw), model.raw(raw))
    earlier = {key: value for key, value in manifest.items() if key != "calibration"}
    (tmp_path / "model" / "manifest.json").write_text(json.dumps(earlier | {"format": 7}))
    np.testing.assert_array_equal(load_bundle(tmp_path / "model").raw(raw), plain.raw(raw))


def test_a_calibration_of_other_classes_is_refused(model_of):
    for task in ("binary", "regression"):
        with pytest.raises(SettingsError, match="calibration must have a bias for each of"):
            model_of(task, calibration=Calibration(1.0, (0.0, 0.0, 0.0)))


@pytest.mark.parametrize(("task", "combine"), [("binary", "vote"), ("regression", "median")])
def test_the_combination_is_stored(task, combine, model_of, raw, tmp_path):
    model = model_of(task, combine=combine)
    write_bundle(model, tmp_path / "model")
    again = load_bundle(tmp_path / "model")
    assert again.combine == combine
    np.testing.assert_array_equal(again.raw(raw), model.raw(raw))
