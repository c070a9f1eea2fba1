"""Predictions of fitted estimators, in one form for all of them."""

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
            values = _answer(estimator, X, "predict").astype(np.float32).reshape(-1)
        if not np.isfinite(values).all():
            raise ValueError(f"{type(estimator).__name__} predicted missing or infinite values")
        return values
    codes = np.asarray(estimator.classes_).astype(np.intp)
    if not hasattr(estimator, "predict_proba"):
        labels = np.asarray(estimator.predict(X)).astype(np.intp).reshape(-1)
        out = np.zeros((len(labels), n_classes), dtype=np.float32)
        out[np.arange(len(labels)), labels] = 1.0
        return out
    shares = _normalized(_answer(estimator, X, "predict_proba").astype(np.float64), estimator)
    if len(codes) == n_classes and bool((codes == np.arange(n_classes)).all()):
        return shares.astype(np.float32)
    out = np.zeros((len(shares), n_classes), dtype=np.float32)
    out[:, codes] = shares
    return out


def _answer(estimator: Any, X: Any, method: str) -> NDArray[Any]:
    if _is_forest(estimator) and isinstance(X, np.ndarray):
        return _mean_of_trees(estimator, X)
    return np.asarray(getattr(estimator, method)(X))


def _is_forest(estimator: Any) -> bool:
    """Whether it is one of scikit-learn's forests itself; told by its name, since the import is slow."""
    return type(estimator).__module__ == "sklearn.ensemble._forest"


def _mean_of_trees(forest: Any, X: NDArray[Any]) -> NDArray[np.float64]:
    """Predictions of a forest, to the last digit, without the job that scikit-learn starts for each tree.

    Such a job takes a tenth of a millisecond: of one row's prediction by 100 trees nine tenths.

    Returns
    -------
    (n_rows, n_classes), or (n_rows,) of a regressor
    """
    rows = np.ascontiguousarray(X, dtype=np.float32)
    trees = [tree.tree_ for tree in forest.estimators_]
    total = trees[0].predict(rows)
    for tree in trees[1:]:
        total += tree.predict(rows)
    total /= len(trees)
    return np.asarray(total if hasattr(forest, "classes_") else total[:, 0])


def _normalized(shares: NDArray[np.float64], estimator: Any) -> NDArray[np.float64]:
    total = shares.sum(axis=1, keepdims=True)
    if not np.isfinite(total).all() or (shares.size and shares.min() < -1e-6):
        name = type(estimator).__name__
        raise ValueError(f"{name} predicted probabilities that are missing, infinite or negative")
    if (total <= 0).any():
        raise ValueError(f"{type(estimator).__name__} predicted rows of zero probability")
    return np.asarray(np.maximum(shares, 0.0) / total)
