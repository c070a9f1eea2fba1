"""Tests against scipy, scikit-posthocs and published values (B14, algorithm 2)."""

from __future__ import annotations

import numpy as np
import pytest
import scikit_posthocs
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats

from automl.statistics.adjustment import holm
from automl.statistics.assumptions import bartlett, kolmogorov_smirnov, lilliefors
from automl.statistics.paired import corrected_t, corrected_t_all_pairs, friedman, nemenyi_friedman
from automl.statistics.studentized_range import studentized_range_tail
from automl.statistics.unpaired import anova, kruskal_wallis, nemenyi_joint_ranks, tukey

SEEDS = st.integers(0, 10_000)


def groups(seed=0, k=4, n=12, step=0.3, decimals=None):
    rng = np.random.default_rng(seed)
    made = [rng.normal(step * i, 1.0, n) for i in range(k)]
    return made if decimals is None else [group.round(decimals) for group in made]


def test_anova_kruskal_bartlett_agree_with_scipy():
    g = groups()
    for ours, theirs in (
        (anova(g), stats.f_oneway(*g)),
        (kruskal_wallis(g), stats.kruskal(*g)),
        (bartlett(g), stats.bartlett(*g)),
    ):
        assert (ours.statistic, ours.pvalue) == pytest.approx((theirs.statistic, theirs.pvalue))
    assert anova(g).df == (3.0, 44.0)


def test_kolmogorov_smirnov_is_that_of_the_standardized_sample():
    x = groups()[0]
    theirs = stats.kstest(stats.zscore(x, ddof=1), "norm")
    assert kolmogorov_smirnov(3 + 2 * x).pvalue == pytest.approx(theirs.pvalue)


@pytest.mark.parametrize("draw", ["normal", "exponential", "uniform"])
def test_lilliefors_agrees_with_its_simulated_distribution(draw):
    rng = np.random.default_rng(3)
    x = getattr(rng, draw)(size=25)
    simulated = stats.goodness_of_fit(
        stats.norm, x, statistic="ks", n_mc_samples=1999, rng=np.random.default_rng(0)
    )
    ours = lilliefors(x)
    assert ours.statistic == pytest.approx(simulated.statistic, abs=0.005)  # ddof of the deviation
    assert ours.pvalue == pytest.approx(simulated.pvalue, abs=0.04)
    assert ours.pvalue <= kolmogorov_smirnov(x).pvalue


def test_lilliefors_meets_the_published_critical_value():
    # Lilliefors (1967), table 1: n = 20, level 0.05: 0.190 (0.192 by later simulation)
    from automl.statistics.assumptions import _dallal_wilkinson

    assert _dallal_wilkinson(0.192, 20) == pytest.approx(0.05, abs=0.003)


def test_tukey_agrees_with_scipy_also_for_unequal_sizes():
    g = [group[: 12 - 2 * i] for i, group in enumerate(groups(step=0.8))]
    theirs = stats.tukey_hsd(*g)
    assert tukey(g).pvalue == pytest.approx(theirs.pvalue, abs=1e-6)
    assert tukey(g, reference=2).pvalue[2] == pytest.approx(theirs.pvalue[2], abs=1e-6)


def test_tukey_reproduces_the_published_example():
    # NIST/SAS headache-relief data as in the documentation of scipy.stats.tukey_hsd (SAS PROC ANOVA)
    g = [
        [24.5, 23.5, 26.4, 27.1, 29.9],
        [28.4, 34.2, 29.5, 32.2, 30.1],
        [26.1, 28.3, 24.3, 26.2, 27.8],
    ]
    result = tukey(g)
    assert result.pair(0, 1).pvalue == pytest.approx(0.014, abs=5e-4)
    assert result.pair(0, 2).pvalue == pytest.approx(0.980, abs=5e-4)
    assert result.pair(1, 2).pvalue == pytest.approx(0.020, abs=5e-4)


@pytest.mark.parametrize("k", [2, 3, 10, 40])
@pytest.mark.parametrize("freedom", [2.0, 7.0, 58.0, 290.0, 3000.0, np.inf])
def test_the_studentized_range_agrees_with_scipy(k, freedom):
    q = np.array([0.0, 0.5, 2.0, 3.5, 5.0, 9.0])
    expected = stats.studentized_range.sf(q, k, freedom)
    assert studentized_range_tail(q, k, freedom) == pytest.approx(expected, abs=1e-7)
    assert studentized_range_tail(np.array([np.inf]), k, freedom) == [0.0]


def test_nemenyi_on_joint_ranks_agrees_with_scikit_posthocs():
    g = groups(step=0.8)
    theirs = scikit_posthocs.posthoc_nemenyi(g, dist="tukey").to_numpy()
    assert nemenyi_joint_ranks(g).pvalue == pytest.approx(theirs, abs=1e-3)


def test_the_tie_correction_of_nemenyi_is_that_of_scikit_posthocs():
    g = groups(step=0.8, decimals=0)
    theirs = scikit_posthocs.posthoc_nemenyi(g, dist="chi").to_numpy()  # only chi is corrected
    ours = stats.chi2.sf(nemenyi_joint_ranks(g).statistic ** 2 / 2, len(g) - 1)
    assert ours == pytest.approx(theirs, abs=1e-9)


def test_friedman_and_its_nemenyi_agree_with_scipy_and_scikit_posthocs():
    g = groups(step=0.8, decimals=1)
    theirs = stats.friedmanchisquare(*g)
    assert friedman(g).statistic == pytest.approx(theirs.statistic)
    assert friedman(g).pvalue == pytest.approx(theirs.pvalue)
    matrix = scikit_posthocs.posthoc_nemenyi_friedman(np.array(g).T).to_numpy()
    assert nemenyi_friedman(g).pvalue == pytest.approx(matrix, abs=1e-3)


def test_corrected_t_without_overlap_is_the_paired_t_test():
    a, b, *_ = groups()
    for alternative in ("two-sided", "greater", "less"):
        ours = corrected_t(a, b, test_train_ratio=0.0, alternative=alternative)
        theirs = stats.ttest_rel(a, b, alternative=alternative)
        assert (ours.statistic, ours.pvalue) == pytest.approx((theirs.statistic, theirs.pvalue))


def test_corrected_t_shrinks_the_statistic_by_the_overlap():
    a, b, *_ = groups()
    plain = corrected_t(a, b, test_train_ratio=0.0).statistic
    corrected = corrected_t(a, b, test_train_ratio=1 / 9).statistic
    assert corrected == pytest.approx(plain * np.sqrt((1 / 12) / (1 / 12 + 1 / 9)))


def test_all_pairs_are_adjusted_by_holm():
    g = groups(step=1.0)
    result = corrected_t_all_pairs(g, test_train_ratio=1 / 9)
    raw = [
        corrected_t(g[i], g[j], test_train_ratio=1 / 9).pvalue
        for i, j in zip(*np.triu_indices(4, 1), strict=True)
    ]
    least = 2.0**-11  # of twelve equal signs
    assert result.pvalue[np.triu_indices(4, 1)] == pytest.approx(np.maximum(holm(raw), least))


def test_holm_reproduces_r():
    # R 4: p.adjust(c(0.01, 0.02, 0.03, 0.04), "holm")
    assert holm([0.03, 0.01, 0.04, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm([]).tolist() == []


@given(seed=SEEDS, k=st.integers(2, 5), decimals=st.sampled_from([0, 1, None]))
@settings(max_examples=20, deadline=None)
def test_pvalues_are_probabilities_and_do_not_depend_on_the_order(seed, k, decimals):
    g = groups(seed, k, 7, 0.5, decimals)
    order = np.random.default_rng(seed).permutation(k)
    for test in (anova, kruskal_wallis, bartlett, friedman):
        first, second = test(g), test([g[i] for i in order])
        assert 0 <= first.pvalue <= 1
        assert first.pvalue == pytest.approx(second.pvalue, abs=1e-9)
    for pairwise in (
        tukey,
        nemenyi_joint_ranks,
        nemenyi_friedman,
        lambda groups: corrected_t_all_pairs(groups, test_train_ratio=0.25),
    ):
        matrix = pairwise(g).pvalue
        assert ((matrix >= 0) & (matrix <= 1)).all()
        assert (matrix == matrix.T).all()
        assert pairwise([g[i] for i in order]).pvalue == pytest.approx(
            matrix[np.ix_(order, order)], abs=1e-7
        )


@given(seed=SEEDS, k=st.integers(2, 5), n=st.integers(3, 30))
@settings(max_examples=100, deadline=None)
@example(seed=0, k=3, n=22)
def test_groups_of_the_same_values_in_another_order_cannot_be_told_apart(seed, k, n):
    rng = np.random.default_rng(seed)
    sample = 1.0 - rng.exponential(0.05, n)  # as the scores of models that are nearly perfect
    g = [rng.permutation(sample) for _ in range(k)]
    for test in (anova, kruskal_wallis, bartlett):
        assert test(g).pvalue == pytest.approx(1.0, abs=1e-6)
    for pairwise in (tukey, nemenyi_joint_ranks):
        assert pairwise(g).pvalue == pytest.approx(np.ones((k, k)), abs=1e-6)


def test_groups_without_spread_have_defined_results():
    equal, apart = [np.ones(5)] * 3, [np.zeros(5), np.ones(5), np.ones(5)]
    for test in (anova, kruskal_wallis, friedman, bartlett):
        assert test(equal).pvalue == 1.0
    assert anova(apart).pvalue == 0.0
    assert kruskal_wallis(apart).pvalue < 0.01
    assert bartlett([*apart, np.arange(5.0)]).pvalue == 0.0
    assert (tukey(equal).pvalue == 1.0).all()
    assert tukey(apart).pvalue[0].tolist() == [1.0, 0.0, 0.0]
    assert (nemenyi_joint_ranks(equal).pvalue == 1.0).all()
    assert kolmogorov_smirnov(np.ones(5)).pvalue == lilliefors(np.ones(5)).pvalue == 0.0
    assert corrected_t(np.ones(4), np.ones(4), test_train_ratio=0.1).pvalue == 1.0
    assert corrected_t(np.ones(4), np.zeros(4), test_train_ratio=0.1).pvalue == 1 / 8
    greater = corrected_t(np.zeros(4), np.ones(4), test_train_ratio=0.1, alternative="greater")
    assert greater.pvalue == 1.0


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_values_that_are_not_finite_are_refused(bad):
    g = [np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, bad, 2.0, 3.0])]
    for test in (anova, kruskal_wallis, bartlett, tukey, nemenyi_joint_ranks, friedman):
        with pytest.raises(ValueError, match="NaN or infinite"):
            test(g)
    for test in (kolmogorov_smirnov, lilliefors):
        with pytest.raises(ValueError, match="NaN or infinite"):
            test(g[1])


def test_unusable_shapes_are_refused():
    with pytest.raises(ValueError, match="at least 2 groups"):
        anova([[1.0, 2.0]])
    with pytest.raises(ValueError, match="at least 2 values"):
        anova([[1.0], [2.0]])
    with pytest.raises(ValueError, match="same number"):
        friedman([[1.0, 2.0], [1.0, 2.0, 3.0]])
    with pytest.raises(ValueError, match="must not be negative"):
        corrected_t([1.0, 2.0], [2.0, 1.0], test_train_ratio=-1)
    with pytest.raises(ValueError, match="p-values"):
        holm([0.5, np.nan])


def test_results_read_as_sentences():
    assert str(anova(groups())).startswith("ANOVA: statistic ")
    assert ", df = 3, 44, p = " in str(anova(groups()))
    assert str(tukey(groups(), reference=0)).startswith("Tukey: 4 groups, 6 pairs, lowest p = ")


def test_corrected_t_holds_its_level_where_folds_overlap():
    # 10-fold means of one shared noise: differences correlate by 1/10 (Nadeau and Bengio, section 3)
    rng = np.random.default_rng(0)
    rejected = 0
    for _ in range(400):
        shared = rng.normal() * np.sqrt(0.1)
        differences = shared + rng.normal(size=30) * np.sqrt(0.9)
        rejected += corrected_t(differences, np.zeros(30), test_train_ratio=1 / 9).pvalue < 0.05
    assert rejected / 400 < 0.09
