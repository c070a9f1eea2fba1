"""Screening: which trials of the search are worth fresh folds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from automl.statistics.paired import corrected_t, least_pvalue
from automl.statistics.results import TestResult


@dataclass(frozen=True)
class Screening:
    """Which trials go on.

    Parameters
    ----------
    kept : positions, best first
    pvalues, statistics : (n trials,)
        One-sided corrected t-test that the best trial is better, on the search's folds; 1 and 0
        for the best itself and where there is a single fold.
    """

    kept: tuple[int, ...]
    pvalues: tuple[float, ...]
    statistics: tuple[float, ...]


def screen(
    scores: ArrayLike, *, alpha: float = 0.05, limit: int = 10, test_train_ratio: float
) -> Screening:
    """Trials not clearly worse than the best one, at most `limit`.

    The p-values are not adjusted for the number of trials; `alpha` is, see `screening_alpha`.

    Parameters
    ----------
    scores : (n trials, n folds), maximized, finite
        On the same folds; a single fold admits no test and the best `limit` go on.
    alpha : in [0, 1)
    limit : positive
    test_train_ratio : non-negative
        Validation rows / training rows of a fold.

    Raises
    ------
    ValueError
        If the scores are not a finite, non-empty matrix or `limit` is not positive.
    """
    matrix = np.asarray(scores, dtype=np.float64)
    if matrix.ndim != 2 or matrix.size == 0 or not np.isfinite(matrix).all():
        raise ValueError("scores must be a finite matrix of trials by folds")
    if limit < 1:
        raise ValueError(f"limit must be positive; got {limit}")
    order = np.argsort(-matrix.mean(axis=1), kind="stable")
    best = int(order[0])
    tests = [_test(matrix, best, i, test_train_ratio) for i in range(len(matrix))]
    pvalues = [test.pvalue for test in tests]
    equals = [int(i) for i in order if pvalues[i] >= alpha]
    statistics = tuple(test.statistic for test in tests)
    return Screening(tuple(equals[:limit]), tuple(pvalues), statistics)


def screening_alpha(alpha: float, n_trials: int, n_folds: int) -> float:
    """Level for each one-sided test with the best of `n_trials`, so that no equal one is dropped.

    The best is chosen from the same scores, so every ordered pair counts (Bonferroni): with
    probability 1 - alpha no trial as good as the best is dropped by the test. Without this, one of
    ten equally good trials is dropped in half of all runs.

    Returns
    -------
    in [0, alpha]
        0, so that nothing is dropped, on so few folds that equal signs on all of them are not
        significant (four at alpha 0.05): see `corrected_t_all_pairs`.
    """
    if least_pvalue(n_folds) >= alpha:
        return 0.0
    return alpha / max(n_trials * (n_trials - 1), 1)


def stand_ins(scores: ArrayLike, *, test_train_ratio: float) -> list[int]:
    """Trials that may replace the best one: within one standard error of it, itself included.

    Parameters
    ----------
    scores : (n trials, n folds), maximized, finite, the best trial first
        On the same folds; a single fold has no error, and only the best is left.
    test_train_ratio : non-negative
        Validation rows / training rows of a fold.

    Returns
    -------
    positions, ascending

    References
    ----------
    .. [1] Breiman, Friedman, Olshen and Stone (1984), Classification and Regression Trees, section
       3.4.3, the one standard error rule; the error is that of `corrected_t`.
    """
    matrix = np.asarray(scores, dtype=np.float64)
    if matrix.shape[1] < 2:
        return [0]
    tests = [_test(matrix, 0, i, test_train_ratio) for i in range(len(matrix))]
    return [i for i, test in enumerate(tests) if test.statistic <= 1.0]


def _test(matrix: Any, best: int, other: int, test_train_ratio: float) -> TestResult:
    if other == best or matrix.shape[1] < 2:
        return TestResult("", 0.0, 1.0)
    return corrected_t(
        matrix[best], matrix[other], test_train_ratio=test_train_ratio, alternative="greater"
    )
