"""Decision thresholds of two classes: a grid, the confusion counts at each of them, and the best one.

The grid is fixed: about evenly spaced log odds from one in ten thousand to its opposite, one half among them. So
the counts of many predictions, or of one under many weightings, need one pass over the rows. All thresholds
are multiples of 2⁻¹⁶, so that a 32-bit probability falls on the same side of them here and in
`automl.inference.decision.DecisionRule`.

Symbols: ``n`` rows, ``m`` predictions, ``N`` weightings, ``B = max(m, N)``, ``T`` thresholds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from automl.records import FloatArray, IntArray

TIE = 1e-12
"""Gains closer than this are equal: they are sums of a few terms of order one."""

SMOOTHED_OVER = 3
"""Neighboring thresholds, about one unit of log odds: what a threshold is worth on new rows is a smooth curve."""

ERRORS = 0.5
"""Standard errors by which another threshold must be better than the usual one. Simulated with two normal
classes of 100 to 2,000 rows, 200 tables each: where classes are equal, learning costs .007, .002 and .000 of the default
index at 100, 400 and 2,000 rows (without this and smoothing .017, .008 and .002); with 5 % of ones it gains .030 at
2,000 rows and .014 at 400 (without .031 and .019), and for F-beta .161 and .135 (without .158 and .141)."""

_UNIT = 1 << 16
_LOG_ODDS = 9.3
"""ln(0.9999 / 0.0001) is 9.21: the outermost thresholds lie just beyond one in ten thousand."""
_N_BELOW = 31
"""Thresholds below one half. Four times as many keep at most .002 more of the default index, which is less than the
noise of 30 to 60 drawn tables of 400 and 2,000 rows, and make learning an ensemble three times as slow."""


def _grid() -> IntArray:
    """(T,) thresholds times `_UNIT`, ascending."""
    below = np.rint(_UNIT / (1.0 + np.exp(np.linspace(_LOG_ODDS, 0.0, _N_BELOW + 1)))).astype(int)
    below = np.unique(below[below > 0])
    return np.concatenate([below, np.sort(_UNIT - below[:-1])])


_PLACES = _grid()
_BIN_OF = np.searchsorted(_PLACES, np.arange(-1, _UNIT), side="right")
"""Number of thresholds below a probability whose multiple of 2¹⁶ has this ceiling."""

THRESHOLDS: FloatArray = _PLACES / _UNIT


def counts_by_threshold(
    y: IntArray, positive: NDArray[Any], weights: FloatArray | None = None
) -> FloatArray:
    """Confusion counts at each threshold.

    Parameters
    ----------
    y : (n,), codes 0 and 1
    positive : (m, n), in [0, 1]
        Probabilities of class 1.
    weights : (N, n) or None

    Returns
    -------
    (B, T, 2, 2), [true, predicted]
    """
    ceilings = np.ceil(positive * np.float32(_UNIT)).astype(np.int32)
    n_bins = len(_PLACES) + 1
    cells = _BIN_OF.take(ceilings, mode="clip")
    cells += y * n_bins
    if weights is not None and len(weights) > 1:
        counts = np.array([np.bincount(cells[0], weight, 2 * n_bins) for weight in weights])
    else:
        cells += np.arange(0, len(cells) * 2 * n_bins, 2 * n_bins)[:, None]
        sizes = None if weights is None else np.tile(weights[0], len(cells))
        counts = np.bincount(cells.ravel(), sizes, len(cells) * 2 * n_bins)
    sizes_by_bin = counts.reshape(-1, 2, n_bins).astype(np.float64)
    at_most = sizes_by_bin.cumsum(axis=2)
    below, total = at_most[:, :, :-1], at_most[:, :, -1:]
    return np.stack([below, total - below], axis=-1).transpose(0, 2, 1, 3)


def usual_place(threshold: float) -> int:
    """Place in the grid that is nearest to a threshold."""
    return int(np.abs(THRESHOLDS - threshold).argmin())


def best_places(scores: FloatArray, errors: FloatArray, usual: int) -> IntArray:
    """Places in the grid of the thresholds to take.

    The greatest smoothed gain over the usual threshold, less `ERRORS` standard errors of it; among equal ones the
    nearest to the usual one.

    Parameters
    ----------
    scores : (B, T)
    errors : (B, T)
        Standard errors of the differences from the score at the usual place.
    usual
        Place of what the costs alone say.

    Returns
    -------
    (B,)
    """
    curves = _smoothed(scores)
    gains = curves - curves[:, usual, None] - ERRORS * errors
    is_best = gains >= gains.max(axis=1, keepdims=True) - TIE
    distances = np.abs(np.arange(scores.shape[1]) - usual)
    return np.asarray(np.where(is_best, distances, scores.shape[1]).argmin(axis=1))


def _smoothed(scores: FloatArray) -> FloatArray:
    """(B, T) running means; the ends are continued by their own values."""
    half, n_places = SMOOTHED_OVER // 2, scores.shape[1]
    first, last = np.repeat(scores[:, :1], half, axis=1), np.repeat(scores[:, -1:], half, axis=1)
    continued = np.concatenate([first, scores, last], axis=1)
    shifted = [continued[:, start : start + n_places] for start in range(SMOOTHED_OVER)]
    return np.asarray(sum(shifted) / SMOOTHED_OVER)
