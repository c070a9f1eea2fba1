"""A library of predictions and the blends that greedy selection tries on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from automl.records import FloatArray, IntArray

SHORTLIST = 3
"""Members that the sample of rows proposes and all rows choose among."""


class Library:
    """Members in the order of their own scores, best first.

    Parameters
    ----------
    predictions
        Of the kept members.
    members : (kept,)
        Their positions in the caller's list.
    target : Target
        All rows to learn from.
    sample : Target or None
        Subset of the rows; None when all rows are few enough.
    """

    def __init__(
        self,
        predictions: list[NDArray[Any]],
        members: IntArray,
        best_single: float,
        target: Target,
        sample: Target | None,
    ) -> None:
        self.predictions = predictions
        self.members = members
        self.best_single = best_single
        self.target = target
        self.sample = sample
        quick = target if sample is None else sample
        self.quick = quick
        self.stack = np.stack([quick.take(prediction) for prediction in predictions])

    @classmethod
    def build(
        cls,
        predictions: Sequence[NDArray[Any]],
        y: NDArray[Any],
        score: Callable[..., float],
        *,
        rows: IntArray | None,
        sample_weight: FloatArray | None,
        groups: Sequence[str] | None,
        max_members: int,
        max_rows: int,
        rng: np.random.Generator,
        has_time: Callable[[], bool],
    ) -> Library:
        """Library of at most `max_members`, and a sample if there are more than `max_rows` rows.

        Raises
        ------
        ValueError
            If there are no predictions.
        """
        if not predictions:
            raise ValueError("an ensemble needs at least one prediction; got none")
        target = Target(y, score, rows, sample_weight)
        scores: list[float] = []
        for prediction in predictions:
            if scores and not has_time():
                break
            scores.append(target.score(target.take(prediction)))
        order = np.argsort(-np.asarray(scores), kind="stable")
        kept = _cut(order, groups, max_members)
        sample = None
        if target.n_rows > max_rows:
            chosen = np.sort(rng.choice(target.n_rows, size=max_rows, replace=False))
            sample = Target(y, score, chosen if rows is None else rows[chosen], sample_weight)
        best_single = float(scores[order[0]])
        library = cls([predictions[i] for i in kept], kept, best_single, target, sample)
        target.n_evaluations = len(scores)
        return library

    @property
    def n_evaluations(self) -> int:
        """Blends and members scored so far."""
        return self.target.n_evaluations + (self.sample.n_evaluations if self.sample else 0)

    def empty_blend(self) -> Blend:
        """Blend without members."""
        return Blend(self)

    def member(self, position: int) -> NDArray[Any]:
        """Prediction of one member on all rows to learn from."""
        if self.sample is None:
            return np.asarray(self.stack[position])
        return self.target.take(self.predictions[position])

    def score_weights(self, weights: FloatArray) -> float:
        """Score of the blend with `weights`, (n members of the caller,)."""
        parts = [
            weights[member] * self.member(position)
            for position, member in enumerate(self.members)
            if weights[member] > 0
        ]
        return self.target.score(np.sum(parts, axis=0))


class Target:
    """Some rows of the true values with the score to maximize."""

    def __init__(
        self,
        y: NDArray[Any],
        score: Callable[..., float],
        rows: IntArray | None,
        sample_weight: FloatArray | None,
    ) -> None:
        self.rows = rows
        self.y = y if rows is None else y[rows]
        self.n_rows = len(self.y)
        self._score = score
        self._extra: tuple[FloatArray, ...] = ()
        if sample_weight is not None:
            self._extra = (sample_weight if rows is None else sample_weight[rows],)
        self.n_evaluations = 0

    def take(self, prediction: NDArray[Any]) -> NDArray[Any]:
        """The rows of `prediction` in 32 bits."""
        rows = prediction if self.rows is None else prediction[self.rows]
        return np.asarray(rows, dtype=np.float32)

    def score(self, prediction: NDArray[Any]) -> float:
        """Score of a prediction of these rows."""
        self.n_evaluations += 1
        return self._score(self.y, prediction, *self._extra)


class Blend:
    """Running sum of the members taken so far, on all rows and on the sample."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._size = 0
        self._quick = np.zeros_like(library.stack[0])
        self._buffer = np.empty_like(self._quick)
        self._full: NDArray[Any] | None = None
        if library.sample is not None:
            self._full = np.zeros((library.target.n_rows, *self._quick.shape[1:]), np.float32)

    def add(self, member: int) -> None:
        """Take a member once more."""
        self._change(member, 1)

    def remove(self, member: int) -> None:
        """Take a member once less."""
        self._change(member, -1)

    def _change(self, member: int, sign: int) -> None:
        self._size += sign
        self._quick += sign * self._library.stack[member]
        if self._full is not None:
            self._full += sign * self._library.member(member)

    def score(self) -> float:
        """Score of the blend on all rows."""
        total = self._quick if self._full is None else self._full
        return self._library.target.score(total / np.float32(self._size))

    def best_addition(
        self, members: IntArray, has_time: Callable[[], bool]
    ) -> tuple[int, float] | None:
        """Member whose addition scores best, and that score; None if time runs out."""
        factor = np.float32(1.0 / (self._size + 1))
        scores = np.empty(len(members))
        for place, member in enumerate(members):
            if place % 8 == 0 and not has_time():
                return None
            np.add(self._quick, self._library.stack[member], out=self._buffer)
            np.multiply(self._buffer, factor, out=self._buffer)
            scores[place] = self._library.quick.score(self._buffer)
        if self._full is None:
            best = int(np.argmax(scores))
            return int(members[best]), float(scores[best])
        return self._best_on_all_rows(members[np.argsort(-scores, kind="stable")[:SHORTLIST]])

    def _best_on_all_rows(self, shortlist: IntArray) -> tuple[int, float]:
        """Best of the shortlist by all rows; the first, which the sample prefers, at ties."""
        assert self._full is not None
        factor = np.float32(1.0 / (self._size + 1))
        target, library = self._library.target, self._library
        scores = [
            target.score((self._full + library.member(int(member))) * factor)
            for member in shortlist
        ]
        best = int(np.argmax(scores))
        return int(shortlist[best]), float(scores[best])


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
