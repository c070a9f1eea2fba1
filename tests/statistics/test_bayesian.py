"""The correlated t posterior: against draws from its definition, and beside the corrected t-test."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from automl.statistics.bayesian import correlated_t_posterior
from automl.statistics.paired import corrected_t
from automl.statistics.results import Posterior

RATIO = 0.25


def pair(seed, lead=0.02, n=10):
    rng = np.random.default_rng(seed)
    second = 0.8 + 0.05 * rng.normal(size=n)
    return second + lead + 0.02 * rng.normal(size=n), second


@given(seed=st.integers(0, 1000), n=st.integers(2, 30), rope=st.sampled_from([0.0, 0.01, 0.1]))
@settings(max_examples=40, deadline=None)
def test_probabilities_sum_to_one_and_change_sides_with_the_models(seed, n, rope):
    first, second = pair(seed, n=n)
    found = correlated_t_posterior(first, second, test_train_ratio=RATIO, rope=rope)
    turned = correlated_t_posterior(second, first, test_train_ratio=RATIO, rope=rope)
    assert found.less + found.equivalent + found.greater == pytest.approx(1.0)
    assert (turned.less, turned.greater) == pytest.approx((found.greater, found.less))
    wider = correlated_t_posterior(first, second, test_train_ratio=RATIO, rope=rope + 0.01)
    assert wider.equivalent >= found.equivalent


@pytest.mark.parametrize("seed", range(5))
def test_without_a_rope_it_is_the_one_sided_test(seed):
    first, second = pair(seed)
    found = correlated_t_posterior(first, second, test_train_ratio=RATIO, rope=0.0)
    test = corrected_t(first, second, test_train_ratio=RATIO, alternative="greater")
    assert found.greater == pytest.approx(1.0 - test.pvalue)
    assert found.equivalent == pytest.approx(0.0, abs=1e-12)


def test_it_is_the_share_of_draws_from_the_normal_model_with_correlated_folds():
    """Given the deviation the mean has variance sigma² (1/n + rho / (1 - rho)), B. et al. eq. 3."""
    first, second = pair(1)
    difference, rng, n, rope = first - second, np.random.default_rng(0), 10, 0.01
    sigma2 = (n - 1) * difference.var(ddof=1) / rng.chisquare(n - 1, 400_000)
    rho = 0.2  # one row in five is validated: 0.2 / 0.8 = RATIO
    draws = difference.mean() + np.sqrt(sigma2 * (1 / n + rho / (1 - rho))) * rng.normal(
        size=400_000
    )
    found = correlated_t_posterior(first, second, test_train_ratio=RATIO, rope=rope)
    shares = [(draws < -rope).mean(), (np.abs(draws) <= rope).mean(), (draws > rope).mean()]
    assert [found.less, found.equivalent, found.greater] == pytest.approx(shares, abs=0.004)


@pytest.mark.parametrize(
    ("lead", "expected"), [(0.5, (0, 0, 1)), (0.25, (0, 1, 0)), (0.0, (0, 1, 0)), (-1.0, (1, 0, 0))]
)
def test_a_constant_difference_lies_where_it_is(lead, expected):
    second = np.array([1.0, 2.0, 3.0])
    found = correlated_t_posterior(second + lead, second, test_train_ratio=RATIO, rope=0.25)
    assert found == Posterior(*expected)


@pytest.mark.parametrize(
    "wrong", [{"rope": -0.1}, {"rope": float("nan")}, {"test_train_ratio": -1}]
)
def test_negative_parameters_are_refused(wrong):
    first, second = pair(0)
    with pytest.raises(ValueError, match="must not be negative"):
        correlated_t_posterior(first, second, **{"test_train_ratio": RATIO, "rope": 0.0, **wrong})
