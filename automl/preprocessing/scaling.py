"""M4: columns on comparable scales."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from automl.errors import SettingsError
from automl.preprocessing.blocks import BlockTransformer, Numbers
from automl.preprocessing.filtering import is_indicator

METHODS = ("none", "minmax", "standard", "robust", "quantile_normal")
MAX_KNOTS = 1000
"""Most knots of a quantile map, as many as scikit-learn's."""


class Scaler(BlockTransformer):
    """Scales numeric columns; those that hold only 0 and 1 stay as they are.

    Parameters
    ----------
    method : one of `METHODS`
        ``minmax`` to [0, 1] over the training rows (later rows may lie outside); ``standard`` to mean 0 and
        variance 1; ``robust`` by median and interquartile range; ``quantile_normal`` by rank to a standard
        normal distribution: at most `MAX_KNOTS` knots, linear between them, constant outside,
        ties at their middle rank; ``none`` only moves columns whose offset would blur them in float32.

    Notes
    -----
    Missing values stay missing. A column without spread is only centered.
    """

    def __init__(self, method: str = "standard") -> None:
        self.method = method

    def fit_block(self, values: Numbers, y: ArrayLike | None = None) -> Self:  # noqa: ARG002
        """Learn center and scale, or the knots, of each column.

        Raises
        ------
        SettingsError
            If the method is not known.
        """
        if self.method not in METHODS:
            raise SettingsError(f"method must be one of {', '.join(METHODS)}; got {self.method!r}")
        n_columns = values.shape[1]
        self.centers_, self.scales_ = np.zeros(n_columns), np.ones(n_columns)
        self.knots_ = np.empty((2, 0))  # of all columns, one after another
        self.knot_counts_ = np.zeros(0, dtype=np.int64)
        active = ~is_indicator(values) & ~np.isnan(values).all(axis=0)
        if not values.size or not active.any():
            self.active_ = np.zeros(n_columns, dtype=bool)
            return self
        chosen = values if active.all() else values[:, active]
        if self.method == "quantile_normal":
            knots = [_normal_knots(chosen[:, j]) for j in range(chosen.shape[1])]
            self.knots_ = np.concatenate(knots, axis=1)
            self.knot_counts_ = np.array([each.shape[1] for each in knots])
        else:
            centers, scales = _center_and_scale(chosen, self.method)
            self.centers_[active] = centers
            self.scales_[active] = np.where(scales > 0, scales, 1.0)
        self.active_ = active
        return self

    def transform_block(self, values: Numbers) -> Numbers:
        """Scaled block; works in place."""
        if len(self.knot_counts_):
            knots = np.split(self.knots_, np.cumsum(self.knot_counts_)[:-1], axis=1)
            for (distinct, normal), j in zip(knots, np.flatnonzero(self.active_), strict=True):
                values[:, j] = np.interp(values[:, j], distinct, normal)
            return values
        if self.centers_.any():
            values -= self.centers_
        if (self.scales_ != 1.0).any():
            values /= self.scales_
        return values


def _center_and_scale(values: Numbers, method: str) -> tuple[Numbers, Numbers]:
    has_missing = bool(np.isnan(values).any())
    low, high = np.fmin.reduce(values, axis=0), np.fmax.reduce(values, axis=0)
    spread = high - low
    if method == "none":
        is_blurred = np.maximum(np.abs(low), np.abs(high)) > 1e4 * spread
        return np.where(is_blurred, low, 0.0), np.ones_like(low)
    if method == "minmax":
        return low, spread
    mean = np.nanmean(values, axis=0) if has_missing else values.mean(axis=0)
    deviation = np.nanstd(values, axis=0) if has_missing else values.std(axis=0)
    if method == "standard":
        return mean, deviation
    percentile = np.nanpercentile if has_missing else np.percentile
    lower, middle, upper = percentile(values, [25.0, 50.0, 75.0], axis=0)
    return middle, np.where(upper > lower, upper - lower, deviation)


def _normal_knots(column: NDArray[np.float64]) -> Numbers:
    """(2, n_knots): distinct values and the normal quantiles of their middle ranks."""
    present = column[~np.isnan(column)]
    distinct, counts = np.unique(present, return_counts=True)
    share = (np.cumsum(counts) - counts / 2.0) / len(present)
    if len(distinct) > MAX_KNOTS:
        chosen = np.linspace(0, len(distinct) - 1, MAX_KNOTS).round().astype(np.intp)
        distinct, share = distinct[chosen], share[chosen]
    return np.stack([distinct, ndtri(share)])
