"""Tests of what the analysis of variance assumes: normal scores, equal variances (B14, 3.5.2)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy import special, stats

from automl.records import FloatArray
from automl.statistics.results import TestResult, check_groups, check_sample, is_constant


def kolmogorov_smirnov(values: ArrayLike) -> TestResult:
    """Kolmogorov-Smirnov test of the standardized sample against the standard normal.

    Null hypothesis: the values are drawn from a normal distribution. The mean and the deviation
    are estimated from the same values, so the p-value is too large (the test rejects too
    seldom); this is the thesis' procedure, `lilliefors` is the corrected one.

    Parameters
    ----------
    values : (n,), n >= 2

    Returns
    -------
    TestResult
        A constant sample is not normal: statistic 1, p-value 0.

    Raises
    ------
    ValueError
        If the sample is too small or not finite.

    References
    ----------
    .. [1] B14, section 3.5.2.
    """
    sample = check_sample(values)
    if is_constant(sample):
        return TestResult("Kolmogorov-Smirnov", 1.0, 0.0)
    distance = _distance_to_normal(sample)
    return TestResult("Kolmogorov-Smirnov", distance, float(stats.kstwo.sf(distance, len(sample))))


def _distance_to_normal(sample: FloatArray) -> float:
    """Greatest distance between the distributions of the standardized sample and the normal."""
    n = len(sample)
    below = special.ndtr(np.sort((sample - sample.mean()) / sample.std(ddof=1)))
    steps = np.arange(n + 1) / n
    return float(max((steps[1:] - below).max(), (below - steps[:-1]).max()))


def lilliefors(values: ArrayLike) -> TestResult:
    """Lilliefors' test of normality: Kolmogorov-Smirnov with estimated parameters.

    Null hypothesis: the values are drawn from a normal distribution.

    Parameters
    ----------
    values : (n,), n >= 4

    Returns
    -------
    TestResult
        p-values by the formula of Dallal and Wilkinson below 0.1 and by Stephens' modified
        statistic above. A constant sample is not normal: statistic 1, p-value 0.

    Raises
    ------
    ValueError
        If the sample is too small or not finite.

    References
    ----------
    .. [1] Dallal and Wilkinson (1986), An analytic approximation to the distribution of
       Lilliefors' test for normality.
    .. [2] Stephens (1974), EDF statistics for goodness of fit; polynomials as in R's nortest.
    """
    sample = check_sample(values, minimum=4)
    if is_constant(sample):
        return TestResult("Lilliefors", 1.0, 0.0)
    statistic = _distance_to_normal(sample)
    pvalue = _dallal_wilkinson(statistic, len(sample))
    if pvalue > 0.1:
        pvalue = _stephens(statistic, len(sample))
    return TestResult("Lilliefors", statistic, float(np.clip(pvalue, 0.0, 1.0)))


def _dallal_wilkinson(distance: float, n: int) -> float:
    """p-value, valid up to 0.1; samples above 100 are mapped to 100."""
    if n > 100:
        distance *= (n / 100) ** 0.49
        n = 100
    return float(
        np.exp(
            -7.01256 * distance**2 * (n + 2.78019)
            + 2.99587 * distance * np.sqrt(n + 2.78019)
            - 0.122119
            + 0.974598 / np.sqrt(n)
            + 1.67997 / n
        )
    )


_STEPHENS = (
    (0.302, (1.0,)),
    (0.5, (2.76773, -19.828315, 80.709644, -138.55152, 81.218052)),
    (0.9, (-4.901232, 40.662806, -97.490286, 94.029866, -32.355711)),
    (1.31, (6.198765, -19.558097, 23.186922, -12.234627, 2.423045)),
)
"""Upper end of each range of the modified statistic and its polynomial, lowest power first."""


def _stephens(distance: float, n: int) -> float:
    """p-value from the modified statistic."""
    modified = (np.sqrt(n) - 0.01 + 0.85 / np.sqrt(n)) * distance
    for upper, coefficients in _STEPHENS:
        if modified <= upper:
            return float(np.polynomial.polynomial.polyval(modified, coefficients))
    return 0.0


def bartlett(groups: Sequence[ArrayLike]) -> TestResult:
    """Bartlett's test of equal variances.

    Null hypothesis: all groups have the same variance. Assumes 1. independent and 2. normal
    values.

    Parameters
    ----------
    groups : k of (n_i,), k >= 2, n_i >= 2

    Returns
    -------
    TestResult
        df = k - 1. All groups constant: equal variances (0, p-value 1); some constant: infinite
        statistic, p-value 0.

    Raises
    ------
    ValueError
        If a group is too small or not finite.
    """
    samples = check_groups(groups)
    df = (float(len(samples) - 1),)
    constant = [is_constant(sample) for sample in samples]
    if all(constant):
        return TestResult("Bartlett", 0.0, 1.0, df)
    if any(constant):
        return TestResult("Bartlett", float("inf"), 0.0, df)
    statistic = max(float(stats.bartlett(*samples).statistic), 0.0)
    return TestResult("Bartlett", statistic, float(stats.chi2.sf(statistic, df[0])), df)
