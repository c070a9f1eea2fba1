"""From a learned mixture on the unit interval to the distribution of a hyperparameter."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from automl.errors import SettingsError
from automl.priors.gaussian_components import Components
from automl.spaces.distributions import GaussianMixture, LogNormal, Normal, Numerical
from automl.spaces.gaussian import log_mass
from automl.spaces.ranges import plain_range

Floats = NDArray[np.float64]

FLATNESS = 2.0
"""Standard deviation of the component of the floor, in ranges: its density varies by 3 %."""
DIGITS = 5
"""Digits of a learned number in a text file; none is known better."""


def distribution_of(learned: Components, original: Numerical, floor: float) -> GaussianMixture:
    """Truncated mixture of learned components and of a floor on the whole range.

    Every component has the share of the mass inside the bounds that its weight says, also where a
    part of it lies outside. Numbers have `DIGITS` digits, as they are written.

    Parameters
    ----------
    learned
        On the unit interval of `original`'s plain range.
    original
        Distribution that it takes the place of; gives bounds and scale.
    floor : in (0, 1)
        Share of the range itself: a Gaussian so wide that it is as good as uniform, or the
        original where that is Gaussian.

    Raises
    ------
    SettingsError
        If `original` has only one value.
    """
    number = plain_range(original)
    if number is None:
        raise SettingsError(f"a prior needs a range; got the one value {original.low:g}")
    low, high = number.scale_bounds
    span = high - low
    bounds = original.scale_bounds
    shares = (1.0 - floor) * learned.weights / learned.weights.sum()
    means, sds = _rounded(low + span * learned.means), _rounded(span * learned.sds)
    below = tuple(map(_rounded, _floor(original, low, span)))
    floor_shares = below[0] * _inside(below[1], below[2], bounds)
    weights = np.append(shares / _inside(means, sds, bounds), below[0] * floor / floor_shares.sum())
    return GaussianMixture(
        weights=tuple(_rounded(weights / weights.sum()).tolist()),
        means=(*means.tolist(), *below[1].tolist()),
        sds=(*sds.tolist(), *below[2].tolist()),
        low=original.low,
        high=original.high,
        integer=original.integer,
        log=original.is_log,
    )


def _floor(original: Numerical, low: float, span: float) -> tuple[Floats, Floats, Floats]:
    """Weights, means and standard deviations of the components that represent the range, (k,)."""
    if isinstance(original, Normal | LogNormal | GaussianMixture):
        return original.components
    return np.ones(1), np.array([low + 0.5 * span]), np.array([FLATNESS * span])


def _inside(means: Floats, sds: Floats, bounds: tuple[float, float]) -> Floats:
    """Mass of each component inside the bounds, (k,)."""
    return np.exp(log_mass((bounds[0] - means) / sds, (bounds[1] - means) / sds))


def _rounded(numbers: Floats) -> Floats:
    return np.array([float(f"{number:.{DIGITS}g}") for number in numbers])
