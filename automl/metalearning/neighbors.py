"""Nearest data sets by meta-features, and predictions from the nearest runs: the rival of H18.

Notation
--------
t : known data sets; p : meta-features; n : runs of a data set; d : columns of the encoding; m : points
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

import numpy as np

from automl.errors import SettingsError
from automl.records import FloatArray, IntArray


def comparable(meta: FloatArray, target: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Meta-features without gaps and of equal scale: median for unknown, then standardized.

    Median, mean and standard deviation are those of the known data sets. A feature that is unknown
    or equal on all of them is 0 everywhere.

    Parameters
    ----------
    meta : (t, p), NaN where unknown
    target : (p,), NaN where unknown

    Returns
    -------
    (t, p) and (p,), finite

    References
    ----------
    .. [1] van Hoof (2018), section 6.3.4.
    """
    known = np.isfinite(meta)
    usable = known.any(axis=0)
    medians = np.zeros(meta.shape[1])
    medians[usable] = np.nanmedian(np.where(known, meta, np.nan)[:, usable], axis=0)
    filled = np.where(known, meta, medians)
    goal = np.where(np.isfinite(target), target, medians)
    mean, spread = filled.mean(axis=0), filled.std(axis=0)
    varies = usable & (spread > 1e-12 * np.maximum(1.0, np.abs(mean)))
    scale = np.where(varies, spread, 1.0)
    return np.where(varies, (filled - mean) / scale, 0.0), np.where(
        varies, (goal - mean) / scale, 0.0
    )


def nearest_data_sets(meta: FloatArray, target: FloatArray, *, order: float = 1.0) -> IntArray:
    """(t,) positions of the known data sets, the nearest first; equal ones in their order.

    Parameters
    ----------
    meta : (t, p), NaN where unknown
    target : (p,), NaN where unknown
    order : at least 1
        Of the Minkowski distance: 1 as in auto-sklearn (H18, introduction of chapter 6), 2 for Euclid's.

    Raises
    ------
    SettingsError
        If the order is below 1.
    """
    if not order >= 1.0:
        raise SettingsError(f"order must be at least 1; got {order:g}")
    known, goal = comparable(meta, target)
    distances = (np.abs(known - goal) ** order).sum(axis=1)
    return np.argsort(distances, kind="stable")


@dataclass
class NearestRuns:
    """Score of a configuration as the mean of its nearest runs on one data set, by inverse distance.

    Encodings are standardized over the runs. A point that equals runs has the mean of these.

    Parameters
    ----------
    n_runs : at least 1

    Raises
    ------
    SettingsError
        If the option is out of its range.

    References
    ----------
    .. [1] van Hoof (2018), section 6.3.4.
    """

    n_runs: int = 5
    _X: FloatArray = field(default_factory=lambda: np.zeros((0, 0)), init=False, repr=False)
    _y: FloatArray = field(default_factory=lambda: np.zeros(0), init=False, repr=False)

    def __post_init__(self) -> None:
        if self.n_runs < 1:
            raise SettingsError(f"n_runs must be at least 1; got {self.n_runs}")

    def fit(self, X: FloatArray, y: FloatArray) -> Self:
        """Keep the runs of the nearest data set.

        Parameters
        ----------
        X : (n, d), n at least 1
        y : (n,)
        """
        self._X, self._y = np.asarray(X, dtype=float), np.asarray(y, dtype=float)
        return self

    def predict(self, X: FloatArray) -> FloatArray:
        """Scores (m,)."""
        from sklearn.neighbors import KNeighborsRegressor

        mean, spread = self._X.mean(axis=0), self._X.std(axis=0)
        scale = np.where(spread > 0.0, spread, 1.0)
        model = KNeighborsRegressor(min(self.n_runs, len(self._y)), weights="distance", n_jobs=1)
        model.fit((self._X - mean) / scale, self._y)
        return np.asarray(model.predict((X - mean) / scale), dtype=float)
