"""Truncated normal, log-normal and mixture distributions (B14 eqs. 3.3, 3.5, 3.6)."""

from __future__ import annotations

import math
from abc import abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from automl.errors import SettingsError
from automl.spaces.gaussian import (
    TruncatedNormal,
    log_mass,
    log_normal_density,
    truncated_cdf,
    truncated_ppf,
)
from automl.spaces.numerical import Floats, Number, Numerical

_TINY_SHARE = 2.0**-53
_NEWTON_STEPS = 100
"""Bound of a loop that the shrinking bracket ends long before."""
_KNOTS = 65
"""Quantiles of every component: so near a start needs few steps (by judgement)."""
_MAX_EXPONENT = 700.0
"""exp() of more is no finite number."""


@dataclass(frozen=True)
class _Single:
    """A component for single numbers on the working scale."""

    share: float
    mean: float
    sd: float
    normal: TruncatedNormal

    def ppf(self, u: float) -> float:
        return self.mean + self.sd * self.normal.ppf(u)

    def cdf(self, t: float) -> float:
        return self.normal.cdf((t - self.mean) / self.sd)

    def density(self, t: float) -> float:
        return self.normal.density((t - self.mean) / self.sd) / self.sd


@dataclass(frozen=True)
class _Gaussian(Numerical):
    """Mixture of normals in x or in ln x, truncated as a whole."""

    @cached_property
    @abstractmethod
    def components(self) -> tuple[Floats, Floats, Floats]:
        """Weights (sum 1), means and standard deviations, each (k,), on the working scale."""

    @cached_property
    def _limits(self) -> tuple[Floats, Floats]:
        """Standardized bounds of each component, (k,)."""
        _, means, sds = self.components
        low, high = self.scale_bounds
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

    @cached_property
    def _singles(self) -> list[_Single]:
        """The components for single numbers."""
        _, means, sds = self.components
        columns = (self._shares, means, sds, *self._limits)
        return [
            _Single(share, mean, sd, TruncatedNormal(alpha, beta))
            for share, mean, sd, alpha, beta in zip(*(c.tolist() for c in columns), strict=True)
        ]

    @cached_property
    def _edges(self) -> list[float]:
        return [float(edge) for edge in np.cumsum(self._shares)[:-1]]

    def _from_scale(self, t: float) -> Number:
        return self.closest(math.exp(min(t, _MAX_EXPONENT)) if self.is_log else t)

    def value(self, u: float) -> Number:
        """Canonical Python number at position `u` of the unit interval."""
        inside = min(max(u, _TINY_SHARE), 1.0 - _TINY_SHARE)
        if len(self._singles) == 1:
            return self._from_scale(self._singles[0].ppf(inside))
        return self._from_scale(self._invert_one(inside))

    def _invert_one(self, u: float) -> float:
        """Quantile of the mixture on the working scale by bracketed Newton steps."""
        knots, shares = self._knot_lists
        place = min(max(bisect_left(shares, u), 1), len(knots) - 1)
        low, high = knots[place - 1], knots[place]
        t = 0.5 * (low + high)
        tolerance = 4e-16 * min(single.sd for single in self._singles)
        for _ in range(_NEWTON_STEPS):
            excess = sum(single.share * single.cdf(t) for single in self._singles) - u
            if abs(excess) <= _TINY_SHARE:
                return t
            low, high = (t, high) if excess < 0.0 else (low, t)
            slope = sum(single.share * single.density(t) for single in self._singles)
            step = t - excess / slope if slope > 0.0 else low
            moved = step if low < step < high else 0.5 * (low + high)
            if abs(moved - t) <= max(tolerance, 4e-16 * abs(t)):
                return moved
            t = moved
        return t

    @cached_property
    def _knot_lists(self) -> tuple[list[float], list[float]]:
        knots, shares = self._knots
        return knots.tolist(), shares.tolist()

    def draw(self, rng: np.random.Generator) -> Number:
        """One canonical Python number: a component by its share, then a value of it."""
        single = self._singles[bisect_right(self._edges, rng.random()) if self._edges else 0]
        u = min(max(rng.random(), _TINY_SHARE), 1.0 - _TINY_SHARE)
        return self._from_scale(single.ppf(u))

    def _standardize(self, x: Floats) -> Floats:
        """(..., k) standardized positions of `x` under each component."""
        _, means, sds = self.components
        with np.errstate(divide="ignore"):
            t = np.log(np.maximum(x, 0.0)) if self.is_log else x
        return (t[..., None] - means) / sds

    def _cumulative(self, x: Floats) -> Floats:
        below = truncated_cdf(self._standardize(x), *self._limits) @ self._shares
        return np.where(x >= self._support[1], 1.0, below)

    def _quantile(self, u: Any) -> Any:
        t = self._scale_quantile(np.clip(np.asarray(u, dtype=float), _TINY_SHARE, 1 - _TINY_SHARE))
        return np.exp(np.minimum(t, _MAX_EXPONENT)) if self.is_log else t

    def _scale_quantile(self, u: Floats) -> Floats:
        """Quantile on the working scale; a single component has it in closed form."""
        _, means, sds = self.components
        each = means + sds * truncated_ppf(u[..., None], *self._limits)
        if len(means) == 1:
            return np.asarray(each[..., 0])
        knots, shares = self._knots
        place = np.searchsorted(shares, u)
        used = self._shares > 0.0
        low = np.maximum(each[..., used].min(axis=-1), knots[np.maximum(place - 1, 0)])
        high = np.minimum(each[..., used].max(axis=-1), knots[np.minimum(place, len(knots) - 1)])
        return self._invert(u, np.minimum(low, high), np.maximum(low, high))

    @cached_property
    def _knots(self) -> tuple[Floats, Floats]:
        """Quantiles of the components on the working scale, and the mixture's CDF there."""
        _, means, sds = self.components
        positions = np.linspace(_TINY_SHARE, 1.0 - _TINY_SHARE, _KNOTS)
        knots = np.unique(means + sds * truncated_ppf(positions[:, None], *self._limits))
        z = (knots[:, None] - means) / sds
        shares = truncated_cdf(z, *self._limits) @ self._shares
        return knots, np.maximum.accumulate(shares)

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
            if np.all(np.abs(moved - t) <= 4e-16 * np.maximum(np.abs(t), sds.min())):
                return moved
            t = moved
        return t

    def _log_scale_density(self, z: Floats) -> Floats:
        """Logarithm of the density on the working scale at standardized positions (..., k)."""
        weights, _, sds = self.components
        return _log_sum(log_normal_density(z) + np.log(weights / sds)) - self._log_total

    def _log_density(self, x: Floats) -> Floats:
        density = self._log_scale_density(self._standardize(x))
        if not self.is_log:
            return density
        with np.errstate(divide="ignore"):
            return np.asarray(np.where(x > 0.0, density - np.log(x), -np.inf))

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

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_components(self, (1.0,), (self.mean,), (self.sd,))

    @property
    def is_log(self) -> bool:
        """Whether the components live on ln x."""
        return True

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
    def is_log(self) -> bool:
        """Whether the components live on ln x."""
        return self.log

    @cached_property
    def components(self) -> tuple[Floats, Floats, Floats]:
        """Weights (sum 1), means and standard deviations on the working scale, each (k,)."""
        weights = np.asarray(self.weights)
        return weights / weights.sum(), np.asarray(self.means), np.asarray(self.sds)


def _check_components(
    distribution: _Gaussian,
    weights: Sequence[float],
    means: Sequence[float],
    sds: Sequence[float],
) -> None:
    one = isinstance(distribution, Normal | LogNormal)
    mean_key, sd_key = ("mean", "sd") if one else ("means", "sds")
    if not weights or not len(weights) == len(means) == len(sds):
        lengths = f"{len(weights)}, {len(means)} and {len(sds)}"
        raise SettingsError(
            f"weights, means and sds must be equally long and not empty; got {lengths}",
            key="weights",
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
