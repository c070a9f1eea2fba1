"""What a fitted estimator says about rows, in one form for all estimators."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def raw_prediction(estimator: Any, X: Any, n_classes: int | None) -> NDArray[np.float32]:
    """Class probabilities, or numbers for regression.

    Parameters
    ----------
    estimator
        Fitted, by scikit-learn's conventions. A classifier has `classes_`: codes in [0, n_classes), perhaps not all of
        them (a training fold may lack a class). One without `predict_proba` gives one-hot rows.
    X : (n_rows, n_columns)
        What the estimator takes.
    n_classes
        Number of classes of the task; None for regression.

    Returns
    -------
    (n_rows, n_classes) or (n_rows,), float32
        Rows of probabilities sum to one; classes that the estimator does not know have probability 0.

    Raises
    ------
    ValueError
        If a prediction is missing or infinite, or a row of probabilities has no positive sum.
    """
    if n_classes is None:
        with np.errstate(over="ignore"):
            values = np.asarray(estimator.predict(X)).astype(np.float32).reshape(-1)
        if not np.isfinite(values).all():
            raise ValueError(f"{type(estimator).__name__} predicted missing or infinite values")
        return values
    codes = np.asarray(estimator.classes_).astype(np.intp)
    if not hasattr(estimator, "predict_proba"):
        labels = np.asarray(estimator.predict(X)).astype(np.intp).reshape(-1)
        out = np.zeros((len(labels), n_classes), dtype=np.float32)
        out[np.arange(len(labels)), labels] = 1.0
        return out
    shares = _normalized(np.asarray(estimator.predict_proba(X), dtype=np.float64), estimator)
    if len(codes) == n_classes and bool((codes == np.arange(n_classes)).all()):
        return shares.astype(np.float32)
    out = np.zeros((len(shares), n_classes), dtype=np.float32)
    out[:, codes] = shares
    return out


def _normalized(shares: NDArray[np.float64], estimator: Any) -> NDArray[np.float64]:
    total = shares.sum(axis=1, keepdims=True)
    if not np.isfinite(total).all() or (shares.size and shares.min() < -1e-6):
        name = type(estimator).__name__
        raise ValueError(f"{name} predicted probabilities that are missing, infinite or negative")
    if (total <= 0).any():
        raise ValueError(f"{type(estimator).__name__} predicted rows of zero probability")
    return np.asarray(np.maximum(shares, 0.0) / total)
