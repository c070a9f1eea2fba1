"""Training of a block of networks: squared loss, weight decay and Adam.

The loss is ``mean(½ (y - prediction)²) + ½ (decay / n) |theta|²`` with n the rows that there are:
the logarithm of a posterior over n, if decay is the variance of the noise over that of the prior.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from automl.records import FloatArray
from automl.surrogates.batches import Batch
from automl.surrogates.network import backward, forward
from automl.surrogates.network_parameters import Shape, views

_FIRST, _SECOND = 0.9, 0.99
"""Shares of the past in Adam's averages of the gradient and of its square."""
_LEAST = 1e-8
"""Keeps divisors from 0: Adam's epsilon (Kingma and Ba 2015), and a sum of weights."""


@dataclass
class Block:
    """Networks of one shape that are trained side by side.

    Parameters
    ----------
    theta : (P,)
        All parameters of all members.
    """

    shape: Shape
    members: int
    theta: FloatArray
    _mean: FloatArray = field(init=False, repr=False)
    _square: FloatArray = field(init=False, repr=False)
    _n_steps: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Forget Adam's averages."""
        self._mean, self._square = np.zeros_like(self.theta), np.zeros_like(self.theta)
        self._n_steps = 0

    def gradient(self, batch: Batch, decay: float) -> FloatArray:
        """Derivative (P,) of every member's loss by its own parameters.

        Parameters
        ----------
        decay
            Of the loss, already divided by n.
        """
        parts = views(self.theta, self.shape, self.members)
        passed = forward(parts, batch.groups, self.shape)
        share = batch.weight / max(float(batch.weight.sum()), _LEAST)
        slope = (passed.prediction - batch.y[:, None]) * share.astype(self.theta.dtype)[:, None]
        slope_of_all = backward(parts, batch.groups, self.shape, passed, slope)
        slope_of_all += decay * self.theta
        return slope_of_all

    def learn(self, batches: Iterable[Batch], rates: Iterable[float], decay: float) -> None:
        """One step of Adam for each batch, with its learning rate."""
        for batch, rate in zip(batches, rates, strict=False):
            self._step(self.gradient(batch, decay), rate)

    def _step(self, gradient: FloatArray, rate: float) -> None:
        self._n_steps += 1
        self._mean *= _FIRST
        self._mean += (1.0 - _FIRST) * gradient
        gradient *= gradient
        gradient *= 1.0 - _SECOND
        self._square *= _SECOND
        self._square += gradient
        scale = np.sqrt(self._square / (1.0 - _SECOND**self._n_steps))
        scale += _LEAST
        np.divide(self._mean, scale, out=scale)
        scale *= rate / (1.0 - _FIRST**self._n_steps)
        self.theta -= scale
