"""Which configurations a search begins with, and how votes are blended."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import kendalltau

from automl.errors import SettingsError
from automl.recommendation.meta_vote import blended, meta_weight
from automl.recommendation.warm_starts import (
    bad_start,
    best_start,
    delta_score,
    delta_start,
    meta_order,
    nearest_start,
    oracle_start,
    similar_data_sets,
)

predictions = arrays(float, st.integers(3, 40), elements=st.floats(-1e6, 1e6, width=32))


@given(predictions)
def test_starts_are_different_positions_in_the_order_of_the_predictions(p):
    order = meta_order(p)
    assert sorted(order) == list(range(len(p)))
    assert np.all(np.diff(p[order]) <= 0.0)
    assert list(best_start(p, 3)) == list(order[:3])
    assert p[bad_start(p, 1)[0]] == p.min()


@given(predictions)
@example(np.array([0.0, 1.4e-45, -1.0]))
def test_delta_is_one_triple_of_different_configurations_with_the_best_first(p):
    chosen = delta_start(p)
    assert len(set(chosen.tolist())) == 3
    assert p[chosen[0]] == p.max()


def test_delta_chooses_the_points_of_greatest_measure():
    p = np.linspace(2.0, 4.0, 1001)  # scaled: 0, .001, ..., 1
    expected = [1.0, 1.0 - 0.1 ** (1.0 / 0.9), 1.0 - 0.2 ** (1.0 / 0.8)]
    assert delta_start(p) == pytest.approx(1000.0 * np.array(expected), abs=1.0)


def test_delta_takes_the_next_best_where_two_measures_agree():
    assert list(delta_start(np.array([0.0, 1.0, 0.9, 0.95]))) == [1, 2, 3]
    assert list(delta_start(np.array([1.0, 1.0, 1.0, 1.0]))) == [0, 1, 2]
    assert list(delta_start(np.array([1.0, 5.0]))) == [1, 0]


def test_delta_does_not_depend_on_the_unit_of_the_predictions():
    p = np.random.default_rng(0).normal(size=50)
    assert list(delta_start(p)) == list(delta_start(1000.0 * p - 3.0))


def test_the_measure_is_finite_at_both_ends():
    assert delta_score(np.array([0.0, 1.0]), 0.0) == pytest.approx([1.0, 2.0])
    assert delta_score(np.array([0.0, 1.0]), 0.2) == pytest.approx([1.0, 1.0])
    with pytest.raises(SettingsError, match="delta must be between 0 and 1"):
        delta_score(np.array([0.0, 1.0]), 1.5)


def test_nearest_data_sets_give_their_best_each_and_their_next_best_where_it_is_taken():
    S = np.array([[0.1, 0.9, 0.5], [0.2, 0.8, 0.7], [np.nan, np.nan, np.nan], [0.6, 0.3, 0.2]])
    assert list(nearest_start(S, [0, 1, 2, 3], 3)) == [1, 2, 0]
    assert list(nearest_start(S, [2, 3], 1)) == [0]
    assert list(nearest_start(S, [2], 3)) == []


def test_similarity_is_kendalls_tau_over_what_both_have():
    rng = np.random.default_rng(1)
    S, target = rng.normal(size=(6, 30)), rng.normal(size=30)
    S[2] = target**3
    S[4] = np.nan
    S[5] = 1.0
    S[3, :10] = np.nan
    order = similar_data_sets(S, target)
    taus = [kendalltau(S[i, 10:], target[10:]).statistic if i == 3 else
            kendalltau(S[i], target).statistic for i in range(4)]  # fmt: skip
    assert [i for i in order if i < 4] == sorted(range(4), key=lambda i: -taus[i])
    assert set(order[-2:].tolist()) == {4, 5}
    assert oracle_start(S, target, 1)[0] == target.argmax()


def test_k_must_be_positive():
    with pytest.raises(SettingsError, match="k must be at least 1"):
        best_start(np.zeros(3), 0)


def test_the_weight_of_the_meta_learner_falls_from_one():
    assert meta_weight(0) == 1.0
    assert meta_weight(10, k=10.0) == 0.5
    assert meta_weight(5, k=0.0) == 0.0
    with pytest.raises(SettingsError):
        meta_weight(-1)


@given(predictions, st.integers(0, 1000))
def test_blended_votes_lie_between_the_two_votes(p, n):
    votes = blended(p, -p, n)
    assert np.all((votes >= 0.0) & (votes <= 1.0))
    first = blended(p, -p, 0)
    assert p[np.argmax(first)] == p.max()


def test_what_is_no_number_has_the_last_vote():
    assert np.argmin(blended(np.zeros(3), np.array([1.0, np.nan, 2.0]), 5)) == 1
