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
"""Rows times classes times bootstraps, about a second of work on one core."""
CELL_SECONDS = 1e-7
"""For a row, a class and a bootstrap: 0.2e-7 to 0.6e-7 were measured, for up to six classes."""
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
    groups: IntArray | None = None,
) -> Intervals:
    """Percentile intervals of the index and of each metric that takes weights.

    The decision rule is not learned anew: the labels are those that the model gives.

    Parameters
    ----------
    y : (n,), codes or values
    prediction : (n, K) or (n,)
    labels : (n,), codes; None for regression
    sample_weight : (n,), non-negative, or None
    groups : (n,), codes from 0, or None
        Rows of one group are drawn together.
    """
    n_units = len(y) if groups is None else int(groups.max()) + 1
    n_bootstraps = _n_bootstraps(prediction)
    block = max(2, BLOCK_CELLS // prediction.size)  # one weighting alone would not be a block
    codes = None if labels is None else labels[None]
    scores, metrics = [], []
    for start in range(0, n_bootstraps, block):
        drawn = bootstrap_multiplicities(n_units, max(2, min(block, n_bootstraps - start)), rng)
        drawn = drawn if groups is None else drawn[:, groups]
        weights = DrawnRows(drawn, sample_weight).weights
        weights = weights[weights.sum(axis=1) > 0]
        metrics.append(index.weighed_metrics(y, prediction[None], weights, labels=codes))
        if index.takes_weights:
            scores.append(index.scores(y, prediction[None], weights, labels=codes))
    found = {
        name: _interval(np.concatenate([part[name] for part in metrics]))
        for name in index.weighable
    }
    whole = {name: interval for name, interval in found.items() if interval is not None}
    return Intervals(n_bootstraps, _interval(np.concatenate(scores)) if scores else None, whole)


def bootstrap_seconds(prediction: NDArray[Any]) -> float:
    """Seconds that intervals are expected to take at most, on one core."""
    return CELL_SECONDS * prediction.size * _n_bootstraps(prediction)


def _n_bootstraps(prediction: NDArray[Any]) -> int:
    return int(np.clip(MOST_CELLS // prediction.size, LEAST_BOOTSTRAPS, MOST_BOOTSTRAPS))


def _interval(values: FloatArray) -> Interval | None:
    """None if a bootstrap has no value, as the area under a curve of one class, or if all have the same.

    Rows that are all predicted right do not tell how often a new one is wrong.
    """
    if not np.isfinite(values).all() or np.ptp(values) == 0:
        return None
    low, high = np.percentile(values, TAILS)
    return float(low), float(high)
