"""How many candidates the time pays for."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from automl.stages.candidate_plan import (
    FURTHER_SHARE,
    HEADROOM_SECONDS,
    CandidatePlan,
    likely_seconds,
    plan_candidates,
    with_further_repeats,
)

SECONDS = st.floats(0.01, 50.0)
SAME_SESSION = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60
)


@pytest.fixture
def session(session_of):
    return session_of()


def test_without_a_limit_all_candidates_have_all_repeats(session):
    plan = plan_candidates(session, [1e6] * 7, None)
    assert (plan.chosen, plan.repeats, plan.extra_repeats) == (tuple(range(7)), 2, 0)


@SAME_SESSION
@given(st.lists(SECONDS, min_size=2, max_size=12), st.floats(0.0, 200.0))
def test_what_is_planned_fits_and_has_the_best_candidate(session, lengths, limit):
    plan = plan_candidates(session, lengths, limit)
    assert plan.seconds <= limit
    assert len(plan.chosen) != 1
    assert list(plan.chosen) == sorted(set(plan.chosen))
    assert not plan.chosen or plan.chosen[0] == 0


@SAME_SESSION
@given(
    st.lists(SECONDS, min_size=2, max_size=12), st.floats(0.0, 200.0), st.sets(st.integers(0, 11))
)
def test_where_the_best_does_not_fit_those_that_may_stand_in_are_scored_if_two_fit(
    session, lengths, limit, near
):
    near = sorted({0} | {i for i in near if i < len(lengths)})
    without, plan = (plan_candidates(session, lengths, limit, few) for few in ((), near))
    assert plan.seconds <= limit
    if without.chosen:
        assert plan == without
    else:
        assert set(plan.chosen) <= set(near)
        fast = sorted(lengths[i] for i in near)[:2]
        work = 1.1 * 2 * 5 * sum(fast) / 2  # two repeats of five folds on two slots
        fits = len(near) > 1 and work < 0.999 * limit and 5 * fast[-1] < 0.999 * limit
        assert not fits or len(plan.chosen) > 1


def test_ten_slow_candidates_that_do_not_fit_together_leave_time_for_the_fast_ones(session):
    slow, fast = [6.0] * 10, [0.1, 0.2]
    assert plan_candidates(session, slow + fast, 23.0).chosen == ()
    assert plan_candidates(session, slow + fast, 23.0, range(12)).chosen == (10, 11)
    assert plan_candidates(session, slow + fast, 23.0, [0, 3, 10]).chosen == ()
    two = plan_candidates(session, [1.6] * 10 + fast, 23.0, range(12))
    assert two.chosen == (0, 1, 10, 11)


@SAME_SESSION
@given(st.lists(SECONDS, min_size=2, max_size=12), st.floats(0.0, 100.0), st.floats(0.0, 100.0))
def test_more_time_never_means_fewer_candidates(session, lengths, limit, more):
    equal = [max(lengths)] * len(lengths)
    few, many = (plan_candidates(session, equal, seconds) for seconds in (limit, limit + more))
    assert len(few.chosen) <= len(many.chosen)


def test_what_is_likely_is_never_more_than_may_be_spent(session, trial_of):
    trials = [trial_of(i, 3.0) for i in range(20)]
    unlimited = plan_candidates(session, [3.0 / 5] * 10, 1e9).seconds
    assert likely_seconds(session, trials, most=1e9) == pytest.approx(unlimited + HEADROOM_SECONDS)
    assert 0 < likely_seconds(session, trials, most=unlimited / 2) <= unlimited / 2
    assert likely_seconds(session, trials[:1], most=0.1) == pytest.approx(0.1)
    assert likely_seconds(session, [], most=5.0) == 0.0


def test_short_trials_have_the_room_of_a_second_and_a_half(session, trial_of):
    kept = likely_seconds(session, [trial_of(i, 1.0) for i in range(10)], most=1e9)
    needed = plan_candidates(session, [0.2] * 10, 1e9).seconds
    assert kept == pytest.approx(needed + HEADROOM_SECONDS)


def test_a_search_goes_on_where_too_little_is_left_for_fresh_folds(session, trial_of):
    trials = [trial_of(i, 3.0) for i in range(20)]
    whole = likely_seconds(session, trials, most=40.0)
    needed = whole - HEADROOM_SECONDS
    assert likely_seconds(session, trials, most=40.0, left=1.001 * needed) == pytest.approx(whole)
    assert 0 < likely_seconds(session, trials, most=40.0, left=0.9 * needed) < whole
    assert likely_seconds(session, trials, most=40.0, left=0.1 * needed) == 0.0
    assert likely_seconds(session, trials, most=40.0, left=-1.0) == 0.0


@pytest.mark.parametrize("most", [30.0, 47.0, 60.0, 200.0])
def test_what_is_kept_is_of_use_after_a_search_that_ends_half_a_slow_trial_late(
    session, trial_of, most
):
    trials = [trial_of(i, 20.0) for i in range(10)]
    kept = likely_seconds(session, trials, most=most)
    in_time = [
        bool(plan_candidates(session, [4.0] * 10, kept - late).chosen) for late in (0.0, 9.9)
    ]
    assert in_time == [most >= 60.0] * 2  # two candidates take 44 s
    assert (kept == 0.0) == (most < 60.0)


def test_trials_that_are_still_to_come_count_as_far_as_there_are_too_few(session, trial_of):
    few, enough = ([trial_of(i, 3.0) for i in range(n)] for n in (4, 10))
    alone, followed = (likely_seconds(session, few, most=1e9, to_come=c) for c in ([], [0.6] * 6))
    assert alone < followed == pytest.approx(likely_seconds(session, enough, most=1e9))
    assert likely_seconds(session, enough, most=1e9, to_come=[50.0] * 6) == followed


@SAME_SESSION
@given(st.lists(st.floats(0.001, 2.0), min_size=2, max_size=10), st.floats(0.0, 300.0))
def test_further_repeats_take_a_small_share_of_the_budget_and_no_more_than_is_left(
    session, lengths, limit
):
    plan = plan_candidates(session, lengths, limit)
    work = 1.1 * plan.further_repeats * 5 * sum(lengths) / 2  # five folds on two slots
    assert work <= FURTHER_SHARE * session.ledger.total * (1 + 1e-9)
    assert plan.seconds <= limit * (1 + 1e-9)
    assert plan.repeats + plan.further_repeats <= 6
    assert not plan.further_repeats or len(plan.chosen) == len(lengths)


def test_cheap_candidates_get_as_many_scores_as_the_setting_allows(session, session_of):
    cheap, slow = [0.01] * 4, [5.0] * 4
    assert plan_candidates(session, cheap, 1e4).further_repeats == 4
    assert plan_candidates(session, slow, 1e4).further_repeats == 0
    fewer = session_of(candidate_scores=17)
    assert len(fewer.plan.stage("candidates").folds) == 3
    assert plan_candidates(fewer, cheap, 1e4).further_repeats == 1


@pytest.mark.parametrize("options", [{"candidate_repeats": 3}, {"candidate_scores": 10}])
def test_a_number_that_is_given_is_obeyed_to_the_letter(session_of, options):
    session = session_of(**options)
    plan = plan_candidates(session, [0.01] * 4, 1e4)
    assert plan.n_repeats == options.get("candidate_repeats", 2)
    assert with_further_repeats(session, plan, [0.01] * 4, 1e9) == plan


def test_further_repeats_for_all_take_the_place_of_those_for_two(session_of):
    session = session_of(folds=3, adapt_folds=False)
    plan = CandidatePlan((0, 1, 2), 2, 2)
    assert with_further_repeats(session, plan, [1.0] * 3, 17.9) == plan  # of one repeat, not two
    longer = with_further_repeats(session, plan, [1.0] * 3, 18.0)
    assert (longer.extra_repeats, longer.further_repeats) == (0, 2)
