"""What every allocator owes, and the two uniform ones."""

import pickle
from collections import Counter
from dataclasses import replace

import pytest

from automl.bandits.registry import ALLOCATORS, get_allocator
from automl.bandits.uniform import Uniform, UniformSeconds
from automl.errors import SettingsError
from automl.records import TrialStatus

UNFINISHED = [status for status in TrialStatus if status is not TrialStatus.COMPLETE]
LEARNERS = [name for name in ALLOCATORS if name != "only"]


@pytest.fixture(params=ALLOCATORS)
def make(request):
    return ALLOCATORS[request.param].make


@pytest.fixture(params=LEARNERS)
def make_learner(request):
    return ALLOCATORS[request.param].make


def uneven(family, rng):
    return rng.normal(len(family) / 10, 0.1)


class TestEveryAllocator:
    def test_chooses_only_arms_that_can_take_a_turn(self, make, drive, arms, rng):
        allocator = make()
        drive(allocator, range(20), score=uneven)
        for arm in arms:
            assert allocator.choose([arm], pending=arms, rng=rng) == arm

    def test_goes_on_with_the_arms_that_are_left(self, make, drive, arms):
        allocator = make()
        first = drive(allocator, range(40), score=uneven)
        rest = [arm for arm in arms if arm != Counter(first).most_common(1)[0][0]]
        assert set(drive(allocator, range(40, 80), arms=rest, score=uneven)) <= set(rest)

    def test_repeats_its_sequence_for_equal_streams_and_updates(self, make, drive):
        one, other = (drive(make(), range(80), score=uneven) for _ in range(2))
        assert one == other

    def test_continues_identically_after_a_pickle(self, make, drive):
        allocator = make()
        drive(allocator, range(25), score=uneven)
        copy = pickle.loads(pickle.dumps(allocator))
        rest = range(25, 80)
        assert drive(allocator, rest, score=uneven) == drive(copy, rest, score=uneven)

    @pytest.mark.parametrize("status", UNFINISHED)
    def test_survives_that_no_trial_is_complete(self, make, drive, arms, status):
        assert set(drive(make(), range(60), status=lambda _: status)) <= set(arms)

    @pytest.mark.parametrize("score", [-7.0, 0.0, 0.5, 1.0])
    def test_survives_that_all_scores_are_equal(self, make, drive, arms, score):
        assert set(drive(make(), range(60), score=lambda *_: score)) <= set(arms)

    def test_takes_trials_of_families_that_are_no_arms(self, make, trial, arms, rng):
        allocator = make()
        allocator.update(trial("constant"))
        assert allocator.choose(arms, pending=["constant"], rng=rng) in arms


class TestEveryLearner:
    def test_gives_every_arm_a_turn(self, make_learner, drive, arms):
        assert set(drive(make_learner(), range(30))) == set(arms)

    def test_does_not_repeat_a_first_turn_that_is_pending(self, make_learner, arms, rng):
        pending = []
        while len(pending) < len(arms):
            pending.append(make_learner().choose(arms, pending=pending, rng=rng))
        assert pending == arms

    def test_gives_the_others_turns_where_one_arm_only_fails(self, make_learner, drive, arms):
        allocator = make_learner()

        def fails(index):
            return TrialStatus.CRASHED

        drive(allocator, range(8), arms=arms[:1], status=fails)
        counts = Counter(drive(allocator, range(8, 60), arms=arms, score=uneven))
        assert counts[arms[0]] < 52 - 8


def test_only_measured_seconds_make_a_difference_to_those_that_say_so(drive):
    for name, entry in ALLOCATORS.items():
        slow, quick = (
            drive(entry.make(), range(80), seconds=lambda family, f=f: f(family), score=uneven)
            for f in (lambda family: 100.0 / len(family) ** 3, lambda family: 1.0)
        )
        leaves_it_to_the_optimizer = entry.joins_families
        assert (slow != quick) == (entry.reads_clock and not leaves_it_to_the_optimizer), name


@pytest.mark.parametrize("n_arms", [1, 2, 3, 6])
@pytest.mark.parametrize("n_turns", [1, 5, 17, 60])
def test_uniform_turns_never_differ_by_more_than_one(drive, n_arms, n_turns):
    arms = [f"arm {i}" for i in range(n_arms)]
    counts = Counter(drive(Uniform(), range(n_turns), arms=arms))
    assert max(counts.values()) - min(counts[arm] for arm in arms) <= 1


def test_uniform_ties_go_to_the_first_in_prior_order(drive, arms):
    assert drive(Uniform(), range(4)) == arms


def test_uniform_seconds_prefers_the_family_that_has_used_least(trial, arms, rng):
    allocator = UniformSeconds()
    for family, seconds in zip(arms, (8.0, 2.0, 4.0, 6.0), strict=True):
        allocator.update(trial(family, seconds=seconds))
    assert allocator.choose(arms, pending=[], rng=rng) == "svm"
    assert allocator.choose(arms, pending=["svm"] * 2, rng=rng) == "knn"


def test_folds_that_were_taken_over_are_paid_for_once(trial, arms, rng):
    once, twice = UniformSeconds(), UniformSeconds()
    for allocator, reused in ((once, 0.0), (twice, 4.0)):
        for family, seconds in zip(arms, (8.0, 5.0, 6.0, 7.0), strict=True):
            shared = reused if family == arms[0] else 0.0
            allocator.update(replace(trial(family, seconds=seconds), reused_seconds=shared))
    assert once.choose(arms, pending=[], rng=rng) == arms[1]
    assert twice.choose(arms, pending=[], rng=rng) == arms[0]


def test_an_unknown_name_is_refused_with_the_nearest_one():
    with pytest.raises(SettingsError, match="did you mean 'uniform'"):
        get_allocator("unifrom")


def test_only_takes_the_family_from_its_name(arms, rng):
    only = get_allocator("only:knn").make()
    assert only.choose(arms, pending=[], rng=rng) == "knn"
    assert only.choose(["svm", "ridge"], pending=[], rng=rng) == "svm"
    assert get_allocator("only").make().choose(arms, pending=[], rng=rng) == arms[0]


@pytest.mark.parametrize("name", ["only:kn", "uniform:knn", "only-knn"])
def test_only_a_known_family_can_be_named(name):
    with pytest.raises(SettingsError, match=r"knn|only"):
        get_allocator(name)


def test_every_entry_has_one_line_and_a_source():
    for entry in ALLOCATORS.values():
        assert entry.summary
        assert "\n" not in entry.summary
        assert entry.source
