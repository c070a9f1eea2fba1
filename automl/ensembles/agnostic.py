"""Agnostic Bayes by bootstrap: members weighted by how often each is the best (L14, section 3).

Each bootstrap of the validation rows represents a draw of the true risks; the member with the
least risk on it is drawn into the ensemble (L14 section 3, eq. 5 and 6). The weight of a member is
the share of the bootstraps that it wins. Over the configurations of a random search this is the
document's ERS; over those of its ESMBO, each history's best of all trained models.
"""

from __future__ import annotations

import numpy as np

from automl.ensembles.problem import EnsembleProblem
from automl.metrics.bootstraps import DrawnRows, bootstrap_multiplicities
from automl.records import FloatArray, IntArray

N_BOOTSTRAPS = 50
"""L14's N."""
TIE = 1e-9
"""Scores this near to the best one are equal to it: sums in another order differ by less."""


def agnostic_bayes(problem: EnsembleProblem, *, n_bootstraps: int = N_BOOTSTRAPS) -> FloatArray:
    """Share of the bootstraps on which each member is the best.

    Scores within `TIE` of the best are equal to it: then the member that is better on the rows
    themselves wins, then the first. Members that are not scored by the deadline take no part.

    Parameters
    ----------
    n_bootstraps : positive

    Returns
    -------
    (n members,), sum 1, multiples of 1 / `n_bootstraps`
    """
    problem = problem.only_weighted_rows()
    multiplicities = bootstrap_multiplicities(len(problem.truth), n_bootstraps, problem.rng)
    drawn = DrawnRows(multiplicities, problem.weight)
    alone: list[float] = []
    scores: list[FloatArray] = []
    for prediction in problem.predictions:
        if scores and not problem.deadline.has_time():
            break
        part = problem.taken(prediction)
        alone.append(float(problem.scores(part[None])[0]))
        scores.append(drawn.scores(problem.index, problem.truth, part))
    wins = winners(np.stack(scores), np.asarray(alone))
    return np.bincount(wins, minlength=problem.n_members) / n_bootstraps


def winners(scores: FloatArray, alone: FloatArray) -> IntArray:
    """Best member of each bootstrap.

    Parameters
    ----------
    scores : (n members, N), maximized
    alone : (n members,)
        Score on the rows themselves, which decides among equal ones.

    Returns
    -------
    (N,)
    """
    order = np.argsort(-alone, kind="stable")
    ordered = scores[order]
    is_best = ordered >= ordered.max(axis=0) - TIE
    return np.asarray(order[is_best.argmax(axis=0)])
