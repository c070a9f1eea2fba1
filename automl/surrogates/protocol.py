"""Protocol of surrogates.

Notation
--------
n : observations; m : points asked for; d : columns of the encoding
X : (n, d) encoded configurations, finite
y : (n,) targets, maximized, standardized *by the caller* (mean 0, standard deviation 1)
mean, std : (m,) prediction and its standard deviation, in the units of y
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np

from automl.records import FloatArray
from automl.surrogates.joint import JointPrediction


class Predictor(Protocol):
    """A model that predicts a mean and its uncertainty."""

    def predict(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation at m points, in one batch.

        A surrogate that predicts a quantile returns this upper bound and zeros.

        Returns
        -------
        mean, std : (m,), std >= 0
        """
        ...


class Surrogate(Predictor, Protocol):
    """A regression model that knows how sure it is; `fit` is given all observations every time.

    It may begin where the last fit ended, for example with its hyperparameters.
    """

    def fit(self, X: FloatArray, y: FloatArray, *, rng: np.random.Generator) -> None:
        """Learn from n >= 1 observations; deterministic for equal calls so far and equal streams.

        Parameters
        ----------
        X : (n, d), d >= 1
        y : (n,), standardized by the caller
        """
        ...


@runtime_checkable
class UnevenSurrogate(Surrogate, Protocol):
    """A surrogate that can take some observations for less exact than others."""

    def fit_uneven(
        self, X: FloatArray, y: FloatArray, noise_scale: FloatArray, *, rng: np.random.Generator
    ) -> None:
        """As `fit`.

        Parameters
        ----------
        noise_scale : (n,), positive
            Noise variance of each observation over that of an ordinary one.
        """
        ...


@runtime_checkable
class SmoothSurrogate(Surrogate, Protocol):
    """A surrogate with derivatives."""

    def predict_with_gradient(
        self, X: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Mean (m,), std (m,) and their derivatives by the columns, each (m, d)."""
        ...


@runtime_checkable
class BelievingSurrogate(Surrogate, Protocol):
    """A surrogate that can take its own mean for the outcome of points under way."""

    def believe(self, X: FloatArray) -> None:
        """Become surer at X (k, d): the posterior as if the mean had been observed there."""
        ...


@runtime_checkable
class JointSurrogate(BelievingSurrogate, Protocol):
    """A surrogate that knows how its predictions at several points hang together."""

    def predict_jointly(self, X: FloatArray) -> JointPrediction:
        """Joint prediction at m points."""
        ...
