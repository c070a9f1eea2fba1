"""What all numerical distributions share, and the uniform ones (B14 eqs. 3.2, 3.4).

A subclass describes a continuous distribution on `_support`; the integer variants, bounds and maps
to the unit interval are derived from it here.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from automl.errors import SettingsError

Floats = NDArray[np.float64]
Number = int | float

_MAX_INTEGER = 10**15


def canonical(value: float) -> float:
    """`value` with 12 significant digits: what configurations hold, exact in JSON."""
    return float(f"{value:.12g}")


@dataclass(frozen=True)
class Numerical(ABC):
    """A distribution of numbers, continuous or on the integers; see the module for the maps.

    Parameters
    ----------
    low, high
        Inclusive bounds that truncate.
    integer
        Whether values are integers.
    """

    low: float
    high: float
    integer: bool = False

    text_name: ClassVar[str]

    def __post_init__(self) -> None:
        for key in ("low", "high"):
            bound = getattr(self, key)
            object.__setattr__(self, key, canonical(float(bound)))
        self._check_bounds()

    def _check_bounds(self) -> None:
        low, high = self.low, self.high
        if math.isnan(low) or math.isnan(high):
            raise SettingsError("low and high must be numbers; got nan", key="low")
        if self.integer:
            for key, bound in (("low", low), ("high", high)):
                whole = math.isinf(bound) or bound.is_integer()
                if not whole or (math.isfinite(bound) and abs(bound) > _MAX_INTEGER):
                    raise SettingsError(f"{key} must be an integer; got {bound}", key=key)
        if low > high or (low == high and not self.integer):
            sign = "at most" if self.integer else "smaller than"
            raise SettingsError(f"low must be {sign} high ({high:g}); got {low:g}", key="low")

    @property
    def is_log(self) -> bool:
        """Whether the distribution lives on ln x."""
        return False

    @cached_property
    def _support(self) -> tuple[float, float]:
        """Bounds of the continuous distribution behind the values."""
        half = 0.5 if self.integer else 0.0
        low = self.low - half
        return (max(low, 0.0) if self.is_log else low), self.high + half

    @cached_property
    def scale_bounds(self) -> tuple[float, float]:
        """Bounds of the continuous distribution on its working scale: x, or ln x."""
        low, high = self._support
        if not self.is_log:
            return low, high
        return (math.log(low) if low > 0.0 else -math.inf), math.log(high)

    @cached_property
    def _median(self) -> Number:
        return self.value(0.5)

    @property
    def size(self) -> Number:
        """Number of different values; infinite for continuous and unbounded distributions."""
        if self.integer and math.isfinite(self.low) and math.isfinite(self.high):
            return int(self.high) - int(self.low) + 1
        return math.inf

    def contains(self, value: Any) -> bool:
        """Whether `value` is a number of the right kind inside the bounds."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        if self.integer and not isinstance(value, int):
            return False
        return self.low <= value <= self.high

    def closest(self, value: float) -> Number:
        """Canonical value in the bounds that is nearest to `value`."""
        inside = min(max(value, self.low), self.high)
        return math.floor(inside + 0.5) if self.integer else canonical(inside)

    def value(self, u: float) -> Number:
        """Canonical Python number at position `u` of the unit interval."""
        return self.closest(float(self._quantile(min(max(u, 0.0), 1.0))))

    def draw(self, rng: np.random.Generator) -> Number:
        """One canonical Python number."""
        return self.value(rng.random())

    @overload
    def sample(self, rng: np.random.Generator, size: None = None) -> Number: ...
    @overload
    def sample(self, rng: np.random.Generator, size: int) -> Floats: ...
    def sample(self, rng: np.random.Generator, size: int | None = None) -> Number | Floats:
        """One canonical number, or (size,) independent values in full precision."""
        return self.draw(rng) if size is None else self.ppf(rng.random(size))

    def ppf(self, u: ArrayLike) -> Floats:
        """Values at positions `u` in [0, 1]; the shape of `u`."""
        values = np.asarray(self._quantile(np.clip(np.asarray(u, dtype=float), 0.0, 1.0)))
        if self.integer:
            values = np.floor(values + 0.5)
        return np.asarray(np.clip(values, self.low, self.high))

    def cdf(self, x: ArrayLike) -> Floats:
        """Positions of the values `x` in the unit interval; the shape of `x`.

        For integers the middle of the value's mass; 0 below and 1 above the bounds.
        """
        values = np.asarray(x, dtype=float)
        if not self.integer:
            return np.clip(self._cumulative(values), 0.0, 1.0)
        middle = 0.5 * (self._cumulative(values - 0.5) + self._cumulative(values + 0.5))
        return np.clip(middle, 0.0, 1.0)

    def interval(self, x: ArrayLike) -> tuple[Floats, Floats]:
        """Parts of the unit interval that `value` maps to the values `x`; the shape of `x`.

        Both ends are the position itself where the distribution is continuous.
        """
        values = np.asarray(x, dtype=float)
        half = 0.5 if self.integer else 0.0
        low, high = self._cumulative(values - half), self._cumulative(values + half)
        return np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)

    def log_density(self, x: ArrayLike) -> Floats:
        """Logarithm of the density (of the probability for integers); ``-inf`` outside."""
        values = np.asarray(x, dtype=float)
        legal = (values >= self.low) & (values <= self.high)
        if self.integer:
            legal &= values == np.floor(values)
        inside = np.where(legal, values, self._median)
        if self.integer:
            low, high = self._support
            below, above = np.maximum(inside - 0.5, low), np.minimum(inside + 0.5, high)
            densities = self._log_mass(below, above)
        else:
            densities = self._log_density(inside)
        return np.where(legal, densities, -np.inf)

    @abstractmethod
    def _cumulative(self, x: Floats) -> Floats:
        """Continuous distribution function on the support."""

    @abstractmethod
    def _quantile(self, u: Any) -> Any:
        """Inverse of `_cumulative`; takes floats and arrays."""

    @abstractmethod
    def _log_density(self, x: Floats) -> Floats:
        """Logarithm of the continuous density inside the bounds."""

    @abstractmethod
    def _log_mass(self, a: Floats, b: Floats) -> Floats:
        """Logarithm of the probability of [a, b], both inside the support."""


def _check_finite(distribution: Numerical) -> None:
    for key in ("low", "high"):
        bound = getattr(distribution, key)
        if not math.isfinite(bound):
            raise SettingsError(f"{key} must be finite; got {bound:g}", key=key)


@dataclass(frozen=True)
class Uniform(Numerical):
    """Uniform on [low, high] (B14 eq. 3.2)."""

    text_name: ClassVar[str] = "uniform"

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_finite(self)

    def _cumulative(self, x: Floats) -> Floats:
        low, high = self._support
        return np.clip((x - low) / (high - low), 0.0, 1.0)

    def _quantile(self, u: Any) -> Any:
        low, high = self._support
        return low + u * (high - low)

    def _log_density(self, x: Floats) -> Floats:
        low, high = self._support
        return np.full_like(x, -math.log(high - low))

    def _log_mass(self, a: Floats, b: Floats) -> Floats:
        low, high = self._support
        return np.log((b - a) / (high - low))


@dataclass(frozen=True)
class LogUniform(Numerical):
    """Uniform in ln x on [low, high], low > 0 (B14 eq. 3.4)."""

    text_name: ClassVar[str] = "loguniform"

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_finite(self)
        if self.low <= 0.0:
            raise SettingsError(f"low must be positive; got {self.low:g}", key="low")

    @property
    def is_log(self) -> bool:
        """Whether the distribution lives on ln x."""
        return True

    def _cumulative(self, x: Floats) -> Floats:
        low, high = self.scale_bounds
        with np.errstate(divide="ignore"):
            position = (np.log(np.maximum(x, 0.0)) - low) / (high - low)
        return np.clip(position, 0.0, 1.0)

    def _quantile(self, u: Any) -> Any:
        low, high = self.scale_bounds
        t = low + u * (high - low)
        return math.exp(t) if isinstance(t, float) else np.exp(t)

    def _log_density(self, x: Floats) -> Floats:
        low, high = self.scale_bounds
        return np.asarray(-np.log(x) - math.log(high - low))

    def _log_mass(self, a: Floats, b: Floats) -> Floats:
        low, high = self.scale_bounds
        return np.asarray(np.log(np.log1p((b - a) / a) / (high - low)))
