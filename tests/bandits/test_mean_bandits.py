"""The bandits of the documents against their formulas, and on arms of known means."""

from collections import Counter
from math import log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from automl.bandits.baselines import InitiallyBest
from automl.bandits.greedy import EpsilonDecreasing, EpsilonGreedy
from automl.bandits.increasing_effort import IncreasingEffort, effort_quantile
from automl.bandits.registry import ALLOCATORS
from automl.bandits.thompson import Thompson, TopTwoThompson, beta_parameters, guarded_moments
from automl.bandits.upper_bounds import Ucb1, Ucb1Tuned, ucb1_bonus, ucb1_tuned_bonus
from automl.records import TrialStatus

MEANS = {"lightgbm": 0.3, "svm": 0.4, "knn": 0.7, "ridge": 0.35}
REWARDS = {"lightgbm": [0.9, 0.5, 0.7], "svm": [0.6, 0.65], "knn": [0.2, 0.3, 0.1, 0.2]}
SEEKERS_OF_THE_MEAN = [
    "epsilon_greedy",
    "epsilon_decreasing",
    "thompson",
    "thompson_mean",
    "top_two_thompson",
    "ucb1",
    "ucb1_tuned",
    "increasing_effort",
    "initially_best",
    "expected_gain",
    "expected_gain_seconds",
]


def taught(allocator, trial, rewards):
    for family, values in rewards.items():
        for value in values:
            allocator.update(trial(family, score=value))
    return allocator


@pytest.mark.parametrize("name", SEEKERS_OF_THE_MEAN)
def test_an_arm_that_is_better_in_every_respect_gets_most_turns(drive, name):
    chosen = drive(
        ALLOCATORS[name].make(),
        range(300),
        score=lambda family, rng: rng.normal(MEANS[family], 0.05),
        seconds=lambda family: 1.0,
    )
    counts = Counter(chosen)
    assert counts.most_common(1)[0][0] == "knn"
    assert counts["knn"] > (100 if name == "ucb1" else 135)


class TestBetaMoments:
    @given(st.floats(0.01, 0.99), st.floats(0.001, 0.98))
    def test_the_distribution_has_the_moments(self, mean, share):
        variance = share * mean * (1 - mean)
        alpha, beta = beta_parameters(mean, variance)
        assert alpha > 0
        assert beta > 0
        assert stats.beta(alpha, beta).mean() == pytest.approx(mean)
        assert stats.beta(alpha, beta).var() == pytest.approx(variance)

    @given(st.floats(0, 1), st.floats(0, 1))
    def test_guarded_moments_always_have_a_distribution(self, mean, variance):
        alpha, beta = beta_parameters(*guarded_moments(mean, variance))
        assert 0 < alpha < np.inf
        assert 0 < beta < np.inf

    def test_moments_that_need_no_guard_are_kept(self):
        assert guarded_moments(0.4, 0.01) == (0.4, 0.01)


class TestThompson:
    def test_three_turns_for_every_arm_come_first(self, drive, arms):
        assert drive(Thompson(), range(12)) == arms * 3

    def test_an_arm_without_spread_is_not_pulled_for_ever(self, trial, rng):
        rewards = {"svm": [0.5] * 3, "knn": [0.8, 0.9, 0.7]}
        allocator = taught(Thompson(), trial, rewards)
        chosen = [allocator.choose(["svm", "knn"], pending=[], rng=rng) for _ in range(50)]
        assert Counter(chosen)["knn"] == 50

    def test_the_distribution_of_the_mean_concentrates(self, trial, rng):
        rewards = {"svm": [0.3, 0.7] * 50, "knn": [0.35, 0.75] * 50}
        shares = []
        for is_of_mean in (False, True):
            allocator = taught(Thompson(is_of_mean=is_of_mean), trial, rewards)
            chosen = [allocator.choose(["svm", "knn"], pending=[], rng=rng) for _ in range(400)]
            shares.append(Counter(chosen)["knn"] / 400)
        sigma = np.sqrt(2) * 0.2
        assert shares[0] == pytest.approx(stats.norm.cdf(0.05 / sigma), abs=0.08)
        assert shares[1] == pytest.approx(stats.norm.cdf(0.05 / sigma * 10), abs=0.05)

    def test_the_distribution_of_the_mean_concentrates_beyond_the_least_spread(self, trial, rng):
        rewards = {"svm": [0.49, 0.51] * 200, "knn": [0.498, 0.518] * 200}
        allocator = taught(Thompson(is_of_mean=True), trial, rewards)
        chosen = [allocator.choose(["svm", "knn"], pending=[], rng=rng) for _ in range(200)]
        assert set(chosen) == {"knn"}

    def test_top_two_gives_half_of_the_turns_to_the_second(self, trial, rng):
        rewards = {"svm": [0.2, 0.21, 0.19], "knn": [0.8, 0.81, 0.79], "ridge": [0.5, 0.51, 0.49]}
        allocator = taught(TopTwoThompson(), trial, rewards)
        chosen = Counter(allocator.choose(list(rewards), pending=[], rng=rng) for _ in range(400))
        assert chosen["knn"] == pytest.approx(200, abs=40)
        assert chosen["ridge"] == 400 - chosen["knn"]


class TestUpperBounds:
    @pytest.mark.parametrize("pending", [[], ["svm"], ["svm"] * 5, ["svm", "lightgbm"] * 3])
    @pytest.mark.parametrize("allocator", [Ucb1, Ucb1Tuned])
    def test_the_choice_is_that_of_the_formula(self, trial, rng, allocator, pending):
        counts = {arm: len(values) + pending.count(arm) for arm, values in REWARDS.items()}
        t = sum(counts.values())

        def bound(arm):
            x, n = np.array(REWARDS[arm]), counts[arm]
            if allocator is Ucb1:
                return x.mean() + np.sqrt(2 * np.log(t) / n)
            v = np.mean(x**2) - x.mean() ** 2 + np.sqrt(2 * np.log(t) / n)
            return x.mean() + np.sqrt(np.log(t) / n * min(0.25, v))

        chosen = taught(allocator(), trial, REWARDS).choose(list(REWARDS), pending=pending, rng=rng)
        assert chosen == max(REWARDS, key=bound)

    def test_the_bonuses_are_those_of_the_paper(self):
        assert ucb1_bonus(4, 20) == pytest.approx(sqrt(2 * log(20) / 4))
        assert ucb1_tuned_bonus(0.0, 4000, 4001) == pytest.approx(
            sqrt(log(4001) / 4000 * sqrt(2 * log(4001) / 4000))
        )
        assert ucb1_tuned_bonus(0.2, 2, 20) == pytest.approx(sqrt(log(20) / 2 / 4))


class TestGreedy:
    def test_epsilon_is_the_share_of_random_turns(self, trial, rng):
        allocator = taught(EpsilonGreedy(0.4), trial, REWARDS)
        chosen = Counter(allocator.choose(list(REWARDS), pending=[], rng=rng) for _ in range(600))
        assert chosen["lightgbm"] == pytest.approx(600 * (0.6 + 0.4 / 3), abs=50)

    def test_epsilon_falls_linearly_to_nothing(self):
        allocator = EpsilonDecreasing(50)
        shares = [allocator.share_at_random(n) for n in (0, 10, 25, 50, 90)]
        assert shares == pytest.approx([1.0, 0.8, 0.5, 0.0, 0.0])


class TestIncreasingEffort:
    def test_the_levels_are_those_of_the_document(self):
        for k, level in enumerate([0.9, 0.95, 0.975, 0.9875]):
            assert effort_quantile(k) == pytest.approx(stats.norm.ppf(level))

    def test_the_least_pulled_candidate_gets_the_turn(self, trial, rng):
        rewards = {"svm": [0.5, 0.6, 0.7, 0.6], "knn": [0.4, 0.7, 0.55], "ridge": [0.1, 0.11]}
        allocator = taught(IncreasingEffort(), trial, rewards)
        assert allocator.choose(list(rewards), pending=[], rng=rng) == "knn"
        assert allocator.choose(list(rewards), pending=["knn"] * 2, rng=rng) == "svm"

    def test_the_level_rises_until_there_is_a_candidate(self, trial, rng):
        rewards = {"svm": [0.7] + [0.6] * 20, "knn": [0.59, 0.6] * 10}
        limit = np.mean(rewards["svm"]) + stats.norm.ppf(0.9) * np.std(rewards["svm"], ddof=1)
        assert limit < 0.7
        allocator = taught(IncreasingEffort(), trial, rewards)
        assert allocator.choose(list(rewards), pending=[], rng=rng) == "svm"


def test_the_initially_best_goes_by_first_rewards_and_failures_lose(trial, arms, rng):
    rewards = {"lightgbm": [0.5, 0.99], "svm": [0.6, 0.1], "knn": [0.4]}
    allocator = taught(InitiallyBest(), trial, rewards)
    allocator.update(trial("ridge", status=TrialStatus.CRASHED))
    assert allocator.choose(arms, pending=[], rng=rng) == "svm"
    assert allocator.choose(["lightgbm", "knn", "ridge"], pending=[], rng=rng) == "lightgbm"
