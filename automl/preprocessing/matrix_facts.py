"""Facts of a table for a learner with a kernel: the size and the spread of its numbers (H18, section 3.1.1)."""

from __future__ import annotations

import numpy as np
import pandas as pd

from automl.preprocessing.pipeline import build_preprocessor

SAMPLE_ROWS = 2000
"""Rows that are prepared: a variance of them is right to a few percent, in some milliseconds."""


def matrix_facts(frame: pd.DataFrame, *, value_counts: bool = False) -> dict[str, float]:
    """Columns and variance of a table's matrix, one-hot encoded and standardized.

    They are what ``gamma: scale`` of a support vector machine means: 1 / (p * variance), both
    of the matrix that it is given. Another scaler gives another variance; the matrix is the one of
    the families' default preprocessing.

    Parameters
    ----------
    frame : (n_rows, n_columns), typed
        At most `SAMPLE_ROWS` of its rows are used, evenly spaced.
    value_counts
        Whether numbers are counted, see `automl.preprocessing.ValueCounts`.

    Returns
    -------
        ``n_encoded``: columns of the matrix, at least 1; ``variance``: of all of its entries about
        their common mean; 1 where all are equal, as scikit-learn takes it.

    References
    ----------
    .. [1] van Hoof (2018), section 3.1.1, parameter specific imputing.
    """
    rows = np.linspace(0, len(frame) - 1, min(len(frame), SAMPLE_ROWS)).astype(int)
    preprocessor = build_preprocessor(
        {"prep.scaler": "standard", "prep.value_counts": value_counts}, seed=0
    )
    matrix = np.asarray(preprocessor.fit_transform(frame.iloc[rows].reset_index(drop=True)))
    variance = float(matrix.var(dtype=np.float64))
    return {"n_encoded": float(matrix.shape[1]), "variance": variance if variance > 0.0 else 1.0}
