"""Labels by rules that are learned outside the rows that they judge.

A trial, a candidate and an ensemble are scored as their deployed model will decide: with a threshold learned
from out-of-fold probabilities. The rule of a fold is learned from the other folds; where there is no
other, from the other parts of its rows. What is given by costs, or is the most probable class, needs no
learning, and all rows have the same rule.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from automl.inference.decision import DecisionRule
from automl.metrics.index import PerformanceIndex
from automl.records import FloatArray, IntArray

N_PARTS = 5
"""Number of parts of a single fold: each part is judged by the rule of four fifths of the rows, as in five folds."""


@dataclass(frozen=True)
class OutOfFold:
    """Out-of-fold predictions of one model or blend, and how they are scored.

    Parameters
    ----------
    index
        Scores, and learns rules.
    y : (n,), codes or values
    prediction : (n, K) or (n,)
    folds : (n,)
        -1 for rows that take no part, whose predictions may be anything.
    sample_weight : (n,), non-negative, or None
    """

    index: PerformanceIndex
    y: NDArray[Any]
    prediction: NDArray[Any]
    folds: IntArray
    sample_weight: FloatArray | None = None

    def score(self, fold: int) -> float:
        """Score of one fold, labels by the rule of the others."""
        rows = np.flatnonzero(self.folds == fold)
        labels = self._labels_of(fold) if self.index.learns_threshold else None
        part = self._of(rows)
        return self.index.score(part.y, part.prediction, part.sample_weight, labels=labels)

    def scores(self) -> FloatArray:
        """(n folds,) score of each fold, in the order of their numbers."""
        return np.array([self.score(fold) for fold in self._numbers()])

    def labels(self) -> IntArray | None:
        """(n,) codes, each row's by the rule of the other folds; None for regression.

        Rows without a fold have the label of the rule that costs say.
        """
        if self.index.rule is None:
            return None
        labels = self.index.rule.codes(self.prediction)
        if self.index.learns_threshold:
            for fold in self._numbers():
                labels[self.folds == fold] = self._labels_of(fold)
        return labels

    def pooled(self) -> tuple[float, dict[str, float]]:
        """Score and every metric of all rows that take part, labels as in `labels`."""
        scored = self._of(np.flatnonzero(self.folds >= 0))
        rows, labels = (scored.y, scored.prediction, scored.sample_weight), scored.labels()
        return (
            self.index.score(*rows, labels=labels),
            self.index.metrics(*rows, labels=labels),
        )

    def rule(self) -> DecisionRule | None:
        """Rule learned from all rows that take part: that of the deployed model; None for regression."""
        scored = self._of(np.flatnonzero(self.folds >= 0))
        if not len(scored.y):
            return self.index.rule
        return self.index.learn_rule(scored.y, scored.prediction, scored.sample_weight)

    def _numbers(self) -> list[int]:
        return [int(fold) for fold in np.unique(self.folds[self.folds >= 0])]

    def _labels_of(self, fold: int) -> IntArray:
        """Labels of the rows of one fold."""
        inside = self._of(np.flatnonzero(self.folds == fold))
        others = self._of(np.flatnonzero((self.folds >= 0) & (self.folds != fold)))
        if len(others.y) or len(inside.y) == 1:
            rule = others.rule()
            assert rule is not None
            return rule.codes(inside.prediction)
        labels = OutOfFold(
            self.index, inside.y, inside.prediction, parts_of(inside.y), inside.sample_weight
        ).labels()
        assert labels is not None
        return labels

    def _of(self, rows: IntArray) -> OutOfFold:
        weight = None if self.sample_weight is None else self.sample_weight[rows]
        prediction = np.asarray(self.prediction[rows])
        return OutOfFold(self.index, self.y[rows], prediction, self.folds[rows], weight)


def parts_of(y: NDArray[Any]) -> IntArray:
    """(n,) numbers below `N_PARTS`: the rows of each class dealt out in turn."""
    parts = np.empty(len(y), dtype=np.intp)
    parts[np.argsort(y, kind="stable")] = np.arange(len(y)) % N_PARTS
    return parts
