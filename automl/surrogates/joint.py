"""Predictions of several points together, so that believing one makes the others surer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from automl.records import FloatArray

LEAST_VARIANCE = 1e-12
"""Rounding makes variances at known points negative; a standard deviation of a millionth is none."""


def mixed(
    weights: FloatArray, means: FloatArray, variances: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Mean and variance (m,) of a mixture of p distributions.

    Parameters
    ----------
    weights : (p,), of sum 1
    means, variances : (p, m)
    """
    mean = weights @ means
    return mean, weights @ (variances + (means - mean) ** 2)


@dataclass
class JointPrediction:
    """Joint distribution of m points: a mixture of p normal ones.

    Parameters
    ----------
    weights : (p,), of sum 1
    means : (p, m)
    covariances : (p, m, m)
        Of the function, without noise.
    noises : (p,)
        Variances of what is added to an observation.
    """

    weights: FloatArray
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
        mean, variance = mixed(self.weights, self.means, variances)
        return mean, np.sqrt(variance)
