"""Closed forms of the improvement against integrals, limits and differences."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

from automl.acquisition.cost import growing_cost
from automl.acquisition.improvement import (
    expected_improvement,
    log_expected_improvement,
    log_expected_improvement_slopes,
    log_h,
    probability_of_improvement,
    upper_confidence_bound,
)

means = st.floats(-3, 3)
stds = st.floats(0.05, 3)
bests = st.floats(-3, 3)
margins = st.floats(0, 1)


def one(function, *numbers):
    mean, std, *rest = numbers
    return float(function(np.array([mean]), np.array([std]), *rest)[0])


@given(means, stds, bests, margins)
def test_expected_improvement_is_the_integral_of_the_improvement(mean, std, best, margin):
    bar = best + margin
    top = max(mean, bar) + 12 * std
    integral, _ = quad(
        lambda f: (f - bar) * norm.pdf(f, mean, std), bar, top, points=[max(mean, bar)]
    )
    found = one(expected_improvement, mean, std, best, margin)
    assert found == pytest.approx(integral, rel=1e-6, abs=1e-9)


@given(means, stds, bests, margins)
def test_probability_of_improvement_is_the_mass_above(mean, std, best, margin):
    expected = norm.sf(best + margin, mean, std)
    assert one(probability_of_improvement, mean, std, best, margin) == pytest.approx(expected)


@given(means, bests)
def test_without_uncertainty_the_improvement_is_the_difference(mean, best):
    """Also at the mean itself: no 0/0."""
    assert one(expected_improvement, mean, 0.0, best) == max(mean - best, 0.0)
    assert one(expected_improvement, mean, 0.0, mean) == 0.0
    assert one(probability_of_improvement, mean, 0.0, best) == float(mean > best)


@given(means, stds, bests)
def test_a_tiny_uncertainty_is_the_limit(mean, std, best):
    near = one(expected_improvement, mean, 1e-9 * std, best)
    assert near == pytest.approx(max(mean - best, 0.0), abs=1e-8)


@given(means, stds, bests, margins)
def test_the_logarithm_is_that_of_the_improvement(mean, std, best, margin):
    value = one(expected_improvement, mean, std, best, margin)
    if value > 1e-12:
        logarithm = one(log_expected_improvement, mean, std, best, margin)
        assert logarithm == pytest.approx(np.log(value), rel=1e-5, abs=1e-7)


def test_the_logarithm_has_no_steps_between_its_ranges():
    for edge in (-1.0, -1e4):
        z = edge + np.array([-1e-6, 1e-6]) * abs(edge)
        below, above = log_h(z)
        assert above - below == pytest.approx(np.diff(z)[0] * _slope(edge), rel=1e-2)


def _slope(z):
    return np.exp(norm.logcdf(z) - log_h(np.array([z]))[0])


def test_the_logarithm_grows_where_the_improvement_is_zero_in_rounding():
    z = np.linspace(-1e6, 5, 4001)
    assert np.all(np.diff(log_h(z)) > 0.0)
    assert np.all(expected_improvement(z[z < -1000], np.ones((z < -1000).sum()), 0.0) == 0.0)


def test_the_logarithm_is_minus_infinity_where_nothing_is_to_be_won():
    assert one(log_expected_improvement, 0.0, 0.0, 1.0) == -np.inf


@given(means, stds, bests, margins)
def test_slopes_are_differences(mean, std, best, margin):
    by_mean, by_std = log_expected_improvement_slopes(
        np.array([mean]), np.array([std]), best, margin
    )
    step = 1e-5 * std
    f = log_expected_improvement
    rise = one(f, mean + step, std, best, margin) - one(f, mean - step, std, best, margin)
    widen = one(f, mean, std + step, best, margin) - one(f, mean, std - step, best, margin)
    assert by_mean[0] == pytest.approx(rise / (2 * step), rel=1e-3, abs=1e-6)
    assert by_std[0] == pytest.approx(widen / (2 * step), rel=1e-3, abs=1e-6)


@given(means, stds, bests, margins)
def test_a_margin_and_a_better_best_leave_less(mean, std, best, margin):
    plain = one(expected_improvement, mean, std, best)
    assert one(expected_improvement, mean, std, best, margin) <= plain + 1e-12
    assert one(expected_improvement, mean, std, best + margin) <= plain + 1e-12
    assert plain >= 0.0


def test_the_bound_is_linear():
    assert one(upper_confidence_bound, 1.0, 0.5, 2.0) == 2.0


@given(st.floats(0, 1e9), st.floats(1e-6, 1e6))
def test_the_cost_is_positive_and_grows_below_one_second_too(seconds, typical):
    """ln(seconds), as printed, is negative below a second and turns the order around there."""
    cheap, dear = growing_cost(np.array([seconds, 2 * seconds + 1e-9]), typical)
    assert 1.0 <= cheap <= dear
    assert growing_cost(np.array([typical]), typical)[0] == pytest.approx(np.log(np.e + 1.0))
