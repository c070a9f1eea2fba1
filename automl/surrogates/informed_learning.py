"""How far a data set follows what others expect of it: hyperparameters, their prior and evidence.

Notation
--------
theta : (d + 5,) natural logarithms of the d length scales, the signal variance of the plain model,
    the noise variance; the scale a, the spread b over a, and the residual's signal variance over a**2
mu, delta : what the sources expect, see `automl.surrogates.source_processes`
plain : y = c + g, with g ~ GP(0, s M), as `MaternPrior`
informed : y = c + a (mu + b sum_j w_j delta_j + h), with w_j ~ N(0, 1) and h ~ GP(0, r M), as
    `InformedPrior`

Both have the same noise and the same flat prior of the constant c, so that their evidence can be
compared; before any trial they are equally likely.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from automl.records import FloatArray, IntArray
from automl.surrogates.earlier_data import SourceFit, Sources
from automl.surrogates.learning import N_BURNED, SAMPLED_NOISE_PRIOR, SIGNAL_PRIOR, slice_samples
from automl.surrogates.matern import cholesky, correlation, solve, squared_distances
from automl.surrogates.process_prior import InformedPrior, MaternPrior
from automl.surrogates.score_targets import standard
from automl.surrogates.source_processes import SourceProcesses, informed_rows

N_OWN = 3
"""Hyperparameters of the informed model alone: a, b and r."""
N_FOLLOWING = N_OWN + 1
"""Those that say how far a data set follows the others: the noise and a, b and r."""
N_SHARED = 2
"""Hyperparameters of both models beside the length scales: the signal (of the plain one) and the noise."""
LENGTH_SPREAD = 0.7
"""Standard deviation of the logarithm of a length scale about the sources': within a factor of two in two
cases of three."""
SCALE_SPREAD = 1.0
"""Spread of a's logarithm: scores of good configurations alone lie closer together than all scores do."""
SHARE_SPREAD = 1.0
"""Spread of the logarithms of b and r: as wide as the prior of the plain model's signal."""
SHARE_MEAN = -1.5
"""Mean of r's logarithm before a source was played: the sources leave a quarter of the variance open (by
judgement)."""
MOST_PLAYED = 20
"""Sources that are played as targets: they settle four numbers, which half of them would (by judgement)."""
FEWEST_PLAYED = 3
"""Sources of which one can be played: the others must differ from their mean."""
FEWEST_ROWS_PLAYED = 4
"""Trials of a source that is played: the constant, the scale and the noise take up three."""
MOST_ROWS_PLAYED = 30
"""Trials of each: as many as the runs have in which other data sets matter most."""
FARTHEST = 4.0
"""Deviations of its prior within which a mean is looked for: a flat likelihood leads an optimizer's first
step to where numbers overflow."""
STEPS = 20
"""Steps of L-BFGS: its means move by less than a tenth of their prior's deviation after them (by judgement)."""


@dataclass(frozen=True)
class HyperPrior:
    """Independent normal priors of theta.

    Parameters
    ----------
    means, spreads : (d + 5,)
    """

    means: FloatArray
    spreads: FloatArray

    def log_density(self, theta: FloatArray) -> float:
        """Logarithm of the density, up to a constant."""
        return -0.5 * float((((theta - self.means) / self.spreads) ** 2).sum())


@dataclass(frozen=True)
class Evidence:
    """A data set's n trials, and what both models need of them.

    Parameters
    ----------
    rows : (n, d + 1 + t)
        Informed rows.
    y : (n,)
    d : columns of a configuration
    gram : (n, n)
        Products of the delta.
    noise_scale : (n,)
        Noise variance of each trial over the usual one.
    """

    rows: FloatArray
    y: FloatArray
    d: int
    gram: FloatArray
    noise_scale: FloatArray

    @classmethod
    def of(
        cls, rows: FloatArray, y: FloatArray, d: int, noise_scale: FloatArray | None = None
    ) -> Evidence:
        """From informed rows (n, d + 1 + t), y (n,) and the noise of each; None: all are alike."""
        delta = rows[:, d + 1 :]
        scale = np.ones(len(y)) if noise_scale is None else noise_scale
        return cls(rows, y, d, delta @ delta.T, scale)

    def some(self, places: IntArray) -> Evidence:
        """That of some of the trials."""
        rows, y = self.rows[places], self.y[places]
        return Evidence.of(rows, y, self.d, self.noise_scale[places])

    def log_likelihoods(self, theta: FloatArray) -> FloatArray:
        """(2,) logarithms of p(y | theta) under the plain and the informed model."""
        M = self.correlation(theta)
        signal, noise = np.exp(theta[self.d : self.d + N_SHARED])
        plain = log_density(signal * M, noise * self.noise_scale, self.y)
        return np.array([plain, self.informed_log_likelihood(theta, M)])

    def correlation(self, theta: FloatArray) -> FloatArray:
        """(n, n) of the residual, which the length scales of theta alone decide."""
        X = self.rows[:, : self.d]
        return correlation(squared_distances(X, X, theta[: self.d]))[0]

    def informed_log_likelihood(self, theta: FloatArray, M: FloatArray) -> float:
        """Logarithm of p(y | theta) under the informed model, with the correlation M (n, n)."""
        noise, scale, spread, share = np.exp(theta[self.d + 1 :])
        covariance = scale**2 * (spread**2 * self.gram + share * M)
        residual = self.y - scale * self.rows[:, self.d]
        return log_density(covariance, noise * self.noise_scale, residual)


def log_density(K: FloatArray, noise: FloatArray | float, y: FloatArray) -> float:
    """Logarithm of the density of y (n,) of covariance K (n, n) + diag(noise), any constant added.

    The constant has a flat prior and is integrated out.

    References
    ----------
    .. [1] Rasmussen and Williams (2006), equation 2.45 with a vague prior of one basis function.
    """
    n = len(y)
    diagonal = np.einsum("ii->i", K)  # a view
    level = float(diagonal.mean())
    diagonal += noise
    L = cholesky(K, level)
    both = solve(L, np.stack([y, np.ones(n)], axis=1))
    weight = both[:, 1].sum()
    squares = float(y @ both[:, 0] - both[:, 0].sum() ** 2 / weight)
    determinant = float(np.log(np.diag(L)).sum() + 0.5 * np.log(weight))
    return -0.5 * squares - determinant - 0.5 * (n - 1) * float(np.log(2.0 * np.pi))


def probabilities(log_likelihoods: FloatArray) -> FloatArray:
    """(2,) posterior probabilities of the models, which were equally likely before."""
    ratio = np.exp(log_likelihoods - log_likelihoods.max())
    return np.asarray(ratio / ratio.sum())


def sample(
    evidence: Evidence,
    prior: HyperPrior,
    last: FloatArray | None,
    *,
    n_samples: int,
    rng: np.random.Generator,
) -> list[FloatArray]:
    """Thetas of the posterior of both models together, by slice sampling.

    Which model it is is summed over, so that a chain need not jump between them.
    """

    def density(theta: FloatArray) -> float:
        return prior.log_density(theta) + float(np.logaddexp(*evidence.log_likelihoods(theta)))

    n_burned = 2 * N_BURNED if last is None else N_BURNED
    start = prior.means if last is None else last
    return slice_samples(density, start, n_burned=n_burned, n_samples=n_samples, rng=rng)


def plain_prior(theta: FloatArray) -> MaternPrior:
    """Prior of the plain process at theta (d + 5,)."""
    return MaternPrior(theta[:-N_OWN])


def informed_prior(theta: FloatArray) -> InformedPrior:
    """Prior of the informed process at theta (d + 5,)."""
    log_scale, log_spread, log_share = theta[-N_OWN:]
    residual = theta[:-N_OWN].copy()
    residual[-2] = 2.0 * log_scale + log_share
    return InformedPrior(
        MaternPrior(residual), float(np.exp(log_scale)), float(np.exp(log_scale + log_spread))
    )


def first_prior(theta: FloatArray) -> HyperPrior:
    """Before any source has been played: the sources' length scales, and what is usual.

    Parameters
    ----------
    theta : (d + 2,)
        Of the sources' processes.
    """
    d = len(theta) - N_SHARED
    shared = [SIGNAL_PRIOR[0], SAMPLED_NOISE_PRIOR[0]]
    means = np.array([*theta[:d], *shared, 0.0, 0.0, SHARE_MEAN])
    spreads = [SIGNAL_PRIOR[1], SAMPLED_NOISE_PRIOR[1], SCALE_SPREAD, SHARE_SPREAD, SHARE_SPREAD]
    return HyperPrior(means, np.array([*[LENGTH_SPREAD] * d, *spreads]))


def learned_prior(
    processes: SourceProcesses, sources: Sources, rng: np.random.Generator
) -> HyperPrior:
    """Prior of theta that the sources teach: their `fit`, or what is likely where each is played."""
    prior = first_prior(processes.theta)
    if sources.fit is not None:
        return _following(prior, sources.fit.following)
    return played_prior(prior, played(processes, sources, rng))


def learn_fit(sources: Sources, *, most_rows: int, rng: np.random.Generator) -> SourceFit:
    """What is learned from sources, to be kept for later runs."""
    processes = SourceProcesses.learn(sources, most_rows=most_rows, rng=rng)
    prior = learned_prior(processes, sources, rng)
    return SourceFit(processes.theta, prior.means[-N_FOLLOWING:])


def _following(prior: HyperPrior, values: FloatArray) -> HyperPrior:
    """The prior with means (4,) of how far a data set follows the others."""
    means = prior.means.copy()
    means[-N_FOLLOWING:] = values
    return HyperPrior(means, prior.spreads)


def played_prior(prior: HyperPrior, played: Sequence[Evidence]) -> HyperPrior:
    """The prior with means that make each source likely, given what all others expect of it.

    Length scales and the plain model's signal stay.
    """
    from scipy.optimize import minimize

    known = [(one, one.correlation(prior.means)) for one in played]

    def loss(values: FloatArray) -> float:
        theta = _following(prior, values).means
        found = sum(one.informed_log_likelihood(theta, M) for one, M in known)
        return -prior.log_density(theta) - found

    start, far = prior.means[-N_FOLLOWING:], FARTHEST * prior.spreads[-N_FOLLOWING:]
    bounds = list(zip(start - far, start + far, strict=True))
    options = {"maxiter": STEPS}
    optimum = minimize(loss, start, method="L-BFGS-B", bounds=bounds, options=options)
    return _following(prior, np.asarray(optimum.x))


def played(
    processes: SourceProcesses, sources: Sources, rng: np.random.Generator
) -> list[Evidence]:
    """Some sources as if each were the target, with what all others expect of it."""
    tasks = np.unique(sources.task)
    if len(tasks) < FEWEST_PLAYED:
        return []
    found = []
    for place in rng.permutation(len(tasks))[:MOST_PLAYED]:
        own = np.flatnonzero(sources.task == tasks[place])
        if len(own) < FEWEST_ROWS_PLAYED:
            continue
        some = np.sort(rng.choice(own, min(len(own), MOST_ROWS_PLAYED), replace=False))
        X = sources.X[some]
        others = np.delete(processes.means(X), place, axis=1)
        found.append(Evidence.of(informed_rows(X, others), standard(sources.y[some]), X.shape[1]))
    return found
