"""Rows with predictions of several models, and what a choice among these models scores on them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from automl.inference.calibration import Calibration, calibrated
from automl.inference.combining import Combine, combined
from automl.inference.decision import DecisionRule
from automl.metrics.intervals import BLOCK_CELLS
from automl.records import FloatArray, IntArray
from automl.selection.natural_metrics import NaturalMetrics


class WeightedScore(Protocol):
    """Score of predictions, maximized; weights are non-negative."""

    def __call__(
        self,
        y: NDArray[Any],
        prediction: NDArray[Any],
        sample_weight: FloatArray | None = None,
        *,
        labels: IntArray | None = None,
    ) -> float: ...


class WeightedScores(Protocol):
    """Scores of one prediction, (1, n, K) or (1, n), under N weightings, (N, n); labels are (1, n)."""

    def __call__(
        self,
        y: NDArray[Any],
        predictions: NDArray[Any],
        weights: FloatArray,
        *,
        labels: IntArray | None = None,
    ) -> FloatArray: ...


@dataclass(frozen=True)
class Choice:
    """A single model or a blend.

    Parameters
    ----------
    weights : (n members,), non-negative, sum 1
    rule
        How probabilities become labels; None for what the score takes by itself, and for regression.
    combine
        How the members' predictions become one.
    calibration
        Of the blend's probabilities; None leaves them as they are.
    """

    weights: FloatArray
    rule: DecisionRule | None = None
    combine: Combine = "mean"
    calibration: Calibration | None = None


@dataclass(frozen=True)
class ScoredRows:
    """Out-of-fold predictions of models, and how they are scored.

    Parameters
    ----------
    versions : each n members of (n, K) or (n,), finite
        Repeats of the folds; the score is the mean over them.
    y : (n,), codes or values
    score
        See `WeightedScore`.
    sample_weight : (n,), non-negative, or None
    groups : (n,), codes from 0, or None
        Rows of one group are drawn together.
    takes_weights
        Whether `score` takes weights; else a row drawn twice is scored twice.
    metrics
        What is scored beside it, in natural units; None for nothing.
    scores
        `score` under many weightings at once, which is several times as fast; None scores one after another.
    """

    versions: Sequence[Sequence[NDArray[Any]]]
    y: NDArray[Any]
    score: WeightedScore
    sample_weight: FloatArray | None = None
    groups: IntArray | None = None
    takes_weights: bool = True
    metrics: NaturalMetrics | None = None
    scores: WeightedScores | None = None

    def of(self, rows: IntArray) -> ScoredRows:
        """Some of the rows, without predictions."""
        weight = None if self.sample_weight is None else self.sample_weight[rows]
        return ScoredRows((), self.y[rows], self.score, weight, takes_weights=self.takes_weights)

    def score_under(
        self,
        predictions: Sequence[NDArray[Any]],
        counts: FloatArray,
        rule: DecisionRule | None = None,
    ) -> float:
        """Mean score of versions of one prediction where row i occurs `counts[i]` times; NaN if undefined."""
        rows = np.flatnonzero(counts)
        if not len(rows):
            return float("nan")
        drawn = counts[rows]
        weight: FloatArray | None = None
        if not self.takes_weights:
            rows = np.repeat(rows, drawn.astype(np.intp))
        elif self.sample_weight is not None:
            weight = drawn * self.sample_weight[rows]
        elif (drawn != drawn[0]).any():
            weight = drawn
        try:
            return float(
                np.mean([self._score(version, rows, weight, rule) for version in predictions])
            )
        except ValueError:
            return float("nan")

    def scores_under(
        self,
        predictions: Sequence[NDArray[Any]],
        counts: FloatArray,
        rule: DecisionRule | None = None,
    ) -> FloatArray:
        """(N,) as `score_under`, where row i occurs `counts[:, i]` times."""
        if self.scores is not None and self.takes_weights:
            with suppress(ValueError):  # undefined under some of them
                by_version = [self._scores(version, counts, rule) for version in predictions]
                return np.asarray(np.mean(by_version, axis=0))
        return np.array([self.score_under(predictions, drawn, rule) for drawn in counts])

    def metrics_under(
        self,
        predictions: Sequence[NDArray[Any]],
        counts: FloatArray,
        rule: DecisionRule | None = None,
        *,
        without: Collection[str] = (),
    ) -> FloatArray:
        """(M, N) maximized metrics of versions of one prediction where row i occurs `counts[:, i]` times.

        Parameters
        ----------
        without
            Metrics that are left NaN.
        """
        if self.metrics is None:
            return np.empty((0, len(counts)))
        return self.metrics.values(
            self.y, predictions, counts, rule, self.sample_weight, without=without
        )

    def _scores(
        self, prediction: NDArray[Any], counts: FloatArray, rule: DecisionRule | None
    ) -> FloatArray:
        assert self.scores is not None
        labels = None if rule is None else rule.codes(prediction)[None]
        weights = counts if self.sample_weight is None else counts * self.sample_weight
        n_together = max(1, BLOCK_CELLS // prediction.size)
        blocks = (weights[i : i + n_together] for i in range(0, len(weights), n_together))
        scored = [self.scores(self.y, prediction[None], block, labels=labels) for block in blocks]
        return np.concatenate(scored)

    def _score(
        self,
        prediction: NDArray[Any],
        rows: IntArray,
        weight: FloatArray | None,
        rule: DecisionRule | None,
    ) -> float:
        drawn = prediction[rows]
        labels = None if rule is None else rule.codes(drawn)
        return self.score(self.y[rows], drawn, weight, labels=labels)

    def blends(self, choice: Choice) -> list[NDArray[Any]]:
        """Prediction of a choice on all rows, each version."""
        alone = np.flatnonzero(choice.weights)
        if len(alone) == 1 and choice.calibration is None:
            return [np.asarray(version[int(alone[0])]) for version in self.versions]
        blends = (combined(version, choice.weights, choice.combine) for version in self.versions)
        return [calibrated(blend, choice.calibration) for blend in blends]


def draw(
    n_rows: int, n_bootstraps: int, *, rng: np.random.Generator, groups: IntArray | None = None
) -> FloatArray:
    """How often each row is drawn in each bootstrap; whole groups where there are groups.

    Returns
    -------
    (n_bootstraps, n_rows), float32
    """
    n_units = n_rows if groups is None else int(groups.max()) + 1
    drawn = rng.integers(n_units, size=(n_bootstraps, n_units))
    counts = np.stack([np.bincount(units, minlength=n_units) for units in drawn])
    chosen = counts if groups is None else counts[:, groups]
    return chosen.astype(np.float32)
