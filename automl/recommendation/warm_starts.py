"""Which configurations a search tries first, given predictions or scores on other data sets.

Pure functions over m candidates, different configurations in a list; each returns positions in it,
all different, in the order in which they are to be tried. Ties go to the earlier position.

Notation
--------
p : (m,) predicted scores of the candidates on the new data set, greater is better
S : (t, m) scores of the candidates on t known data sets, NaN where unknown
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from automl.errors import SettingsError
from automl.records import FloatArray, IntArray

DELTAS = (0.0, 0.1, 0.2)
"""H18, section 6.4."""


def meta_order(p: FloatArray) -> IntArray:
    """(m,) all candidates, the highest prediction first: pure meta-learning (H18, section 6.4)."""
    return np.argsort(-np.asarray(p, dtype=float), kind="stable")


def best_start(p: FloatArray, k: int = 3) -> IntArray:
    """The k candidates with the highest predictions (H18, section 6.4)."""
    return meta_order(p)[: _count(k)]


def bad_start(p: FloatArray, k: int = 3) -> IntArray:
    """The k candidates with the lowest predictions, lowest first; a baseline for benchmarks."""
    return np.argsort(np.asarray(p, dtype=float), kind="stable")[: _count(k)]


def delta_score(p: FloatArray, delta: float) -> FloatArray:
    """(m,) the measure (1 - p)^Δ + p, with p scaled to [0, 1] over the candidates.

    At Δ = 0 it is 1 + p, greatest at the best candidate. For 0 < Δ < 1 its maximum lies at
    p = 1 - Δ^(1 / (1 - Δ)): .923 for Δ = .1 and .866 for Δ = .2, so that points are chosen which are
    expected to be good and yet differ from the best. p is scaled since the measure means nothing
    outside of [0, 1]; predictions that are all equal become 1/2.

    Parameters
    ----------
    p : (m,), finite
    delta : in [0, 1]

    Raises
    ------
    SettingsError
        If Δ is outside of its range.

    References
    ----------
    .. [1] van Hoof (2018), equation 6.2.
    """
    if not 0.0 <= delta <= 1.0:
        raise SettingsError(f"delta must be between 0 and 1; got {delta:g}")
    values = np.asarray(p, dtype=float)
    low, high = values.min(), values.max()
    scaled = (values - low) / (high - low) if high > low else np.full(len(values), 0.5)
    return np.asarray((1.0 - scaled) ** delta + scaled)


def delta_start(p: FloatArray, deltas: Sequence[float] = DELTAS) -> IntArray:
    """One candidate for each Δ, the best by `delta_score` that no earlier Δ has taken.

    Of equal measures the greater prediction counts: scaling can round small differences away.

    With the Δ of H18 that is one triple, however many candidates there are.

    Raises
    ------
    SettingsError
        If a Δ is outside of [0, 1].
    """
    chosen: list[int] = []
    for delta in deltas[: len(p)]:
        order = np.lexsort((-np.asarray(p, dtype=float), -delta_score(p, delta)))
        chosen.append(next(int(i) for i in order if int(i) not in chosen))
    return np.array(chosen, dtype=np.intp)


def nearest_start(S: FloatArray, nearest: Sequence[int] | IntArray, k: int = 3) -> IntArray:
    """KNN-k: the best candidate of each of the k nearest data sets, in their order.

    A data set whose best candidate is taken gives its next best one; a data set without scores gives
    none, and a further one takes its place.

    Parameters
    ----------
    S : (t, m)
    nearest
        Data sets as rows of S, the nearest first, as `nearest_data_sets` orders them.
    k : at least 1
        25 in auto-sklearn, 3 in H18.

    References
    ----------
    .. [1] van Hoof (2018), section 6.5; Xiang, section VIII.
    """
    _count(k)
    chosen: list[int] = []
    for row in nearest:
        scores = np.array(S[int(row)], dtype=float)
        scores[chosen] = np.nan
        if len(chosen) < k and np.isfinite(scores).any():
            chosen.append(int(np.nanargmax(scores)))
    return np.array(chosen, dtype=np.intp)


def similar_data_sets(S: FloatArray, target: FloatArray) -> IntArray:
    """(t,) data sets by the rank correlation of their scores with those of the new one.

    Looks at what no run can know, the scores of the new data set: for benchmarks only. Kendall's
    tau-b over the candidates that both have; without two of them, or where one is constant, -1.

    Parameters
    ----------
    S : (t, m)
    target : (m,), NaN where unknown

    References
    ----------
    .. [1] van Hoof (2018), section 6.5.
    """
    from scipy.stats import kendalltau

    def correlation(scores: FloatArray) -> float:
        both = np.isfinite(scores) & np.isfinite(target)
        if both.sum() < 2:
            return -1.0
        tau = float(kendalltau(scores[both], target[both]).statistic)
        return tau if np.isfinite(tau) else -1.0

    return np.argsort([-correlation(row) for row in np.asarray(S, dtype=float)], kind="stable")


def oracle_start(S: FloatArray, target: FloatArray, k: int = 3) -> IntArray:
    """OPT-k: `nearest_start` from the data sets that are most similar in truth; for benchmarks only.

    Parameters
    ----------
    S : (t, m)
    target : (m,), NaN where unknown
    """
    return nearest_start(S, similar_data_sets(S, target), k)


def _count(k: int) -> int:
    if k < 1:
        raise SettingsError(f"k must be at least 1; got {k}")
    return k
