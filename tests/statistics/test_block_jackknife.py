"""Blocks of rows, what they contribute to a difference of scores, and the levels of a series of tests."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from automl.statistics.block_jackknife import (
    LEAST_BLOCKS,
    MOST_BLOCKS,
    MOST_TIME_BLOCKS,
    BlockComparison,
    blocks_of,
    contributions,
)
from automl.statistics.spending import level_of_look

SEEDS = st.integers(0, 10_000)


def of_rows(gains):
    """Comparison of a mean over rows, each of which is a block."""
    gains = np.atleast_2d(gains)
    n = gains.shape[1]
    return BlockComparison(gains / n, np.full(n, 1.0 / n))


@given(SEEDS, st.integers(1, 400), st.booleans())
def test_rows_of_a_unit_are_in_one_block_and_every_block_has_rows(seed, n_units, has_order):
    rng = np.random.default_rng(seed)
    units = np.concatenate([np.arange(n_units), rng.integers(0, n_units, 50)])
    order = rng.normal(size=len(units)) if has_order else None
    blocks = blocks_of(units, order, rng=rng)
    n_blocks = blocks.max() + 1
    assert set(blocks) == set(range(n_blocks))
    assert all(len(set(blocks[units == unit])) == 1 for unit in range(n_units))
    most = MOST_TIME_BLOCKS if has_order else MOST_BLOCKS
    assert min(n_units, LEAST_BLOCKS) <= n_blocks <= min(n_units, most)


def test_blocks_in_time_are_stretches_of_it():
    time = np.random.default_rng(0).permutation(1000)
    blocks = blocks_of(np.arange(1000), time, rng=np.random.default_rng(0))
    assert (np.diff(blocks[np.argsort(time)]) >= 0).all()
    assert np.bincount(blocks).min() >= 66


@given(SEEDS, st.integers(5, 60))
def test_contributions_to_a_mean_are_the_blocks_sums_whatever_their_sizes(seed, n_blocks):
    rng = np.random.default_rng(seed)
    blocks = np.concatenate([np.arange(n_blocks), rng.integers(0, n_blocks, 3 * n_blocks)])
    gains = rng.normal(size=len(blocks))
    without = [gains[blocks != j].mean() for j in range(n_blocks)]
    shares = np.bincount(blocks) / len(blocks)
    found = contributions(gains.mean(), without, shares)
    assert found == pytest.approx(np.bincount(blocks, weights=gains) / len(blocks), abs=1e-12)


@given(SEEDS, st.integers(5, 100), st.floats(-0.5, 0.5))
def test_with_single_rows_it_is_students_test_where_nothing_is_skewed(seed, n, bound):
    half = np.random.default_rng(seed).normal(0.2, 1.0, n)
    gains = np.concatenate([half, 2 * half.mean() - half])  # symmetric about its mean
    found, oracle = of_rows(gains), stats.ttest_1samp(gains, bound, alternative="greater")
    assert found.pvalues(bound)[0] == pytest.approx(oracle.pvalue)
    interval = stats.ttest_1samp(gains, 0.0).confidence_interval(0.95)
    assert [end[0] for end in found.interval()] == pytest.approx(list(interval))


@given(SEEDS, st.floats(-1, 1), st.floats(0, 1))
def test_a_greater_bound_is_harder_to_exceed_and_students_p_is_never_undercut(seed, bound, step):
    gains = np.random.default_rng(seed).exponential(size=(3, 40)) - 0.8
    found = of_rows(gains)
    pvalues = found.pvalues(bound)
    assert (pvalues <= found.pvalues(bound + step) + 1e-12).all()
    students = stats.ttest_1samp(gains, bound, axis=1, alternative="greater").pvalue
    assert (pvalues >= students - 1e-12).all()
    assert ((pvalues >= 0) & (pvalues <= 1)).all()


def test_a_difference_without_spread_is_as_strong_as_so_many_equal_signs():
    assert of_rows(np.full(10, 0.1)).pvalues()[0] == 2.0**-10
    assert of_rows(np.zeros(10)).pvalues()[0] >= 0.5


def test_the_jackknife_knows_how_far_an_area_under_a_curve_varies():
    rng = np.random.default_rng(0)

    def area(positives, negatives):
        ranks = stats.rankdata(np.concatenate([positives, negatives]))[: len(positives)]
        return (ranks.mean() - (len(positives) + 1) / 2) / len(negatives)

    def draw():
        return rng.normal(1.0, 1.0, 60), rng.normal(0.0, 1.0, 140)

    truth = np.std([area(*draw()) for _ in range(2000)])
    errors = []
    for _ in range(50):
        p, q = draw()
        without = [area(np.delete(p, i), q) for i in range(len(p))]
        without += [area(p, np.delete(q, i)) for i in range(len(q))]
        shares = np.full(200, 1 / 200)
        errors.append(BlockComparison(contributions(area(p, q), without, shares)[None], shares))
    found = np.mean([one.errors[0] for one in errors])
    assert found == pytest.approx(truth, rel=0.1)


@pytest.mark.parametrize("skewed", [False, True])
def test_the_level_is_kept_also_where_the_new_model_is_rarely_much_worse(skewed):
    rng = np.random.default_rng(1)
    gains = rng.standard_t(4, size=(20_000, 100))
    if skewed:  # log loss of a model that is too sure, against one that is too timid
        logits = 1.5 * rng.normal(size=gains.shape)
        sign = np.where(rng.random(gains.shape) < 1 / (1 + np.exp(-logits)), 1, -1)
        sure, timid = (np.logaddexp(0, -sign * c * logits) for c in (1.45, 0.6245))
        gains = timid - sure
    for level in (0.05, 0.005):
        share = (of_rows(gains).pvalues() <= level).mean()
        assert share <= level + 3 * np.sqrt(level / 20_000)


@given(st.floats(0.001, 0.5), st.integers(1, 5000))
def test_all_looks_together_spend_no_more_than_alpha(alpha, n_looks):
    levels = [level_of_look(alpha, look) for look in range(1, n_looks + 1)]
    assert sum(levels) < alpha
    assert levels == sorted(levels, reverse=True)


def test_the_whole_series_spends_alpha_and_wrong_numbers_are_refused():
    looks = 200_000
    spent = sum(level_of_look(0.05, look) for look in range(1, looks))
    rest = 0.05 * 2 / np.sqrt(looks) / stats.zipf(1.5).pmf(1) ** -1
    assert spent + rest == pytest.approx(0.05, rel=1e-4)
    for wrong in ((0.0, 1), (0.05, 0), (1.0, 1)):
        with pytest.raises(ValueError, match="no level"):
            level_of_look(*wrong)
