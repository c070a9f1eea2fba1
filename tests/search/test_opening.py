"""What is tried first, and when what was learned elsewhere is given up."""

from dataclasses import replace

import pytest

from automl.records import Configuration, Trial, TrialStatus
from automl.search.opening import LEARNED, ON_TRIAL, Opening


def trial(score, origin, status=TrialStatus.COMPLETE):
    return Trial("run", 0, Configuration("a", {}), status, score, origin=origin)


def configurations(name, n):
    return [Configuration(name, {"x": i}) for i in range(n)]


def taken(opening, seen):
    return list(iter(lambda: opening.pop(seen), None))


GIVEN = [
    *((c, "floor") for c in configurations("floor", 1)),
    *((c, "past") for c in configurations("past", 2)),
    *((c, "knowledge") for c in configurations("learned", 5)),
]
FALLBACK = [(c, "portfolio") for c in configurations("written", 3)]
FLOOR = trial(0.5, "floor")


def test_what_was_learned_comes_in_its_order_and_the_fallback_is_not_needed():
    assert taken(Opening(GIVEN, FALLBACK), [FLOOR, trial(0.6, "past")]) == GIVEN


@pytest.mark.parametrize("origin", LEARNED)
@pytest.mark.parametrize(
    "poor", [trial(0.5, "past"), trial(None, "past", TrialStatus.FAILED), trial(-1.0, "past")]
)
def test_learned_configurations_that_are_no_better_than_the_floors_are_given_up(origin, poor):
    opening = Opening(GIVEN, FALLBACK)
    seen = [FLOOR, *[replace(poor, origin=origin)] * (ON_TRIAL - 1)]
    assert [opening.pop(seen) for _ in range(3)] == GIVEN[:3]
    seen.append(replace(poor, origin=origin))
    assert taken(opening, seen) == FALLBACK


def test_one_good_one_among_the_first_keeps_the_others():
    seen = [FLOOR, *[trial(0.1, "knowledge")] * (ON_TRIAL - 1), trial(0.51, "knowledge")]
    assert taken(Opening(GIVEN, FALLBACK), seen) == GIVEN


def test_a_verdict_stays():
    opening = Opening(GIVEN, FALLBACK)
    bad = [FLOOR, *[trial(0.1, "past")] * ON_TRIAL]
    assert opening.pop(bad) == GIVEN[0]
    assert taken(opening, [*bad, trial(0.9, "knowledge")]) == FALLBACK


def test_without_learned_ones_nothing_is_given_up():
    opening = Opening([*GIVEN[:1], *FALLBACK], [])
    assert taken(opening, [FLOOR] * 9) == [*GIVEN[:1], *FALLBACK]
