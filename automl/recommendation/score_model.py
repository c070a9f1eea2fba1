"""Predicted scores of known configurations on a new data set, given the scores of some of them there.

Configurations that do well on the same data sets do well together on the next one. The scores of the
known configurations on a data set are modeled as a draw of a Gaussian. Its mean and covariance come from
the known data sets; more similar ones have more weight. The scores that a search has seen so far
make it a posterior.

Notation
--------
t : known data sets; m : configurations
Z : (t, m) scores, of each data set best 1 and median 0, at least `LEAST_SCORE`; unknown ones have none
w : (t,) weights of the data sets, sum t
mu : (m,) mean of Z by weight, with `PRIOR` data sets more on which a configuration was the median
v : mean square of the deviations Z - mu
R : (t, m) roots of the covariance s R'R + (1 - s) v I, s = `SHARED`; no deviation where unknown

References
----------
.. [1] Fusi, Sheth and Elibol (2018), Probabilistic matrix factorization for automated machine
   learning: the next of known pipelines by expected improvement, from a matrix with gaps.
.. [2] Feurer et al. (2022), Auto-sklearn 2.0, of whose portfolio this is the form that heeds what it sees.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from automl.recommendation.agreement import LEAST_SCORE
from automl.recommendation.configuration_portfolio import KnownScores, ranges, stretched
from automl.records import Configuration, FloatArray
from automl.surrogates.scale import Scale, spread_expected

PRIOR = 2.0
"""Data sets that pull a configuration's mean to the median: what is known of one or two is not believed (by
judgement)."""
SHARED = 0.9
"""Share of the variance that data sets have in common; the rest is each configuration's own (by judgement)."""
NOISE = 0.2
"""Variance of a score around what the data set gives, on the common scale."""


@dataclass(frozen=True)
class ScoreModel:
    """The Gaussian of one kind of target.

    Parameters
    ----------
    configurations : m, all different
    mean : (m,)
    roots : (t, m)
        R, scaled so that R'R is the shared part of the covariance.
    own : positive
        Variance of each configuration that is shared with no other.
    usual_range : positive
        Distance from the best to the median score, of the median data set.
    """

    configurations: tuple[Configuration, ...]
    mean: FloatArray
    roots: FloatArray
    own: float
    usual_range: float = 1.0

    @classmethod
    def of(cls, known: KnownScores) -> ScoreModel:
        """Model of known scores."""
        Z = np.maximum(stretched(known.scores), LEAST_SCORE)
        has = np.isfinite(Z)
        w = known.weights * len(known.weights)
        mean = (w @ np.where(has, Z, 0.0)) / (w @ has + PRIOR)
        deviations = np.where(has, Z - mean, 0.0)
        variance = float((w @ deviations**2).sum() / (w @ has).sum())
        roots = np.sqrt(SHARED * w / len(w))[:, np.newaxis] * deviations
        usual = float(np.median(ranges(known.scores[has.any(axis=1)])))
        return cls(known.configurations, mean, roots, (1.0 - SHARED) * variance, usual)

    @cached_property
    def positions(self) -> dict[str, int]:
        """Position of each configuration by its id."""
        return {configuration.id: i for i, configuration in enumerate(self.configurations)}

    def scale(self, seen: Sequence[int], scores: FloatArray) -> Scale:
        """Where this data set's scores are on the common scale.

        A few scores may be nearly equal by chance. The usual range therefore counts as one more score.

        Parameters
        ----------
        seen : n positions
        scores : (n,)
            In the data set's own units; NaN for a failure. Where all have failed units are kept.
        """
        has = np.isfinite(scores)
        if not has.any():
            return Scale(0.0, 1.0)
        y, expected = scores[has], self.mean[list(seen)][has]
        own = float(np.var(y)) / spread_expected(expected) ** 2
        spread = float(np.sqrt(own + self.usual_range**2 / len(y)))
        return Scale(float(np.mean(y) - spread * np.mean(expected)), spread)

    def posterior(
        self, seen: Sequence[int], common: FloatArray, *, pending: Sequence[int] = ()
    ) -> tuple[FloatArray, FloatArray]:
        """Mean and deviation (m,) of what all configurations will score, on the common scale.

        Parameters
        ----------
        seen : n positions, all different
        common : (n,)
            Their scores on the common scale.
        pending : positions whose scores will soon be known; they lessen the deviations alone
        """
        mean = self.mean.copy()
        if len(seen):
            across = self._covariance(seen)
            mean += across @ np.linalg.solve(self._noisy(across, seen), common - self.mean[seen])
        variance = (self.roots**2).sum(axis=0) + self.own
        if scored := [*seen, *pending]:
            across = self._covariance(scored)
            explained = np.linalg.solve(self._noisy(across, scored), across.T)
            variance = variance - np.einsum("mn,nm->m", across, explained)
        return mean, np.sqrt(np.maximum(variance, 0.0))

    def _covariance(self, columns: Sequence[int]) -> FloatArray:
        """(m, n) with the columns."""
        chosen = list(columns)
        across = self.roots.T @ self.roots[:, chosen]
        across[chosen, np.arange(len(chosen))] += self.own
        return across

    @staticmethod
    def _noisy(across: FloatArray, columns: Sequence[int]) -> FloatArray:
        """(n, n) covariance of scores that are seen."""
        return across[list(columns)] + NOISE * np.eye(len(columns))
