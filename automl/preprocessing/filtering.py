"""M3: columns that hardly vary are dropped."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from automl.errors import SettingsError
from automl.preprocessing.blocks import BlockTransformer, Numbers


class VarianceFilter(BlockTransformer):
    """Drops constant numeric columns, and those whose variance is at most a threshold.

    Parameters
    ----------
    threshold : >= 0
        Greatest variance that is dropped.
    raw
        False: the variance of the column scaled to [0, 1] by its range, in [0, 0.25]; columns that
        hold only 0 and 1 are never dropped for it. True: the variance of the column as it is, which depends
        on its unit of measurement, as printed in [1]_.

    Notes
    -----
    Missing values are left out. A column without any value is constant.

    References
    ----------
    .. [1] Xiang (2020), section II-A: v* = 0.05.
    """

    def __init__(self, threshold: float = 0.0, *, raw: bool = False) -> None:
        self.threshold = threshold
        self.raw = raw

    def fit_block(self, values: Numbers, y: ArrayLike | None = None) -> Self:  # noqa: ARG002
        """Learn which columns stay.

        Raises
        ------
        SettingsError
            If the threshold is negative.
        """
        if self.threshold < 0:
            raise SettingsError(f"threshold must be at least 0; got {self.threshold!r}")
        self.keep_ = varying(values)
        if self.threshold > 0 and self.keep_.any():
            columns = np.flatnonzero(self.keep_)
            self.keep_[columns] = self._above_threshold(values[:, columns])
        return self

    def transform_block(self, values: Numbers) -> Numbers:
        """The columns that stay."""
        return values if self.keep_.all() else values[:, self.keep_]

    def block_names(self, names: list[str]) -> list[str]:
        """Names of the columns that stay."""
        return [name for name, keep in zip(names, self.keep_, strict=True) if keep]

    def _above_threshold(self, values: Numbers) -> NDArray[np.bool_]:
        if self.raw:
            return np.asarray(np.nanvar(values, axis=0) > self.threshold)
        low, high = np.nanmin(values, axis=0), np.nanmax(values, axis=0)
        with np.errstate(under="ignore"):
            spread = np.nanvar((values - low) / (high - low), axis=0)
        return np.asarray((spread > self.threshold) | is_indicator(values))


def varying(values: NDArray[np.floating]) -> NDArray[np.bool_]:
    """Whether each column has two different values, missing ones left out."""
    if not values.shape[0]:
        return np.zeros(values.shape[1], dtype=bool)
    # fmin and fmax pass over NaN unless all are NaN, and NaN < NaN is false
    low, high = np.fmin.reduce(values, axis=0), np.fmax.reduce(values, axis=0)
    return np.asarray(low < high)


def is_indicator(values: NDArray[np.floating]) -> NDArray[np.bool_]:
    """Whether each column holds nothing but 0, 1 and missing values."""
    return np.asarray(((values == 0) | (values == 1) | np.isnan(values)).all(axis=0))
