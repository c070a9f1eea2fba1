"""A Gaussian process with constant mean and Matérn 5/2 kernel (L14, section 2).

The notation is that of `automl.surrogates.matern`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from automl.errors import SettingsError
from automl.records import FloatArray
from automl.surrogates.joint import JointPrediction
from automl.surrogates.learning import learn_hyperparameters, sample_hyperparameters
from automl.surrogates.posterior import Posterior
from automl.surrogates.process_prior import MaternPrior

SMALL = 100
"""Observations up to which the hyperparameters are learned anew at every fit."""
LARGE = 500
"""Observations from which a quarter more is waited for: what 500 have shown changes little, and to learn
takes a second."""


@dataclass
class GaussianProcess:
    """Posterior over functions; hyperparameters maximize the marginal likelihood or are sampled.

    The most likely ones are found by L-BFGS with analytic gradients, from the last ones and, while
    there are few observations, from a fixed start as well. Above `SMALL` observations they are
    learned only when n has grown by a twentieth (above `LARGE` a quarter), and never on more than `n_learned` observations
    drawn at random. Between, new observations extend the Cholesky factor in O(n**2).

    With `n_samples`, up to `SMALL` observations the hyperparameters are samples of their
    posterior, and the prediction has the mean and the variance of the mixture: few observations
    do not tell whether a hyperparameter matters, and one answer is then believed too much.

    Parameters
    ----------
    n_samples : at least 0
        Samples of the hyperparameters; 0: the most likely ones alone.
    n_learned : at least 2
    most_steps : at least 1
        Steps of L-BFGS from each start; above `SMALL` observations half of them at first, then a
        fifth.
    prior
        Whether the most likely length scales and noise have log-normal priors (of which the mode
        is then taken) instead of bounds alone.

    Raises
    ------
    SettingsError
        If an option is out of its range.

    References
    ----------
    .. [1] Lacoste et al. (2014), section 2; Rasmussen and Williams (2006), chapters 2 and 5.
    .. [2] Snoek et al. (2012), Practical Bayesian optimization of machine learning algorithms,
       section 3.2: hyperparameters integrated out by slice sampling.
    .. [3] Hvarfner et al. (2024), Vanilla Bayesian optimization performs great in high
       dimensions: the prior of the length scales.
    """

    n_samples: int = 0
    n_learned: int = 300
    most_steps: int = 60
    prior: bool = False
    _theta: FloatArray | None = field(default=None, init=False, repr=False)
    _learn_at: int = field(default=0, init=False, repr=False)
    _told: list[Posterior] = field(default_factory=list, init=False, repr=False)
    _posteriors: list[Posterior] = field(default_factory=list, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.n_learned < 2 or self.most_steps < 1 or self.n_samples < 0:
            raise SettingsError(
                "a Gaussian process needs n_learned >= 2, most_steps >= 1 and n_samples >= 0; got"
                f" {self.n_learned}, {self.most_steps} and {self.n_samples}"
            )

    def fit(self, X: FloatArray, y: FloatArray, *, rng: np.random.Generator) -> None:
        """Learn the hyperparameters when it is time, and condition on all observations."""
        self.fit_uneven(X, y, np.ones(len(y)), rng=rng)

    def fit_uneven(
        self, X: FloatArray, y: FloatArray, noise_scale: FloatArray, *, rng: np.random.Generator
    ) -> None:
        """As `fit`, of observations that are not equally exact."""
        n, d = X.shape
        is_new = self._theta is None or len(self._theta) != d + 2
        if self.n_samples and n <= SMALL:
            last = None if is_new else self._theta
            thetas = sample_hyperparameters(
                X, y, last, noise_scale=noise_scale, n_samples=self.n_samples, rng=rng
            )
            self._theta, self._learn_at = thetas[-1], 0
            self._told = [
                Posterior.condition(MaternPrior(theta), X, y, noise_scale) for theta in thetas
            ]
        elif (
            is_new
            or n >= self._learn_at
            or not (self._told and self._told[0].begins(X, noise_scale))
        ):
            is_first = is_new or not self._told
            self._theta = self._learn(X, y, noise_scale, rng, is_first=is_first)
            prior = MaternPrior(self._theta)
            self._told = [Posterior.condition(prior, X, y, noise_scale)]
        else:
            self._told = [self._told[0].extend(X, y, noise_scale)]
        self._posteriors = self._told

    def _learn(
        self,
        X: FloatArray,
        y: FloatArray,
        noise_scale: FloatArray,
        rng: np.random.Generator,
        *,
        is_first: bool,
    ) -> FloatArray:
        """Most likely hyperparameters, on at most `n_learned` observations."""
        n = len(y)
        rows = np.arange(n)
        if n > self.n_learned:
            rows = np.sort(rng.choice(n, self.n_learned, replace=False))
        share = 1 if n <= SMALL else 2 if is_first else 5
        self._learn_at = n + (1 if n <= SMALL else n // 20 if n <= LARGE else n // 4)
        return learn_hyperparameters(
            X[rows],
            y[rows],
            None if is_first else self._theta,
            noise_scale=noise_scale[rows],
            has_prior=self.prior,
            is_thorough=n <= SMALL,
            most_steps=max(self.most_steps // share, 1),
        )

    def believe(self, X: FloatArray) -> None:
        """Condition on X (k, d) as if the mean had been observed: the mean stays, std shrinks."""
        self._posteriors = [posterior.believe(X) for posterior in self._posteriors]

    def predict(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation (m,) of the function, without noise; O(n**2 m)."""
        predictions = [posterior.predict(X) for posterior in self._posteriors]
        means = np.array([mean for mean, _ in predictions])
        variances = np.array([variance for _, variance in predictions])
        return means.mean(axis=0), np.sqrt(variances.mean(axis=0) + means.var(axis=0))

    def predict_jointly(self, X: FloatArray) -> JointPrediction:
        """Joint prediction at X (m, d), beliefs included; O(n**2 m + n m**2)."""
        found = [posterior.joint(X) for posterior in self._posteriors]
        means, covariances = (np.array(part) for part in zip(*found, strict=True))
        noises = np.array([posterior.noise for posterior in self._posteriors])
        weights = np.full(len(means), 1.0 / len(means))
        return JointPrediction(weights, means, covariances, noises)

    def predict_with_gradient(
        self, X: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Mean and std (m,) and their derivatives (m, d); O(n**2 m), for few points."""
        predictions = [posterior.predict_with_gradient(X) for posterior in self._posteriors]
        means, variances, d_means, d_variances = (
            np.array(part) for part in zip(*predictions, strict=True)
        )
        mean, d_mean = means.mean(axis=0), d_means.mean(axis=0)
        distance = means - mean
        std = np.sqrt(variances.mean(axis=0) + (distance**2).mean(axis=0))
        d_variance = d_variances.mean(axis=0) + 2.0 * (distance[..., None] * d_means).mean(axis=0)
        return mean, std, d_mean, d_variance / (2.0 * std[:, None])
