"""A Gaussian process whose prior is what it found on earlier data sets.

    y = c + a (mu(x) + b sum_j w_j delta_j(x) + h(x)) + noise,   w_j ~ N(0, 1),   h ~ GP(0, r M)

mu is the mean of the sources' posterior means, delta_j is by how much source j differs from it. A
plain process, y = c + g(x) + noise, is beside it; each has the weight of its posterior
probability. What other data sets teach is believed as far as the trials bear it out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from automl.errors import SettingsError
from automl.records import FloatArray
from automl.surrogates.earlier_data import Sources
from automl.surrogates.gaussian_process import LARGE, SMALL, GaussianProcess
from automl.surrogates.informed_learning import (
    Evidence,
    HyperPrior,
    informed_prior,
    learned_prior,
    plain_prior,
    probabilities,
    sample,
)
from automl.surrogates.joint import JointPrediction, mixed
from automl.surrogates.posterior import Posterior
from automl.surrogates.source_processes import MeansAt, SourceProcesses, informed_rows

LEAST_WEIGHT = 1e-3
"""Weight, of an equal share, below which a part of the mixture is left out: it changes no digit that is
read."""
MOST_KEPT = 4096
"""Points whose expectation is kept for the next question: twice as many as a listed space has."""


@dataclass(frozen=True)
class Part:
    """One set of hyperparameters under one of the two models."""

    weight: float
    posterior: Posterior
    is_informed: bool


@dataclass
class InformedProcess:
    """Mixture of an informed and a plain Gaussian process, over samples of their hyperparameters.

    Parameters
    ----------
    n_samples : at least 1
        Samples of the hyperparameters, of both models together.
    most_rows : at least 1
        Trials of each source, drawn at random.
    n_learned : at least 2
        Trials of the target from which hyperparameters are learned.

    Raises
    ------
    SettingsError
        If an option is out of its range.

    References
    ----------
    .. [1] Wang et al. (2021), Pre-trained Gaussian processes for Bayesian optimization (HyperBO).
    .. [2] Tighineanu et al. (2022), Transfer learning with Gaussian processes for Bayesian
       optimization.
    """

    n_samples: int = 8
    most_rows: int = 500
    n_learned: int = 300
    _sources: Sources | None = field(default=None, init=False, repr=False)
    _processes: SourceProcesses | None = field(default=None, init=False, repr=False)
    _prior: HyperPrior | None = field(default=None, init=False, repr=False)
    _alone: GaussianProcess = field(init=False, repr=False)
    _theta: FloatArray | None = field(default=None, init=False, repr=False)
    _thetas: list[FloatArray] = field(default_factory=list, init=False, repr=False)
    _learn_at: int = field(default=0, init=False, repr=False)
    _parts: list[Part] = field(default_factory=list, init=False, repr=False)
    _center: float = field(default=0.0, init=False, repr=False)
    _unit: float = field(default=1.0, init=False, repr=False)
    _kept: dict[bytes, FloatArray] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.n_samples < 1 or self.most_rows < 1 or self.n_learned < 2:
            raise SettingsError(
                "n_samples and most_rows must be at least 1 and n_learned at least 2; got"
                f" {self.n_samples}, {self.most_rows} and {self.n_learned}"
            )
        self._alone = GaussianProcess(n_samples=self.n_samples, n_learned=self.n_learned)

    # --- learning ---------------------------------------------------------------------------

    def learn_from(self, sources: Sources) -> None:
        """Take the trials on earlier data sets; no trials are as no sources."""
        self._sources = sources if len(sources.y) else None
        self._processes = self._prior = self._theta = None
        self._kept = {}

    def prepare(self, *, rng: np.random.Generator) -> None:
        """Learn from the earlier data sets, if that has not been done; `fit` does it otherwise."""
        if self._sources is None or self._processes is not None:
            return
        processes = SourceProcesses.learn(self._sources, most_rows=self.most_rows, rng=rng)
        self._processes = processes
        self._prior = learned_prior(processes, self._sources, rng)

    def expect(self, X: FloatArray, waiting: FloatArray, *, rng: np.random.Generator) -> FloatArray:
        """(m,) means over the sources of the best of X (m, d) and of what is under way (k, d).

        Raises
        ------
        ValueError
            Without trials on earlier data sets.
        """
        self.prepare(rng=rng)
        if self._processes is None:
            raise ValueError("nothing is expected without trials on earlier data sets")
        means = self._processes.means(X)
        if len(waiting):
            means = np.maximum(means, self._processes.means(waiting).max(axis=0))
        return np.asarray(means.mean(axis=1))

    def fit(self, X: FloatArray, y: FloatArray, *, rng: np.random.Generator) -> None:
        """Learn how far the trials X (n, d), y (n,) follow the sources, and condition on them.

        Equal scores say nothing of how far scores lie apart here. They count as one trial, so that
        what the sources expect is left.
        """
        self.fit_uneven(X, y, np.ones(len(y)), rng=rng)

    def fit_uneven(
        self, X: FloatArray, y: FloatArray, noise_scale: FloatArray, *, rng: np.random.Generator
    ) -> None:
        """As `fit`, of trials that are not equally exact."""
        self.prepare(rng=rng)
        if self._processes is None:
            self._alone.fit_uneven(X, y, noise_scale, rng=rng)
            return
        if np.ptp(y) == 0.0:
            X, y, noise_scale = X[:1], y[:1], noise_scale[:1]
        self._center, self._unit = float(np.mean(y)), float(np.std(y)) or 1.0
        targets = (y - self._center) / self._unit
        rows = self._rows(X)
        evidence = Evidence.of(rows, targets, X.shape[1], noise_scale)
        if self._theta is None or len(y) >= self._learn_at:
            self._learn(evidence, rng)
        weights = np.array([probabilities(evidence.log_likelihoods(one)) for one in self._thetas])
        self._parts = []
        for theta, (of_plain, of_informed) in zip(self._thetas, weights, strict=True):
            if of_plain > LEAST_WEIGHT:
                told = Posterior.condition(plain_prior(theta), X, targets, noise_scale)
                self._parts.append(Part(of_plain, told, is_informed=False))
            if of_informed > LEAST_WEIGHT:
                told = Posterior.condition(informed_prior(theta), rows, targets, noise_scale)
                self._parts.append(Part(of_informed, told, is_informed=True))

    def _learn(self, evidence: Evidence, rng: np.random.Generator) -> None:
        """Sample the hyperparameters, on at most `n_learned` trials."""
        assert self._prior is not None
        n = len(evidence.y)
        if n > self.n_learned:
            evidence = evidence.some(np.sort(rng.choice(n, self.n_learned, replace=False)))
        self._learn_at = n + (1 if n <= SMALL else n // 20 if n <= LARGE else n // 4)
        self._thetas = sample(evidence, self._prior, self._theta, n_samples=self.n_samples, rng=rng)
        self._theta = self._thetas[-1]

    @property
    def trust(self) -> float:
        """Posterior probability of what other data sets teach; 0 without any."""
        total = sum(part.weight for part in self._parts)
        informed = sum(part.weight for part in self._parts if part.is_informed)
        return informed / total if total else 0.0

    # --- predictions ------------------------------------------------------------------------

    def believe(self, X: FloatArray) -> None:
        """Condition on X (k, d) as if the mean had been observed: the mean stays, std shrinks."""
        if self._processes is None:
            self._alone.believe(X)
            return
        rows = self._rows(X)
        self._parts = [
            Part(part.weight, part.posterior.believe(_points(part, rows, X)), part.is_informed)
            for part in self._parts
        ]

    def predict(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation (m,) of the function, without noise."""
        if self._processes is None:
            return self._alone.predict(X)
        rows = self._rows(X)
        found = [part.posterior.predict(_points(part, rows, X)) for part in self._parts]
        means, variances = (np.array(one) for one in zip(*found, strict=True))
        mean, variance = mixed(self._weights, means, variances)
        return self._center + self._unit * mean, self._unit * np.sqrt(variance)

    def predict_jointly(self, X: FloatArray) -> JointPrediction:
        """Joint prediction at X (m, d), beliefs included."""
        if self._processes is None:
            return self._alone.predict_jointly(X)
        rows = self._rows(X)
        found = [part.posterior.joint(_points(part, rows, X)) for part in self._parts]
        means, covariances = (np.array(one) for one in zip(*found, strict=True))
        noises = np.array([part.posterior.noise for part in self._parts])
        squared = self._unit**2
        return JointPrediction(
            self._weights,
            self._center + self._unit * means,
            squared * covariances,
            squared * noises,
        )

    def predict_with_gradient(
        self, X: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Mean and std (m,) and their derivatives (m, d), for few points."""
        if self._processes is None:
            return self._alone.predict_with_gradient(X)
        at = self._processes.at(X)
        rows = at.rows
        found = [
            part.posterior.predict_with_gradient(_points(part, rows, X)) for part in self._parts
        ]
        means, variances = (np.array([one[i] for one in found]) for i in (0, 1))
        weights = self._weights
        mean, variance = mixed(weights, means, variances)
        std = np.sqrt(variance)
        by_mean = [w * one[2] for w, one in zip(weights, found, strict=True)]
        by_variance = [
            w * (one[3] + 2.0 * (own - mean)[:, None] * one[2])
            for w, own, one in zip(weights, means, found, strict=True)
        ]
        d_mean, d_variance = self._joined(by_mean, at), self._joined(by_variance, at)
        unit = self._unit
        d_std = d_variance / (2.0 * std[:, None])
        return self._center + unit * mean, unit * std, unit * d_mean, unit * d_std

    def _joined(self, slopes: Sequence[FloatArray], at: MeansAt) -> FloatArray:
        """(m, d) sum of the parts' slopes, those by informed rows as slopes by the configuration."""
        found = np.zeros(at.X.shape)
        informed = np.zeros(at.rows.shape)
        for part, of_part in zip(self._parts, slopes, strict=True):
            if part.is_informed:
                informed += of_part
            else:
                found += of_part
        return found + at.by_configuration(informed)

    @property
    def _weights(self) -> FloatArray:
        weights = np.array([part.weight for part in self._parts])
        return np.asarray(weights / weights.sum())

    def _rows(self, X: FloatArray) -> FloatArray:
        """Informed rows of X (m, d); what the sources expect of a point is worked out once."""
        assert self._processes is not None
        keys = [row.tobytes() for row in np.ascontiguousarray(X)]
        new = [i for i, key in enumerate(keys) if key not in self._kept]
        if len(self._kept) + len(new) > MOST_KEPT:
            self._kept = {}
            new = list(range(len(X)))
        if new:
            self._kept.update(
                zip([keys[i] for i in new], self._processes.means(X[new]), strict=True)
            )
        return informed_rows(X, np.array([self._kept[key] for key in keys]))


def _points(part: Part, rows: FloatArray, X: FloatArray) -> FloatArray:
    return rows if part.is_informed else X
