"""Predictions of several points together, so that believing one makes the others surer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from automl.records import FloatArray

LEAST_VARIANCE = 1e-12
"""Rounding makes variances at known points negative; a standard deviation of a millionth is none."""


@dataclass
class JointPrediction:
    """Joint normal distribution of m points under each of p sets of hyperparameters.

    Parameters
    ----------
    means : (p, m)
    covariances : (p, m, m)
        Of the function, without noise.
    noises : (p,)
        Variances of what is added to an observation.
    """

    means: FloatArray
    covariances: FloatArray
    noises: FloatArray

    def believe(self, row: int) -> None:
        """Condition on one of the points as if its mean had been observed: means stay; O(p m**2)."""
        beside = self.covariances[:, row]
        observed = beside[:, row] + self.noises
        self.covariances -= beside[:, :, None] * (beside / observed[:, None])[:, None, :]

    def predict(self) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation (m,) of the mixture, without noise."""
        variances = np.maximum(np.einsum("pmm->pm", self.covariances), LEAST_VARIANCE)
        return self.means.mean(axis=0), np.sqrt(variances.mean(axis=0) + self.means.var(axis=0))
