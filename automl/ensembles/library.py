"""A library of predictions and the blends that greedy selection tries on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from automl.ensembles.problem import EnsembleProblem
from automl.metrics.index import MANY_CELLS
from automl.records import FloatArray, IntArray

SHORTLIST = 3
"""Members that the sample of rows proposes and all rows choose among."""

LEAST_SPREAD = 0.1
"""Spread of a member's predictions, beside that of the best one's, below which it only thins a blend.

A score of orders, as the area under the curve, hardly sees how much of it a blend has. Greedy selection then takes it
again and again, and the others are left out as too light: on phoneme two of forty bootstraps had 0.93 of a constant."""

MOST_CELLS = 20_000
"""Rows times columns of predictions that propose: 60 members take 0.3 s of a core for 40 rounds;
14,000 rows of 26 classes, 5,000 of which proposed, took 4 s."""


class Library:
    """Members in the order of their own scores, best first.

    Parameters
    ----------
    problem
        All rows to learn from.
    members : (kept,)
        Positions of the kept members in the problem.
    sample
        Some of the rows, which propose; None when all rows are few enough.
    """

    def __init__(
        self, problem: EnsembleProblem, members: IntArray, sample: EnsembleProblem | None
    ) -> None:
        self.problem, self.members, self.sample = problem, members, sample
        self.quick = sample or problem
        self.stack = _stacked(self.quick, [problem.predictions[i] for i in members])

    @classmethod
    def build(cls, problem: EnsembleProblem, *, max_members: int, max_rows: int) -> Library:
        """Library of at most `max_members`, with a sample if the rows or cells are too many."""
        scores: list[float] = []
        spreads: list[float] = []
        n_cells = np.size(problem.predictions[0])
        size = n_together(n_cells)
        for start in range(0, problem.n_members, size):
            if scores and not problem.deadline.has_time():
                break
            some = _stacked(problem, problem.predictions[start : start + size])
            scores += problem.scores(some).tolist()
            spreads += _spreads(some, problem.truth).tolist()
        order = _not_flat(np.argsort(-np.asarray(scores), kind="stable"), np.asarray(spreads))
        most_rows = min(max_rows, max(1, MOST_CELLS * len(problem.y) // n_cells))
        sample = problem.sample(most_rows) if len(problem.truth) > most_rows else None
        return cls(problem, _cut(order, problem.groups, max_members), sample)

    def on_all_rows(self, positions: Sequence[int]) -> NDArray[Any]:
        """Predictions of some of the members on all rows to learn from."""
        if self.sample is None:
            return np.asarray(self.stack[list(positions)])
        predictions = self.problem.predictions
        return _stacked(self.problem, [predictions[self.members[i]] for i in positions])


def n_together(n_cells: int) -> int:
    """How many predictions of this size are scored between two looks at the clock."""
    return max(1, MANY_CELLS // max(n_cells, 1))


def _stacked(problem: EnsembleProblem, predictions: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Some predictions of the rows to learn from, in 32 bits."""
    return np.stack([np.asarray(problem.taken(one), dtype=np.float32) for one in predictions])


def _spreads(predictions: NDArray[Any], truth: NDArray[Any]) -> FloatArray:
    """(m,) standard deviation of each prediction over the rows; of probabilities that of the class where it is largest.

    Values beyond those of the truth count as the nearest of these: one that diverges is not spread.
    """
    if predictions.ndim == 3:
        return np.asarray(predictions.std(axis=1).max(axis=1), dtype=np.float64)
    inside = np.clip(predictions, truth.min(), truth.max())
    return np.asarray(inside.std(axis=1), dtype=np.float64)


def _not_flat(order: IntArray, spreads: FloatArray) -> IntArray:
    """Members, best first, without those that hardly vary beside the best one; one that is not finite stays."""
    is_flat = spreads[order] < LEAST_SPREAD * spreads[order[0]]
    return np.asarray(order[~is_flat])


class Blend:
    """The members taken so far as one prediction, on all rows and on the sample."""

    def __init__(self, library: Library) -> None:
        self._library = library
        make = RunningMedian if library.problem.combine == "median" else RunningMean
        shape = library.stack[0].shape
        self._quick: RunningMean | RunningMedian = make(shape)
        self._full: RunningMean | RunningMedian | None = None
        if library.sample is not None:
            self._full = make((len(library.problem.truth), *shape[1:]))

    def add(self, member: int) -> None:
        """Add a member."""
        self._quick.add(self._library.stack[member])
        if self._full is not None:
            self._full.add(self._library.on_all_rows([member])[0])

    def remove(self, member: int) -> None:
        """Remove one occurrence of a member."""
        self._quick.remove(self._library.stack[member])
        if self._full is not None:
            self._full.remove(self._library.on_all_rows([member])[0])

    def score(self) -> float:
        """Score of the blend on all rows."""
        running = self._quick if self._full is None else self._full
        return float(self._library.problem.scores(running.value()[None])[0])

    def best_addition(self, members: IntArray) -> tuple[int, float] | None:
        """Member whose addition scores best, and that score; None if time runs out."""
        scores: FloatArray = np.empty(len(members))
        library, stack = self._library, self._library.stack
        size = n_together(stack[0].size)
        for start in range(0, len(members), size):
            if not library.problem.deadline.has_time():
                return None
            with_member = self._quick.value_with(stack[members[start : start + size]])
            scores[start : start + size] = library.quick.scores(with_member)
        if self._full is not None:
            # of those that the sample prefers; the first of them at ties
            members = members[np.argsort(-scores, kind="stable")[:SHORTLIST]]
            with_member = self._full.value_with(library.on_all_rows(list(members)))
            scores = library.problem.scores(with_member)
        best = int(np.argmax(scores))
        return int(members[best]), float(scores[best])


class RunningMean:
    """Mean of predictions that are added and removed."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self._size = 0
        self._total = np.zeros(shape, np.float32)

    def add(self, values: NDArray[Any]) -> None:
        """Add a prediction."""
        self._size += 1
        self._total += values

    def remove(self, values: NDArray[Any]) -> None:
        """Remove one occurrence of a prediction."""
        self._size -= 1
        self._total -= values

    def value(self) -> NDArray[np.float32]:
        """Mean of the added predictions."""
        return self._total / np.float32(self._size)

    def value_with(self, values: NDArray[Any]) -> NDArray[np.float32]:
        """Mean with one more prediction, or with each one of a stack."""
        total = self._total + values
        total *= np.float32(1.0 / (self._size + 1))
        return np.asarray(total)


class RunningMedian:
    """Median of predictions that are added and removed: their values, sorted in each row."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self._ordered = np.empty((0, *shape), np.float32)

    def add(self, values: NDArray[Any]) -> None:
        """Add a prediction."""
        self._ordered = np.sort(np.concatenate([self._ordered, values[None]]), axis=0)

    def remove(self, values: NDArray[Any]) -> None:
        """Remove one occurrence of a prediction."""
        place = (self._ordered == values).argmax(axis=0)
        kept = np.arange(len(self._ordered))[:, None] != place
        shape = (len(self._ordered) - 1, len(values))
        self._ordered = self._ordered.T[kept.T].reshape(shape[::-1]).T.copy()

    def value(self) -> NDArray[np.float32]:
        """Median of the added predictions; the midpoint of the middle two of an even number."""
        lower, upper = (len(self._ordered) - 1) // 2, len(self._ordered) // 2
        return _between(self._ordered[lower], self._ordered[upper])

    def value_with(self, values: NDArray[Any]) -> NDArray[np.float32]:
        """Median with one more prediction, or with each one of a stack.

        The new value, clipped by its neighbors, decides.
        """
        size = len(self._ordered)
        if not size:
            return np.asarray(values, np.float32)
        middle = size // 2
        if size % 2 == 0:
            return np.asarray(np.clip(values, *self._ordered[middle - 1 : middle + 1]))
        if size == 1:
            return _between(self._ordered[0], values)
        near = np.clip(values, self._ordered[middle - 1], self._ordered[middle + 1])
        return _between(self._ordered[middle], near)


def _between(first: NDArray[Any], second: NDArray[Any]) -> NDArray[np.float32]:
    return np.asarray((first + second) * np.float32(0.5))


def _cut(order: IntArray, groups: Sequence[str] | None, max_members: int) -> IntArray:
    """The best `max_members`, the best three of each group before all others."""
    if len(order) <= max_members:
        return order
    seen: dict[str, int] = {}
    is_leader = np.zeros(len(order), dtype=bool)
    for place, member in enumerate(order if groups is not None else ()):
        group = groups[member] if groups is not None else ""
        seen[group] = seen.get(group, 0) + 1
        is_leader[place] = seen[group] <= 3
    priority = np.argsort(~is_leader, kind="stable")[:max_members]
    return np.asarray(order[np.sort(priority)])
