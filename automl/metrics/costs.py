"""Misclassification costs (B14, section 6.1).

What a cost matrix does: every confusion count is multiplied by a weight, 1 for correct rows and
the scaled cost for errors, and accuracy, balanced accuracy, F-beta and MCC are computed from the
weighted counts. So are their baselines. Costs are scaled so that an error of the baseline (which
draws labels by the class frequencies) weighs 1 on average. Costs in cents or in euros thus give the
same scores. Equal costs give the scores without costs, and the baseline of the accuracy stays Σp².
Probability metrics (Brier, log loss, ROC AUC) do not change. The metric `cost` is the mean cost.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from automl.errors import SettingsError
from automl.records import FloatArray


def check_costs(costs: ArrayLike, n_classes: int) -> FloatArray:
    """Cost matrix as an array.

    Parameters
    ----------
    costs : (K, K), [true, predicted], finite, non-negative, zero diagonal
    n_classes : K

    Returns
    -------
    (K, K)

    Raises
    ------
    SettingsError
        If the matrix is not usable.
    """
    try:
        matrix = np.asarray(costs, dtype=np.float64)
    except (TypeError, ValueError):
        raise SettingsError("cost matrix must be a square table of numbers") from None
    if matrix.shape != (n_classes, n_classes):
        raise SettingsError(
            f"cost matrix must have {n_classes} rows and columns, one per class; "
            f"got shape {matrix.shape}"
        )
    if not np.isfinite(matrix).all() or (matrix < 0).any():
        raise SettingsError("cost matrix must be finite and not negative")
    if matrix.diagonal().any():
        raise SettingsError(
            f"cost matrix must have a zero diagonal (a correct row costs nothing); "
            f"got {matrix.diagonal().tolist()}"
        )
    if not matrix.any():
        raise SettingsError("cost matrix must contain a positive cost; all are zero")
    return matrix


def error_weights(costs: FloatArray, frequencies: FloatArray) -> FloatArray:
    """Factor of each confusion count.

    Parameters
    ----------
    costs : (K, K), [true, predicted]
    frequencies : (K,)
        Class frequencies p of the scoring set.

    Returns
    -------
    (K, K)
        Ones on the diagonal; scaled costs elsewhere, so that Σ_{i≠j} pᵢ pⱼ wᵢⱼ = 1 - Σ p².
    """
    expected = np.outer(frequencies, frequencies)
    errors = expected.sum() - expected.trace()
    cost = float((expected * costs).sum())
    weights = costs * (errors / cost if cost > 0 else 1.0)
    np.fill_diagonal(weights, 1.0)
    return np.asarray(weights)
