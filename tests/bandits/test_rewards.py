"""How scores become rewards, and running moments."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from automl.bandits.rewards import Pulls, Rewards, Tally
from automl.records import TrialStatus

UNIT = st.floats(0, 1)


@given(st.lists(UNIT, min_size=2, max_size=50))
def test_running_moments_are_those_of_numpy(values):
    tally = Tally()
    for value in values:
        tally.add(value)
    assert tally.n == len(values)
    assert tally.mean == pytest.approx(np.mean(values), abs=1e-12)
    assert tally.variance == pytest.approx(np.var(values), abs=1e-12)
    assert tally.sample_variance == pytest.approx(np.var(values, ddof=1), abs=1e-12)
    assert (tally.first, tally.best, tally.worst) == (values[0], max(values), min(values))


@pytest.mark.parametrize(("score", "reward"), [(-3.0, 0.0), (0.0, 0.0), (0.7, 0.7), (1.0, 1.0)])
def test_a_reward_is_the_score_cut_off_at_the_baseline(trial, score, reward):
    assert Rewards().add(trial("svm", score=score)) == reward


def test_a_failed_trial_counts_as_the_worst_reward_of_any_family(trial):
    rewards = Rewards()
    failed = trial("svm", status=TrialStatus.TIMED_OUT)
    assert rewards.add(failed) == 0.0
    rewards = Rewards()
    rewards.add(trial("svm", score=0.8))
    rewards.add(trial("knn", score=0.3))
    assert rewards.add(failed) == 0.3


@pytest.mark.parametrize("status", [TrialStatus.RACED, TrialStatus.PARTIAL])
def test_a_trial_without_verdict_counts_as_the_worst_of_its_family(trial, status):
    rewards = Rewards()
    rewards.add(trial("svm", score=0.8))
    rewards.add(trial("svm", score=0.6))
    rewards.add(trial("knn", score=0.3))
    assert rewards.add(trial("svm", status=status)) == 0.6
    assert rewards.add(trial("ridge", status=status)) == 0.3


def test_a_family_without_rewards_has_the_mean_of_the_others_means(trial):
    rewards = Rewards()
    assert rewards.value("knn") == 0.0
    for family, score in [("svm", 0.2), ("svm", 0.4), ("ridge", 0.7)]:
        rewards.add(trial(family, score=score))
    assert rewards.value("knn") == pytest.approx(0.5)
    assert rewards.best == 0.7


def test_pulls_count_finished_and_pending_turns_of_the_arms_alone(trial, arms):
    rewards = Rewards()
    for family in ["svm", "svm", "constant"]:
        rewards.add(trial(family))
    pulls = Pulls(rewards, arms, ["svm", "knn", "stump"])
    assert [pulls.of(arm) for arm in arms] == [0, 3, 1, 0]
    assert pulls.total == 4
    assert pulls.least() == "lightgbm"
    assert pulls.least(["svm", "knn"]) == "knn"
    assert pulls.wanting() == "lightgbm"
    assert Pulls(rewards, ["svm"], []).wanting() is None
