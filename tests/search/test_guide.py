"""The guide through known configurations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from automl.recommendation.configuration_portfolio import KnownScores
from automl.records import Configuration, FoldResult, Trial, TrialStatus
from automl.search.guide import Guide

TWO_KINDS = [[1.0, 0.9, 0.0, 0.1, 0.45], [0.0, 0.1, 1.0, 0.9, 0.45]] * 6
NAMES = tuple(Configuration("a" if j < 4 else "b", {"x": j}) for j in range(5))


def guide(most=5, seconds=None, growth=None):
    durations = np.ones((12, 5)) if seconds is None else np.tile(seconds, (12, 1))
    known = KnownScores(
        NAMES, np.array(TWO_KINDS), durations, np.full(12, 1 / 12), tuple("abcdefghijkl")
    )
    return Guide.of(known, most=most, growth=growth)


def trial(j, score, origin="knowledge"):
    status = TrialStatus.FAILED if score is None else TrialStatus.COMPLETE
    return Trial("run", j, NAMES[j], status, score, origin=origin)


def walk(guide, scores):
    """Positions in the order in which a guide takes them."""
    seen, order = [], []
    while (found := guide.next(seen, [NAMES[j] for j in order])) is not None:
        order.append(NAMES.index(found))
        seen.append(trial(order[-1], scores[order[-1]]))
    return order


def test_none_is_taken_twice_and_the_kind_that_turns_out_to_be_good_comes_first():
    first = walk(guide(), [0.9, 0.85, 0.1, 0.15, 0.5])
    other = walk(guide(), [0.1, 0.15, 0.9, 0.85, 0.5])
    assert len(set(first)) == len(first)
    assert first.index(1) < (first.index(3) if 3 in first else 5)
    assert other.index(3) < (other.index(1) if 1 in other else 5)


def test_no_more_than_the_most_are_given_also_by_a_continued_run():
    assert len(walk(guide(most=2), [0.5] * 5)) == 2
    assert guide(most=2).next([trial(0, 0.5), trial(1, 0.4)], []) is None
    assert guide(most=2).next([trial(0, 0.5), trial(1, 0.4, "floor")], []) is not None
    assert guide(most=2).next([], [NAMES[0], NAMES[1]]) is None
    on_few_rows = replace(trial(0, 0.5), status=TrialStatus.PARTIAL)
    assert guide(most=2).next([on_few_rows, trial(0, 0.6)], [NAMES[0]]) is not None


def test_what_is_under_way_is_not_given_again_and_turns_the_choice_elsewhere():
    first = guide().next([], [])
    second = guide().next([], [first])
    assert second != first
    assert {NAMES.index(first) // 2, NAMES.index(second) // 2} == {0, 1}


@pytest.mark.parametrize("second", [0.8, 0.8001, 0.801, 0.81])
def test_two_scores_that_are_nearly_equal_do_not_make_a_better_stranger_unbeatable(second):
    stranger = Trial(
        "run", 2, Configuration("own", {"x": 0}), TrialStatus.COMPLETE, 0.82, origin="default"
    )
    seen = [trial(0, 0.8), trial(4, second), stranger]
    assert guide().next(seen, []) is not None
    assert len(guide().without_hope(seen)) < len(NAMES)


def test_a_failure_turns_the_choice_away_from_its_kind():
    seen = [trial(0, None), trial(4, 0.4)]
    assert NAMES.index(guide().next(seen, [])) in (2, 3)


def test_what_ended_at_its_time_limit_has_scored_what_its_folds_did():
    folds = tuple(FoldResult(0, fold, 0.9, 10, 1.0, 0.1) for fold in range(2))
    late = replace(trial(0, None), status=TrialStatus.TIMED_OUT, folds=folds)
    assert NAMES.index(guide().next([late, trial(4, 0.4)], [])) == 1
    killed_at_once = replace(late, folds=())
    assert NAMES.index(guide().next([killed_at_once, trial(4, 0.4)], [])) in (2, 3)


def test_where_nothing_gives_hope_the_guide_is_at_its_end():
    far_above = Trial("run", 9, Configuration("c", {}), TrialStatus.COMPLETE, 99.0, origin="draw")
    seen = [trial(0, 0.9), trial(4, 0.5), trial(2, 0.1)]
    assert guide().next(seen, []) is not None
    assert guide().next([*seen, far_above], []) is None
    assert set(guide().without_hope([*seen, far_above])) == set(NAMES)


def test_what_is_bad_where_the_seen_ones_are_good_gives_least_hope():
    seen = [trial(0, 0.9), trial(4, 0.5), trial(2, 0.1)]
    without = [set(guide().without_hope(seen)), set(guide().without_hope(seen[1:]))]
    assert NAMES[1] not in without[0] | without[1]
    assert NAMES[3] in without[0]


@pytest.mark.parametrize(("growth", "first"), [({}, "b"), ({"b": 1000.0}, "a"), (None, "a")])
def test_under_a_time_budget_what_gains_most_per_second_comes_first(growth, first):
    seconds = np.array([100.0, 100.0, 100.0, 100.0, 1.0])
    assert guide(seconds=seconds, growth=growth).next([], []).family == first


def test_configurations_that_nobody_knows_do_not_disturb():
    stranger = Trial("run", 9, Configuration("c", {}), TrialStatus.COMPLETE, 7.0, origin="floor")
    assert guide().next([stranger], [stranger.configuration]) == guide().next([], [])


def test_what_was_passed_over_is_not_given_and_counts_for_nothing():
    first = guide().next([], [])
    second = guide().next([], [], [first])
    assert second not in (None, first)
    assert guide(most=1).next([], [], [first]) == second
    assert guide().next([], [], NAMES) is None


@pytest.mark.parametrize("status", [TrialStatus.PARTIAL, TrialStatus.RACED])
def test_what_was_not_finished_says_nothing_and_is_not_given_again(status):
    unfinished = Trial("run", 0, NAMES[0], status, 0.1, origin="knowledge")
    seen = [trial(1, 0.9), trial(4, 0.5)]
    assert guide().next([*seen, unfinished], []) != NAMES[0]
    assert guide().without_hope([*seen, unfinished]) == guide().without_hope(seen)


def test_a_disastrous_score_does_not_hide_the_differences_of_the_others():
    seen = [trial(0, 0.9), trial(4, 0.5), trial(2, -1.0)]
    worse = [*seen[:2], trial(2, -1e200)]
    assert guide().next(worse, []) == guide().next(seen, [])
    assert guide().without_hope(worse) == guide().without_hope(seen)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_foresight_is_the_correlation_with_what_other_data_sets_let_expect(sign):
    known = guide()
    expected = known.model.mean
    seen = [trial(j, float(sign * expected[j]), "floor" if j else "knowledge") for j in range(5)]
    assert known.foresight(seen) == pytest.approx(sign)
    assert np.isnan(known.foresight(seen[:4]))
    assert np.isnan(known.foresight([*seen[:4], trial(4, None)]))
