"""Distributions of single hyperparameters (SPEC A1; B14 section 3.1.1, eqs. 3.1-3.6).

==================  =====================================================================
text name           class and parameters
==================  =====================================================================
``categorical``     `Categorical`: values, weights (eq. 3.1)
``uniform``         `Uniform`: low, high (eq. 3.2)
``loguniform``      `LogUniform`: low > 0, high (eq. 3.4)
``normal``          `Normal`: mean, sd, low, high (eq. 3.3)
``lognormal``       `LogNormal`: mean and sd of ln x, low, high (eq. 3.5)
``gmm``             `GaussianMixture`: weights, means, sds, log, low, high (eq. 3.6)
==================  =====================================================================

Bounds truncate: the density is renormalized on [low, high], nothing piles up on a bound. Bounds
are inclusive and kept with 12 significant digits, as all values are (`canonical`).

``integer=True`` makes the value k as probable as the bin [k - ½, k + ½] of the continuous
distribution on [low - ½, high + ½]. The position of k in the unit interval is the middle of its
mass, so ``ppf(cdf(k)) == k`` for every k whose mass is not lost in rounding.

Unbounded distributions map [0, 1] to the finite range between their 2**-53 quantiles.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import accumulate
from typing import Any, ClassVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from automl.errors import SettingsError
from automl.records import JsonScalar
from automl.spaces.gaussian import log_mass, log_normal_density, truncated_cdf, truncated_ppf

Floats = NDArray[np.float64]
Number = int | float

_TINY_SHARE = 2.0**-53
_MAX_INTEGER = 10**15
_NEWTON_STEPS = 100


def canonical(value: float) -> float:
    """`value` with 12 significant digits: what configurations hold, exact in JSON."""
    return float(f"{value:.12g}")


def category_key(value: JsonScalar) -> tuple[bool, JsonScalar]:
    """Dictionary key that tells True from 1 (but not 1 from 1.0)."""
    return isinstance(value, bool), value


@dataclass(frozen=True)
class Categorical:
    """One of a list of values (B14 eq. 3.1).

    Parameters
    ----------
    values : (k,)
        Different JSON scalars; True and 1 are different, 1 and 1.0 are not.
    weights : (k,), positive
        Relative probabilities; equal when empty.

    Raises
    ------
    SettingsError
        If there is no value, a value comes twice, or the weights do not fit.
    """

    values: tuple[JsonScalar, ...]
    weights: tuple[float, ...] = ()

    text_name: ClassVar[str] = "categorical"

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", tuple(self.values))
        weights = tuple(float(weight) for weight in self.weights) or (1.0,) * len(self.values)
        object.__setattr__(self, "weights", weights)
        if not self.values:
            raise SettingsError("values must not be empty", key="values")
        if len({category_key(value) for value in self.values}) < len(self.values):
            raise SettingsError(f"values must differ; got {list(self.values)}", key="values")
        if len(weights) != len(self.values):
            raise SettingsError(
                f"weights must be as many as values ({len(self.values)}); got {len(weights)}",
                key="weights",
            )
        if not all(0.0 < weight < math.inf for weight in weights):
            raise SettingsError(
                f"weights must be positive and finite; got {list(weights)}", key="weights"
            )

    @cached_property
    def probabilities(self) -> Floats:
        """(k,), sums to 1."""
        weights = np.asarray(self.weights)
        return np.asarray(weights / weights.sum())

    @cached_property
    def _edges(self) -> list[float]:
        return list(accumulate(self.probabilities.tolist()))[:-1]

    @cached_property
    def _index(self) -> dict[tuple[bool, JsonScalar], int]:
        return {category_key(value): i for i, value in enumerate(self.values)}

    @property
    def size(self) -> int:
        """Number of values."""
        return len(self.values)

    def contains(self, value: JsonScalar) -> bool:
        """Whether `value` is one of the values."""
        return category_key(value) in self._index

    def index(self, value: JsonScalar) -> int:
        """Position of `value` in the list; KeyError if it is not there."""
        return self._index[category_key(value)]

    def draw(self, rng: np.random.Generator) -> JsonScalar:
        """One value."""
        return self.values[bisect_right(self._edges, rng.random())]

    def sample(self, rng: np.random.Generator, size: int) -> list[JsonScalar]:
        """`size` independent values."""
        return [self.values[i] for i in np.searchsorted(self._edges, rng.random(size), "right")]

    def log_density(self, value: JsonScalar) -> float:
        """Logarithm of the probability; ``-inf`` for a foreign value."""
        if not self.contains(value):
            return -math.inf
        return float(np.log(self.probabilities[self.index(value)]))

    def cdf(self, value: JsonScalar) -> float:
        """Position in the unit interval: the middle of the value's mass; KeyError if foreign."""
        i = self.index(value)
        return float(self.probabilities[:i].sum() + 0.5 * self.probabilities[i])

    def ppf(self, u: float) -> JsonScalar:
        """Value whose mass covers `u` in [0, 1]."""
        return self.values[bisect_right(self._edges, u)]


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
    is_log: ClassVar[bool] | bool = False

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

    @cached_property
    def _support(self) -> tuple[float, float]:
        """Bounds of the continuous distribution behind the values."""
        half = 0.5 if self.integer else 0.0
        low = self.low - half
        return (max(low, 0.0) if self.is_log else low), self.high + half

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
        found = np.asarray(self._quantile(np.clip(np.asarray(u, dtype=float), 0.0, 1.0)))
        if self.integer:
            found = np.floor(found + 0.5)
        return np.clip(found, self.low, self.high)

    def cdf(self, x: ArrayLike) -> Floats:
        """Positions of the values `x` in the unit interval; the shape of `x`.

        For integers the middle of the value's mass; 0 below and 1 above the bounds.
        """
        values = np.asarray(x, dtype=float)
        if not self.integer:
            return np.clip(self._cumulative(values), 0.0, 1.0)
        middle = 0.5 * (self._cumulative(values - 0.5) + self._cumulative(values + 0.5))
        return np.clip(middle, 0.0, 1.0)

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
            found = self._log_mass(below, above)
        else:
            found = self._log_density(inside)
        return np.where(legal, found, -np.inf)

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


def _check_components(
    distribution: _Gaussian,
    weights: Sequence[float],
    means: Sequence[float],
    sds: Sequence[float],
) -> None:
    one = isinstance(distribution, Normal | LogNormal)
    mean_key, sd_key = ("mean", "sd") if one else ("means", "sds")
    if not weights or not len(weights) == len(means) == len(sds):
        found = f"{len(weights)}, {len(means)} and {len(sds)}"
        raise SettingsError(
            f"weights, means and sds must be equally long and not empty; got {found}", key="weights"
        )
    if not all(0.0 < weight < math.inf for weight in weights):
        raise SettingsError(f"weights must be positive; got {list(weights)}", key="weights")
    if not all(math.isfinite(mean) for mean in means):
        raise SettingsError(f"{mean_key} must be finite; got {list(means)}", key=mean_key)
    if not all(0.0 < sd < math.inf for sd in sds):
        raise SettingsError(f"{sd_key} must be positive; got {list(sds)}", key=sd_key)
    if distribution.is_log and (distribution.low < 0.0 or distribution.high <= 0.0):
        raise SettingsError(
            f"low of a logarithmic distribution must not be negative; got {distribution.low:g}",
            key="low",
        )
    if not distribution.holds_mass:
        raise SettingsError(
            f"low and high must leave every component some mass; got {distribution.low:g} and"
            f" {distribution.high:g}",
            key="low",
        )


def _log_sum(terms: Floats) -> Floats:
    """Logarithm of the sum of exponentials over the last axis."""
    top = np.max(terms, axis=-1, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.sum(np.exp(terms - top), axis=-1)) + top[..., 0])


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
    is_log: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_finite(self)
        if self.low <= 0.0:
            raise SettingsError(f"low must be positive; got {self.low:g}", key="low")

    @cached_property
    def _log_support(self) -> tuple[float, float]:
        low, high = self._support
        return math.log(low), math.log(high)

    def _cumulative(self, x: Floats) -> Floats:
        low, high = self._log_support
        with np.errstate(divide="ignore"):
            position = (np.log(np.maximum(x, 0.0)) - low) / (high - low)
        return np.clip(position, 0.0, 1.0)

    def _quantile(self, u: Any) -> Any:
        low, high = self._log_support
        t = low + u * (high - low)
        return math.exp(t) if isinstance(t, float) else np.exp(t)

    def _log_density(self, x: Floats) -> Floats:
        low, high = self._log_support
        return np.asarray(-np.log(x) - math.log(high - low))

    def _log_mass(self, a: Floats, b: Floats) -> Floats:
        low, high = self._log_support
        return np.asarray(np.log(np.log1p((b - a) / a) / (high - low)))


@dataclass(frozen=True)
class _Gaussian(Numerical):
    """Mixture of normals in x or in ln x, truncated as a whole."""

    @property
    @abstractmethod
    def components(self) -> tuple[Floats, Floats, Floats]:
        """Weights (sum 1), means and standard deviations, each (k,), on the working scale."""

    @cached_property
    def _limits(self) -> tuple[Floats, Floats]:
        """Standardized bounds of each component, (k,)."""
        _, means, sds = self.components
        low, high = self._support
        if self.is_log:
            low = math.log(low) if low > 0.0 else -math.inf
            high = math.log(high)
        return (low - means) / sds, (high - means) / sds

    @cached_property
    def _log_total(self) -> float:
        """Logarithm of the mass inside the bounds before truncation."""
        return float(_log_sum(np.log(self.components[0]) + log_mass(*self._limits)))

    @cached_property
    def _shares(self) -> Floats:
        """Weights of the truncated components, (k,); sum to 1."""
        return np.asarray(
            np.exp(np.log(self.components[0]) + log_mass(*self._limits) - self._log_total)
        )

    @property
    def holds_mass(self) -> bool:
        """Whether every component has some mass inside the bounds."""
        return bool(np.all(np.isfinite(log_mass(*self._limits))))

    def _standardize(self, x: Floats) -> Floats:
        """(..., k) standardized positions of `x` under each component."""
        _, means, sds = self.components
        with np.errstate(divide="ignore"):
            t = np.log(np.maximum(x, 0.0)) if self.is_log else x
        return (t[..., None] - means) / sds

    def _cumulative(self, x: Floats) -> Floats:
        return np.asarray(truncated_cdf(self._standardize(x), *self._limits) @ self._shares)

    def _quantile(self, u: Any) -> Any:
        t = self._scale_quantile(np.clip(np.asarray(u, dtype=float), _TINY_SHARE, 1 - _TINY_SHARE))
        return np.exp(t) if self.is_log else t

    def _scale_quantile(self, u: Floats) -> Floats:
        """Quantile on the working scale; a single component has it in closed form."""
        _, means, sds = self.components
        each = means + sds * truncated_ppf(u[..., None], *self._limits)
        if len(means) == 1:
            return np.asarray(each[..., 0])
        used = self._shares > 0.0
        return self._invert(u, each[..., used].min(axis=-1), each[..., used].max(axis=-1))

    def _invert(self, u: Floats, low: Floats, high: Floats) -> Floats:
        """Newton steps kept inside a shrinking bracket; the mixture has no closed form."""
        _, means, sds = self.components
        t = 0.5 * (low + high)
        for _ in range(_NEWTON_STEPS):
            z = (t[..., None] - means) / sds
            excess = truncated_cdf(z, *self._limits) @ self._shares - u
            low, high = np.where(excess < 0, t, low), np.where(excess > 0, t, high)
            slope = np.exp(self._log_scale_density(z))
            with np.errstate(divide="ignore", invalid="ignore"):
                step = t - excess / slope
            moved = np.where((step > low) & (step < high), step, 0.5 * (low + high))
            moved = np.where(excess == 0, t, moved)
            if np.all(np.abs(moved - t) <= 1e-15 * np.abs(t)):
                return moved
            t = moved
        return t

    def _log_scale_density(self, z: Floats) -> Floats:
        """Logarithm of the density on the working scale at standardized positions (..., k)."""
        weights, _, sds = self.components
        return _log_sum(log_normal_density(z) + np.log(weights / sds)) - self._log_total

    def _log_density(self, x: Floats) -> Floats:
        found = self._log_scale_density(self._standardize(x))
        if not self.is_log:
            return found
        with np.errstate(divide="ignore"):
            return np.asarray(np.where(x > 0.0, found - np.log(x), -np.inf))

    def _log_mass(self, a: Floats, b: Floats) -> Floats:
        each = log_mass(self._standardize(a), self._standardize(b))
        return _log_sum(np.log(self.components[0]) + each) - self._log_total


@dataclass(frozen=True, kw_only=True)
class Normal(_Gaussian):
    """Normal with mean and standard deviation `sd`, truncated at the bounds (B14 eq. 3.3)."""

    mean: float
    sd: float
    low: float = -math.inf
    high: float = math.inf

    text_name: ClassVar[str] = "normal"

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_components(self, (1.0,), (self.mean,), (self.sd,))

    @cached_property
    def components(self) -> tuple[Floats, Floats, Floats]:
        """Weight, mean and standard deviation, each (1,)."""
        return np.ones(1), np.array([float(self.mean)]), np.array([float(self.sd)])


@dataclass(frozen=True, kw_only=True)
class LogNormal(_Gaussian):
    """ln x is normal with `mean` and `sd`, truncated at the bounds of x (B14 eq. 3.5)."""

    mean: float
    sd: float
    low: float = 0.0
    high: float = math.inf

    text_name: ClassVar[str] = "lognormal"
    is_log: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_components(self, (1.0,), (self.mean,), (self.sd,))

    @cached_property
    def components(self) -> tuple[Floats, Floats, Floats]:
        """Weight, mean and standard deviation of ln x, each (1,)."""
        return np.ones(1), np.array([float(self.mean)]), np.array([float(self.sd)])


@dataclass(frozen=True, kw_only=True)
class GaussianMixture(_Gaussian):
    """Mixture of normals in x, or in ln x with `log`, truncated as a whole (B14 eq. 3.6)."""

    weights: tuple[float, ...]
    means: tuple[float, ...]
    sds: tuple[float, ...]
    low: float = -math.inf
    high: float = math.inf
    log: bool = False

    text_name: ClassVar[str] = "gmm"

    def __post_init__(self) -> None:
        for key in ("weights", "means", "sds"):
            object.__setattr__(self, key, tuple(float(x) for x in getattr(self, key)))
        if self.log and self.low == -math.inf:
            object.__setattr__(self, "low", 0.0)
        super().__post_init__()
        _check_components(self, self.weights, self.means, self.sds)

    @property
    def is_log(self) -> bool:  # type: ignore[override]
        """Whether the components live on ln x."""
        return self.log

    @cached_property
    def components(self) -> tuple[Floats, Floats, Floats]:
        """Weights (sum 1), means and standard deviations on the working scale, each (k,)."""
        weights = np.asarray(self.weights)
        return weights / weights.sum(), np.asarray(self.means), np.asarray(self.sds)


Distribution = Categorical | Numerical
"""What a hyperparameter may be distributed like."""

NUMERICAL_TYPES: dict[str, type[Numerical]] = {
    kind.text_name: kind for kind in (Uniform, LogUniform, Normal, LogNormal, GaussianMixture)
}


def parameter_names(kind: type[Any]) -> tuple[str, ...]:
    """Names of a distribution's parameters in the text form."""
    return tuple(entry.name for entry in fields(kind))
