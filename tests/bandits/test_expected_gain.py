"""The model of the best-so-far curve against sampling and integration, and what follows from it."""

import time
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from automl.bandits.expected_gain import (
    LEAST_ROOM,
    Curve,
    ExpectedGain,
    ExpectedGainPerSecond,
    curve_gain,
    lomax_gain,
    untried_gain,
)
from automl.bandits.greedy import EpsilonGreedy
from automl.records import TrialStatus


@given(st.floats(0, 5), st.floats(0, 5), st.floats(1.1, 30), st.floats(1e-3, 10))
def test_the_gain_is_the_integral_of_the_survival_function(threshold, width, shape, scale):
    limit = threshold + width
    expected, _ = integrate.quad(
        lambda u: stats.lomax.sf(scale * np.expm1(u), shape, scale=scale) * scale * np.exp(u),
        np.log1p(threshold / scale),
        np.log1p(limit / scale),
        epsabs=1e-13,
    )
    gain = lomax_gain(threshold=threshold, limit=limit, shape=shape, scale=scale)
    assert gain == pytest.approx(expected, rel=1e-6, abs=1e-11)


def test_the_gain_keeps_its_accuracy_where_little_is_left():
    gain = lomax_gain(threshold=2.0, limit=2.0 + 1e-14, shape=3.0, scale=0.1)
    assert gain == pytest.approx(stats.lomax.sf(2.0, 3.0, scale=0.1) * 1e-14, rel=0.05)


def test_the_curve_of_uniform_rewards_is_that_of_the_model(rng):
    """The maximum of n rewards in [0, 1/2] grows by 1 / (2 (n + 1) (n + 2)) on average."""
    n = 10
    scaled_improvement = n / (n + 1) / 2
    curve = Curve(n=n, best=n / (n + 1) / 2, records=10_000, amount=10_000 * scaled_improvement)
    gain = curve_gain(curve, 0, best=curve.best, scale=0.2)
    rewards = rng.random((200_000, n + 1)) / 2
    observed = np.mean(np.maximum(rewards[:, n] - rewards[:, :n].max(axis=1), 0))
    assert observed == pytest.approx(1 / (2 * (n + 1) * (n + 2)), rel=0.03)
    assert gain == pytest.approx(observed, rel=0.2)


@given(st.integers(1, 100), st.floats(0, 1), st.floats(0, 1), st.integers(0, 20), st.integers(0, 9))
def test_a_gain_is_never_negative_and_never_more_than_there_is(n, best, share, records, pending):
    curve = Curve(n=n, best=best * share, records=records, amount=records * 0.05)
    gain = curve_gain(curve, pending, best=best, scale=0.2)
    assert 0 <= gain <= max(1 - best, LEAST_ROOM)
    assert curve_gain(curve, pending + 1, best=best, scale=0.2) <= gain
    assert 0 <= untried_gain(n, best=best, scale=0.2) <= max(1 - best, LEAST_ROOM)


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_a_family_further_behind_gains_less(share):
    near, far = (Curve(n=4, best=0.8 * s, records=1, amount=0.2) for s in (1.0, share))
    assert curve_gain(far, 0, best=0.8, scale=0.2) < curve_gain(near, 0, best=0.8, scale=0.2)


def test_a_curve_keeps_improvements_scaled_by_the_turns_before():
    curve = Curve()
    for reward in (0.4, 0.3, 0.5, 0.5, 0.6):
        curve.add(reward, 2.0)
    assert (curve.n, curve.best, curve.records, curve.seconds) == (5, 0.6, 2, 10.0)
    assert curve.amount == pytest.approx(2 * 0.1 + 4 * 0.1)


def test_it_goes_for_the_best_score_where_the_others_go_for_the_best_mean(drive, arms):
    def score(family, rng):
        return rng.beta(1, 1) if family == "svm" else 0.6 + 0.02 * rng.random()

    gain, greedy = (
        Counter(drive(allocator, range(200), arms=arms, score=score))
        for allocator in (ExpectedGain(), EpsilonGreedy())
    )
    assert gain["svm"] > 100
    assert greedy["svm"] < 40


def test_per_second_a_cheap_family_gets_the_turns_of_an_equal_expensive_one(drive):
    counts = Counter(
        drive(
            ExpectedGainPerSecond(),
            range(120),
            score=lambda family, rng: rng.beta(5, 2),
            seconds=lambda family: 0.1 if family == "knn" else 10.0,
        )
    )
    assert counts["knn"] > 60


def test_a_failing_family_is_left_alone(drive, trial, arms, rng):
    allocator = ExpectedGain()
    drive(allocator, range(20), score=lambda _, rng: rng.beta(5, 2))
    for index in range(3):
        allocator.update(trial("kmeans", index, status=TrialStatus.OUT_OF_MEMORY))
    for _ in range(20):
        chosen = allocator.choose([*arms, "kmeans"], pending=[], rng=rng)
        assert chosen != "kmeans"
        allocator.update(trial(chosen, score=rng.beta(5, 2)))


def test_families_are_told_apart_even_when_the_best_score_is_perfect(drive, trial, arms, rng):
    allocator = ExpectedGain()
    for family, score in zip(arms * 5, [1.0, 0.5, 0.4, 0.3] * 5, strict=True):
        allocator.update(trial(family, score=score))
    assert allocator.choose(arms, pending=[], rng=rng) == arms[0]


def test_a_decision_takes_less_than_two_milliseconds_after_two_thousand_trials(trial, rng):
    arms = [f"family {i}" for i in range(20)]
    allocator = ExpectedGainPerSecond(untried=2.0)
    for index in range(2000):
        allocator.update(trial(arms[index % 20], index, score=rng.random()))
    started = time.process_time()
    for _ in range(100):
        allocator.choose(arms, pending=arms[:4], rng=rng)
    assert time.process_time() - started < 0.2


@pytest.mark.parametrize("n_pending", [0, 3])
@pytest.mark.parametrize("behind", [0.0, 0.05])
def test_the_gain_of_a_turn_is_the_stated_integral(n_pending, behind):
    curve = Curve(n=4, best=0.6, records=2, amount=0.3, seconds=8.0)
    best, scale, n = 0.6 + behind, 0.5, 4 + n_pending
    integral, _ = integrate.quad(
        lambda y: (1 + y / (scale + 0.3)) ** -5.0,
        n * behind,
        n * (behind + 0.2 * (1 - best)),
    )
    gain = curve_gain(curve, n_pending, best=best, scale=scale)
    assert gain == pytest.approx(integral / (n * (n + 1)))
