"""Successive halving of the families (van Hoof, section 8.2.3)."""

from collections import Counter

import pytest

from automl.bandits.halving import FamilyHalving
from automl.records import TrialStatus

BEST_FIRST = ["lightgbm", "svm", "knn", "ridge", "mlp"]


def by_rank(family, rng):
    return 0.9 - 0.1 * BEST_FIRST.index(family) + rng.uniform(-0.01, 0.01)


def test_the_worse_half_goes_and_the_budget_of_the_others_doubles(drive):
    chosen = drive(FamilyHalving(2), range(60), arms=BEST_FIRST, lookback=1, score=by_rank)
    assert Counter(chosen[:10]) == dict.fromkeys(BEST_FIRST, 2)
    assert Counter(chosen[10:16]) == dict.fromkeys(BEST_FIRST[:3], 2)
    assert Counter(chosen[16:24]) == dict.fromkeys(BEST_FIRST[:2], 4)
    assert set(chosen[24:]) == {"lightgbm"}


@pytest.mark.parametrize("lookback", [2, 4, 9])
def test_a_rung_is_not_waited_for_and_the_best_family_is_left(drive, lookback):
    chosen = drive(FamilyHalving(2), range(80), arms=BEST_FIRST, lookback=lookback, score=by_rank)
    counts = Counter(chosen)
    assert min(counts.values()) == 2
    assert set(chosen[40:]) == {"lightgbm"}


def test_families_without_a_complete_trial_go_first_and_ties_are_settled_by_prior_order(
    trial, arms, rng
):
    allocator = FamilyHalving(1)
    allocator.choose(arms, pending=[], rng=rng)
    for index, family in enumerate(arms):
        status = TrialStatus.CRASHED if family == arms[0] else TrialStatus.COMPLETE
        allocator.update(trial(family, index, score=-3.0, status=status))
    assert [allocator.choose(arms, pending=p, rng=rng) for p in ([], [arms[1]])] == arms[1:3]


def test_partial_scores_are_not_compared(trial, arms, rng):
    allocator = FamilyHalving(1)
    allocator.choose(arms[:2], pending=[], rng=rng)
    allocator.update(trial(arms[0], 0, status=TrialStatus.PARTIAL))
    allocator.update(trial(arms[1], 1, score=0.1))
    assert allocator.choose(arms[:2], pending=[], rng=rng) == arms[1]


def test_the_best_of_the_others_has_the_turns_once_the_last_family_is_exhausted(drive):
    allocator = FamilyHalving(1)
    drive(allocator, range(30), arms=BEST_FIRST, lookback=1, score=by_rank)
    rest = BEST_FIRST[1:]
    chosen = drive(allocator, range(30, 40), arms=rest, lookback=1, score=by_rank)
    assert set(chosen) == {"svm"}


def test_families_that_cannot_take_a_turn_now_halve_nothing(arms, rng):
    allocator = FamilyHalving(1)
    allocator.choose(arms[:2], pending=[], rng=rng)
    assert allocator.choose(arms[2:], pending=[], rng=rng) == arms[2]
    assert [allocator.choose(arms, pending=arms[:i], rng=rng) for i in range(4)] == arms
