"""Ensemble methods by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from automl.ensembles.agnostic import agnostic_bayes
from automl.ensembles.greedy import greedy_selection
from automl.ensembles.member_limits import LEAST_WEIGHT
from automl.ensembles.problem import EnsembleProblem
from automl.extensions import Registry
from automl.lookup import entry_of
from automl.records import FloatArray

Learn = Callable[[EnsembleProblem], FloatArray]
"""Weights of a problem's members, (n members,), non-negative, sum 1."""


@dataclass(frozen=True)
class EnsembleMethod:
    """A named way to weight models.

    Parameters
    ----------
    learn
        See `Learn`; never asked to vote, see `EnsembleProblem.of_votes`.
    summary, source
        A line about it, and the document it comes from.
    library_size
        How many trials it chooses among, see `automl.ensembles.diversity`; None for all.
    is_second_layer
        Whether only models of the second layer get weight.
    n_bags : positive
        How often it learns: from all members, then from random parts of them; the weights are the
        mean.
    least_weight : in [0, 1)
        Share of all weight below which a member is left out. A method whose weights are what a
        document defines has 0.
    draws_bootstraps
        Whether `learn` takes `n_bootstraps`, and its generator draws nothing but bootstraps.
    """

    learn: Learn
    summary: str
    source: str
    library_size: int | None = 60
    is_second_layer: bool = False
    n_bags: int = 1
    least_weight: float = LEAST_WEIGHT
    draws_bootstraps: bool = False

    def weights(self, problem: EnsembleProblem, bag: int = 0) -> FloatArray:
        """(n members,) weights that are learned from the members of one bag, sum 1.

        Parameters
        ----------
        bag : in [0, `n_bags`)
            Bag 0 holds all members.
        """
        members = problem.members_of(bag)
        weights = np.zeros(problem.n_members)
        weights[members] = self.learn(problem.restricted(members).of_votes())
        return weights


def learn_single(problem: EnsembleProblem) -> FloatArray:
    """All weight on the member with the best score, the first at ties."""
    scores = [problem.scores(problem.taken(one)[None])[0] for one in problem.predictions]
    return np.asarray(np.eye(problem.n_members)[int(np.argmax(scores))])


_OURS: dict[str, EnsembleMethod] = {
    "greedy": EnsembleMethod(
        greedy_selection,
        "greedily adds the member that most improves the blend, with replacement",
        "H18 2.5.3, after Caruana 2004",
    ),
    "bagged_greedy": EnsembleMethod(
        greedy_selection,
        "mean of what greedy finds among all members and four times among four fifths of them",
        "H18 2.5.3, after Caruana 2006",
        n_bags=5,
    ),
    "agnostic_bayes": EnsembleMethod(
        agnostic_bayes,
        "weights each member by the share of row bootstraps it wins (50, or n_histories)",
        "L14 section 3",
        library_size=None,
        least_weight=0.0,
        draws_bootstraps=True,
    ),
    "stacking": EnsembleMethod(
        greedy_selection,
        "weights models trained on other models' out-of-fold predictions, as greedy does",
        "H18 2.5.3, after Wolpert 1992",
        is_second_layer=True,
    ),
    "single": EnsembleMethod(
        learn_single, "the best member alone, to compare the others with", "H18 2.5.3"
    ),
}
ENSEMBLES = Registry("automl.ensembles", EnsembleMethod, _OURS, reserved=("none",))
"""All ensemble methods by name, those of installed packages among them."""


def get_ensemble(name: str) -> EnsembleMethod:
    """Ensemble method of a name.

    Raises
    ------
    SettingsError
        If there is none of this name; the nearest one is proposed.
    """
    return entry_of(ENSEMBLES, name, "ensemble")
