"""Acquisition functions: how promising points are, from a surrogate's prediction of them.

Every function gives a *value*, as its formula says, and a *utility* that orders points in the same
way and is what maximizers look at (log EI in place of EI).
"""

from __future__ import annotations

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
    """What predictions are compared with, in the units of the surrogate.

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
    def value(
        self,
        mean: FloatArray,
        std: FloatArray,
        reference: Reference,
        seconds: FloatArray | None = None,
    ) -> FloatArray:
        """Value (m,) of the formula.

        Parameters
        ----------
        mean, std : (m,)
        seconds : (m,)
            Predicted seconds of a trial; given where `needs_seconds`.
        """

    def utility(
        self,
        mean: FloatArray,
        std: FloatArray,
        reference: Reference,
        seconds: FloatArray | None = None,
    ) -> FloatArray:
        """Number (m,) that orders points as `value` does."""
        return self.value(mean, std, reference, seconds)

    def slopes(
        self, mean: FloatArray, std: FloatArray, reference: Reference
    ) -> tuple[FloatArray, FloatArray]:
        """Derivatives (m,) of the utility by mean and by std, where `is_smooth`; std > 0."""
        raise NotImplementedError


def _check_margin(margin: float) -> None:
    if margin < 0.0:
        raise SettingsError(f"margin must not be negative; got {margin:g}")


@dataclass(frozen=True)
class ProbabilityOfImprovement(Acquisition):
    """PI: the probability of exceeding the best score by `margin` (E1)."""

    margin: float = 0.0
    is_smooth: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check_margin(self.margin)

    def value(
        self,
        mean: FloatArray,
        std: FloatArray,
        reference: Reference,
        seconds: FloatArray | None = None,  # noqa: ARG002 - part of the interface
    ) -> FloatArray:
        """PI in [0, 1]."""
        return probability_of_improvement(mean, std, reference.best, self.margin)

    def utility(
        self,
        mean: FloatArray,
        std: FloatArray,
        reference: Reference,
        seconds: FloatArray | None = None,  # noqa: ARG002 - part of the interface
    ) -> FloatArray:
        """The standardized distance z: PI without the rounding to 0 and 1."""
        return standardized(mean, std, reference.best, self.margin)

    def slopes(
        self, mean: FloatArray, std: FloatArray, reference: Reference
    ) -> tuple[FloatArray, FloatArray]:
        """1 / std and -z / std."""
        z = standardized(mean, std, reference.best, self.margin)
        return 1.0 / std, -z / std


@dataclass(frozen=True)
class ExpectedImprovement(Acquisition):
    """EI over the best score (E2), or over the best score and `margin` (E3)."""

    margin: float = 0.0
    is_smooth: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check_margin(self.margin)

    def value(
        self,
        mean: FloatArray,
        std: FloatArray,
        reference: Reference,
        seconds: FloatArray | None = None,  # noqa: ARG002 - part of the interface
    ) -> FloatArray:
        """EI, at least 0."""
        return expected_improvement(mean, std, reference.best, self.margin)

    def utility(
        self,
        mean: FloatArray,
        std: FloatArray,
        reference: Reference,
        seconds: FloatArray | None = None,  # noqa: ARG002 - part of the interface
    ) -> FloatArray:
        """Log EI."""
        return log_expected_improvement(mean, std, reference.best, self.margin)

    def slopes(
        self, mean: FloatArray, std: FloatArray, reference: Reference
    ) -> tuple[FloatArray, FloatArray]:
        """Derivatives of log EI."""
        return log_expected_improvement_slopes(mean, std, reference.best, self.margin)


@dataclass(frozen=True)
class UpperConfidenceBound(Acquisition):
    """UCB = mean + width std (E4); of a quantile surrogate, its upper bound."""

    width: float = 2.0
    is_smooth: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.width < 0.0:
            raise SettingsError(f"width must not be negative; got {self.width:g}")

    def value(
        self,
        mean: FloatArray,
        std: FloatArray,
        reference: Reference,  # noqa: ARG002 - part of the interface
        seconds: FloatArray | None = None,  # noqa: ARG002 - part of the interface
    ) -> FloatArray:
        """UCB in the units of the surrogate."""
        return upper_confidence_bound(mean, std, self.width)

    def slopes(
        self,
        mean: FloatArray,
        std: FloatArray,
        reference: Reference,  # noqa: ARG002 - part of the interface
    ) -> tuple[FloatArray, FloatArray]:
        """1 and the width."""
        return np.ones_like(mean), np.full_like(std, self.width)


def _costs(seconds: FloatArray | None, reference: Reference) -> FloatArray:
    assert seconds is not None
    return growing_cost(seconds, reference.typical_seconds)


@dataclass(frozen=True)
class ExpectedImprovementPerCost(Acquisition):
    """EI over the slowly growing cost of a trial (E5)."""

    margin: float = 0.0
    needs_space: ClassVar[bool] = True
    needs_seconds: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check_margin(self.margin)

    def value(
        self,
        mean: FloatArray,
        std: FloatArray,
        reference: Reference,
        seconds: FloatArray | None = None,
    ) -> FloatArray:
        """EI / c, at least 0."""
        improvement = expected_improvement(mean, std, reference.best, self.margin)
        return improvement / _costs(seconds, reference)

    def utility(
        self,
        mean: FloatArray,
        std: FloatArray,
        reference: Reference,
        seconds: FloatArray | None = None,
    ) -> FloatArray:
        """Log EI minus ln c."""
        improvement = log_expected_improvement(mean, std, reference.best, self.margin)
        return improvement - np.log(_costs(seconds, reference))


@dataclass(frozen=True)
class NormalizedBoundPerCost(Acquisition):
    """Q = (v - median v) / c: how far the upper bound v is above the usual one, per cost (E5).

    v is mean + width std, which for a quantile surrogate is its bound. Points below the median
    have a negative Q; none of them is ever chosen while one is above.

    References
    ----------
    .. [1] van Hoof (2018), equation 5.2, with the cost of `automl.acquisition.cost`.
    """

    width: float = 1.2815515655446004
    needs_space: ClassVar[bool] = True
    needs_seconds: ClassVar[bool] = True

    def value(
        self,
        mean: FloatArray,
        std: FloatArray,
        reference: Reference,
        seconds: FloatArray | None = None,
    ) -> FloatArray:
        """Q in the units of the surrogate."""
        usual = upper_confidence_bound(reference.means, reference.stds, self.width)
        bound = upper_confidence_bound(mean, std, self.width)
        return (bound - np.median(usual)) / _costs(seconds, reference)
