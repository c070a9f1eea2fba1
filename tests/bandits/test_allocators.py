"""What every allocator owes, and the two uniform ones."""

import pickle
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from automl.bandits.registry import ALLOCATORS, get_allocator
from automl.bandits.uniform import Uniform, UniformSeconds
from automl.errors import SettingsError
from automl.randomness import Purpose, stream
from automl.records import Configuration, Trial, TrialStatus

ARMS = ["lightgbm", "svm", "knn", "ridge"]


@pytest.fixture(params=ALLOCATORS)
def make(request):
    return ALLOCATORS[request.param].make


def trial(family, index=0, *, seconds=1.0, score=0.5, status=TrialStatus.COMPLETE):
    is_scored = status is TrialStatus.COMPLETE
    return Trial(
        "run", index, Configuration(family), status, score if is_scored else None, seconds=seconds
    )


def drive(allocator, steps, *, arms=ARMS, status=lambda _: TrialStatus.COMPLETE):
    chosen, pending = [], []
    for index in steps:
        rng = stream(1, Purpose.ALLOCATOR, index)
        chosen.append(allocator.choose(arms, pending=pending, rng=rng))
        pending.append(chosen[-1])
        if len(pending) > 3:
            family = pending.pop(0)
            seconds = 1.0 + len(family)
            allocator.update(trial(family, index, seconds=seconds, status=status(index)))
    return chosen


def test_only_arms_that_can_take_a_turn_are_chosen(make):
    allocator = make()
    drive(allocator, range(20))
    for arm in ARMS:
        assert allocator.choose([arm], pending=ARMS, rng=stream(0, Purpose.ALLOCATOR)) == arm


def test_equal_streams_and_updates_give_equal_sequences(make):
    assert drive(make(), range(50)) == drive(make(), range(50))


def test_a_pickled_allocator_continues_identically(make):
    allocator = make()
    drive(allocator, range(25))
    copy = pickle.loads(pickle.dumps(allocator))
    assert drive(allocator, range(25, 50)) == drive(copy, range(25, 50))


@pytest.mark.parametrize("status", [s for s in TrialStatus if s is not TrialStatus.COMPLETE])
def test_it_survives_that_no_trial_is_complete(make, status):
    assert set(drive(make(), range(40), status=lambda _: status)) <= set(ARMS)


def test_trials_of_families_that_are_no_arms_are_taken(make):
    allocator = make()
    allocator.update(trial("constant"))
    assert allocator.choose(ARMS, pending=["constant"], rng=stream(0, Purpose.ALLOCATOR)) in ARMS


def test_every_arm_gets_a_turn(make):
    assert set(drive(make(), range(30))) == set(ARMS)


@given(st.integers(1, 6), st.integers(1, 60))
def test_uniform_turns_never_differ_by_more_than_one(n_arms, n_turns):
    arms = [f"arm {i}" for i in range(n_arms)]
    counts = Counter(drive(Uniform(), range(n_turns), arms=arms))
    assert max(counts.values()) - min(counts[arm] for arm in arms) <= 1


def test_uniform_ties_go_to_the_first_in_prior_order():
    assert drive(Uniform(), range(4)) == ARMS


def test_uniform_seconds_prefers_the_family_that_has_used_least():
    allocator = UniformSeconds()
    for family, seconds in zip(ARMS, (8.0, 2.0, 4.0, 6.0), strict=True):
        allocator.update(trial(family, seconds=seconds))
    rng = stream(0, Purpose.ALLOCATOR)
    assert allocator.choose(ARMS, pending=[], rng=rng) == "svm"
    assert allocator.choose(ARMS, pending=["svm"] * 2, rng=rng) == "knn"


def test_whoever_reads_measured_seconds_says_so():
    assert {name for name, entry in ALLOCATORS.items() if entry.reads_clock} == {"uniform_seconds"}


def test_an_unknown_name_is_refused_with_the_nearest_one():
    with pytest.raises(SettingsError, match="did you mean 'uniform'"):
        get_allocator("unifrom")
