"""Mean, median and vote; medians that grow; limits and inputs of a second layer."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from automl.ensembles.layers import MOST_INPUTS, choose_base
from automl.ensembles.library import RunningMean, RunningMedian
from automl.ensembles.member_limits import limit_members, limit_prediction_time, needed
from automl.inference.combining import combined, votes, weighted_median

COUNTS = st.lists(st.integers(0, 4), min_size=1, max_size=7).filter(sum)


@given(counts=COUNTS, seed=st.integers(0, 99))
@settings(max_examples=50, deadline=None)
def test_a_weighted_median_is_the_median_of_repeated_values(counts, seed):
    values = np.random.default_rng(seed).integers(0, 5, (len(counts), 12)).astype(float)
    used = np.flatnonzero(counts)
    found = weighted_median(values[used], np.array(counts)[used] / sum(counts))
    assert found == pytest.approx(np.median(np.repeat(values, counts, axis=0), axis=0))
    if len(used) > 1:
        assert (combined(list(values), np.array(counts) / sum(counts), "median") == found).all()


@given(weights=st.lists(st.floats(0.01, 1), min_size=2, max_size=6), seed=st.integers(0, 99))
@settings(max_examples=50, deadline=None)
def test_means_and_medians_lie_between_the_members_and_votes_are_shares(weights, seed):
    shares = np.array(weights) / sum(weights)
    rng = np.random.default_rng(seed)
    values = list(rng.normal(size=(len(shares), 9)).astype(np.float32))
    for combine in ("mean", "median"):
        found = combined(values, shares, combine)
        assert (found >= np.min(values, axis=0) - 1e-6).all()
        assert (found <= np.max(values, axis=0) + 1e-6).all()
    probabilities = list(rng.dirichlet(np.ones(3), (len(shares), 9)).astype(np.float32))
    shares_of_votes = combined(probabilities, shares, "vote")
    assert shares_of_votes.sum(axis=1) == pytest.approx(np.ones(9))
    expected = [
        shares[[part[0].argmax() == code for part in probabilities]].sum() for code in range(3)
    ]
    assert shares_of_votes[0] == pytest.approx(expected)


def test_rows_members_without_weight_and_single_members():
    parts = [np.array([1.0, 2.0]), np.array([3.0, 6.0]), np.array([np.nan, np.nan])]
    assert combined(parts, np.array([0.5, 0.5, 0]), rows=np.array([1])).tolist() == [4.0]
    sure = np.array([[0.7, 0.3]], np.float32)
    assert combined([sure, sure[:, ::-1]], np.array([1.0, 0.0]), "vote").tolist() == sure.tolist()
    assert votes(np.array([[0.5, 0.5]])).tolist() == [[1.0, 0.0]]


def test_a_median_of_probabilities_and_a_vote_of_values_are_refused():
    both = np.array([0.5, 0.5])
    with pytest.raises(ValueError, match="mean or vote"):
        combined([np.ones((2, 2))] * 2, both, "median")
    with pytest.raises(ValueError, match="mean or median"):
        combined([np.ones(2)] * 2, both, "vote")


@given(seed=st.integers(0, 200))
@settings(max_examples=30, deadline=None)
def test_running_means_and_medians_are_those_of_what_is_taken(seed):
    rng = np.random.default_rng(seed)
    for make, expected in ((RunningMean, np.mean), (RunningMedian, np.median)):
        running, taken = make((6,)), []
        for step in range(9):
            values = rng.integers(0, 4, 6).astype(np.float32)
            assert running.value_with(values) == pytest.approx(expected([*taken, values], axis=0))
            running.add(values)
            taken.append(values)
            if step % 3 == 2:
                running.remove(taken.pop(int(rng.integers(len(taken)))))
            assert running.value() == pytest.approx(expected(taken, axis=0))


def test_inputs_of_a_second_layer_count_as_members_once():
    inputs = [(), (), (), (0, 1), (0, 1)]
    weights = np.array([0.1, 0.0, 0.3, 0.4, 0.2])
    assert needed([3, 4], inputs) == {0, 1, 3, 4}
    assert limit_members(weights, 5, inputs=inputs) == pytest.approx(weights)
    assert limit_members(weights, 4, inputs=inputs) == pytest.approx([0.125, 0, 0.375, 0.5, 0])
    assert limit_members(weights, 2, inputs=inputs) == pytest.approx([0.25, 0, 0.75, 0, 0])
    alone = np.array([0, 0, 0, 1.0, 0])
    assert limit_members(alone, 2, inputs=inputs).tolist() == alone.tolist()


def test_the_time_of_inputs_counts_once():
    inputs = [(), (), (0, 1), (0, 1)]
    times = np.array([2.0, 3.0, 0.5, 0.5])
    weights = np.array([0.0, 0.0, 0.6, 0.4])
    assert limit_prediction_time(weights, times, 6.0, inputs=inputs) == pytest.approx(weights)
    assert limit_prediction_time(weights, times, 5.6, inputs=inputs) == pytest.approx([0, 0, 1, 0])
    mixed = np.array([0.0, 0.5, 0.5, 0.0])
    assert limit_prediction_time(mixed, times, 5.0, inputs=inputs) == pytest.approx([0, 1, 0, 0])


@given(
    seed=st.integers(0, 500),
    max_members=st.integers(1, 8),
    max_milliseconds=st.floats(1, 20),
)
@settings(max_examples=60, deadline=None)
def test_limits_are_kept_where_any_member_fits(seed, max_members, max_milliseconds):
    rng = np.random.default_rng(seed)
    n = 8
    inputs = [()] * 5 + [tuple(map(int, rng.choice(5, 2, replace=False)))] * 3
    times = rng.uniform(0.5, 6, n)
    weights = rng.dirichlet(np.ones(n))
    kept = limit_members(weights, max_members, inputs=inputs, least_weight=0.0)
    assert kept.sum() == pytest.approx(1.0)
    assert len(needed(np.flatnonzero(kept), inputs)) <= max_members
    fits = [times[list(needed([i], inputs))].sum() <= max_milliseconds for i in range(n)]
    if any(fits):
        fast = limit_prediction_time(weights, times, max_milliseconds, inputs=inputs)
        assert fast.sum() == pytest.approx(1.0)
        assert times[list(needed(np.flatnonzero(fast), inputs))].sum() <= max_milliseconds


def test_the_second_layer_learns_from_the_best_of_each_family():
    scores = np.array([0.9, 0.8, 0.7, 0.6, 0.5])
    groups, times = ["a", "a", "b", "a", "c"], np.ones(5)

    def chosen(**limits):
        return choose_base(scores, groups, times, **limits).tolist()

    assert chosen(max_members=4) == [0, 2, 4]
    assert chosen(max_members=5) == [0, 1, 2, 4]
    assert chosen(max_members=12) == [0, 1, 2, 3, 4]
    assert chosen(max_members=12, max_milliseconds=4.5) == [0, 2, 4]
    assert chosen(max_members=2) == []
    assert chosen(max_members=12, max_milliseconds=1.0) == []
    many = choose_base(np.arange(30.0), ["a"] * 30, np.ones(30), max_members=99)
    assert many.tolist() == list(range(29, 29 - MOST_INPUTS, -1))
