"""Imputer, VarianceFilter, Scaler and Reducer, each alone."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.stats import norm
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.feature_selection import f_classif, f_regression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import RobustScaler, StandardScaler

from automl.errors import DataError, SettingsError
from automl.preprocessing import MISSING, Imputer, Reducer, Scaler, VarianceFilter

columns_of_numbers = hnp.arrays(
    np.float64,
    st.tuples(st.integers(2, 30), st.integers(1, 4)),
    elements=st.floats(-1e6, 1e6, allow_nan=False).map(lambda x: round(x, 3)),
)


@pytest.mark.parametrize("kind", [Imputer, VarianceFilter, Scaler, Reducer])
def test_a_step_takes_frames_and_arrays_alike_and_can_be_cloned(kind, typed):
    numbers = typed[["size", "weight"]]
    step = clone(kind())
    framed = step.fit_transform(numbers)
    assert list(framed.columns) == list(step.get_feature_names_out()) == ["size", "weight"]
    assert framed.index.equals(numbers.index)
    np.testing.assert_array_equal(framed.to_numpy(), kind().fit_transform(numbers.to_numpy()))


@pytest.mark.parametrize("kind", [VarianceFilter, Scaler, Reducer])
def test_a_step_of_numbers_leaves_nominal_columns_where_they_are(kind, typed):
    out = kind().fit(typed).transform(typed)
    assert list(out.columns) == list(typed.columns)
    pd.testing.assert_series_equal(out["color"], typed["color"])


def test_another_number_of_columns_is_refused(typed):
    with pytest.raises(DataError, match="fitted on 4 columns; got 3"):
        Scaler().fit(typed).transform(typed.iloc[:, :3])


def test_the_mean_or_the_median_replaces_missing_numbers():
    frame = pd.DataFrame({"a": [1.0, 2.0, np.nan, 9.0], "empty": [np.nan] * 4})
    assert Imputer("mean").fit_transform(frame)["a"].tolist() == [1.0, 2.0, 4.0, 9.0]
    assert Imputer("median").fit_transform(frame)["a"].tolist() == [1.0, 2.0, 2.0, 9.0]
    assert Imputer("mean").fit_transform(frame)["empty"].tolist() == [0.0] * 4
    assert Imputer("none").fit_transform(frame)["a"].isna().sum() == 1


def test_missing_categories_become_a_category_or_the_mode_or_stay():
    frame = pd.DataFrame({"c": ["x", None, "x", "y"]})
    assert Imputer(nominal="category").fit_transform(frame)["c"].tolist() == [
        "x",
        MISSING,
        "x",
        "y",
    ]
    assert Imputer(nominal="most_frequent").fit_transform(frame)["c"].tolist() == [
        "x",
        "x",
        "x",
        "y",
    ]
    assert Imputer(nominal="null").fit_transform(frame)["c"].isna().tolist() == [
        False,
        True,
        False,
        False,
    ]


def test_fill_values_come_from_the_training_rows():
    step = Imputer("mean").fit(pd.DataFrame({"a": [1.0, 3.0]}))
    assert step.transform(pd.DataFrame({"a": [np.nan, 100.0]}))["a"].tolist() == [2.0, 100.0]


def test_wrong_choices_are_named():
    frame = pd.DataFrame({"a": [1.0, 2.0]})
    for step in (Imputer("mode"), Imputer(nominal="mode"), Scaler("log"), Reducer("lasso")):
        with pytest.raises(SettingsError, match="must be"):
            step.fit(frame)
    with pytest.raises(SettingsError, match="at least 0"):
        VarianceFilter(-1.0).fit(frame)
    with pytest.raises(SettingsError, match="needs a target"):
        Reducer("select_k").fit(frame)
    with pytest.raises(SettingsError, match="share"):
        Reducer("pca", 1.5).fit(frame)


def test_constant_and_empty_columns_always_go():
    frame = pd.DataFrame(
        {"a": [1.0, 2.0], "one": [5.0, 5.0], "none": [np.nan] * 2, "half": [3.0, np.nan]}
    )
    assert list(VarianceFilter().fit_transform(frame).columns) == ["a"]


def test_the_printed_threshold_depends_on_the_unit_and_the_scaled_one_does_not():
    rng = np.random.default_rng(0)
    meters = rng.normal(0.0, 0.1, 500)
    frame = pd.DataFrame({"meters": meters, "millimeters": 1000 * meters})
    assert list(VarianceFilter(0.05, raw=True).fit(frame).get_feature_names_out()) == [
        "millimeters"
    ]
    assert list(VarianceFilter(0.01).fit(frame).keep_) == [True, True]
    assert list(VarianceFilter(0.25).fit(frame).keep_) == [False, False]


def test_a_rare_indicator_survives_a_scaled_threshold_but_not_the_printed_one():
    frame = pd.DataFrame({"rare": [1.0] + [0.0] * 99})
    assert VarianceFilter(0.05).fit(frame).keep_.tolist() == [True]
    assert VarianceFilter(0.05, raw=True).fit(frame).keep_.tolist() == [False]


@pytest.mark.parametrize(
    ("method", "reference"), [("standard", StandardScaler()), ("robust", RobustScaler())]
)
def test_scaling_agrees_with_scikit_learn_with_and_without_missing_values(method, reference):
    values = np.random.default_rng(1).gamma(2.0, 3.0, (60, 3))
    for missing in (False, True):
        if missing:
            values[5, 1] = np.nan
        np.testing.assert_allclose(
            Scaler(method).fit_transform(values), reference.fit_transform(values), rtol=1e-12
        )


@given(columns_of_numbers)
@settings(max_examples=50, deadline=None)
def test_minmax_keeps_training_rows_in_the_unit_interval(values):
    scaled = Scaler("minmax").fit_transform(values)
    assert scaled.min() >= 0.0
    assert scaled.max() <= 1.0 + 1e-12


@given(columns_of_numbers, st.sampled_from(["minmax", "standard", "robust", "quantile_normal"]))
@settings(max_examples=80, deadline=None)
def test_scaling_keeps_the_order_of_values_and_is_finite(values, method):
    scaled = Scaler(method).fit_transform(values)
    assert np.isfinite(scaled).all()
    for before, after in zip(values.T, scaled.T, strict=True):
        assert (np.diff(after[np.argsort(before, kind="stable")]) >= -1e-9).all()


def test_indicators_are_not_scaled():
    values = np.array([[0.0, 1.0], [1.0, 2.0], [0.0, 4.0]])
    for method in ("minmax", "standard", "robust", "quantile_normal"):
        assert Scaler(method).fit_transform(values)[:, 0].tolist() == [0.0, 1.0, 0.0]


def test_quantiles_become_normal_and_outside_values_take_the_ends():
    values = np.random.default_rng(2).exponential(size=(5000, 1))
    scaler = Scaler("quantile_normal").fit(values)
    scaled = np.sort(scaler.transform(values)[:, 0])
    expected = norm.ppf((np.arange(5000) + 0.5) / 5000)
    np.testing.assert_allclose(scaled[50:-50], expected[50:-50], atol=0.02)
    ends = scaler.transform(np.array([[-1e9], [1e9]]))[:, 0]
    np.testing.assert_allclose(ends, [scaled[0], scaled[-1]])


def test_without_scaling_a_great_offset_is_taken_away_so_that_float32_keeps_the_differences():
    seconds = 1.6e9 + np.arange(10.0)[:, None]
    moved = Scaler("none").fit_transform(seconds).astype(np.float32)
    assert len(np.unique(moved)) == 10
    small = np.arange(10.0)[:, None]
    assert Scaler("none").fit_transform(small).tolist() == small.tolist()


def test_principal_components_agree_with_scikit_learn_up_to_sign():
    rng = np.random.default_rng(3)
    for shape in ((80, 6), (6, 20)):
        values = rng.normal(size=shape) @ rng.normal(size=(shape[1], shape[1]))
        ours, theirs = Reducer("pca", 0.9).fit(values), PCA(0.9, svd_solver="full").fit(values)
        assert ours.components_.shape == theirs.components_.shape
        np.testing.assert_allclose(
            np.abs(ours.transform(values)), np.abs(theirs.transform(values)), atol=1e-6
        )


@pytest.mark.parametrize("is_classification", [True, False])
def test_the_chosen_columns_are_those_with_the_greatest_f_statistic(is_classification):
    rng = np.random.default_rng(4)
    values = rng.normal(size=(120, 8))
    target = values[:, 2] - values[:, 5] + 0.1 * rng.normal(size=120)
    y = np.digitize(target, [-0.5, 0.5]) if is_classification else target
    statistic = (f_classif if is_classification else f_regression)(values, y)[0]
    reducer = Reducer("select_k", 0.25).fit(values, y)
    assert reducer.chosen_.tolist() == sorted(np.argsort(-statistic)[:2].tolist())
    assert list(reducer.get_feature_names_out()) == ["x2", "x5"]


@pytest.mark.parametrize(("method", "n_kept"), [("select_k", 15), ("select_few", 3)])
def test_of_more_columns_than_rows_a_share_of_the_rows_is_kept(method, n_kept):
    rng = np.random.default_rng(5)
    values = rng.normal(size=(30, 400))
    y = (values[:, 7] > 0).astype(int)
    kept = Reducer(method).fit(values, y).chosen_
    assert len(kept) == n_kept
    assert 7 in kept


def test_the_steps_work_in_a_scikit_learn_pipeline(typed, labels):
    steps = make_pipeline(
        Imputer("median"), VarianceFilter(), Scaler("robust"), Reducer("select_k")
    )
    out = steps.fit_transform(typed[["size", "weight"]], labels)
    assert out.shape == (200, 1)
