"""Bootstraps of validation rows, and the score of one prediction on each of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from automl.metrics.index import PerformanceIndex
from automl.records import FloatArray


def bootstrap_multiplicities(
    n_rows: int, n_bootstraps: int, rng: np.random.Generator
) -> NDArray[np.int16]:
    """How often each row occurs in each bootstrap, (n_bootstraps, n_rows); each sums to n_rows."""
    found = np.empty((n_bootstraps, n_rows), dtype=np.int16)
    for one in found:
        one[:] = np.bincount(rng.integers(0, n_rows, n_rows), minlength=n_rows)
    return found


def weights_of(
    multiplicities: NDArray[np.integer[Any]], sample_weight: FloatArray | None = None
) -> FloatArray:
    """Weights, (N, n), of the rows in each bootstrap: how often they occur times their own."""
    if sample_weight is None:
        return multiplicities.astype(np.float64)
    return np.asarray(multiplicities * sample_weight, dtype=np.float64)


def repeated_scores(
    prediction: NDArray[Any],
    y: NDArray[Any],
    score: Callable[..., float],
    multiplicities: NDArray[np.integer[Any]],
    sample_weight: FloatArray | None = None,
) -> FloatArray:
    """Score of one prediction on each bootstrap, whose rows are repeated as often as they occur.

    It holds for every score, also one that takes no weights; where they are possible, weights are faster.

    Parameters
    ----------
    prediction : (n, K) or (n,)
    y : (n,)
    multiplicities : (N, n), see `bootstrap_multiplicities`
    sample_weight : (n,), non-negative

    Returns
    -------
    (N,)
    """
    found = np.empty(len(multiplicities))
    for place, counts in enumerate(multiplicities):
        rows = np.repeat(np.arange(len(y)), counts)
        extra = () if sample_weight is None else (sample_weight[rows],)
        found[place] = score(y[rows], prediction[rows], *extra)
    return found


def bootstrap_scores(
    index: PerformanceIndex,
    y: NDArray[Any],
    prediction: NDArray[Any],
    *,
    n_bootstraps: int,
    rng: np.random.Generator,
    sample_weight: FloatArray | None = None,
) -> FloatArray:
    """Index of one prediction on each bootstrap; equal generators draw equal bootstraps.

    Rows without weight are never drawn: a bootstrap might consist of them. The decision rule is learned from each
    bootstrap, as where an ensemble is made of them (`automl.ensembles.agnostic`).

    Parameters
    ----------
    y : (n,), codes or values
    prediction : (n, K) or (n,)
    n_bootstraps : at least 0
    sample_weight : (n,), non-negative

    Returns
    -------
    (n_bootstraps,)
    """
    rows = np.flatnonzero(np.ones(len(y)) if sample_weight is None else sample_weight)
    y, prediction = y[rows], prediction[rows]
    weight = None if sample_weight is None else sample_weight[rows]
    multiplicities = bootstrap_multiplicities(len(y), n_bootstraps, rng)
    if index.takes_weights and n_bootstraps:
        return index.learned_scores(y, prediction[None], weights_of(multiplicities, weight))
    return repeated_scores(prediction, y, index.learned_score, multiplicities, weight)
