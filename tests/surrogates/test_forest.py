"""The forest against its formulas, computed from trees that are grown by the book."""

import itertools

import numpy as np
import pytest

from automl.errors import SettingsError
from automl.surrogates.forest import RandomForest


def data(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, 6)).astype(np.float32).astype(float)
    return X, np.sin(5 * X[:, 0]) + rng.normal(scale=0.3, size=n)


def grown(X, y, *, min_split):
    """A regression tree by the book: [(rows, mean, variance)] of its leaves, and a function that finds a leaf.

    Splits at the midpoint with the least sum of squares, as long as a node has `min_split` rows.
    """
    leaves = []

    def grow(rows):
        best = None
        if len(rows) >= min_split:
            for column in range(X.shape[1]):
                levels = np.unique(X[rows, column])
                for low, high in itertools.pairwise(levels):
                    at = (low + high) / 2
                    left = X[rows, column] <= at
                    cost = sum(y[part].var() * len(part) for part in (rows[left], rows[~left]))
                    if best is None or cost < best[0] - 1e-12:
                        best = cost, column, at, rows[left], rows[~left]
        if best is None or y[rows].var() < 1e-15:
            leaves.append((y[rows].mean(), y[rows].var()))
            number = len(leaves) - 1
            return lambda point: number
        _, column, at, left, right = best
        below, above = grow(left), grow(right)
        return lambda point: below(point) if point[column] <= at else above(point)

    find = grow(np.arange(len(y)))
    return leaves, find


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("n", [10, 13, 40])
def test_a_tree_is_grown_by_the_book_on_the_rows_of_its_bootstrap(n, seed):
    """H18 3.2. A row that was drawn twice counts twice; asked are rows that were drawn, which no tie moves."""
    X, y = data(n)
    forest = RandomForest(n_trees=1, feature_share=1.0, variance_floor=0.0)
    forest.fit(X, y, rng=np.random.default_rng(seed))
    rows = np.random.default_rng(seed).integers(n, size=n)
    leaves, find = grown(X[rows], y[rows], min_split=10)
    means, variances = np.array([leaves[find(point)] for point in X[rows]]).T
    mean, std = forest.predict(X[rows])
    np.testing.assert_allclose(mean, means, rtol=1e-6)
    np.testing.assert_allclose(std**2, variances, rtol=1e-5, atol=1e-9)


def test_it_is_the_law_of_total_variance_over_trees():
    """Mean and variance of H18 3.2 of many trees from those of each tree alone."""
    X, y = data(60)
    asked = data(20, seed=1)[0]
    forest = RandomForest(n_trees=5, variance_floor=0.0)
    forest.fit(X, y, rng=np.random.default_rng(3))
    mean, std = forest.predict(asked)
    rng = np.random.default_rng(3)
    alone = []
    for _ in range(5):
        tree = RandomForest(n_trees=1, variance_floor=0.0)
        tree.fit(X, y, rng=rng)
        alone.append(tree.predict(asked))
    means, stds = np.array(alone).transpose(1, 0, 2)
    np.testing.assert_allclose(mean, means.mean(axis=0), rtol=1e-10)
    expected = (stds**2).mean(axis=0) + means.var(axis=0)
    np.testing.assert_allclose(std**2, expected, rtol=1e-8)


def test_ten_trials_are_enough_to_tell_points_apart():
    X, y = data(10)
    forest = RandomForest()
    forest.fit(X, y, rng=np.random.default_rng(0))
    assert np.ptp(forest.predict(X)[0]) > 0.1


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
