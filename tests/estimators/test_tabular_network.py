"""The network for tables: gradients, schedules, scaling, fits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import expit, log_softmax, softmax
from sklearn.preprocessing import RobustScaler

from automl.estimators.tabular_network import (
    CLIP_SCALE,
    Network,
    TabularNetworkClassifier,
    TabularNetworkRegressor,
    cycles,
    kept_units,
    late_decay,
    scaling,
    smoothly_clipped,
    swish,
)

SMALL = {"width": 16, "depth": 2, "members": 2, "batch_size": 64}


def network_of(rng, *, embedded, n_outputs=3):
    network = Network(
        4,
        np.array(embedded, dtype=np.intp),
        [5, 6],
        n_outputs,
        members=2,
        frequency=0.3,
        rng=rng,
    )
    network.parameters = {
        name: value.astype(np.float64) for name, value in network.parameters.items()
    }
    return network


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), embedded=st.sampled_from([[], [1], [0, 2]]))
def test_the_analytic_gradient_equals_finite_differences(seed, embedded):
    rng = np.random.default_rng(seed)
    network = network_of(rng, embedded=embedded)
    X = rng.normal(size=(2, 7, 4))
    T = np.eye(3)[rng.integers(0, 3, (2, 7))]

    def loss():
        return -float((T * log_softmax(network.forward(X).output, axis=2)).sum())

    passed = network.forward(X)
    gradient = network.gradient(X, passed, softmax(passed.output, axis=2) - T)
    assert gradient.keys() == network.parameters.keys()
    for name, value in network.parameters.items():
        assert gradient[name].shape == value.shape
        if not value.size:
            continue
        place = tuple(rng.integers(0, length) for length in value.shape)
        step = 1e-6
        value[place] += step
        above = loss()
        value[place] -= 2 * step
        below = loss()
        value[place] += step
        assert (above - below) / (2 * step) == pytest.approx(gradient[name][place], abs=1e-6)


@settings(max_examples=30, deadline=None)
@given(arrays(float, (9, 3), elements=st.integers(-50, 50).map(float)))
def test_columns_are_scaled_by_quartiles_where_they_differ(X):
    center, factor = scaling(X)
    expected = RobustScaler().fit(X)
    low, high = np.quantile(X, [0.25, 0.75], axis=0)
    spread = high > low
    np.testing.assert_allclose(center, expected.center_, rtol=1e-6)
    np.testing.assert_allclose(factor[spread], 1.0 / expected.scale_[spread], rtol=1e-6)
    constant = X.max(axis=0) == X.min(axis=0)
    assert not factor[constant].any()
    assert (np.abs(smoothly_clipped(X, center, factor)) <= CLIP_SCALE).all()


def test_the_learning_rate_has_four_cycles_and_ends_at_zero():
    progress = np.linspace(0, 1, 200_001)
    rates = np.array([cycles(each) for each in progress])
    assert rates[0] == rates[-1] == pytest.approx(0.0, abs=1e-12)
    peaks = (rates[1:-1] > rates[:-2]) & (rates[1:-1] > rates[2:])
    assert peaks.sum() == 4
    assert rates.max() == pytest.approx(1.0, abs=1e-6)


def test_dropout_and_weight_decay_stay_until_the_middle():
    assert [late_decay(each) for each in (0.0, 0.5)] == [1.0, 1.0]
    assert late_decay(0.75) == pytest.approx(0.5)
    assert late_decay(1.0) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("dropout", [0.1, 0.4, 0.5])
def test_dropout_keeps_the_mean(dropout):
    kept = kept_units((4, 200, 250), dropout, np.random.default_rng(0))
    share = round(256 * dropout) / 256
    assert share == pytest.approx(dropout, abs=1 / 512)
    assert np.unique(kept) == pytest.approx([0.0, 1 / (1 - share)])
    assert (kept == 0).mean() == pytest.approx(share, abs=0.006)  # five standard errors
    assert kept.mean() == pytest.approx(1.0, abs=0.012)


def test_swish_is_the_number_times_its_logistic_function():
    Z = np.linspace(-30.0, 30.0, 601)
    value, slope = swish(Z)
    np.testing.assert_allclose(value, Z * expit(Z), atol=1e-12)
    np.testing.assert_allclose(slope, np.gradient(Z * expit(Z), Z), atol=2e-3)


@pytest.mark.parametrize("embedding", ["waves", "none"])
def test_members_of_one_batch_are_what_they_are_alone(embedding):
    """The output of a member does not depend on the others."""
    rng = np.random.default_rng(0)
    network = network_of(rng, embedded=[0, 1] if embedding == "waves" else [])
    X = rng.normal(size=(1, 9, 4))
    both = network.forward(X).output
    for member in range(2):
        network_alone = network_of(rng, embedded=[0, 1] if embedding == "waves" else [])
        network_alone.parameters = {
            name: value[member : member + 1] for name, value in network.parameters.items()
        }
        np.testing.assert_allclose(network_alone.forward(X).output[0], both[member])


@pytest.mark.parametrize("embedding", ["waves", "none"])
def test_it_learns_a_product_of_columns(embedding):
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, (900, 4))
    y = X[:, 0] * X[:, 1]
    options = {**SMALL, "epochs": 80, "embedding": embedding}
    regressor = TabularNetworkRegressor(**options, learning_rate=0.1, dropout=0.0)
    assert regressor.fit(X[:600], y[:600]).score(X[600:], y[600:]) > 0.9
    classifier = TabularNetworkClassifier(**options, dropout=0.0, learning_rate=0.05)
    labels = np.where(y > 0, "up", "down")
    assert classifier.fit(X[:600], labels[:600]).score(X[600:], labels[600:]) > 0.85
    probabilities = classifier.predict_proba(X[600:])
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)


def test_equal_seeds_give_equal_models():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(80, 3)), rng.integers(0, 2, 80)
    first, again, other = (
        TabularNetworkClassifier(**SMALL, epochs=4, random_state=seed).fit(X, y).predict_proba(X)
        for seed in (0, 0, 1)
    )
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_rows_of_weight_zero_teach_nothing():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 2))
    y = (X[:, 0] > 0).astype(int)
    wrong = np.arange(300) % 3 == 0
    y[wrong] = 1 - y[wrong]
    model = TabularNetworkClassifier(**SMALL, epochs=30, dropout=0.0)
    model.fit(X, y, sample_weight=np.where(wrong, 0.0, 1.0))
    assert model.score(X[~wrong], y[~wrong]) > 0.95
    assert model.score(X[wrong], y[wrong]) < 0.1


def test_predictions_of_numbers_stay_within_the_range_of_the_target():
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(60, 2)), rng.normal(size=60)
    model = TabularNetworkRegressor(**SMALL, epochs=3, learning_rate=0.1).fit(X, y)
    predicted = model.predict(1e6 * rng.normal(size=(500, 2)))
    assert predicted.min() >= y.min()
    assert predicted.max() <= y.max()


def test_a_learning_rate_that_is_far_too_high_is_named():
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(60, 2)), rng.normal(size=60)
    with (
        np.errstate(all="ignore"),
        pytest.raises(ValueError, match="a lower learning_rate may help"),
    ):
        TabularNetworkRegressor(**SMALL, epochs=3, learning_rate=1e30).fit(X, y)


def test_values_of_any_size_are_bent_to_the_ends_and_never_to_the_middle():
    X = np.array([[0.0], [1.0], [2.0], [1e20], [-1e30], [1.7e308]])
    center, factor = scaling(X[:3] * 1e-6)
    found = smoothly_clipped(X, center, factor)[:, 0]
    assert np.isfinite(found).all()
    assert found[3:].tolist() == pytest.approx([CLIP_SCALE, -CLIP_SCALE, CLIP_SCALE], rel=1e-5)
