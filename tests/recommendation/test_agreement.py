"""Whether known data sets agree: against numpy, and on histories that are upside down or shuffled."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from automl.recommendation.agreement import LEAST_SHARED, agreement, agreements
from automl.recommendation.configuration_portfolio import KnownScores, stretched
from automl.recommendation.methods import LEAST_AGREEMENT
from automl.records import Configuration

seeds = st.integers(0, 2**32 - 1)


def known(scores, weights=None):
    t, m = np.shape(scores)
    weights = np.full(t, 1.0 / t) if weights is None else np.asarray(weights, dtype=float)
    names = tuple(Configuration("a", {"x": j}) for j in range(m))
    found = np.asarray(scores, dtype=float)
    return KnownScores(names, found, np.ones((t, m)), weights, tuple(map(str, range(t))))


def alike(seed, t=14, m=60):
    """Data sets on which about the same configurations are good."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=m) + rng.normal(size=(t, m))


@given(seeds)
def test_it_is_the_correlation_with_the_mean_of_the_others(seed):
    scores = alike(seed, t=4, m=12)
    Z = np.maximum(stretched(scores), -2.0)
    expected = [np.corrcoef(Z[i], np.delete(Z, i, axis=0).mean(axis=0))[0, 1] for i in range(4)]
    np.testing.assert_allclose(agreements(known(scores)), expected, atol=1e-9)


@given(seeds)
def test_shuffled_scores_agree_no_more_and_half_of_them_upside_down_neither(seed):
    scores = alike(seed)
    assert agreement(known(scores)) > LEAST_AGREEMENT
    shuffled = np.random.default_rng(seed).permuted(scores, axis=1)
    assert agreement(known(shuffled)) < LEAST_AGREEMENT
    assert agreement(known(scores * np.where(np.arange(14) % 2, 1, -1)[:, None])) < LEAST_AGREEMENT


@given(seeds)
def test_what_is_upside_down_everywhere_agrees(seed):
    """That is for the first trials to find out."""
    assert agreement(known(-alike(seed))) > 0.0


def test_data_sets_that_share_too_little_cannot_be_compared():
    scores = np.full((3, 20), np.nan)
    for i in range(3):
        scores[i, 5 * i : 5 * i + 4 + LEAST_SHARED] = np.arange(4 + LEAST_SHARED)
    scores[2] = np.nan
    scores[2, 15:] = np.arange(5)
    found = agreements(known(scores))
    assert np.isnan(found[2])
    assert np.isnan(agreement(known(scores[2:])))


def test_a_data_set_of_no_weight_vouches_for_nothing():
    scores = alike(0, t=3)
    scores[2] = -scores[:2].mean(axis=0)
    found = agreements(known(scores, [0.5, 0.5, 0.0]))
    assert found[0] == pytest.approx(agreements(known(scores[:2]))[0])
    assert found[2] < 0.0


def test_entries_of_one_data_set_do_not_vouch_for_each_other():
    scores = alike(0, t=3)
    table = known([scores[0], scores[0], scores[1], scores[2]])
    copies = replace(table, data_sets=("a", "a", "b", "c"))
    expected = agreements(known(scores[[0, 1, 2]], [1 / 3] * 3))[0]
    assert agreements(copies)[0] == pytest.approx(expected)
    assert np.isnan(agreements(replace(table, data_sets=("a",) * 4))).all()
    assert copies.n_data_sets == 3
