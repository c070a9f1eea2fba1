"""The problem of weighting an ensemble: one record for every method."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from automl.ensembles.deadline import NO_DEADLINE, Deadline
from automl.inference.combining import Combine, votes
from automl.metrics.index import PerformanceIndex
from automl.records import FloatArray, IntArray

BAG_SHARE = 0.8
"""Share of the members, in a bag: the best are missing from some bags, and most bags agree (by judgement)."""
LEAST_OF_A_BAG = 5
"""Share of the members in each further bag, and how many at least."""


@dataclass(frozen=True)
class EnsembleProblem:
    """Members' out-of-fold predictions, and the score that judges their weights.

    Parameters
    ----------
    predictions : n members of (n, K) or (n,)
        At least one; memory-mapped arrays are read by rows.
    y : (n,), codes or values
    index
        Scores blends, the decision rule learned with the weights (`PerformanceIndex.learned_scores`).
    rng
        The only source of chance.
    rows : positions, or None for all
        Rows to learn from; a position may occur several times, as in a bootstrap.
    sample_weight : (n,), non-negative, or None
    groups : (n members,), or None
        Families of the members.
    combine
        How the members' predictions will become one.
    deadline
        The best weights so far are taken then, and the result depends on the clock.

    Raises
    ------
    ValueError
        If there are no predictions.
    """

    predictions: Sequence[NDArray[Any]]
    y: NDArray[Any]
    index: PerformanceIndex
    rng: np.random.Generator
    rows: IntArray | None = None
    sample_weight: FloatArray | None = None
    groups: Sequence[str] | None = None
    combine: Combine = "mean"
    deadline: Deadline = NO_DEADLINE

    def __post_init__(self) -> None:
        if not self.predictions:
            raise ValueError("an ensemble needs at least one prediction; got none")

    @property
    def n_members(self) -> int:
        """Number of members that can have weight."""
        return len(self.predictions)

    @cached_property
    def truth(self) -> NDArray[Any]:
        """True codes or values of the rows to learn from."""
        return self.y if self.rows is None else self.y[self.rows]

    @cached_property
    def weight(self) -> FloatArray | None:
        """Weights of the rows to learn from, or None."""
        if self.sample_weight is None or self.rows is None:
            return self.sample_weight
        return self.sample_weight[self.rows]

    def taken(self, prediction: NDArray[Any]) -> NDArray[Any]:
        """The rows to learn from of a prediction."""
        return np.asarray(prediction if self.rows is None else prediction[self.rows])

    def scores(self, predictions: NDArray[Any]) -> FloatArray:
        """Scores, (m,), of predictions of the rows to learn from, (m, n, K) or (m, n); -inf where undefined."""
        weights = None if self.weight is None else self.weight[None]
        try:
            return self.index.learned_scores(self.truth, predictions, weights)
        except ValueError:
            if len(predictions) == 1:
                return np.array([-np.inf])
            return np.concatenate([self.scores(prediction[None]) for prediction in predictions])

    def only_weighted_rows(self) -> EnsembleProblem:
        """The problem without rows of zero weight, because a bootstrap might consist of these alone."""
        if self.weight is None:
            return self
        rows = np.arange(len(self.y)) if self.rows is None else self.rows
        return replace(self, rows=rows[self.weight > 0])

    def sample(self, n_rows: int) -> EnsembleProblem:
        """So many of the rows, drawn without replacement, and one of each class that is not among them."""
        chosen = self.rng.choice(len(self.truth), size=n_rows, replace=False)
        if self.index.n_classes:
            missed = np.setdiff1d(self.truth, self.truth[chosen])
            added = [self.rng.choice(np.flatnonzero(self.truth == code)) for code in missed]
            chosen = np.concatenate([chosen, np.array(added, dtype=chosen.dtype)])
        chosen.sort()
        return replace(self, rows=chosen if self.rows is None else self.rows[chosen])

    def members_of(self, bag: int) -> IntArray:
        """Sorted positions of a bag's members; bag 0 holds all, and nothing is drawn for it."""
        size = min(self.n_members, max(LEAST_OF_A_BAG, round(BAG_SHARE * self.n_members)))
        if bag == 0 or size == self.n_members:
            return np.arange(self.n_members)
        return np.sort(self.rng.choice(self.n_members, size=size, replace=False))

    def restricted(self, members: IntArray) -> EnsembleProblem:
        """Some of the members."""
        groups = None if self.groups is None else [self.groups[i] for i in members]
        return replace(self, predictions=[self.predictions[i] for i in members], groups=groups)

    def of_votes(self) -> EnsembleProblem:
        """The problem of averaging the votes themselves, where the members will vote."""
        if self.combine != "vote":
            return self
        return replace(self, predictions=[votes(one) for one in self.predictions], combine="mean")
