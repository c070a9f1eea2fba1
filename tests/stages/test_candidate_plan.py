"""How many candidates the time pays for."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from automl.stages.candidates import HEADROOM_SECONDS, likely_seconds, plan_candidates

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


def test_trials_that_are_still_to_come_count_as_far_as_there_are_too_few(session, trial_of):
    few, enough = ([trial_of(i, 3.0) for i in range(n)] for n in (4, 10))
    alone, followed = (likely_seconds(session, few, most=1e9, to_come=c) for c in ([], [0.6] * 6))
    assert alone < followed == pytest.approx(likely_seconds(session, enough, most=1e9))
    assert likely_seconds(session, enough, most=1e9, to_come=[50.0] * 6) == followed
