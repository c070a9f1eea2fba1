"""How the predictions of several models become one: mean, median or vote."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from automl.inference.combinations import Combine as Combine

HALF_TOLERANCE = 1e-9
"""Sums of weights this near to one half count as one half."""


def combined(
    predictions: Sequence[NDArray[Any]],
    weights: NDArray[np.floating[Any]],
    combine: Combine = "mean",
    rows: NDArray[np.integer[Any]] | None = None,
) -> NDArray[np.float32]:
    """One prediction of several; that of a single member stays as it is.

    Parameters
    ----------
    predictions : n members of (n, K) probabilities or (n,) values
    weights : (n members,), non-negative, sum 1
        Members without weight are not read.
    combine
        ``mean`` of probabilities or values, weighted; ``median`` of values, weighted (half-way
        between two values that share the weight evenly); ``vote``: the share of the weight whose
        members find a class the most probable, the first one at ties.
    rows : positions, or None for all

    Raises
    ------
    ValueError
        If a median of probabilities or a vote of values is asked for.
    """
    used = [int(i) for i in np.flatnonzero(weights)]
    parts = [predictions[i] if rows is None else predictions[i][rows] for i in used]
    check_combination(combine, is_classification=np.ndim(parts[0]) == 2)
    if len(parts) == 1:
        return np.asarray(parts[0], dtype=np.float32)
    if combine == "median":
        return weighted_median(np.stack(parts), np.asarray(weights)[used])
    total: Any = 0.0
    for part, weight in zip(parts, np.asarray(weights)[used], strict=True):
        values = votes(part) if combine == "vote" else np.asarray(part, dtype=np.float64)
        total = total + values * weight
    return np.asarray(total, dtype=np.float32)


def check_combination(combine: Combine, *, is_classification: bool) -> None:
    """Refuse a median of probabilities and a vote of values.

    Raises
    ------
    ValueError
        That says what is possible instead.
    """
    if combine == "median" and is_classification:
        raise ValueError("a median needs values; combine probabilities by mean or vote")
    if combine == "vote" and not is_classification:
        raise ValueError("a vote needs classes; combine values by mean or median")


def votes(probability: NDArray[Any]) -> NDArray[np.float32]:
    """One-hot rows, (n, K), of the most probable class, the first one at ties."""
    probability = np.asarray(probability)
    one_hot = np.eye(probability.shape[1], dtype=np.float32)
    return np.asarray(one_hot[probability.argmax(axis=1)])


def weighted_median(
    values: NDArray[Any], weights: NDArray[np.floating[Any]]
) -> NDArray[np.float32]:
    """Weighted median of each column.

    The smallest value up to which at least half of the weight lies; if exactly half, the mean of
    it and the next one. With equal weights it is the usual median.

    Parameters
    ----------
    values : (m, n)
    weights : (m,), positive, of any sum

    Returns
    -------
    (n,)
    """
    order = np.argsort(values, axis=0, kind="stable")
    ordered = np.take_along_axis(np.asarray(values), order, axis=0)
    shares = np.cumsum(np.asarray(weights, dtype=np.float64)[order], axis=0)
    shares /= shares[-1]
    columns = np.arange(values.shape[1])
    lower = (shares >= 0.5 - HALF_TOLERANCE).argmax(axis=0)
    upper = (shares > 0.5 + HALF_TOLERANCE).argmax(axis=0)
    middle = ordered[lower, columns].astype(np.float64) + ordered[upper, columns]
    return np.asarray(middle / 2.0, dtype=np.float32)
