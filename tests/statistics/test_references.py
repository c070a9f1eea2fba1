"""Every test against worked examples and tables that were published with other software."""

from __future__ import annotations

import numpy as np
import pytest
import scikit_posthocs
from scipy import stats
from sklearn.datasets import make_moons
from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_score
from sklearn.svm import SVC

from automl.statistics.adjustment import holm
from automl.statistics.assumptions import bartlett, kolmogorov_smirnov, lilliefors
from automl.statistics.dunnett import dunnett_quantile, dunnett_tail
from automl.statistics.multiple_comparison import mcb
from automl.statistics.paired import (
    corrected_t,
    corrected_t_all_pairs,
    friedman,
    nemenyi_friedman,
)
from automl.statistics.studentized_range import studentized_range_tail
from automl.statistics.unpaired import anova, kruskal_wallis, nemenyi_joint_ranks, tukey

PLANT_GROWTH = (
    (4.17, 5.58, 5.18, 6.11, 4.50, 4.61, 5.17, 4.53, 5.33, 5.14),
    (4.81, 4.17, 4.41, 3.59, 5.87, 3.83, 6.03, 4.89, 4.32, 4.69),
    (6.31, 5.12, 5.54, 5.50, 5.37, 5.29, 4.92, 6.15, 5.80, 5.26),
)
"""R, data set PlantGrowth: ctrl, trt1, trt2."""

INSECT_SPRAYS = (
    (10, 7, 20, 14, 14, 12, 10, 23, 17, 20, 14, 13),
    (11, 17, 21, 11, 16, 14, 17, 17, 19, 21, 7, 13),
    (0, 1, 7, 2, 3, 1, 2, 1, 3, 0, 1, 4),
    (3, 5, 12, 6, 4, 3, 5, 5, 5, 5, 2, 4),
    (3, 5, 3, 5, 3, 6, 1, 1, 3, 2, 6, 4),
    (11, 9, 15, 22, 15, 16, 13, 10, 26, 26, 24, 13),
)
"""R, data set InsectSprays: A to F; full of ties."""

GEARS = (
    (1.006, 0.996, 0.998, 1.000, 0.992, 0.993, 1.002, 0.999, 0.994, 1.000),
    (0.998, 1.006, 1.000, 1.002, 0.997, 0.998, 0.996, 1.000, 1.006, 0.988),
    (0.991, 0.987, 0.997, 0.999, 0.995, 0.994, 1.000, 0.999, 0.996, 0.996),
    (1.005, 1.002, 0.994, 1.000, 0.995, 0.994, 0.998, 0.996, 1.002, 0.996),
    (0.998, 0.998, 0.982, 0.990, 1.002, 0.984, 0.996, 0.993, 0.980, 0.996),
    (1.009, 1.013, 1.009, 0.997, 0.988, 1.002, 0.995, 0.998, 0.981, 0.996),
    (0.990, 1.004, 0.996, 1.001, 0.998, 1.000, 1.018, 1.010, 0.996, 1.002),
    (0.998, 1.000, 1.006, 1.000, 1.002, 0.996, 0.998, 0.996, 1.002, 1.006),
    (1.002, 0.998, 0.996, 0.995, 0.996, 1.004, 1.004, 0.998, 0.999, 0.991),
    (0.991, 0.995, 0.984, 0.994, 0.997, 0.997, 0.991, 0.998, 1.004, 0.997),
)
"""NIST/SEMATECH e-Handbook, GEAR.DAT."""

ROUNDING_TIMES = np.array(
    [
        *((5.40, 5.50, 5.55), (5.85, 5.70, 5.75), (5.20, 5.60, 5.50), (5.55, 5.50, 5.40)),
        *((5.90, 5.85, 5.70), (5.45, 5.55, 5.60), (5.40, 5.40, 5.35), (5.45, 5.50, 5.35)),
        *((5.25, 5.15, 5.00), (5.85, 5.80, 5.70), (5.25, 5.20, 5.10), (5.65, 5.55, 5.45)),
        *((5.60, 5.35, 5.45), (5.05, 5.00, 4.95), (5.50, 5.50, 5.40), (5.45, 5.55, 5.50)),
        *((5.55, 5.55, 5.35), (5.45, 5.50, 5.55), (5.50, 5.45, 5.25), (5.65, 5.60, 5.40)),
        *((5.70, 5.65, 5.55), (6.30, 6.30, 6.25)),
    ]
).T
"""Hollander and Wolfe (1973), p. 140: the example of R's friedman.test."""


def test_anova_and_tukey_reproduce_r():
    # R 4: summary(aov(weight ~ group, PlantGrowth)); TukeyHSD(...)
    result = anova(PLANT_GROWTH)
    assert (result.statistic, result.pvalue) == pytest.approx((4.846, 0.0159), abs=5e-4)
    assert result.df == (2.0, 27.0)
    pairs = tukey(PLANT_GROWTH).pvalue
    assert (pairs[0, 1], pairs[0, 2], pairs[1, 2]) == pytest.approx(
        (0.3908711, 0.1979960, 0.0120064), abs=2e-7
    )


def test_bartlett_reproduces_r_and_nist():
    # R 4: bartlett.test(count ~ spray, InsectSprays): 25.96, df = 5, p = 9.085e-05
    result = bartlett(INSECT_SPRAYS)
    assert result.statistic == pytest.approx(25.96, abs=5e-3)
    assert result.pvalue == pytest.approx(9.085e-05, abs=5e-9)
    # e-Handbook 1.3.5.7: T = 20.78580, df = 9
    gears = bartlett(GEARS)
    assert gears.statistic == pytest.approx(20.78580, abs=1e-3)
    assert gears.df == (9.0,)


def test_kruskal_wallis_reproduces_r():
    # R 4: example(kruskal.test), Hollander and Wolfe (1973), p. 116: 0.77143, df = 2, p = 0.68
    result = kruskal_wallis(
        [[2.9, 3.0, 2.5, 2.6, 3.2], [3.8, 2.7, 4.0, 2.4], [2.8, 3.4, 3.7, 2.2, 2]]
    )
    assert (result.statistic, result.pvalue) == pytest.approx((0.77143, 0.68), abs=5e-5)
    # R 4: kruskal.test(count ~ spray, InsectSprays): 54.691, df = 5, p = 1.511e-10 (ties)
    ties = kruskal_wallis(INSECT_SPRAYS)
    assert ties.statistic == pytest.approx(54.691, abs=5e-4)
    assert ties.pvalue == pytest.approx(1.511e-10, abs=5e-14)


def test_nemenyi_on_joint_ranks_reproduces_r():
    # R, PMCMR: posthoc.kruskal.nemenyi.test(count ~ spray, InsectSprays, dist = "Tukey"), which has
    # no correction for ties; that is undone here.
    _, counts = np.unique(np.ravel(INSECT_SPRAYS), return_counts=True)
    correction = 1 - (counts**3.0 - counts).sum() / (72.0**3 - 72)
    ours = nemenyi_joint_ranks(INSECT_SPRAYS).statistic * np.sqrt(correction)
    pvalue = studentized_range_tail(ours[np.tril_indices(6, -1)], 6, np.inf)
    expected = [
        *(0.99961, 2.8e-05, 5.7e-06, 0.02293, 0.00813, 0.56300, 0.00169, 0.00047, 0.94109),
        *(0.97809, 0.99861, 1.00000, 3.5e-06, 0.00585, 0.00031),
    ]
    assert pvalue == pytest.approx(expected, abs=6e-6)


def test_friedman_reproduces_r():
    # R 4: example(friedman.test): 11.143, df = 2, p = 0.003805 (ties)
    result = friedman(ROUNDING_TIMES)
    assert (result.statistic, result.pvalue) == pytest.approx((11.143, 0.003805), abs=5e-4)
    matrix = scikit_posthocs.posthoc_nemenyi_friedman(ROUNDING_TIMES.T).to_numpy()
    assert nemenyi_friedman(ROUNDING_TIMES).pvalue == pytest.approx(matrix, abs=1e-3)


@pytest.mark.parametrize(
    ("k", "five", "ten"),
    [(2, 1.960, 1.645), (3, 2.343, 2.052), (4, 2.569, 2.291), (5, 2.728, 2.459), (6, 2.850, 2.589),
     (7, 2.949, 2.693), (8, 3.031, 2.780), (9, 3.102, 2.855), (10, 3.164, 2.920)],
)  # fmt: skip
def test_nemenyi_meets_the_critical_values_of_demsar(k, five, ten):
    # Demsar (2006), table 5(a): q = studentized range / sqrt(2)
    tail = studentized_range_tail(np.sqrt(2) * np.array([five, ten]), k, np.inf)
    assert tail == pytest.approx([0.05, 0.10], abs=4e-4)


@pytest.mark.parametrize("n", [5, 10, 20, 30])
def test_lilliefors_meets_simulated_critical_values(n):
    rng = np.random.default_rng(n)
    drawn = np.sort(rng.normal(size=(40_000, n)), axis=1)
    z = (drawn - drawn.mean(axis=1, keepdims=True)) / drawn.std(axis=1, ddof=1, keepdims=True)
    below = stats.norm.cdf(z)
    steps = np.arange(n + 1) / n
    distance = np.maximum(steps[1:] - below, below - steps[:-1]).max(axis=1)
    for level in (0.01, 0.05, 0.1, 0.3, 0.6):
        sample = drawn[np.argmin(np.abs(distance - np.quantile(distance, 1 - level)))]
        assert lilliefors(sample).pvalue == pytest.approx(level, rel=0.1)


@pytest.mark.parametrize(
    ("n", "one", "five"), [(10, 0.304, 0.262), (20, 0.223, 0.192), (30, 0.185, 0.159)]
)
def test_lilliefors_meets_a_published_table(n, one, five):
    # Molin and Abdi (1998), table of Lilliefors' test, 100,000 simulations
    from automl.statistics.assumptions import _dallal_wilkinson

    found = [_dallal_wilkinson(distance, n) for distance in (one, five)]
    assert found == pytest.approx([0.01, 0.05], rel=0.08)  # of Dallal and Wilkinson's formula


def test_kolmogorov_smirnov_agrees_with_scipy():
    for group in (*PLANT_GROWTH, *INSECT_SPRAYS):
        theirs = stats.kstest(stats.zscore(group, ddof=1), "norm")
        ours = kolmogorov_smirnov(group)
        assert (ours.statistic, ours.pvalue) == pytest.approx((theirs.statistic, theirs.pvalue))


def test_the_corrected_t_test_reproduces_the_example_of_scikit_learn():
    # scikit-learn, "Statistical comparison of models using grid search": uncorrected t 2.611, p 0.005;
    # corrected t 0.750, p 0.227
    X, y = make_moons(noise=0.352, random_state=1, n_samples=100)
    folds = RepeatedStratifiedKFold(n_splits=10, n_repeats=10, random_state=0)
    rbf, linear = (
        cross_val_score(SVC(kernel=kernel, random_state=0), X, y, scoring="roc_auc", cv=folds)
        for kernel in ("rbf", "linear")
    )
    plain = corrected_t(rbf, linear, test_train_ratio=0.0, alternative="greater")
    corrected = corrected_t(rbf, linear, test_train_ratio=1 / 9, alternative="greater")
    assert (plain.statistic, plain.pvalue) == pytest.approx((2.611, 0.005), abs=6e-4)
    assert (corrected.statistic, corrected.pvalue) == pytest.approx((0.750, 0.227), abs=6e-4)


def test_holm_reproduces_its_first_example():
    # R 4: p.adjust(c(0.01, 0.013, 0.014, 0.19, 0.35, 0.5, 0.63, 0.67, 0.75, 0.81), "holm")
    given = [0.01, 0.013, 0.014, 0.19, 0.35, 0.5, 0.63, 0.67, 0.75, 0.81]
    assert holm(given)[:4] == pytest.approx([0.1, 0.117, 0.117, 1.0])


@pytest.mark.parametrize(
    ("m", "freedom", "five"),
    [(1, 5, 2.02), (2, 5, 2.44), (2, 10, 2.15), (3, 10, 2.34), (9, 10, 2.81), (9, np.inf, 2.42)],
)
def test_dunnetts_distribution_meets_his_table(m, freedom, five):
    # Dunnett (1955), table 1a, one-sided, 5 %
    assert dunnett_quantile(0.05, m, freedom) == pytest.approx(five, abs=0.006)


def test_dunnetts_distribution_agrees_with_scipys_multivariate_t():
    for m, freedom in ((2, 9), (4, 36), (9, 81)):
        joint = stats.multivariate_t(shape=0.5 * np.eye(m) + 0.5, df=freedom)
        for value in (0.5, 2.0, 3.0):
            expected = 1 - joint.cdf(np.full(m, value), random_state=0, maxpts=200_000)
            assert dunnett_tail(value, m, freedom) == pytest.approx(expected, abs=5e-4)
    assert dunnett_tail([np.inf, -np.inf], 3, 9).tolist() == [0.0, 1.0]
    with pytest.raises(ValueError, match="alpha"):
        dunnett_quantile(0.0, 3, 9)


def test_mcb_with_pooled_variance_is_dunnetts_test_in_the_two_way_layout():
    rng = np.random.default_rng(4)
    g = rng.normal(size=(4, 12)) + rng.normal(size=12) + np.array([[0.0], [0.2], [1.0], [1.4]])
    result = mcb(g, test_train_ratio=0.25, variance="pooled")
    # residual mean square by least squares on dummies of groups and folds
    group, fold = np.repeat(np.arange(4), 12), np.tile(np.arange(12), 4)
    X = np.column_stack([group[:, None] == np.arange(4), fold[:, None] == np.arange(1, 12)])
    _, residual, *_ = np.linalg.lstsq(X.astype(float), g.ravel(), rcond=None)
    error = np.sqrt(2 * residual[0] / 33 * (1 / 12 + 0.25))
    means = g.mean(axis=1)
    joint = stats.multivariate_t(shape=0.5 * np.eye(3) + 0.5, df=33)
    for i in range(4):
        t = (np.delete(means, i).max() - means[i]) / error
        expected = 1 - joint.cdf(np.full(3, t), random_state=0, maxpts=200_000)
        assert result.statistic[i] == pytest.approx(t)
        assert result.pvalue[i] == pytest.approx(expected, abs=1e-3)


def test_mcb_with_pairwise_variances_is_bonferroni_over_paired_t_tests():
    rng = np.random.default_rng(5)
    g = rng.normal(size=(4, 15)) + np.array([[0.0], [0.2], [1.0], [1.4]])
    result = mcb(g, test_train_ratio=0.0)
    for i in range(4):
        others = [stats.ttest_rel(g[j], g[i], alternative="greater") for j in range(4) if j != i]
        expected = min(1.0, 3 * min(test.pvalue for test in others))
        assert result.pvalue[i] == pytest.approx(max(expected, 2.0**-15))
    low, high = result.low[0], result.high[0]
    pair = stats.ttest_rel(g[0], g[3]).confidence_interval(1 - 2 * 0.05 / 3)
    assert low == pytest.approx(pair.low)
    assert high == 0.0 if result.pvalue[0] < 0.05 else high > 0.0


def test_the_intervals_of_mcb_exclude_what_its_pvalues_exclude():
    rng = np.random.default_rng(6)
    for variance in ("pairwise", "pooled"):
        for _ in range(30):
            g = rng.normal(size=(5, 10)) + rng.normal(size=(5, 1))
            result = mcb(g, test_train_ratio=0.25, variance=variance)
            assert ((result.high == 0) == (result.pvalue < 0.05)).all()
            assert (result.low <= 0).all()
            assert result.high[result.pvalue.argmax()] > 0
            wider = mcb(g, test_train_ratio=0.25, variance=variance, n_candidates=9)
            assert (wider.pvalue >= result.pvalue - 1e-12).all()
    with pytest.raises(ValueError, match="n_candidates"):
        mcb(g, test_train_ratio=0.25, n_candidates=4)
    assert str(result).startswith("MCB, pooled variance: 5 groups, ")


def test_few_scores_prove_nothing_however_alike_their_differences_are():
    # 1 more of 27, 27 and 26 rows right
    g = [[25 / 27, 24 / 27, 25 / 26], [24 / 27, 23 / 27, 24 / 26]]
    assert corrected_t(g[0], g[1], test_train_ratio=0.5).pvalue < 0.001
    assert corrected_t_all_pairs(g, test_train_ratio=0.5).pvalue[0, 1] == 0.25
    assert mcb(g, test_train_ratio=0.5).pvalue[1] == 0.125
    flat = [np.zeros(10), np.ones(10), np.ones(10)]
    assert corrected_t_all_pairs(flat, test_train_ratio=0.25).pvalue[0, 1] == 2.0**-9
    assert mcb(flat, test_train_ratio=0.25).pvalue.tolist() == [2.0**-10, 1.0, 1.0]


def test_comparisons_elsewhere_share_the_level():
    rng = np.random.default_rng(7)
    g = rng.normal(size=(3, 10)) + np.array([[0.0], [1.0], [2.0]])
    alone = corrected_t_all_pairs(g, test_train_ratio=0.25).pvalue
    shared = corrected_t_all_pairs(g, test_train_ratio=0.25, further=[0.5, 0.9, 0.7]).pvalue
    assert (shared >= alone).all()
    assert shared[0, 2] > alone[0, 2]
