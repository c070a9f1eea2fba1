"""The scale of a new data set's scores, from what earlier ones make expected of the same points.

Scores of earlier data sets are standardized over many trials. The few trials on a new one are
rather good ones, and to standardize them by themselves would call half of them bad. What was
expected of them says where on the common scale they are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from automl.records import FloatArray

UNEXPLAINED = 0.25
"""Variance of scores around what is expected of them, on the common scale."""


@dataclass(frozen=True)
class Scale:
    """An increasing map: score = center + spread * common."""

    center: float
    spread: float

    @classmethod
    def of(cls, y: FloatArray, expected: FloatArray | None) -> Scale:
        """Scale on which y (n,) has the mean and the spread that were expected of these points.

        Parameters
        ----------
        y : n >= 1
        expected : (n,)
            On the common scale; None if nothing is: the mean is then 0, the standard
            deviation 1.
        """
        deviation = float(np.std(y))
        if expected is None:
            return cls(float(np.mean(y)), deviation)
        usual = spread_expected(expected)
        spread = deviation / usual if deviation > 0.0 else 1.0
        return cls(float(np.mean(y) - spread * np.mean(expected)), spread)

    def to_common(self, y: FloatArray) -> FloatArray:
        """Scores on the common scale; zeros where all were equal and nothing was expected."""
        return (y - self.center) / self.spread if self.spread > 0.0 else np.zeros(len(y))

    def from_common(self, mean: FloatArray, std: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Prediction in the units of the scores."""
        return self.center + self.spread * mean, self.spread * std


def spread_expected(expected: FloatArray) -> float:
    """Standard deviation of scores on the common scale of which these (n,) were expected."""
    return float(np.sqrt(np.var(expected) + UNEXPLAINED))
