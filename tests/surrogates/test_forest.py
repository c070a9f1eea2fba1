"""The forest against its formulas, computed from scikit-learn's trees row by row."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor

from automl.errors import SettingsError
from automl.surrogates.forest import RandomForest


def data(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, 6)).astype(np.float32).astype(float)
    return X, np.sin(5 * X[:, 0]) + rng.normal(scale=0.3, size=n)


def test_it_is_the_law_of_total_variance_over_trees_and_leaves():
    """mean and variance of H18 3.2 with leaves read off row by row."""
    X, y = data(80)
    forest = RandomForest()
    forest.fit(X, y, rng=np.random.default_rng(3))
    asked = data(20, seed=1)[0]
    rng = np.random.default_rng(3)
    means, variances = np.empty((10, 20)), np.empty((10, 20))
    for b in range(10):
        rows = rng.integers(80, size=80)
        weights = np.bincount(rows, minlength=80)
        drawn = np.flatnonzero(weights)
        tree = DecisionTreeRegressor(
            max_features=5 / 6, min_samples_split=10, random_state=int(rng.integers(2**31 - 1))
        ).fit(X[drawn], y[drawn], weights[drawn])
        own = tree.apply(X[rows])
        for i, leaf in enumerate(tree.apply(asked)):
            inside = y[rows][own == leaf]
            means[b, i], variances[b, i] = inside.mean(), max(inside.var(), 0.01)
    mean, std = forest.predict(asked)
    np.testing.assert_allclose(mean, means.mean(axis=0), rtol=1e-10)
    expected = (variances + means**2).mean(axis=0) - mean**2
    np.testing.assert_allclose(std**2, expected, rtol=1e-8)


def test_a_node_with_fewer_than_ten_observations_is_not_split():
    X, y = data(9)
    forest = RandomForest()
    forest.fit(X, y, rng=np.random.default_rng(0))
    mean, _ = forest.predict(X)
    np.testing.assert_allclose(mean, mean[0])


def test_a_leaf_is_never_surer_than_the_floor():
    X, y = data(200)
    forest = RandomForest(min_split=2)
    forest.fit(X, y, rng=np.random.default_rng(0))
    assert forest.predict(X)[1].min() >= 0.1 - 1e-12


def test_without_a_floor_equal_targets_leave_no_uncertainty():
    X, _ = data(50)
    forest = RandomForest(variance_floor=0.0)
    forest.fit(X, np.ones(50), rng=np.random.default_rng(0))
    np.testing.assert_allclose(forest.predict(X), [np.ones(50), np.zeros(50)], atol=1e-7)


@pytest.mark.parametrize(
    "options",
    [
        {"n_trees": 0},
        {"min_split": 1},
        {"min_leaf": 0},
        {"feature_share": 0.0},
        {"feature_share": 1.5},
        {"variance_floor": -1.0},
        {"variance_floor": float("nan")},
        {"variance_floor": float("inf")},
    ],
)
def test_options_out_of_range_are_refused(options):
    with pytest.raises(SettingsError, match=next(iter(options))):
        RandomForest(**options)
