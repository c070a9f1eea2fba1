"""Acquisition functions: how promising points are, from a surrogate's prediction of them.

Every function gives a *value*, as its formula says, and a *utility* that orders points in the same
way and is what maximizers look at (log EI in place of EI).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from automl.acquisition.cost import growing_cost
from automl.acquisition.improvement import (
    expected_improvement,
    log_expected_improvement,
    log_expected_improvement_slopes,
    probability_of_improvement,
    standardized,
    upper_confidence_bound,
)
from automl.errors import SettingsError
from automl.records import FloatArray


@dataclass(frozen=True)
class Reference:
    """Reference values for predictions, in the units of the surrogate.

    Parameters
    ----------
    best : best score seen, f*
    means, stds : (k,)
        Predictions over the space, for criteria that need what is usual there.
    typical_seconds : positive
        Median of the seconds predicted over the space, s~.
    """

    best: float
    means: FloatArray
    stds: FloatArray
    typical_seconds: float = 1.0


@dataclass(frozen=True)
class Prediction:
    """Predictions of the surrogates for m points.

    Parameters
    ----------
    mean, std : (m,)
    seconds : (m,)
        Predicted seconds of a trial; given where an acquisition function `needs_seconds`.
    """

    mean: FloatArray
    std: FloatArray
    seconds: FloatArray | None = None

    def cost(self, reference: Reference) -> FloatArray:
        """Slowly growing cost c (m,) of a trial, positive."""
        assert self.seconds is not None
        return growing_cost(self.seconds, reference.typical_seconds)


class Acquisition(ABC):
    """How promising points are; greater is better.

    Attributes
    ----------
    is_smooth
        Whether `slopes` gives derivatives.
    needs_space
        Whether it compares with predictions over the space.
    needs_seconds
        Whether it divides by the cost of a trial.
    """

    is_smooth: ClassVar[bool] = False
    needs_space: ClassVar[bool] = False
    needs_seconds: ClassVar[bool] = False

    @abstractmethod
    def value(self, at: Prediction, reference: Reference) -> FloatArray:
        """Value (m,) of the formula."""

    def utility(self, at: Prediction, reference: Reference) -> FloatArray:
        """Number (m,) that orders points as `value` does."""
        return self.value(at, reference)

    def slopes(self, at: Prediction, reference: Reference) -> tuple[FloatArray, FloatArray]:
        """Derivatives (m,) of the utility by mean and by std, where `is_smooth`; std > 0."""
        raise NotImplementedError


@dataclass(frozen=True)
class _Improvement(Acquisition):
    """What compares with the best score and a margin above it.

    Parameters
    ----------
    margin : at least 0, finite, in the units of the surrogate

    Raises
    ------
    SettingsError
        If an option is out of its range.
    """

    margin: float = 0.0

    def __post_init__(self) -> None:
        _check_not_negative("margin", self.margin)


@dataclass(frozen=True)
class ProbabilityOfImprovement(_Improvement):
    """PI: the probability of exceeding the best score by `margin` (E1)."""

    is_smooth: ClassVar[bool] = True

    def value(self, at: Prediction, reference: Reference) -> FloatArray:
        """PI in [0, 1]."""
        return probability_of_improvement(at.mean, at.std, reference.best, self.margin)

    def utility(self, at: Prediction, reference: Reference) -> FloatArray:
        """The standardized distance z: PI without the rounding to 0 and 1."""
        return standardized(at.mean, at.std, reference.best, self.margin)

    def slopes(self, at: Prediction, reference: Reference) -> tuple[FloatArray, FloatArray]:
        """1 / std and -z / std."""
        return 1.0 / at.std, -self.utility(at, reference) / at.std


@dataclass(frozen=True)
class ExpectedImprovement(_Improvement):
    """EI over the best score (E2), or over the best score and `margin` (E3)."""

    is_smooth: ClassVar[bool] = True

    def value(self, at: Prediction, reference: Reference) -> FloatArray:
        """EI, at least 0."""
        return expected_improvement(at.mean, at.std, reference.best, self.margin)

    def utility(self, at: Prediction, reference: Reference) -> FloatArray:
        """Log EI."""
        return log_expected_improvement(at.mean, at.std, reference.best, self.margin)

    def slopes(self, at: Prediction, reference: Reference) -> tuple[FloatArray, FloatArray]:
        """Derivatives of log EI."""
        return log_expected_improvement_slopes(at.mean, at.std, reference.best, self.margin)


@dataclass(frozen=True)
class UpperConfidenceBound(Acquisition):
    """UCB = mean + width std (E4); of a quantile surrogate, its upper bound.

    Raises
    ------
    SettingsError
        If an option is out of its range.
    """

    width: float = 2.0
    is_smooth: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check_not_negative("width", self.width)

    def value(self, at: Prediction, reference: Reference) -> FloatArray:  # noqa: ARG002 - of a bound
        """UCB in the units of the surrogate."""
        return upper_confidence_bound(at.mean, at.std, self.width)

    def slopes(
        self,
        at: Prediction,
        reference: Reference,  # noqa: ARG002 - a bound is compared with nothing
    ) -> tuple[FloatArray, FloatArray]:
        """1 and the width."""
        return np.ones_like(at.mean), np.full_like(at.std, self.width)


@dataclass(frozen=True)
class ExpectedImprovementPerCost(ExpectedImprovement):
    """EI over the slowly growing cost of a trial (E5)."""

    needs_seconds: ClassVar[bool] = True

    def value(self, at: Prediction, reference: Reference) -> FloatArray:
        """EI / c, at least 0."""
        return super().value(at, reference) / at.cost(reference)

    def utility(self, at: Prediction, reference: Reference) -> FloatArray:
        """Log EI minus ln c."""
        return super().utility(at, reference) - np.log(at.cost(reference))


@dataclass(frozen=True)
class NormalizedBoundPerCost(Acquisition):
    """Q = (v - median v) / c: how far the upper bound v is above the usual one, per cost (E5).

    v is mean + width std, which for a quantile surrogate is its bound. Points below the median
    have a negative Q; none of them is ever chosen while one is above.

    Raises
    ------
    SettingsError
        If an option is out of its range.

    References
    ----------
    .. [1] van Hoof (2018), equation 5.2, with the cost of `automl.acquisition.cost`.
    """

    width: float = 1.2815515655446004
    needs_space: ClassVar[bool] = True
    needs_seconds: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check_not_negative("width", self.width)

    def value(self, at: Prediction, reference: Reference) -> FloatArray:
        """Q in the units of the surrogate."""
        usual = upper_confidence_bound(reference.means, reference.stds, self.width)
        bound = upper_confidence_bound(at.mean, at.std, self.width)
        return (bound - np.median(usual)) / at.cost(reference)


def _check_not_negative(name: str, given: float) -> None:
    if not 0.0 <= given < math.inf:
        raise SettingsError(f"{name} must be finite and not negative; got {given:g}")
