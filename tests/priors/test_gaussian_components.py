"""Mixtures that grow by values and are merged (B14 eqs. 4.1 to 4.8)."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

from automl.priors.gaussian_components import REACH, Components


def moments(components):
    shares = components.weights / components.weights.sum()
    mean = shares @ components.means
    return (
        components.weights.sum(),
        mean,
        shares @ (components.sds**2 + (components.means - mean) ** 2),
    )


@st.composite
def mixtures(draw):
    k = draw(st.integers(1, 12))
    numbers = st.floats(0.01, 1.0)
    means = sorted(draw(st.lists(st.floats(-1, 1), min_size=k, max_size=k)))
    lists = [draw(st.lists(numbers, min_size=k, max_size=k)) for _ in range(2)]
    return Components(np.array(lists[0]), np.array(means), np.array(lists[1]))


@given(mixtures(), st.floats(0.001, 1.0), st.floats(0.05, 1.0))
def test_merging_keeps_mass_mean_and_variance(mixture, tolerance, threshold):
    found = mixture.simplified(tolerance, threshold)
    assert len(found.weights) <= len(mixture.weights)
    assert np.all(np.diff(found.means) >= -1e-12)
    np.testing.assert_allclose(moments(found), moments(mixture), rtol=1e-9, atol=1e-12)


@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=60),
    st.floats(0.01, 0.3),
    st.randoms(use_true_random=False),
)
def test_growing_keeps_the_moments_of_the_values_and_adds_the_width(values, width, random):
    x = np.array(values)
    weights = np.array([random.uniform(0.1, 2) for _ in values])
    mean = weights @ x / weights.sum()
    variance = weights @ (x - mean) ** 2 / weights.sum()
    expected = (weights.sum(), mean, variance + width**2)
    np.testing.assert_allclose(
        moments(Components.of(x, weights, width)), expected, rtol=1e-9, atol=1e-12
    )


@given(mixtures(), mixtures())
def test_joining_keeps_every_component(first, second):
    found = first.joined(second)
    assert sorted(found.means) == sorted([*first.means, *second.means])
    assert found.weights.sum() == pytest.approx(first.weights.sum() + second.weights.sum())


def test_the_distance_is_the_mean_difference_of_the_distribution_functions():
    pair = Components(np.array([1.0, 3.0]), np.array([0.2, 0.5]), np.array([0.05, 0.1]))
    merged = pair.merged()
    low, high = 0.2 - REACH * 0.05, 0.5 + REACH * 0.1

    def gap(x):
        both = 0.25 * norm.cdf(x, 0.2, 0.05) + 0.75 * norm.cdf(x, 0.5, 0.1)
        return abs(norm.cdf(x, merged.means[0], merged.sds[0]) - both)

    exact = quad(gap, low, high, limit=200)[0] / (high - low)
    assert pair.distances()[0] == pytest.approx(exact, abs=2e-4)


def test_equal_components_lose_nothing_and_far_ones_are_kept_apart():
    same = Components(np.ones(2), np.array([0.3, 0.3]), np.full(2, 0.1))
    assert same.distances()[0] == pytest.approx(0.0, abs=1e-12)
    assert len(same.simplified(0.01, 0.99).weights) == 1
    far = Components(np.ones(2), np.array([0.1, 0.9]), np.full(2, 0.05))
    assert len(far.simplified(0.02, 0.5).weights) == 2


def test_two_modes_are_found_however_uneven_they_are():
    rng = np.random.default_rng(0)
    values = np.append(rng.normal(0.25, 0.05, 900), rng.normal(0.8, 0.05, 100))
    found = Components.of(values, np.ones(1000), 0.03).simplified(0.02, 0.5)
    rare = found.means > 0.6
    assert found.weights[rare].sum() == pytest.approx(100, abs=5)
    assert found.weights @ (np.abs(found.means - 0.525) < 0.15) == 0.0
