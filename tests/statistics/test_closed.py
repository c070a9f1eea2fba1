"""The closed test of who is among the best: against its definition, and beside Holm over the pairs."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from automl.statistics.multiple_comparison import closed_best, not_best_pvalues
from automl.statistics.paired import corrected_t, corrected_t_all_pairs

RATIO = 0.25
SEEDS = st.integers(0, 10_000)


def groups(seed, k=4, n=10, spread=1.5, wild=1.0):
    rng = np.random.default_rng(seed)
    deviations = np.exp(rng.uniform(-np.log(wild), np.log(wild), k)) if wild > 1 else np.ones(k)
    return [spread * rng.normal() + deviation * rng.normal(size=n) for deviation in deviations]


def test_two_groups_are_the_pair():
    first, second = groups(3, k=2)
    two_sided = corrected_t(first, second, test_train_ratio=RATIO).pvalue
    found = closed_best([first, second], test_train_ratio=RATIO)
    assert found.pvalue.min() == pytest.approx(max(two_sided, 2.0**-9))
    assert found.df == (9.0,)
    assert found.statistic.tolist() == pytest.approx([-found.statistic[1], found.statistic[1]])


def test_a_group_that_several_beat_alike_needs_no_more_than_one_of_them():
    rng = np.random.default_rng(0)
    worse = rng.normal(size=10)
    better = worse + 0.8 + 0.5 * rng.normal(size=10)
    _, pvalues = not_best_pvalues([worse, *[better] * 3], test_train_ratio=RATIO)
    single = corrected_t(better, worse, test_train_ratio=RATIO, alternative="greater").pvalue
    assert pvalues[0] == pytest.approx(single)


@given(seed=SEEDS, k=st.integers(2, 6), spread=st.sampled_from([0.0, 1.0, 3.0]))
@settings(max_examples=40, deadline=None)
def test_holm_is_the_closed_test_of_all_intersections(seed, k, spread):
    made = groups(seed, k, spread=spread)
    _, pvalues = not_best_pvalues(made, test_train_ratio=RATIO)
    by_closure = [
        max(
            min(1.0, len(together) * min(pvalues[j] for j in together))
            for size in range(1, k + 1)
            for together in combinations(range(k), size)
            if i in together
        )
        for i in range(k)
    ]
    found = closed_best(made, test_train_ratio=RATIO).pvalue
    assert found == pytest.approx(np.maximum(by_closure, 2.0**-9))


@given(seed=SEEDS, k=st.integers(2, 8), spread=st.sampled_from([0.5, 1.5, 3.0]))
@settings(max_examples=60, deadline=None)
def test_where_all_pairs_drop_a_group_so_does_the_closed_test(seed, k, spread):
    made = groups(seed, k, spread=spread)
    best = int(np.argmax([group.mean() for group in made]))
    by_pairs = corrected_t_all_pairs(made, test_train_ratio=RATIO).pvalue
    found = closed_best(made, test_train_ratio=RATIO).pvalue
    assert found.min() <= by_pairs.min() + 1e-12
    assert found[best] == found.max()


def test_more_groups_beside_or_further_tests_never_lower_a_pvalue():
    made = groups(1, k=6)
    alone = closed_best(made[:3], test_train_ratio=RATIO).pvalue
    beside = closed_best(made[:3], test_train_ratio=RATIO, beside=made[3:]).pvalue
    further = closed_best(made[:3], test_train_ratio=RATIO, further=[0.5, 0.9]).pvalue
    whole = closed_best(made, test_train_ratio=RATIO).pvalue[:3]
    assert (beside >= alone - 1e-12).all()
    assert (further >= alone - 1e-12).all()
    assert (beside >= whole - 1e-12).all()


def test_few_scores_and_constant_leads_prove_nothing():
    made = [np.zeros(5), np.ones(5), np.full(5, 2.0)]
    found = closed_best(made, test_train_ratio=RATIO)
    assert found.pvalue == pytest.approx([0.0625, 0.0625, 1.0])
    assert found.statistic.tolist() == [np.inf, np.inf, -np.inf]
    assert closed_best([np.ones(5)] * 3, test_train_ratio=RATIO).pvalue.tolist() == [1.0] * 3


@pytest.mark.parametrize("wild", [1.0, 4.0])
def test_any_of_equal_groups_is_dropped_as_seldom_as_stated(wild):
    """The correlation between folds is the one that the variance allows for."""
    rng, n_drops = np.random.default_rng(0), 0
    for _ in range(400):
        deviations = np.exp(rng.uniform(-np.log(wild), np.log(wild), 5))[:, None]
        own = np.sqrt(0.2) * rng.normal(size=(5, 1)) + np.sqrt(0.8) * rng.normal(size=(5, 10))
        made = list(deviations * own + rng.normal(size=10))
        n_drops += closed_best(made, test_train_ratio=RATIO).pvalue.min() < 0.1
    assert n_drops / 400 < 0.1 + 1.96 * np.sqrt(0.1 * 0.9 / 400)
    assert n_drops > 4  # it is no test that never drops any
