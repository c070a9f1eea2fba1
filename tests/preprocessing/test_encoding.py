"""Every encoder: known, unknown and missing categories."""

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from automl.errors import DataError, SettingsError
from automl.preprocessing import MISSING, OTHER, Encoder, pipeline


def column(*values):
    return pd.DataFrame({"c": pd.Series(values, dtype=object)})


def test_one_hot_has_one_indicator_per_category_and_unknown_is_all_zero():
    encoder = Encoder("onehot")
    out = encoder.fit_transform(column("a", "b", "c", "a"))
    assert list(out.columns) == ["c=a", "c=b", "c=c"]
    assert out.to_numpy().tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0]]
    assert encoder.transform(column("new")).to_numpy().tolist() == [[0, 0, 0]]


def test_two_categories_share_one_indicator_and_unknown_is_in_the_middle():
    encoder = Encoder("onehot").fit(column("a", "b"))
    assert encoder.transform(column("a", "b", "new", None))["c=b"].tolist() == [0, 1, 0.5, 0.5]


@pytest.mark.parametrize(
    ("missing", "names", "row"),
    [
        ("category", ["c=a", "c=b", f"c={MISSING}"], [0, 0, 1]),
        ("null", ["c=b"], [0.5]),
        ("most_frequent", ["c=b"], [0]),
    ],
)
def test_missing_categories_follow_the_rule(missing, names, row):
    out = Encoder("onehot", missing).fit_transform(column("a", "a", "b", None))
    assert list(out.columns) == names
    assert out.iloc[3].tolist() == row


def test_missing_values_that_training_rows_lack_are_unknown():
    encoder = Encoder("onehot", "category").fit(column("a", "b", "c"))
    assert encoder.transform(column(None)).to_numpy().tolist() == [[0, 0, 0]]


def test_rare_categories_and_unknown_ones_share_one_indicator():
    values = [f"v{i}" for i in range(50) for _ in range(i + 1)]
    encoder = Encoder("onehot", max_categories=10).fit(column(*values))
    assert len(encoder.names()) == 10
    out = encoder.transform(column("v49", "v0", "new"))
    assert out["c=v49"].tolist() == [1, 0, 0]
    assert out[f"c={OTHER}"].tolist() == [0, 1, 1]


def test_categories_that_only_the_type_knows_are_unknown():
    known = pd.CategoricalDtype(["a", "b", "c", "z"])
    encoder = Encoder("ordinal").fit(pd.DataFrame({"c": pd.Series(["a", "c", "b"], dtype=known)}))
    out = encoder.transform(pd.DataFrame({"c": pd.Series(["z", "c", None], dtype=known)}))
    assert out["c"].tolist() == [-1, 2, -1]


def test_another_list_of_categories_is_matched_by_text():
    encoder = Encoder("ordinal").fit(column("a", "b", "c"))
    other = pd.DataFrame({"c": pd.Categorical(["c", "x", "a"], categories=["x", "c", "a"])})
    assert encoder.transform(other)["c"].tolist() == [2, -1, 0]


def test_native_columns_list_the_categories_that_occur():
    encoder = Encoder("native")
    out = encoder.fit_transform(column("a", None, "b"))
    assert out["c"].tolist() == ["a", MISSING, "b"]
    later = encoder.transform(column("new", "b"))
    assert later["c"].dtype == out["c"].dtype
    assert later["c"].isna().tolist() == [True, False]


def test_target_encoding_shrinks_towards_the_mean():
    y = np.array([1, 1, 0, 0, 0, 0], dtype=np.int32)
    encoder = Encoder("target", smoothing=2.0).fit(column("a", "a", "b", "b", "b", "b"), y)
    out = encoder.transform(column("a", "b", "new"))["c"]
    np.testing.assert_allclose(out, [(2 + 2 / 3) / 4, (2 / 3) / 6, 1 / 3], rtol=1e-6)


def test_target_encoding_has_one_column_per_class_above_two():
    y = np.array([0, 1, 2] * 10, dtype=np.int32)
    out = Encoder("target").fit_transform(column(*(["a", "b", "c"] * 10)), y)
    assert list(out.columns) == ["c=class0", "c=class1", "c=class2"]
    np.testing.assert_allclose(out.sum(axis=1), 1.0, rtol=1e-5)


@given(st.integers(0, 10_000))
@settings(max_examples=25, deadline=None)
def test_no_rows_own_target_leaks_into_its_encoding(seed):
    rng = np.random.default_rng(seed)
    frame, y = column(*rng.choice(list("abcd"), 60)), rng.normal(size=60)
    encoder = Encoder("target", random_state=seed)
    before = encoder.fit_transform(frame, y)["c"].to_numpy()
    changed = y.copy()
    row = int(rng.integers(60))
    changed[row] += 1000.0
    after = encoder.fit_transform(frame, changed)["c"].to_numpy()
    assert before[row] == after[row]
    assert (before != after).any()


def test_a_useless_category_stays_useless_after_cross_fitting():
    rng = np.random.default_rng(5)
    frame, y = column(*[f"v{i}" for i in rng.integers(0, 200, 1000)]), rng.integers(0, 2, 1000)
    encoder = Encoder("target", smoothing=0.1)
    honest = encoder.fit_transform(frame, y)["c"]
    leaking = encoder.transform(frame)["c"]
    assert abs(np.corrcoef(honest, y)[0, 1]) < 0.15
    assert np.corrcoef(leaking, y)[0, 1] > 0.3


def test_numeric_columns_pass_first_and_the_index_is_kept(typed):
    frame = typed.set_index(np.arange(200) + 50)
    out = Encoder("onehot").fit_transform(frame)
    assert list(out.columns[:2]) == ["size", "weight"]
    assert out.index.equals(frame.index)
    assert list(out.columns) == list(Encoder("onehot").fit(frame).get_feature_names_out())


@pytest.mark.parametrize("method", ["onehot", "ordinal", "target", "native"])
def test_a_pickled_encoder_encodes_alike(method, typed, labels):
    encoder = Encoder(method).fit(typed, labels)
    pd.testing.assert_frame_equal(
        pickle.loads(pickle.dumps(encoder)).transform(typed), encoder.transform(typed)
    )


def test_wrong_choices_and_columns_are_named():
    with pytest.raises(SettingsError, match="method must be one of"):
        Encoder("hash").fit(column("a"))
    with pytest.raises(SettingsError, match="missing must be one of"):
        Encoder(missing="drop").fit(column("a"))
    with pytest.raises(SettingsError, match="needs a target"):
        Encoder("target").fit(column("a"))
    with pytest.raises(DataError, match="fitted on the nominal columns"):
        Encoder().fit(column("a", "b")).transform(pd.DataFrame({"d": ["a"]}))


@pytest.fixture
def many():
    """A column of 40 categories beside one of two, and a target that is higher in even categories."""
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 40, 400)
    frame = pd.DataFrame(
        {
            "town": pd.Categorical([f"t{k:02d}" for k in codes]),
            "size": pd.Categorical(codes % 3 > 0),
        }
    )
    return frame, (codes % 2 == 0) + rng.normal(0.0, 0.1, 400)


def test_many_categories_can_be_encoded_by_the_target_beside_indicators(many):
    frame, y = many
    encoder = Encoder(max_categories=20, many="target").fit(frame, y)
    by_target = Encoder("target").fit(frame[["town"]], y)
    out = encoder.transform(frame)
    assert list(out.columns) == ["town", "size=True"]
    np.testing.assert_array_equal(out["town"], by_target.transform(frame[["town"]])["town"])
    outside = by_target.fit_transform(frame[["town"]], y)["town"]
    np.testing.assert_array_equal(encoder.fit_transform(frame, y)["town"], outside)
    assert not np.array_equal(outside, out["town"])


def test_few_categories_need_no_target(many):
    frame, _ = many
    encoder = Encoder(max_categories=40, many="target").fit(frame)
    pd.testing.assert_frame_equal(
        encoder.transform(frame), Encoder(max_categories=40).fit(frame).transform(frame)
    )
    with pytest.raises(SettingsError, match="target encoding needs a target"):
        Encoder(max_categories=39, many="target").fit(frame)
    with pytest.raises(SettingsError, match="many must be one of other, target; got 'hash'"):
        Encoder(many="hash").fit(frame)


def test_a_preprocessor_scales_what_comes_of_the_target_and_not_the_indicators(many, monkeypatch):
    monkeypatch.setitem(pipeline.MAX_CATEGORIES, "onehot", 20)
    frame, y = many
    choices = {"prep.many_categories": "target", "prep.scaler": "standard"}
    preprocessor = pipeline.build_preprocessor(choices, seed=1)
    matrix = preprocessor.fit_transform(frame, y)
    assert list(preprocessor.get_feature_names_out()) == ["town", "size=True"]
    assert abs(matrix[:, 0].mean()) < 1e-5
    assert set(matrix[:, 1]) == {0.0, 1.0}
    again = pickle.loads(pickle.dumps(preprocessor))
    np.testing.assert_array_equal(again.transform(frame), preprocessor.transform(frame))


def test_an_encoder_of_before_columns_could_differ_encodes_as_it_did(many):
    frame, y = many
    encoder = Encoder("target").fit(frame, y)
    state = encoder.__getstate__()
    for name in ("many", "by_target_"):
        del state[name]
    old = Encoder.__new__(Encoder)
    old.__setstate__(state)
    pd.testing.assert_frame_equal(old.transform(frame), encoder.transform(frame))
    assert old.by_target_ == [True, True]
