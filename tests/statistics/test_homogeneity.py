"""Tests of two samples: against scipy, and how often they find what is not there."""

import numpy as np
import pytest
from scipy import stats

from automl.statistics.homogeneity import homogeneity, kolmogorov_smirnov


def test_counts_by_pearsons_test():
    first, second = [30, 40, 30], [60, 20, 20]
    expected = stats.chi2_contingency([first, second], correction=False).pvalue
    assert homogeneity(first, second) == pytest.approx(expected)


def test_rare_bins_are_put_together():
    whole = homogeneity([50, 60, 3], [70, 30, 3])
    assert homogeneity([50, 60, 1, 2], [70, 30, 2, 1]) == pytest.approx(whole)
    assert homogeneity([50, 0], [70, 0]) == homogeneity([5, 5], [0, 0]) == 1.0


def test_values_by_kolmogorov_and_smirnov():
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=200), rng.normal(0.7, size=100)
    expected = stats.ks_2samp(first, second, method="asymp").pvalue
    assert kolmogorov_smirnov(np.append(first, np.nan), second) == pytest.approx(expected)
    assert kolmogorov_smirnov(first, [np.nan]) == 1.0


def test_samples_of_one_distribution_differ_as_rarely_as_the_level_says():
    rng = np.random.default_rng(1)
    shares = np.array([0.6, 0.3, 0.05, 0.03, 0.02])
    counts = [[rng.multinomial(n, shares) for n in (1000, 100)] for _ in range(1000)]
    found = [homogeneity(first, second) for first, second in counts]
    assert 0.03 <= np.mean(np.array(found) <= 0.05) <= 0.07
