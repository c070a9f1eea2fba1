"""Whether the scores of known data sets agree: only then do they predict those of the next one."""

from __future__ import annotations

import numpy as np

from automl.recommendation.configuration_portfolio import KnownScores, stretched
from automl.records import FloatArray

LEAST_SCORE = -2.0
"""Least score that counts, on a scale where a data set's best is 1 and its median 0."""
LEAST_SHARED = 5
"""Configurations that a data set must share with others to be compared with them."""


def agreements(known: KnownScores) -> FloatArray:
    """(t,) correlation of each entry's scores with the mean of other data sets'.

    Computed over the configurations that the entry shares with them. NaN with fewer than
    `LEAST_SHARED` of these, or if all score the same. Shuffled scores have correlations around 0.
    If every data set is inverted, they agree as well as before.
    """
    Z = np.maximum(stretched(known.scores), LEAST_SCORE)
    has = np.isfinite(Z)
    weights = known.weights[:, np.newaxis]
    names = np.array(known.data_sets)
    is_other = (names[:, np.newaxis] != names).astype(float)
    counts = is_other @ (weights * has)
    others = is_other @ (weights * np.where(has, Z, 0.0)) / np.where(counts > 0.0, counts, np.nan)
    shared = has & np.isfinite(others)
    return np.array([correlation(Z[i, on], others[i, on]) for i, on in enumerate(shared)])


def agreement(known: KnownScores) -> float:
    """Mean of `agreements`; NaN where no data set can be compared."""
    values = agreements(known)
    return float(np.nanmean(values)) if np.isfinite(values).any() else float("nan")


def correlation(x: FloatArray, y: FloatArray) -> float:
    """Of two (n,) arrays; NaN with fewer than `LEAST_SHARED` entries, or if all of one are equal."""
    if len(x) < LEAST_SHARED or np.ptp(x) == 0.0 or np.ptp(y) == 0.0:
        return float("nan")
    return float(np.corrcoef(x, y)[0, 1])
