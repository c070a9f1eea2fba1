"""What is tried first, and when what was learned elsewhere is given up."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from automl.origins import LEARNED
from automl.records import Configuration, Trial, TrialStatus
from automl.search.opening import LEAST_FORESIGHT, NOTHING, ON_TRIAL, PATIENCE, Opening


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


def test_scores_on_few_rows_are_no_verdict():
    few = [trial(0.1, "knowledge", TrialStatus.PARTIAL)] * ON_TRIAL
    assert taken(Opening(GIVEN, FALLBACK), [FLOOR, *few]) == GIVEN


def test_a_verdict_stays():
    opening = Opening(GIVEN, FALLBACK)
    bad = [FLOOR, *[trial(0.1, "past")] * ON_TRIAL]
    assert opening.pop(bad) == GIVEN[0]
    assert taken(opening, [*bad, trial(0.9, "knowledge")]) == FALLBACK


def test_without_learned_ones_nothing_is_given_up():
    opening = Opening([*GIVEN[:1], *FALLBACK], [])
    assert taken(opening, [FLOOR] * 9) == [*GIVEN[:1], *FALLBACK]


class Counting:
    """Stands for a guide that knows three configurations, of which the last two give no hope."""

    model = SimpleNamespace(
        configurations=(*configurations("guided", 3), *configurations("poor", 1))
    )

    def __init__(self, foresight=0.0):
        self._foresight = foresight

    def foresight(self, seen):
        return self._foresight

    def without_hope(self, seen):
        return [*self.model.configurations[1:]] if len(seen) < 3 else []

    def next(self, seen, given, passed_over):
        left = [c for c in configurations("guided", 3) if c not in [*given, *passed_over]]
        return left[0] if left else None


def test_a_guide_follows_what_is_given_and_is_told_what_was_chosen():
    found = taken(Opening(GIVEN, FALLBACK, Counting()), [FLOOR, trial(0.6, "past")])
    assert found == [*GIVEN, *((c, "knowledge") for c in configurations("guided", 3))]


def test_a_guide_that_misled_is_not_asked_again():
    opening = Opening(GIVEN[:3], FALLBACK, Counting())
    good = [FLOOR, *[trial(0.1, "knowledge")] * (ON_TRIAL - 1)]
    assert [opening.pop(good)[1] for _ in range(4)][-1] == "knowledge"
    assert taken(opening, [*good, trial(0.2, "knowledge")]) == FALLBACK


@pytest.mark.parametrize(
    ("foresight", "is_misled"), [(LEAST_FORESIGHT + 0.1, False), (-0.9, True), (float("nan"), True)]
)
def test_a_guide_that_foresaw_a_strong_floor_has_not_misled(foresight, is_misled):
    opening = Opening((), FALLBACK, Counting(foresight))
    opening.pop([FLOOR, *[trial(0.1, "knowledge")] * ON_TRIAL])
    assert opening.is_misled is is_misled


def test_a_family_is_discouraged_where_none_of_its_known_configurations_gives_hope():
    found = Opening(GIVEN, FALLBACK, Counting()).discouraged([FLOOR])
    assert found.families == {"poor"}
    assert found.configurations == {c.id for c in Counting.model.configurations[1:]}
    assert Opening(GIVEN, FALLBACK, Counting()).discouraged([FLOOR] * 3) == type(found)()


def test_nothing_is_hopeless_without_a_guide_or_after_patience_or_where_it_misled():
    assert Opening(GIVEN, FALLBACK).discouraged([FLOOR]) == NOTHING
    patient = Counting()
    patient.without_hope = lambda seen: list(Counting.model.configurations)
    assert Opening((), (), patient).discouraged([FLOOR] * (PATIENCE - 1)).families
    assert Opening((), (), patient).discouraged([FLOOR] * PATIENCE) == NOTHING
    misled = Opening(GIVEN, FALLBACK, patient)
    bad = [FLOOR, *[trial(0.1, "knowledge")] * ON_TRIAL]
    misled.pop(bad)
    assert misled.discouraged(bad) == NOTHING


def test_what_the_guide_does_not_know_is_tried_in_turn_with_what_it_chooses():
    unknown = [(c, "default") for c in configurations("unknown", 5)]
    found = taken(Opening(GIVEN[:1], FALLBACK, Counting(), unknown), [FLOOR])
    families = [configuration.family for configuration, _ in found]
    assert families[:7] == ["floor", *["guided", "unknown"] * 3]
    assert families[7:] == ["unknown"] * 2


def test_what_the_guide_does_not_know_is_left_to_its_turn_where_it_misled():
    unknown = [(c, "default") for c in configurations("unknown", 5)]
    bad = [FLOOR, *[trial(0.1, "knowledge")] * ON_TRIAL]
    assert taken(Opening((), FALLBACK, Counting(), unknown), bad) == FALLBACK


def test_the_guide_is_told_what_was_passed_over():
    told = []

    class Listening(Counting):
        def next(self, seen, given, passed_over):
            told.append((list(given), list(passed_over)))
            return super().next(seen, given, passed_over)

    opening = Opening(GIVEN[:1], (), Listening())
    floor, first = opening.pop([])[0], opening.pop([])[0]
    opening.pass_over(first)
    assert opening.pop([])[0] not in (None, first)
    assert told[-1] == ([floor], [first])
