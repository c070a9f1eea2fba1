"""Probabilities of a blend made as sure as they have been right: vector scaling on the log scale.

A mean of models is often less sure than it could be, since models that disagree pull it to the middle, and each class
may be favored or slighted as a whole. One power and one bias for each class, learned out of fold, put both right.

References
----------
.. [1] Guo, Pleiss, Sun and Weinberger (2017), On calibration of modern neural networks, section 4.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

LEAST_PROBABILITY = float(np.finfo(np.float32).eps)
"""Smaller ones count as this, as in the log loss: predictions are kept in 32 bits."""


@dataclass(frozen=True)
class Calibration:
    """Probabilities p become proportional to p**power * exp(bias of the class).

    Parameters
    ----------
    power : positive
        Above 1 the blend becomes surer.
    biases : K
    """

    power: float
    biases: tuple[float, ...]

    def apply(self, probability: NDArray[Any]) -> NDArray[np.float32]:
        """Calibrated probabilities.

        Parameters
        ----------
        probability : (n, K)

        Returns
        -------
        (n, K), rows of sum 1
        """
        from scipy.special import softmax  # records that hold a calibration are read without it

        scaled = self.power * logarithms(probability) + np.array(self.biases)
        return np.asarray(softmax(scaled, axis=1), dtype=np.float32)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON form."""
        return {"power": self.power, "biases": list(self.biases)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Inverse of `to_json`."""
        return cls(float(data["power"]), tuple(map(float, data["biases"])))


def calibrated(
    prediction: NDArray[np.float32], calibration: Calibration | None
) -> NDArray[np.float32]:
    """A prediction as it is, or calibrated where there is a calibration."""
    return prediction if calibration is None else calibration.apply(prediction)


def logarithms(probability: NDArray[Any]) -> NDArray[np.float64]:
    """Logarithms of probabilities, those below `LEAST_PROBABILITY` as of this."""
    return np.log(np.maximum(np.asarray(probability, dtype=np.float64), LEAST_PROBABILITY))
