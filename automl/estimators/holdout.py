"""The rows that a boosting estimator keeps aside to know when to stop."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.integer[Any]]


def inner_holdout(
    y: NDArray[Any], *, share: float, seed: int, is_classification: bool
) -> tuple[IntArray, IntArray]:
    """Split of the training rows in which each part sees the whole range of the target.

    Rows are ordered by target, ties at random, and every (1/share)-th row is held out. So
    classes keep their shares, quantiles of a numeric target too, and the only row of a class
    always stays in the training part.

    Parameters
    ----------
    y : (n_rows,)
    share : in (0, 0.5]
        Share of rows held out.
    seed : in [0, 2**32)
    is_classification
        Whether `y` has class codes.

    Returns
    -------
    training rows, held-out rows : sorted positions
    """
    rng = np.random.default_rng(seed)
    n_rows = len(y)
    order = np.lexsort((rng.random(n_rows), y))
    step = 1.0 / share
    positions = (rng.random() + np.arange(int(np.ceil(n_rows * share)))) * step
    held = np.zeros(n_rows, dtype=bool)
    held[order[positions[positions < n_rows].astype(np.int64)]] = True
    if is_classification:
        _, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
        held &= counts[codes] > 1
    return np.flatnonzero(~held), np.flatnonzero(held)
