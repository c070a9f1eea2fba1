"""Results of tests, and the checks of their inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from automl.records import FloatArray


@dataclass(frozen=True)
class TestResult:
    """Result of one test.

    Parameters
    ----------
    name
        Name of the test.
    statistic
        Value of the test statistic; infinite where the groups differ without any spread.
    pvalue : in [0, 1]
        Probability of a statistic at least as extreme under the null hypothesis.
    df
        Degrees of freedom, none for tests that have none.
    """

    __test__ = False  # not a test case of pytest

    name: str
    statistic: float
    pvalue: float
    df: tuple[float, ...] = ()

    def __str__(self) -> str:
        freedom = f", df = {', '.join(f'{value:g}' for value in self.df)}" if self.df else ""
        return f"{self.name}: statistic {self.statistic:.4g}{freedom}, p = {self.pvalue:.4g}"


@dataclass(frozen=True)
class PairwiseResult:
    """Result of a comparison of all pairs of groups.

    Parameters
    ----------
    name
        Name of the test.
    statistic : (k, k), symmetric, zero diagonal
        Absolute values of the pairs' statistics.
    pvalue : (k, k), symmetric, unit diagonal, in [0, 1]
        Adjusted for the number of groups.
    df
        Degrees of freedom, none for tests that have none.
    """

    name: str
    statistic: FloatArray
    pvalue: FloatArray
    df: tuple[float, ...] = ()

    def __str__(self) -> str:
        k = len(self.pvalue)
        lowest = float(np.nanmin(self.pvalue))
        return f"{self.name}: {k} groups, {k * (k - 1) // 2} pairs, lowest p = {lowest:.4g}"

    def pair(self, first: int, second: int) -> TestResult:
        """Result of one pair."""
        return TestResult(
            self.name,
            float(self.statistic[first, second]),
            float(self.pvalue[first, second]),
            self.df,
        )


def check_sample(values: ArrayLike, *, minimum: int = 2) -> FloatArray:
    """Sample as a one-dimensional array of 64-bit numbers.

    Raises
    ------
    ValueError
        If it has fewer than `minimum` values, another dimension, NaN or infinite values.
    """
    sample = np.asarray(values, dtype=np.float64)
    if sample.ndim != 1 or len(sample) < minimum:
        raise ValueError(
            f"a sample must be one-dimensional with at least {minimum} values; "
            f"got shape {sample.shape}"
        )
    if not np.isfinite(sample).all():
        raise ValueError("a sample must not contain NaN or infinite values")
    return sample


def check_groups(
    groups: Sequence[ArrayLike], *, minimum: int = 2, n_groups: int = 2
) -> list[FloatArray]:
    """Groups as arrays of 64-bit numbers.

    Raises
    ------
    ValueError
        If there are fewer than `n_groups` groups, or one is not a usable sample.
    """
    if len(groups) < n_groups:
        raise ValueError(f"the test needs at least {n_groups} groups; got {len(groups)}")
    return [check_sample(group, minimum=minimum) for group in groups]


def check_blocks(groups: Sequence[ArrayLike], *, n_groups: int = 2) -> FloatArray:
    """Paired groups as one array, (k groups, n blocks).

    Raises
    ------
    ValueError
        If the groups have different lengths or are not usable samples.
    """
    samples = check_groups(groups, n_groups=n_groups)
    if len({len(sample) for sample in samples}) > 1:
        raise ValueError("paired groups must have the same number of values")
    return np.stack(samples)


def symmetric(values: FloatArray, k: int, diagonal: float) -> FloatArray:
    """(k, k) array from the values of the pairs in the order of ``np.triu_indices(k, 1)``."""
    matrix = np.full((k, k), diagonal)
    first, second = np.triu_indices(k, 1)
    matrix[first, second] = matrix[second, first] = values
    return matrix


def is_constant(values: FloatArray) -> bool:
    """Whether the spread of `values` is no more than rounding."""
    return bool(np.ptp(values) <= 1e-12 * max(1.0, float(np.abs(values).max())))


@dataclass(frozen=True)
class Posterior:
    """Where the mean difference of two models lies, first minus second.

    Parameters
    ----------
    less, equivalent, greater : in [0, 1], sum 1
        Probabilities that it is below -rope, within [-rope, rope], and above rope.
    """

    less: float
    equivalent: float
    greater: float
