"""Networks that learn from earlier data sets, as surrogates."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from automl.errors import SettingsError
from automl.records import FloatArray
from automl.surrogates.batches import Examples
from automl.surrogates.earlier_data import Sources, descriptors
from automl.surrogates.laplace import (
    add_outer_products,
    posterior_covariance,
    predictive_variance,
    row_gradients,
)
from automl.surrogates.network_ensemble import Ensemble
from automl.surrogates.network_parameters import Shape
from automl.surrogates.scale import Scale

UNCERTAINTIES = ("ensemble", "laplace")
MOST_PARAMETERS = 6000
"""Parameters of a network up to which the covariance of all of them is kept."""
_LEAST_NOISE = 1e-4
"""Variance of residuals on the standardized scale: a network that fits every row must not be sure of all
others."""
REFIT_RATE = 0.3
"""Share of the learning rate with which what was learned of other data sets is refined."""
ALONE = 3
"""How many times as many steps, of few rows each, a fit has where no other data set is known."""
N_GROUPS = 8
"""Groups of other data sets' trials in each step of a refinement."""


@dataclass
class TransferNetworks:
    """Factorization machine, perceptron or factorized perceptron over all data sets.

    The networks learn from the earlier data sets once; each `fit` then starts from there, or from
    the last fit, and refines them for some steps that see all trials of the target and a sample
    of the others. Without sources they learn from the target's trials alone.

    Parameters
    ----------
    n_members : at least 1
        Networks that differ in where they start; the standard deviation is that between them.
    units : at least 1
        Of each hidden layer.
    layers : at least 0
        Hidden layers; 0: a factorization machine, of one unit.
    factors : at least 0
        0: without factorized interactions, a plain perceptron.
    decay : positive, finite
        Variance of the noise over that of the prior of each parameter.
    rate : positive, finite
        Learning rate of Adam at the start.
    n_steps : at least 1
        Steps of the first training.
    refit_steps : at least 1
        Steps when trials of the target have come.
    uncertainty
        `ensemble`, or `laplace` (a single network: `n_members` 1).
    n_threads : at least 1
        Blocks of networks trained at a time; changes no prediction.

    Raises
    ------
    SettingsError
        If an option is out of its range.

    References
    ----------
    .. [1] Schilling et al. (2015), sections 3.3 and 3.4.
    """

    n_members: int = 100
    units: int = 20
    layers: int = 1
    factors: int = 5
    decay: float = 0.1
    rate: float = 0.01
    n_steps: int = 1500
    refit_steps: int = 30
    uncertainty: str = "ensemble"
    n_threads: int = 1
    _sources: Sources | None = field(default=None, init=False, repr=False)
    _first: Ensemble | None = field(default=None, init=False, repr=False)
    _networks: Ensemble | None = field(default=None, init=False, repr=False)
    _scale: Scale = field(default=Scale(0.0, 1.0), init=False, repr=False)
    _noise: float = field(default=1.0, init=False, repr=False)
    _covariance: FloatArray | None = field(default=None, init=False, repr=False)
    _own_covariance: FloatArray | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("n_members", "units", "n_steps", "refit_steps", "n_threads"):
            if getattr(self, name) < 1:
                raise SettingsError(f"{name} must be at least 1; got {getattr(self, name)}")
        if min(self.layers, self.factors) < 0:
            raise SettingsError(
                f"layers and factors must be at least 0; got {self.layers} and {self.factors}"
            )
        if not (0.0 < self.decay < math.inf and 0.0 < self.rate < math.inf):
            raise SettingsError(
                f"decay and rate must be positive and finite; got {self.decay:g} and {self.rate:g}"
            )
        if self.uncertainty not in UNCERTAINTIES:
            raise SettingsError(
                f"uncertainty must be {' or '.join(UNCERTAINTIES)}; got {self.uncertainty!r}"
            )
        if self.uncertainty == "laplace" and self.n_members != 1:
            raise SettingsError(
                f"uncertainty laplace needs n_members 1; got n_members {self.n_members}"
            )

    # --- learning ---------------------------------------------------------------------------

    def learn_from(self, sources: Sources) -> None:
        """Take the trials on earlier data sets; no trials are as no sources.

        Raises
        ------
        SettingsError
            If these make the network too large for its uncertainty.
        """
        self._sources = sources if len(sources.y) else None
        if self.uncertainty == "laplace" and self._sources is not None:
            self._check_size(self._shape(_examples_of(sources)))
        self._first = self._networks = self._covariance = None

    def prepare(self, *, rng: np.random.Generator) -> None:
        """Learn from the earlier data sets, if that has not been done; `fit` does it otherwise."""
        if self._sources is None or self._first is not None:
            return
        sources = self._sources
        examples = _examples_of(sources)
        networks = self._begin(examples, rng)
        networks.train(examples, n_steps=self.n_steps, rate=self.rate, rng=rng)
        networks.adopt(sources.n_tasks, rng)
        self._first, self._networks = networks.copy(), networks
        if self.uncertainty == "laplace":
            self._covariance = self._covariance_of(examples)

    def fit(self, X: FloatArray, y: FloatArray, *, rng: np.random.Generator) -> None:
        """Refine the networks with the target's trials X (n, d), y (n,)."""
        self.prepare(rng=rng)
        expected = None
        if self._first is not None:
            expected = self._predicted(self._first, X).mean(axis=1)
        self._scale = Scale.of(y, expected)
        examples = self._examples(X, self._scale.to_common(y))
        if self._networks is None or self._networks.shape != self._shape(examples):
            self._networks = self._begin(examples, rng)
            self._networks.train(examples, n_steps=self._own_steps(), rate=self.rate, rng=rng)
        else:
            is_alone = self._sources is None
            self._networks.refine(
                examples,
                n_steps=self.refit_steps * (ALONE if is_alone else 1),
                rate=self.rate * (1.0 if is_alone else REFIT_RATE),
                n_groups=N_GROUPS,
                rng=rng,
            )
        if self.uncertainty == "laplace":
            self._take_own_covariance(examples)

    def _examples(self, X: FloatArray, y: FloatArray) -> Examples:
        """All trials, the target's last."""
        if self._sources is None:
            return Examples(X, y, np.zeros(len(X), dtype=int), np.zeros((1, 0)))
        sources = self._sources
        return Examples(
            np.concatenate([sources.X, X]),
            np.concatenate([sources.y, y]),
            np.concatenate([sources.task, np.full(len(X), sources.n_tasks)]),
            descriptors(sources),
        )

    def _own_steps(self) -> int:
        """Steps of a first training on the target's trials alone."""
        return max(self.n_steps // 5, 1)

    def _shape(self, examples: Examples) -> Shape:
        units = self.units if self.layers else 1
        tasks, meta = examples.meta.shape
        return Shape(examples.X.shape[1], tasks, meta, units, self.layers, self.factors)

    @staticmethod
    def _check_size(shape: Shape) -> None:
        n_parameters = shape.n_parameters()
        if n_parameters > MOST_PARAMETERS:
            raise SettingsError(
                f"uncertainty laplace is for networks of up to {MOST_PARAMETERS} parameters; got"
                f" {n_parameters}: choose fewer units or factors"
            )

    def _begin(self, examples: Examples, rng: np.random.Generator) -> Ensemble:
        return Ensemble.begin(
            self._shape(examples),
            self.n_members,
            decay=self.decay,
            rng=rng,
            n_threads=self.n_threads,
        )

    # --- predictions ------------------------------------------------------------------------

    def predict(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation (m,) for the target."""
        assert self._networks is not None, "fit comes first"
        predicted = self._predicted(self._networks, X)
        if self.uncertainty == "ensemble":
            return self._scale.from_common(predicted.mean(axis=1), predicted.std(axis=1))
        return self._scale.from_common(predicted[:, 0], self._laplace(X))

    def _predicted(self, networks: Ensemble, X: FloatArray) -> FloatArray:
        target = networks.shape.tasks - 1
        return networks.predict(X, target, self._target_meta())

    def _target_meta(self) -> FloatArray:
        return np.zeros(0) if self._sources is None else self._sources.target_meta

    # --- the uncertainty of a single network --------------------------------------------------

    def _laplace(self, X: FloatArray) -> FloatArray:
        assert self._own_covariance is not None
        assert self._networks is not None
        target = self._networks.shape.tasks - 1
        meta = np.zeros((target + 1, len(self._target_meta())))
        meta[target] = self._target_meta()
        rows = Examples(X, np.zeros(len(X)), np.full(len(X), target), meta)
        gradients = np.concatenate(list(self._gradients(rows)))
        variance = predictive_variance(self._own_covariance, gradients, 1.0 / self._noise)
        return np.asarray(np.sqrt(variance))

    def _gradients(self, examples: Examples) -> list[FloatArray]:
        assert self._networks is not None
        theta = self._networks.blocks[0].theta.astype(np.float64)
        return list(row_gradients(theta, self._networks.shape, examples))

    def _covariance_of(self, examples: Examples) -> FloatArray:
        """Covariance of the parameters after these rows; the noise is that of the residuals."""
        assert self._networks is not None
        networks = self._networks
        self._check_size(networks.shape)
        residuals = [
            networks.predict(examples.X[rows], int(task), examples.meta[task])[:, 0]
            - examples.y[rows]
            for task in np.unique(examples.task)
            for rows in [np.flatnonzero(examples.task == task)]
        ]
        self._noise = max(float(np.mean(np.concatenate(residuals) ** 2)), _LEAST_NOISE)
        beta = 1.0 / self._noise
        gradients = self._gradients(examples)
        return posterior_covariance(
            gradients, networks.shape.n_parameters(), alpha=self.decay * beta, beta=beta
        )

    def _take_own_covariance(self, examples: Examples) -> None:
        """Covariance with the target's rows; that of the sources is the one at their own fit."""
        if self._covariance is None:
            self._own_covariance = self._covariance_of(examples)
            return
        own = examples.task == len(examples.meta) - 1
        rows = Examples(examples.X[own], examples.y[own], examples.task[own], examples.meta)
        gradients = np.concatenate(self._gradients(rows))
        self._own_covariance = add_outer_products(self._covariance, gradients, 1.0 / self._noise)


def _examples_of(sources: Sources) -> Examples:
    return Examples(sources.X, sources.y, sources.task, descriptors(sources))
