"""LightGBM that stops early by itself."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from automl.estimators.allowance import Allowance, fitting_within
from automl.estimators.boosting import LightGBMClassifier, LightGBMRegressor
from automl.estimators.histograms import LEAST_BINS, ROWS_PER_BIN, useful_bins
from automl.estimators.holdout import inner_holdout
from automl.estimators.weights import row_weights


class NoTimeForAllRows(Allowance):
    """Lets the search for the number of rounds end, and says that no time is left to grow them."""

    left = 0.0

    def is_over(self):
        return False


def _classes(n_rows=500, n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 6)).astype(np.float32)
    score = X[:, 0] + X[:, 1] ** 2 + 0.5 * rng.normal(size=n_rows)
    y = np.digitize(score, np.quantile(score, np.linspace(0, 1, n_classes + 1)[1:-1]))
    return X, y


@pytest.mark.parametrize("boosting", ["gbdt", "goss", "dart"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_every_kind_of_boosting_learns_and_repeats_itself(boosting, n_classes):
    X, y = _classes(n_classes=n_classes)
    model = LightGBMClassifier(boosting=boosting, n_estimators=60, learning_rate=0.1)
    first = clone(model).fit(X[:400], y[:400]).predict_proba(X[400:])
    second = clone(model).fit(X[:400], y[:400]).predict_proba(X[400:])
    np.testing.assert_array_equal(first, second)
    assert first.shape == (100, n_classes)
    assert (first.argmax(axis=1) == y[400:]).mean() > 1.4 / n_classes


def test_noise_stops_early_and_signal_goes_on():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 5))
    noise = LightGBMRegressor().fit(X, rng.normal(size=600))
    signal = LightGBMRegressor().fit(X, 10.0 * X[:, 0] + X[:, 1] * X[:, 2])
    assert noise.best_iteration_ < 60 < signal.best_iteration_


def test_a_pickle_keeps_the_best_rounds_only_and_predicts_the_same():
    X, y = _classes()
    with fitting_within(NoTimeForAllRows()):
        model = LightGBMClassifier().fit(X, y)
        regressor = LightGBMRegressor().fit(X, y.astype(float))
    assert model.booster_.current_iteration() > model.best_iteration_
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(model.predict_proba(X), copy.predict_proba(X))
    assert copy.booster_.current_iteration() == model.best_iteration_
    copy = pickle.loads(pickle.dumps(regressor))
    np.testing.assert_array_equal(regressor.predict(X), copy.predict(X))


def test_categories_are_matched_by_name_not_by_code():
    rng = np.random.default_rng(0)
    letters = np.array(list("abcdefgh"))[rng.integers(0, 8, 600)]
    y = np.isin(letters, ["b", "d", "g"]).astype(int)
    frame = pd.DataFrame({"letter": pd.Categorical(letters), "x": rng.normal(size=600)})
    model = LightGBMClassifier(learning_rate=0.2).fit(frame, y)
    other = pd.DataFrame(
        {"letter": pd.Categorical(["g", "a", "z", None]), "x": [0.0, 0.0, 0.0, 0.0]}
    )
    proba = model.predict_proba(other)
    assert proba[0, 1] > 0.9 > 0.1 > proba[1, 1]
    np.testing.assert_allclose(proba[2], proba[3])


def test_one_class_alone_is_predicted_without_trees():
    model = LightGBMClassifier().fit(np.zeros((10, 2)), np.full(10, 4))
    assert model.predict(np.zeros((3, 2))).tolist() == [4, 4, 4]
    assert pickle.loads(pickle.dumps(model)).predict_proba(np.zeros((3, 2))).shape == (3, 1)


def test_few_rows_still_grow_trees():
    X, y = _classes(n_rows=36, n_classes=2)
    model = LightGBMClassifier().fit(X, y)
    assert model.predict_proba(X)[:, 1].std() > 0.1
    assert model.best_iteration_ == 50


def test_an_unknown_kind_of_boosting_is_an_error():
    with pytest.raises(ValueError, match="gbdt, goss or dart"):
        LightGBMClassifier(boosting="gdbt").fit(*_classes(n_rows=40))


@settings(max_examples=50, deadline=None)
@given(
    counts=st.lists(st.integers(1, 60), min_size=2, max_size=5),
    share=st.floats(0.05, 0.5),
    seed=st.integers(0, 1000),
)
def test_the_holdout_is_stratified_and_never_takes_a_class_away(counts, share, seed):
    y = np.repeat(np.arange(len(counts)), counts)
    training, held = inner_holdout(y, share=share, seed=seed, is_classification=True)
    assert sorted(np.r_[training, held]) == list(range(len(y)))
    assert set(y[training]) == set(range(len(counts)))
    for label, count in enumerate(counts):
        assert abs((y[held] == label).sum() - share * count) <= 1.0 + 1e-9 or count == 1


def test_the_holdout_of_numbers_spans_their_range():
    y = np.random.default_rng(0).normal(size=1000)
    _, held = inner_holdout(y, share=0.1, seed=0, is_classification=False)
    assert 99 <= len(held) <= 101
    for level in (0.1, 0.5, 0.9):
        assert abs(np.quantile(y[held], level) - np.quantile(y, level)) < 0.1


def test_row_weights_multiply_class_weights():
    y = np.array([0, 0, 0, 1])
    assert row_weights(y, None) is None
    np.testing.assert_allclose(row_weights(y, "balanced"), [2 / 3, 2 / 3, 2 / 3, 2.0])
    np.testing.assert_allclose(row_weights(y, {1: 5.0}, np.full(4, 2.0)), [2, 2, 2, 10])
    with pytest.raises(ValueError, match="balanced"):
        row_weights(y, "balance")


@pytest.mark.parametrize("boosting", ["gbdt", "goss", "dart"])
@pytest.mark.parametrize("objective", [None, "regression_l1"])
def test_a_constant_added_to_the_target_is_added_to_the_prediction(boosting, objective):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    y = X[:, 0] + np.sin(X[:, 1])
    model = LightGBMRegressor(
        boosting=boosting, objective=objective, learning_rate=0.3, n_estimators=100, skip_drop=0.0
    )
    near = model.fit(X, y).predict(X)
    far = model.fit(X, y + 100.0).predict(X)
    assert np.abs(far - 100.0 - near).max() < 0.1
    assert np.var(y - near) < 0.5 * np.var(y)


@given(st.integers(2, 300), st.integers(0, 100_000))
def test_bins_grow_with_the_rows_between_their_least_and_what_was_asked_for(most, n_rows):
    bins = useful_bins(most, n_rows)
    assert min(most, LEAST_BINS) <= bins <= most
    assert bins <= useful_bins(most, n_rows + ROWS_PER_BIN)
    assert useful_bins(most, most * ROWS_PER_BIN) == most


def _thresholds(model, column=0):
    """Different values at which the trees split a column."""
    trees = model.booster_.trees_to_dataframe()
    return trees.loc[trees["split_feature"] == f"Column_{column}", "threshold"].nunique()


def test_a_small_table_has_few_bins_and_a_large_one_those_that_were_asked_for():
    rng = np.random.default_rng(0)
    x = rng.random(12_000)
    y = np.sin(60 * x) + 0.1 * rng.normal(size=len(x))
    fit = LightGBMRegressor(min_child_samples=1, n_estimators=150, max_bin=255).fit
    few = _thresholds(fit(x[:800, np.newaxis], y[:800]))
    many = _thresholds(fit(x[:, np.newaxis], y))
    assert few < LEAST_BINS < many


def test_each_of_many_categories_keeps_a_bin_of_its_own_on_a_small_table():
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(70), 8)
    effect = rng.permutation(70).astype(float)
    frame = pd.DataFrame({"kind": pd.Categorical([f"k{code}" for code in codes])})
    model = LightGBMRegressor(
        min_child_samples=1, cat_smooth=1.0, n_estimators=300, learning_rate=0.3, max_bin=127
    ).fit(frame, effect[codes])
    assert np.corrcoef(model.predict(frame), effect[codes])[0, 1] > 0.98
