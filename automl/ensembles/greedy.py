"""Greedy ensemble selection with replacement and sorted start (H18, section 2.5.3); one bag of it.

References
----------
.. [1] Caruana, Niculescu-Mizil, Crew and Ksikes (2004), Ensemble selection from libraries of
   models.
.. [2] Caruana, Munson and Niculescu-Mizil (2006), Getting the most out of ensemble selection.
"""

from __future__ import annotations

import numpy as np

from automl.ensembles.library import Blend, Library
from automl.ensembles.problem import EnsembleProblem
from automl.records import FloatArray


def greedy_selection(
    problem: EnsembleProblem,
    *,
    n_rounds: int = 40,
    sorted_start: int = 10,
    max_members: int = 100,
    max_rows: int = 5_000,
) -> FloatArray:
    """Weights of the best blend that greedy selection with replacement finds.

    It starts with the best N members (N up to `sorted_start`, by score). It then adds `n_rounds` times
    the member that most improves the blend, and keeps its best state. The first state is the best
    member alone, so the result is never worse than that. Above `max_rows` rows or `MOST_CELLS` cells, a sample proposes
    three members in each round and all rows choose among them. Equal scores go to the member that
    is better alone, then to the first.

    Parameters
    ----------
    problem
        Its groups are families: the best three of each survive when the library is cut.
    n_rounds, sorted_start, max_members, max_rows : positive

    Returns
    -------
    (n members,), sum 1
        O((n_rounds + sorted_start) * members * rows) time; the best so far at the deadline.
    """
    library = Library.build(problem, max_members=max_members, max_rows=max_rows)
    counts = _select(library, n_rounds, sorted_start)
    weights = np.zeros(problem.n_members)
    weights[library.members] = counts / counts.sum()
    return weights


def _select(library: Library, n_rounds: int, sorted_start: int) -> FloatArray:
    """How often each library member was taken in the best state.

    Members are in the order of their own scores, so the sorted start takes the first ones.
    """
    blend, deadline = Blend(library), library.problem.deadline
    members = np.arange(len(library.members))
    best_score, best_size = -np.inf, 0
    taken: list[int] = []
    for member in members[:sorted_start]:
        blend.add(int(member))
        taken.append(int(member))
        score = blend.score()
        if score > best_score:
            best_score, best_size = score, len(taken)
        if not deadline.has_time():
            break
    for member in taken[best_size:]:
        blend.remove(member)
    del taken[best_size:]
    for _ in range(n_rounds):
        choice = blend.best_addition(members)
        if choice is None:
            break
        member, score = choice
        blend.add(member)
        taken.append(member)
        if score > best_score:
            best_score, best_size = score, len(taken)
    return np.bincount(taken[:best_size], minlength=len(library.members)).astype(np.float64)
