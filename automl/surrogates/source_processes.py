"""Prior from earlier data sets: one Gaussian process for each, with shared hyperparameters.

Notation
--------
t : sources, the earlier data sets; n : their trials, those of one source together
m_j(x) : posterior mean of the process of source j
mu(x) : the mean of all m_j(x), what is expected of a new data set
delta_j(x) : (m_j(x) - mu(x)) / sqrt(t), by which sources differ from that

The other symbols are those of `automl.surrogates.matern`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from automl.records import FloatArray, IntArray
from automl.surrogates.earlier_data import Sources
from automl.surrogates.learning import learn_shared
from automl.surrogates.matern import (
    ScaledRows,
    cholesky,
    correlation,
    solve,
    squared_distances,
)
from automl.surrogates.posterior import Posterior
from automl.surrogates.process_prior import MaternPrior

MOST_LEARNED = 24
"""Sources from which hyperparameters are learned: they are few numbers, and of twice as many sources they
differ by less than their prior allows."""
MOST_ROWS_LEARNED = 100
"""Trials of each of them: the time grows with the cube, a second at a hundred (by judgement)."""
FEWEST_LEARNED = 3
"""Trials of a source that say anything of length scales: of two there is one difference."""
MOST_PLACES = 3000
"""Configurations that carry the means: a question costs as many correlations, and of 43,500 random
configurations in nine columns no more are needed to tell the means from each other (by judgement). The
shipped trials of all families on tables with classes are 2,800 configurations."""
NUGGET = 1e-6
"""Share of the signal, added to the places' own variance: some lie side by side."""


@dataclass(frozen=True)
class SourceProcesses:
    """Posterior means of the sources' processes, as sums over places that all of them share.

    Parameters
    ----------
    theta : (d + 2,)
        Shared logarithms of length scales, signal and noise variance.
    places : (z, d)
        Configurations: all those of the sources, or some of them.
    weights : (z, t)
        Of the places, in the mean of each source.
    constants : (t,)
        Constant mean of each source.
    """

    theta: FloatArray
    places: FloatArray
    weights: FloatArray
    constants: FloatArray

    @classmethod
    def learn(
        cls, sources: Sources, *, most_rows: int, rng: np.random.Generator
    ) -> SourceProcesses:
        """Processes of all sources that have trials, of each at most `most_rows`; O(t most_rows**3).

        The sources' `fit` has the hyperparameters, if there is one.

        With more than `MOST_PLACES` configurations the means are interpolated between some of them.
        """
        rows = [
            _some(np.flatnonzero(sources.task == task), most_rows, rng)
            for task in np.unique(sources.task)
        ]
        told = [(sources.X[own], sources.y[own]) for own in rows]
        if sources.fit is None:
            theta = learn_shared(_some_of(told, rng), sources.X.shape[1])
        else:
            theta = sources.fit.theta
        posteriors = [Posterior.condition(MaternPrior(theta), X, y) for X, y in told]
        places, weights = _shared_places(posteriors, theta, rng)
        return cls(theta, places, weights, np.array([one.mean for one in posteriors]))

    def means(self, X: FloatArray) -> FloatArray:
        """(m, t) every source's mean at X (m, d); O(m z (d + t))."""
        M, _ = self._correlation(X)
        return np.asarray(self._signal * (M @ self.weights) + self.constants)

    def at(self, X: FloatArray) -> MeansAt:
        """Means at X (m, d) and what turns slopes by them into slopes by the configuration."""
        M, E = self._correlation(X)
        return MeansAt(self, X, self._signal * (M @ self.weights) + self.constants, E)

    def by_configuration(self, X: FloatArray, E: FloatArray, by_mean: FloatArray) -> FloatArray:
        """(m, d) slopes by the configurations X (m, d), from those by every source's mean there.

        In O(m z (d + t)): the places' weights are joined before anything is done by column.

        Parameters
        ----------
        E : (m, z)
            As `correlation` gives it, for X and the places.
        by_mean : (m, t)
        """
        carried = E * (by_mean @ self.weights.T)
        toward = carried @ self.places - carried.sum(axis=1, keepdims=True) * X
        return np.asarray(self._signal * np.exp(-2.0 * self.theta[:-2]) * toward)

    def _correlation(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Correlation (m, z) of X (m, d) and the places, and its slope."""
        return correlation(self._scaled_places.squared_distances(X))

    @cached_property
    def _scaled_places(self) -> ScaledRows:
        return ScaledRows.of(self.places, self.theta[:-2])

    @property
    def _signal(self) -> float:
        return float(np.exp(self.theta[-2]))


@dataclass(frozen=True)
class MeansAt:
    """Means of sources' processes at some configurations, with their slopes.

    Parameters
    ----------
    processes
        Of t sources.
    X : (m, d)
    means : (m, t)
    """

    processes: SourceProcesses
    X: FloatArray
    means: FloatArray
    _E: FloatArray

    @property
    def rows(self) -> FloatArray:
        """(m, d + 1 + t) informed rows."""
        return informed_rows(self.X, self.means)

    def by_configuration(self, slopes: FloatArray) -> FloatArray:
        """(m, d) slopes by the configuration, from those by the columns of its informed row (m, d + 1 + t)."""
        d, t = self.X.shape[1], self.means.shape[1]
        by_mu, by_delta = slopes[:, [d]], slopes[:, d + 1 :]
        by_mean = (by_delta - by_delta.mean(axis=1, keepdims=True)) / np.sqrt(t) + by_mu / t
        return slopes[:, :d] + self.processes.by_configuration(self.X, self._E, by_mean)


def _shared_places(
    posteriors: Sequence[Posterior], theta: FloatArray, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Places (z, d), and their weights (z, t) in the posterior means, their constants taken off."""
    alphas = [one.alpha for one in posteriors]
    places, place = _distinct(np.concatenate([one.X for one in posteriors]))
    if len(places) <= MOST_PLACES:
        weights = np.zeros((len(places), len(alphas)))
        source = np.repeat(np.arange(len(alphas)), [len(alpha) for alpha in alphas])
        np.add.at(weights, (place, source), np.concatenate(alphas))
        return places, weights
    places = places[_some(np.arange(len(places)), MOST_PLACES, rng)]
    values = [
        correlation(squared_distances(places, one.X, theta[:-2]))[0] @ one.alpha
        for one in posteriors
    ]
    M, _ = correlation(squared_distances(places, places, theta[:-2]))
    M[np.diag_indices_from(M)] += NUGGET
    return places, solve(cholesky(M, 1.0), np.stack(values, axis=1))


def _distinct(X: FloatArray) -> tuple[FloatArray, IntArray]:
    """Different rows (z, d) of X (n, d) in their order, and the position of each row among them (n,)."""
    positions: dict[bytes, int] = {}
    place = [positions.setdefault(row.tobytes(), len(positions)) for row in X]
    place_of = np.array(place, dtype=int)
    return X[np.unique(place_of, return_index=True)[1]], place_of


def informed_rows(X: FloatArray, means: FloatArray) -> FloatArray:
    """(m, d + 1 + t) rows of configuration, mu and delta.

    Parameters
    ----------
    X : (m, d)
    means : (m, t)
        Of the sources at X.
    """
    mu = means.mean(axis=1, keepdims=True)
    return np.concatenate([X, mu, (means - mu) / np.sqrt(means.shape[1])], axis=1)


def _some(rows: IntArray, n: int, rng: np.random.Generator) -> IntArray:
    """At most n of the rows, in their order."""
    return rows if len(rows) <= n else np.sort(rng.choice(rows, n, replace=False))


def _some_of(
    told: Sequence[tuple[FloatArray, FloatArray]], rng: np.random.Generator
) -> list[tuple[FloatArray, FloatArray]]:
    """Some trials of some sources, to learn hyperparameters from."""
    usable = np.array([i for i, (_, y) in enumerate(told) if len(y) >= FEWEST_LEARNED], dtype=int)
    found = []
    for i in _some(usable, MOST_LEARNED, rng):
        X, y = told[i]
        rows = _some(np.arange(len(y)), MOST_ROWS_LEARNED, rng)
        found.append((X[rows], y[rows]))
    return found
