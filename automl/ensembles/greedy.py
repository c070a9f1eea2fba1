"""Greedy ensemble selection with replacement and sorted start (SPEC K4); one bag of it.

References
----------
.. [1] Caruana, Niculescu-Mizil, Crew and Ksikes (2004), Ensemble selection from libraries of
   models.
.. [2] Caruana, Munson and Niculescu-Mizil (2006), Getting the most out of ensemble selection.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from automl.ensembles.deadline import Deadline
from automl.ensembles.library import Library
from automl.inference.combining import Combine
from automl.metrics.learning import StackedScores
from automl.records import FloatArray, IntArray

Score = Callable[..., float]


@dataclass(frozen=True)
class GreedySelection:
    """What greedy selection found.

    Parameters
    ----------
    weights : (n members,), non-negative, sum 1
    score : maximized
        Score of the weighted blend on the rows that it was learned on (optimistic).
    best_single : maximized
        Score of the best single member on the same rows.
    n_evaluations
        Blends and members scored.
    is_complete
        False if the deadline cut it short.
    """

    weights: FloatArray
    score: float
    best_single: float
    n_evaluations: int
    is_complete: bool


def greedy_selection(
    predictions: Sequence[NDArray[Any]],
    y: NDArray[Any],
    score: Score,
    *,
    rng: np.random.Generator,
    stacked_scores: StackedScores | None = None,
    n_rounds: int = 40,
    sorted_start: int = 10,
    rows: IntArray | None = None,
    sample_weight: FloatArray | None = None,
    groups: Sequence[str] | None = None,
    max_members: int = 100,
    max_rows: int = 5_000,
    deadline: float | None = None,
    combine: Combine = "mean",
) -> GreedySelection:
    """Weights of the blend that a greedy search with replacement finds best.

    It starts with the best N members (N up to `sorted_start`, by score), then adds `n_rounds` times
    the member that helps most, and keeps its best state. The best member alone is the first of
    these states, so none is worse. Above `max_rows` rows or `MOST_CELLS` cells, a sample proposes
    three members in each round and all rows choose among them. Equal scores go to the member that
    is better alone, then to the first.

    Parameters
    ----------
    predictions : n members of (n, K) or (n,)
        Out-of-fold predictions; memory-mapped arrays are read by rows.
    y : (n,), codes or values
    score
        Called as ``score(y, prediction)``, and with the sample weights third if there are any.
    stacked_scores
        The same score of many predictions at once, which is faster; see
        `automl.metrics.learning.stacked_scores`.
    n_rounds, sorted_start : positive
    rows : indices, or None for all
        Rows to learn from.
    sample_weight : (n,), non-negative
    groups : (n members,)
        Families: the best three of each survive when the library is cut to `max_members`.
    deadline : seconds of `time.monotonic`, or None
        The best weights so far are returned then; the result depends on the clock.
    combine
        How the members' predictions become one; for votes give the votes themselves.

    Returns
    -------
    GreedySelection
        O((n_rounds + sorted_start) * members * rows) time.

    Raises
    ------
    ValueError
        If there are no predictions.
    """
    clock = Deadline(deadline)
    library = Library.build(
        predictions,
        y,
        score,
        stacked_scores=stacked_scores,
        rows=rows,
        sample_weight=sample_weight,
        groups=groups,
        max_members=max_members,
        max_rows=max_rows,
        rng=rng,
        has_time=clock.has_time,
        combine=combine,
    )
    counts = _select(library, n_rounds, sorted_start, clock)
    weights = np.zeros(len(predictions))
    weights[library.members] = counts / counts.sum()
    return GreedySelection(
        weights,
        library.score_weights(weights),
        library.best_single,
        library.n_evaluations,
        clock.has_time(),
    )


def _select(library: Library, n_rounds: int, sorted_start: int, clock: Deadline) -> FloatArray:
    """How often each library member was taken in the best state.

    Members are in the order of their own scores, so the sorted start takes the first ones.
    """
    blend = library.empty_blend()
    members = np.arange(len(library.members))
    best_score, best_size = -np.inf, 0
    taken: list[int] = []
    for member in members[:sorted_start]:
        blend.add(int(member))
        taken.append(int(member))
        score = blend.score()
        if score > best_score:
            best_score, best_size = score, len(taken)
        if not clock.has_time():
            break
    for member in taken[best_size:]:
        blend.remove(member)
    del taken[best_size:]
    for _ in range(n_rounds):
        choice = blend.best_addition(members, clock.has_time)
        if choice is None:
            break
        member, score = choice
        blend.add(member)
        taken.append(member)
        if score > best_score:
            best_score, best_size = score, len(taken)
    return np.bincount(taken[:best_size], minlength=len(library.members)).astype(np.float64)
