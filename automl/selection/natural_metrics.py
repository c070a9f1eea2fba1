"""Every metric of a choice on drawn rows, in natural units, as arrays.

Values are maximized: the sign of an error is turned, so that what holds of a score holds of them.

Symbols: ``n`` rows, ``M`` metrics in the order of their names, ``N`` weightings of the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
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

    @cached_property
    def ideals(self) -> FloatArray:
        """(M,) best values, maximized."""
        return self.signs * [self.index.bounds(name)[1] for name in self.names]

    def values(
        self,
        y: NDArray[Any],
        predictions: Sequence[NDArray[Any]],
        counts: FloatArray,
        rule: DecisionRule | None = None,
        sample_weight: FloatArray | None = None,
        *,
        without: Collection[str] = (),
    ) -> FloatArray:
        """Mean over versions of one prediction, under each weighting; labels by the rule.

        Parameters
        ----------
        y : (n,), codes or values
        predictions : each (n, K) or (n,)
        counts : (N, n)
            How often each row occurs.
        rule : None for what the index takes by itself
        sample_weight : (n,), non-negative, or None
        without
            Metrics that are left NaN.

        Returns
        -------
        (M, N), NaN where a metric is not defined
        """
        rows = np.flatnonzero(counts.any(axis=0))
        if not len(rows):
            return np.full((len(self.names), len(counts)), np.nan)
        if len(rows) < len(y):
            y, counts = y[rows], counts[:, rows]
            predictions = [prediction[rows] for prediction in predictions]
            sample_weight = None if sample_weight is None else sample_weight[rows]
        found = []
        for prediction in predictions:
            codes = None if rule is None else rule.codes(prediction)[None]
            metrics = partial(
                self.index.weighed_metrics, y, prediction[None], labels=codes, without=without
            )
            n_together = max(1, BLOCK_CELLS // prediction.size)
            found.append(self._values(metrics, n_together, counts, sample_weight))
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
        metrics: Callable[[FloatArray | None], Mapping[str, FloatArray]],
        n_together: int,
        counts: FloatArray,
        sample_weight: FloatArray | None,
    ) -> FloatArray:
        """(M, N) natural sign, of one version, so many weightings at a time."""
        values = np.full((len(self.names), len(counts)), np.nan)
        for start in range(0, len(counts), n_together):
            sizes = counts[start : start + n_together].astype(np.float64)
            sizes = sizes if sample_weight is None else sizes * sample_weight
            inside = np.flatnonzero(sizes.any(axis=1))
            if not len(inside):
                continue
            try:
                found = metrics(_unless_alike(sizes[inside]))
            except ValueError:  # a prediction that is not finite
                continue
            undefined = np.full(len(inside), np.nan)
            values[:, start + inside] = [found.get(name, undefined) for name in self.names]
        return values


def _unless_alike(weights: FloatArray) -> FloatArray | None:
    """The weightings; None for a single one by which all rows are alike, which is faster."""
    is_alike = len(weights) == 1 and bool((weights == weights[0, 0]).all())
    return None if is_alike else weights
