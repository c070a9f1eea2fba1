"""p-values adjusted for their number."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from automl.records import FloatArray


def holm(pvalues: ArrayLike) -> FloatArray:
    """p-values adjusted for their number by Holm's step-down procedure.

    Parameters
    ----------
    pvalues : (n,), in [0, 1]

    Returns
    -------
    (n,), in [0, 1], not below the given ones

    Raises
    ------
    ValueError
        If a p-value is outside [0, 1] or NaN.
    """
    given = np.asarray(pvalues, dtype=np.float64)
    if given.ndim != 1 or not ((given >= 0) & (given <= 1)).all():
        raise ValueError("p-values must be one-dimensional and in [0, 1]")
    order = np.argsort(given, kind="stable")
    stepped = np.maximum.accumulate(given[order] * np.arange(len(given), 0, -1))
    adjusted = np.empty_like(given)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted
