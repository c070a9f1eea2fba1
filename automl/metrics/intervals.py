"""How far metrics of a fixed model may be off, by bootstraps of the rows that it was scored on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from automl.metrics.bootstraps import DrawnRows, bootstrap_multiplicities
from automl.metrics.index import PerformanceIndex
from automl.records import FloatArray, IntArray

MOST_BOOTSTRAPS = 1000
"""The ends of the interval are then the 25th value from either side, which hardly moves with the seed."""
LEAST_BOOTSTRAPS = 100
"""Fewest bootstraps of very many rows, whose intervals are narrow: an error of the ends is a small part of a small number."""
MOST_CELLS = 20_000_000
"""Rows times classes times bootstraps, about ten seconds of work on one core."""
BLOCK_CELLS = 2_000_000
"""Rows times classes times bootstraps that are weighted together: 16 MB of weights for two classes or fewer."""
TAILS = (2.5, 97.5)
"""Percentiles of an interval of 95 %."""

Interval = tuple[float, float]


@dataclass(frozen=True)
class Intervals:
    """Intervals of 95 %, for new rows of one model.

    Parameters
    ----------
    score : of the index; None if it cannot be bootstrapped
    metrics : those that can be
    """

    n_bootstraps: int = 0
    score: Interval | None = None
    metrics: Mapping[str, Interval] = field(default_factory=dict)


def bootstrap_intervals(
    index: PerformanceIndex,
    y: NDArray[Any],
    prediction: NDArray[Any],
    *,
    labels: IntArray | None,
    rng: np.random.Generator,
    sample_weight: FloatArray | None = None,
) -> Intervals:
    """Percentile intervals of the index and of each metric that takes weights.

    The decision rule is not learned anew: the labels are those that the model gives.

    Parameters
    ----------
    y : (n,), codes or values
    prediction : (n, K) or (n,)
    labels : (n,), codes; None for regression
    sample_weight : (n,), non-negative, or None
    """
    n_bootstraps = int(np.clip(MOST_CELLS // prediction.size, LEAST_BOOTSTRAPS, MOST_BOOTSTRAPS))
    block = max(2, BLOCK_CELLS // prediction.size)  # one weighting alone would not be a block
    codes = None if labels is None else labels[None]
    scores, metrics = [], []
    for start in range(0, n_bootstraps, block):
        drawn = bootstrap_multiplicities(len(y), max(2, min(block, n_bootstraps - start)), rng)
        weights = DrawnRows(drawn, sample_weight).weights
        weights = weights[weights.sum(axis=1) > 0]
        metrics.append(index.metrics_of_many(y, prediction[None], weights, labels=codes))
        if index.takes_weights:
            scores.append(index.scores(y, prediction[None], weights, labels=codes))
    found = {
        name: _interval(np.concatenate([part[name] for part in metrics]))
        for name in sorted(index.weighable)
    }
    whole = {name: interval for name, interval in found.items() if interval is not None}
    return Intervals(n_bootstraps, _interval(np.concatenate(scores)) if scores else None, whole)


def _interval(values: FloatArray) -> Interval | None:
    """None if a bootstrap has no value, as the area under a curve of one class."""
    if not np.isfinite(values).all():
        return None
    low, high = np.percentile(values, TAILS)
    return float(low), float(high)
