"""Intervals of a fixed model from the rows that it was scored on, where these rows can tell."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from automl.metrics.index import PerformanceIndex
from automl.metrics.intervals import Intervals, bootstrap_intervals
from automl.randomness import Purpose, stream
from automl.records import FloatArray, IntArray
from automl.selection.tails import decided_by_few, unit_losses


def row_intervals(
    index: PerformanceIndex,
    y: NDArray[Any],
    prediction: NDArray[Any],
    *,
    labels: IntArray | None,
    sample_weight: FloatArray | None = None,
    groups: NDArray[Any] | None = None,
) -> Intervals:
    """Bootstrap intervals of the index and of each metric, without those that a few rows decide.

    Equal rows have equal intervals: the bootstraps depend on nothing else.

    Parameters
    ----------
    y : (n,), codes or values
    prediction : (n, K) or (n,)
    labels : (n,), codes; None for regression
    sample_weight : (n,), non-negative, or None
    groups : (n,), any values, or None
        Rows of one group are drawn together.
    """
    codes = None if groups is None else np.unique(groups, return_inverse=True)[1]
    if len(y) < 2 or (codes is not None and not codes.any()):
        return Intervals()
    found = bootstrap_intervals(
        index,
        y,
        prediction,
        labels=labels,
        rng=stream(0, Purpose.BOOTSTRAP, len(y)),
        sample_weight=sample_weight,
        groups=codes,
    )
    if index.task.is_classification:
        return found

    def is_doubtful(losses: FloatArray) -> bool:
        return bool(decided_by_few(unit_losses(losses, sample_weight, codes)))

    losses = index.metric_losses(y, prediction)
    doubtful = {name for name in losses if is_doubtful(losses[name])}
    is_score_doubtful = index.is_unbounded and is_doubtful(index.row_losses(y, prediction))
    return Intervals(
        found.n_bootstraps,
        None if is_score_doubtful else found.score,
        {name: each for name, each in found.metrics.items() if name not in doubtful},
    )
