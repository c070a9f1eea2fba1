"""Nearest data sets by meta-features, and predictions from the nearest runs: the rival of H18.

Notation
--------
t : known data sets; p : meta-features; n : runs of a data set; d : columns of the encoding; m : points
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from automl.errors import SettingsError
from automl.experience.data_set import DataSetFacts, Experience
from automl.recommendation.meta_learner import meta_feature_names, meta_matrix
from automl.records import Configuration, FloatArray, IntArray, TrialStatus

FARTHEST = 3.0
"""Standard deviations from the mean at which a meta-feature is cut (by judgement)."""
WIDTH = 0.7
"""Width of the weights, in median distances: the median data set keeps a weight of 0.13 (by judgement)."""


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
    is_present = np.isfinite(meta)
    usable = is_present.any(axis=0)
    medians = np.zeros(meta.shape[1])
    medians[usable] = np.nanmedian(np.where(is_present, meta, np.nan)[:, usable], axis=0)
    filled = np.where(is_present, meta, medians)
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
    others, goal = comparable(meta, target)
    distances = (np.abs(others - goal) ** order).sum(axis=1)
    return np.argsort(distances, kind="stable")


def similarities(meta: FloatArray, target: FloatArray) -> FloatArray:
    """(t,) weights in (0, 1] of the known data sets, by their distance to another one.

    exp(-(d / (WIDTH median d))²) with d the mean absolute difference of the meta-features, each at
    most `FARTHEST` standard deviations from the mean, so that no single one decides. All 1 where no
    meta-feature differs.

    Parameters
    ----------
    meta : (t, p), NaN where unknown
    target : (p,), NaN where unknown
    """
    others, goal = (np.clip(part, -FARTHEST, FARTHEST) for part in comparable(meta, target))
    distances = np.abs(others - goal).sum(axis=1)
    usual = float(np.median(distances)) if len(distances) else 0.0
    if usual <= 0.0:
        return np.ones(len(others))
    return np.asarray(np.exp(-((distances / (WIDTH * usual)) ** 2)))


def nearest_experiences(
    experiences: Sequence[Experience], data: DataSetFacts, *, order: float = 1.0
) -> list[Experience]:
    """Experience of other data sets, the most similar first.

    A `MetaLearner` that is fitted to the first alone is H18's "KNN + LightGBM" (section 6.3.4).

    Parameters
    ----------
    data
        The data set that they are compared with, by the meta-features that any of them has.
    order : at least 1
        See `nearest_data_sets`.
    """
    if not experiences:
        return []
    meta, target = _meta_features(experiences, data)
    return [experiences[i] for i in nearest_data_sets(meta, target, order=order)]


def weights_by_similarity(experiences: Sequence[Experience], data: DataSetFacts) -> FloatArray:
    """(t,) how much each known data set tells about this one, see `similarities`."""
    if not experiences:
        return np.ones(0)
    return similarities(*_meta_features(experiences, data))


def _meta_features(
    experiences: Sequence[Experience], data: DataSetFacts
) -> tuple[FloatArray, FloatArray]:
    """(t, p) of the known data sets, by all names that any of them has, and (p,) of another one."""
    names = meta_feature_names([one.data for one in experiences])
    meta = meta_matrix([one.data.meta_features for one in experiences], names)
    return meta, meta_matrix([data.meta_features], names)[0]


def best_configurations(nearest: Sequence[Experience], k: int = 3) -> list[Configuration]:
    """KNN-k of experience: the best configuration of each of the first k data sets, all different.

    A data set whose best is taken gives its next best; one without complete trials gives none.
    Several runs on one data set give one configuration together.

    Parameters
    ----------
    nearest
        In the order of `nearest_experiences`; trials of one family, or of all.
    k : at least 1

    Raises
    ------
    SettingsError
        If k is below 1.

    References
    ----------
    .. [1] van Hoof (2018), section 6.5; Xiang, section VIII.
    """
    if k < 1:
        raise SettingsError(f"k must be at least 1; got {k}")
    chosen: dict[str, Configuration] = {}
    taken: set[str] = set()
    for one in nearest:
        data_set = one.data.fingerprint or one.id
        if data_set in taken:
            continue
        taken.add(data_set)
        entries = [e for e in nearest if (e.data.fingerprint or e.id) == data_set]
        complete = [t for e in entries if e.metric == one.metric for t in e.trials]
        trials = [t for t in complete if t.status is TrialStatus.COMPLETE and t.score is not None]
        free = [t for t in trials if t.configuration.id not in chosen]
        if free and len(chosen) < k:
            best = max(free, key=lambda trial: trial.achieved)
            chosen[best.configuration.id] = best.configuration
    return list(chosen.values())


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
