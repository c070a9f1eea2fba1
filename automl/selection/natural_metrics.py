"""Every metric of a choice on drawn rows, in natural units, as arrays.

Values are maximized: the sign of an error is turned, so that what holds of a score holds of them.

Symbols: ``n`` rows, ``M`` metrics in the order of their names, ``N`` weightings of the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from automl.inference.decision import DecisionRule
from automl.metrics.index import PerformanceIndex
from automl.metrics.intervals import BLOCK_CELLS
from automl.records import FloatArray
from automl.selection.correction import HonestMetric, HonestScore


@dataclass(frozen=True)
class NaturalMetrics:
    """The metrics of an index whose rows can have weights.

    Parameters
    ----------
    index
        Whose metrics they are.
    """

    index: PerformanceIndex

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Of the M metrics."""
        return self.index.weighable

    @cached_property
    def signs(self) -> FloatArray:
        """(M,) 1, and -1 of errors."""
        bounds = [self.index.bounds(name) for name in self.names]
        return np.array([1.0 if ideal > worst else -1.0 for worst, ideal in bounds])

    def values(
        self,
        y: NDArray[Any],
        predictions: Sequence[NDArray[Any]],
        weights: FloatArray,
        rule: DecisionRule | None = None,
    ) -> FloatArray:
        """Mean over versions of one prediction, under each weighting; labels by the rule.

        Parameters
        ----------
        y : (n,), codes or values
        predictions : each (n, K) or (n,)
        weights : (N, n), non-negative
        rule : None for what the index takes by itself

        Returns
        -------
        (M, N), NaN where a metric is not defined
        """
        rows = np.flatnonzero(weights.any(axis=0))
        if not len(rows):
            return np.full((len(self.names), len(weights)), np.nan)
        if len(rows) < len(y):
            y, weights = y[rows], weights[:, rows]
            predictions = [prediction[rows] for prediction in predictions]
        found = [self._values(y, prediction, weights, rule) for prediction in predictions]
        return np.asarray(self.signs[:, None] * np.mean(found, axis=0))

    def of_score(self, score: HonestScore) -> dict[str, HonestMetric]:
        """The metric that the score is, where it takes no weights: so no metric of that kind is computed again.

        Others that take no weights have no estimate.
        """
        if self.index.takes_weights or len(self.index.weights) > 1:
            return {}
        (name,) = self.index.weights
        return {name: HonestMetric.of(score, self.index.metric_of_score, self.index.bounds(name))}

    def _values(
        self,
        y: NDArray[Any],
        prediction: NDArray[Any],
        weights: FloatArray,
        rule: DecisionRule | None,
    ) -> FloatArray:
        """(M, N) natural sign, of one version whose rows all have weight somewhere."""
        codes = None if rule is None else rule.codes(prediction)[None]
        values = np.full((len(self.names), len(weights)), np.nan)
        drawn = np.flatnonzero(weights.any(axis=1))
        size = max(1, BLOCK_CELLS // prediction.size)
        for start in range(0, len(drawn), size):
            block = drawn[start : start + size]
            try:
                found = self.index.weighed_metrics(
                    y, prediction[None], _sizes(weights[block]), labels=codes
                )
            except ValueError:  # a prediction that is not finite
                continue
            values[:, block] = [found[name] for name in self.names]
        return values


def _sizes(weights: FloatArray) -> FloatArray | None:
    """The weightings in 64 bits; None for a single one by which all rows are alike, which is faster."""
    if len(weights) == 1 and (weights == weights[0, 0]).all():
        return None
    return weights.astype(np.float64)
