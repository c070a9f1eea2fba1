"""Boosted trees: the quantile that they promise, small samples, and the runtime model."""

import numpy as np
import pytest

from automl.errors import SettingsError
from automl.surrogates.boosting import LogSecondsBoosting, QuantileBoosting


def test_the_bound_is_about_the_ninth_decile():
    rng = np.random.default_rng(0)
    X = rng.random((1500, 2))
    noise = rng.normal(size=1500)
    bound = QuantileBoosting(n_leaves=4)
    bound.fit(X, X[:, 0] + noise, rng=rng)
    Z = rng.random((2000, 2))
    covered = np.mean(Z[:, 0] + rng.normal(size=2000) <= bound.predict(Z)[0])
    assert 0.84 < covered < 0.94


@pytest.mark.parametrize("kind", [QuantileBoosting, LogSecondsBoosting])
def test_a_dozen_observations_are_no_constant(kind):
    """20 rows a leaf, LightGBM's default, would make it one below 40 observations."""
    rng = np.random.default_rng(0)
    X = rng.random((12, 3))
    model = kind()
    model.fit(X, X[:, 0], rng=rng)
    assert np.ptp(model.predict(X)[0]) > 0.3


def test_a_bound_has_no_spread():
    rng = np.random.default_rng(0)
    X = rng.random((30, 3))
    model = QuantileBoosting()
    model.fit(X, X[:, 0], rng=rng)
    assert not model.predict(X)[1].any()


@pytest.mark.parametrize("quantile", [0.0, 1.0, -0.1])
def test_a_quantile_is_a_share(quantile):
    with pytest.raises(SettingsError, match="quantile"):
        QuantileBoosting(quantile=quantile)


@pytest.mark.parametrize(
    "options",
    [
        {"n_trees": 0},
        {"n_leaves": 1},
        {"small_leaf": 0},
        {"large_leaf": -5},
        {"learning_rate": 0.0},
        {"learning_rate": float("nan")},
        {"learning_rate": float("inf")},
    ],
)
@pytest.mark.parametrize("kind", [QuantileBoosting, LogSecondsBoosting])
def test_options_out_of_range_are_refused(kind, options):
    with pytest.raises(SettingsError, match=next(iter(options))):
        kind(**options)


@pytest.mark.parametrize("weight", [-0.1, float("nan"), float("inf")])
def test_a_weight_is_a_number_that_is_not_negative(weight):
    with pytest.raises(SettingsError, match="l1_weight"):
        LogSecondsBoosting(l1_weight=weight)
