"""The multiple comparison with the best candidate (B14, algorithm 2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from automl.records import FloatArray
from automl.selection.comparison_settings import ComparisonSettings
from automl.significance import Normality
from automl.statistics.adjustment import holm
from automl.statistics.assumptions import bartlett, kolmogorov_smirnov, lilliefors
from automl.statistics.bayesian import correlated_t_posterior
from automl.statistics.multiple_comparison import BestResult, ClosedResult, closed_best, mcb
from automl.statistics.paired import (
    corrected_t_all_pairs,
    friedman,
    least_pvalue,
    nemenyi_friedman,
)
from automl.statistics.results import PairwiseResult, Posterior, TestResult
from automl.statistics.unpaired import anova, kruskal_wallis, nemenyi_joint_ranks, tukey


@dataclass(frozen=True)
class Comparison:
    """Which groups are not significantly different from the best one.

    Parameters
    ----------
    tests
        Every test that led to the decision, in order: name, statistic, p-value.
    post_hoc
        Name of the pairwise test; empty if none was needed.
    best
        Group with the highest mean.
    pvalues, statistics : (k,) or None
        Of the pairwise test against the best (`closed`, `mcb`: of the group not being the best);
        None if none was needed.
    kept : (k,)
        Whether the group is kept.
    posteriors : (k,) or None
        Of the best group's mean minus the group's, for `bayesian`; None for the others.
    """

    tests: tuple[TestResult, ...]
    post_hoc: str
    best: int
    pvalues: tuple[float, ...] | None
    statistics: tuple[float, ...] | None
    kept: tuple[bool, ...]
    posteriors: tuple[Posterior, ...] | None = None


@dataclass(frozen=True)
class Rest:
    """Other tests that share the significance level of a comparison.

    Parameters
    ----------
    beside : of (n,)
        Scores of the candidates from which the groups were picked and that compete no more.
    further : (m,), in [0, 1]
        p-values of what is tested elsewhere at the same level: of pairs for `paired`, of candidates
        for `closed`.
    """

    beside: tuple[FloatArray, ...] = ()
    further: tuple[float, ...] = ()


def compare_with_best(
    groups: Sequence[FloatArray],
    alpha: float,
    settings: ComparisonSettings,
    rest: Rest | None = None,
) -> Comparison:
    """Groups that are not significantly worse than the one with the highest mean.

    One group, fewer than two scores each, or scores without any spread: all are kept without a
    test. The omnibus test not significant: all are kept.

    Parameters
    ----------
    groups : k of (n,), k >= 1
    alpha : in (0, 1)
        Significance level of every test.
    settings
        Tests to use.
    rest
        What else shares the level; `thesis` and `bayesian` compare the groups alone.

    Raises
    ------
    ValueError
        If a score is not finite or paired groups have different lengths.
    """
    samples = [np.asarray(group, dtype=np.float64) for group in groups]
    joint = np.concatenate(samples)
    if not np.isfinite(joint).all():
        raise ValueError("scores must be finite")
    best = int(np.argmax([sample.mean() for sample in samples]))
    is_testable = len(samples) > 1 and min(map(len, samples)) > 1 and np.ptp(joint) > 1e-12
    if not is_testable:
        return Comparison((), "", best, None, None, (True,) * len(samples))
    decide = _BY_PROCEDURE.get(settings.procedure, _by_omnibus)
    return decide(_Given(samples, best, alpha, settings, rest or Rest()))


@dataclass(frozen=True)
class _Given:
    """Input of a procedure; see `compare_with_best`."""

    samples: Sequence[FloatArray]
    best: int
    alpha: float
    settings: ComparisonSettings
    rest: Rest

    @property
    def ratio(self) -> float:
        return self.settings.test_train_ratio


def _by_omnibus(given: _Given) -> Comparison:
    """Pairs only where a test of all finds a difference: `thesis` and `friedman`."""
    samples, best, alpha, settings = given.samples, given.best, given.alpha, given.settings
    compared = samples if settings.procedure == "thesis" else [*samples, *given.rest.beside]
    tests, omnibus = _omnibus(compared, alpha, settings)
    if omnibus.pvalue >= alpha:
        return Comparison((*tests, omnibus), "", best, None, None, (True,) * len(samples))
    return _decide((*tests, omnibus), _post_hoc(compared, omnibus.name, best), given)


def _by_all_pairs(given: _Given) -> Comparison:
    compared, further = [*given.samples, *given.rest.beside], given.rest.further
    pairs = corrected_t_all_pairs(compared, test_train_ratio=given.ratio, further=further)
    return _decide((), pairs, given)


def _best_by_closed_test(given: _Given) -> Comparison:
    result = closed_best(
        given.samples,
        test_train_ratio=given.ratio,
        beside=given.rest.beside,
        further=given.rest.further,
    )
    return _without_the_excluded(result, given)


def _best_by_mcb(given: _Given) -> Comparison:
    n_candidates = len(given.samples) + len(given.rest.beside)
    result = mcb(
        given.samples, test_train_ratio=given.ratio, alpha=given.alpha, n_candidates=n_candidates
    )
    return _without_the_excluded(result, given)


def _without_the_excluded(result: BestResult | ClosedResult, given: _Given) -> Comparison:
    """Decision about groups that are tested each for being among the best."""
    pvalues = tuple(map(float, result.pvalue))
    statistics = tuple(map(float, result.statistic))
    return Comparison((), result.name, given.best, pvalues, statistics, _kept(pvalues, given))


def _kept(pvalues: Sequence[float], given: _Given) -> tuple[bool, ...]:
    return tuple(p >= given.alpha or i == given.best for i, p in enumerate(pvalues))


def _by_posteriors(given: _Given) -> Comparison:
    """Dropped is what the best is probably better than by more than the rope.

    Nothing is dropped on so few folds that equal signs on all of them are not significant: scores
    that are counts of few rows differ there by nearly the same amount, and seem certain.
    """
    best, rope = given.samples[given.best], given.settings.rope
    posteriors = tuple(
        correlated_t_posterior(best, sample, test_train_ratio=given.ratio, rope=rope)
        for sample in given.samples
    )
    can_tell = least_pvalue(len(best)) < given.alpha
    kept = tuple(not (can_tell and p.greater > 1.0 - given.alpha) for p in posteriors)
    name = "correlated t posterior"
    return Comparison((), name, given.best, None, None, kept, posteriors)


def _omnibus(
    samples: Sequence[FloatArray], alpha: float, settings: ComparisonSettings
) -> tuple[tuple[TestResult, ...], TestResult]:
    """Tests of the assumptions, and the test whether any group differs."""
    if settings.procedure == "friedman":
        return (), friedman(samples)
    normality = normality_of_residuals(samples, settings.normality)
    variances = bartlett(samples)
    is_parametric = normality.pvalue >= alpha and variances.pvalue >= alpha
    return (normality, variances), (anova if is_parametric else kruskal_wallis)(samples)


def normality_of_residuals(samples: Sequence[FloatArray], test: Normality) -> TestResult:
    """The most extreme of the groups' normality tests, its p-value adjusted by Holm.

    Each group's residuals are tested on their own. Below 4 values Lilliefors' test does not
    exist and the Kolmogorov-Smirnov test is used.
    """
    has_table = test == "lilliefors" and min(map(len, samples)) >= 4
    function = lilliefors if has_table else kolmogorov_smirnov
    results = [function(sample - sample.mean()) for sample in samples]
    adjusted = holm([result.pvalue for result in results])
    worst = int(np.argmin(adjusted))
    return TestResult(
        f"{results[worst].name}, Holm", results[worst].statistic, float(adjusted[worst])
    )


def _post_hoc(samples: Sequence[FloatArray], omnibus: str, best: int) -> PairwiseResult:
    if omnibus == "ANOVA":
        return tukey(samples, reference=best)
    if omnibus == "Kruskal-Wallis":
        return nemenyi_joint_ranks(samples, reference=best)
    return nemenyi_friedman(samples)


def _decide(tests: tuple[TestResult, ...], pairs: PairwiseResult, given: _Given) -> Comparison:
    """Decision about the first of the groups that were compared, those that can be kept."""
    k = len(given.samples)
    pvalues = tuple(map(float, pairs.pvalue[given.best, :k]))
    statistics = tuple(map(float, pairs.statistic[given.best, :k]))
    return Comparison(tests, pairs.name, given.best, pvalues, statistics, _kept(pvalues, given))


_BY_PROCEDURE = {
    "closed": _best_by_closed_test,
    "paired": _by_all_pairs,
    "mcb": _best_by_mcb,
    "bayesian": _by_posteriors,
}
