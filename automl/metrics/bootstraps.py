"""Bootstraps of validation rows, and the score of one prediction on each of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from automl.metrics.index import PerformanceIndex
from automl.records import FloatArray, IntArray


def bootstrap_multiplicities(
    n_rows: int, n_bootstraps: int, rng: np.random.Generator
) -> NDArray[np.int16]:
    """How often each row occurs in each bootstrap, (n_bootstraps, n_rows); each sums to n_rows."""
    multiplicities = np.empty((n_bootstraps, n_rows), dtype=np.int16)
    for one in multiplicities:
        one[:] = np.bincount(rng.integers(0, n_rows, n_rows), minlength=n_rows)
    return multiplicities


@dataclass(frozen=True)
class DrawnRows:
    """Rows as often as bootstraps have drawn them.

    Parameters
    ----------
    multiplicities : (N, n), see `bootstrap_multiplicities`
    sample_weight : (n,), non-negative, or None
        Weights of their own.
    """

    multiplicities: NDArray[np.integer[Any]]
    sample_weight: FloatArray | None = None

    @cached_property
    def weights(self) -> FloatArray:
        """(N, n) how often each row occurs, times its own weight."""
        own = 1.0 if self.sample_weight is None else self.sample_weight
        return np.asarray(self.multiplicities * own, dtype=np.float64)

    def scores(
        self, index: PerformanceIndex, y: NDArray[Any], prediction: NDArray[Any]
    ) -> FloatArray:
        """Index of one prediction on each bootstrap, with the rule that is learned from it.

        An index that takes no weights has the rows repeated, which is slower.

        Parameters
        ----------
        y : (n,)
        prediction : (n, K) or (n,)

        Returns
        -------
        (N,)
        """
        if index.takes_weights and len(self.multiplicities):
            return index.learned_scores(y, prediction[None], self.weights)
        places = np.arange(len(y))
        drawn = [np.repeat(places, counts) for counts in self.multiplicities]
        return np.array([self._repeated(index, y, prediction, rows) for rows in drawn])

    def _repeated(
        self, index: PerformanceIndex, y: NDArray[Any], prediction: NDArray[Any], rows: IntArray
    ) -> float:
        weight = None if self.sample_weight is None else self.sample_weight[rows]
        return index.learned_score(y[rows], prediction[rows], weight)


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
    return DrawnRows(multiplicities, weight).scores(index, y, prediction)
