"""Ensemble methods by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from automl.ensembles.agnostic import N_BOOTSTRAPS, agnostic_bayes
from automl.ensembles.greedy import greedy_selection
from automl.ensembles.limits import LEAST_WEIGHT
from automl.inference.combining import Combine, votes
from automl.lookup import entry_of
from automl.metrics.learning import ManyScores, StackedScores
from automl.records import FloatArray, IntArray

Predictions = Sequence[NDArray[Any]]
Score = Callable[..., float]


BAG_SHARE = 0.8
LEAST_OF_A_BAG = 5
"""Share of the members in each further bag, and how many at least."""


class Learn(Protocol):
    """Weights of members from their out-of-fold predictions.

    Parameters
    ----------
    predictions : n members of (n, K) or (n,)
    y : (n,), codes or values
    score
        Called as ``score(y, prediction)``, and with the sample weights third if there are any;
        maximized.
    rng
        The only source of chance.
    rows : positions, or None for all
        Rows to learn from; a position may occur several times, as in a bootstrap.
    sample_weight : (n,), non-negative
    groups : (n members,)
        Families of the members.
    deadline : seconds of `time.monotonic`, or None
        The best weights so far are returned then; the result depends on the clock.
    combine
        How the members' predictions will become one.
    many_scores
        The same score under many weightings at once; see `automl.metrics.learning`.
    stacked_scores
        The same score of many predictions at once; see `automl.metrics.learning`.

    Returns
    -------
    (n members,), non-negative, sum 1
    """

    def __call__(
        self,
        predictions: Predictions,
        y: NDArray[Any],
        score: Score,
        *,
        rng: np.random.Generator,
        rows: IntArray | None = None,
        sample_weight: FloatArray | None = None,
        groups: Sequence[str] | None = None,
        deadline: float | None = None,
        combine: Combine = "mean",
        many_scores: ManyScores | None = None,
        stacked_scores: StackedScores | None = None,
    ) -> FloatArray: ...


@dataclass(frozen=True)
class EnsembleMethod:
    """A named way to weight models.

    Parameters
    ----------
    learn
        See `Learn`.
    summary, source
        A line about it, and the document it comes from.
    library_size
        How many trials it chooses among, see `automl.ensembles.diversity`; None for all.
    is_second_layer
        Whether only models of the second layer get weight.
    n_bags : positive
        How often it learns: from all members, then from random parts of them; the weights are the
        mean. On fresh rows of simulated and of five real tables, five parts of four fifths were as
        good as or better than halves and than a single bag.
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

    def learn_bag(
        self,
        number: int,
        predictions: Predictions,
        y: NDArray[Any],
        score: Score,
        *,
        rng: np.random.Generator,
        groups: Sequence[str] | None = None,
        **options: Any,
    ) -> FloatArray:
        """Weights of all members, learned from those of one bag; parameters as in `Learn`.

        Parameters
        ----------
        number : in [0, `n_bags`)
            Bag 0 holds all members.
        """
        members = _of_bag(number, len(predictions), rng)
        weights = np.zeros(len(predictions))
        weights[members] = self.learn(
            [predictions[i] for i in members],
            y,
            score,
            rng=rng,
            groups=None if groups is None else [groups[i] for i in members],
            **options,
        )
        return weights


def _of_bag(number: int, n_members: int, rng: np.random.Generator) -> IntArray:
    """Sorted positions of a bag's members."""
    size = min(n_members, max(LEAST_OF_A_BAG, round(BAG_SHARE * n_members)))
    if number == 0 or size == n_members:
        return np.arange(n_members)
    return np.sort(rng.choice(n_members, size=size, replace=False))


def learn_greedy(
    predictions: Predictions,
    y: NDArray[Any],
    score: Score,
    *,
    rng: np.random.Generator,
    rows: IntArray | None = None,
    sample_weight: FloatArray | None = None,
    groups: Sequence[str] | None = None,
    deadline: float | None = None,
    combine: Combine = "mean",
    many_scores: ManyScores | None = None,  # noqa: ARG001  (rows have one weighting)
    stacked_scores: StackedScores | None = None,
) -> FloatArray:
    """`automl.ensembles.greedy.greedy_selection`; parameters as in `Learn`."""
    return greedy_selection(
        _as_combined(predictions, combine),
        y,
        score,
        rng=rng,
        stacked_scores=stacked_scores,
        rows=rows,
        sample_weight=sample_weight,
        groups=groups,
        deadline=deadline,
        combine="mean" if combine == "vote" else combine,
    ).weights


def learn_agnostic_bayes(
    predictions: Predictions,
    y: NDArray[Any],
    score: Score,
    *,
    rng: np.random.Generator,
    rows: IntArray | None = None,
    sample_weight: FloatArray | None = None,
    groups: Sequence[str] | None = None,  # noqa: ARG001  (every member takes part)
    deadline: float | None = None,
    combine: Combine = "mean",
    many_scores: ManyScores | None = None,
    stacked_scores: StackedScores | None = None,  # noqa: ARG001  (each has many weightings)
    n_bootstraps: int = N_BOOTSTRAPS,
) -> FloatArray:
    """`automl.ensembles.agnostic.agnostic_bayes`; parameters as in `Learn`."""
    return agnostic_bayes(
        _as_combined(predictions, combine),
        y,
        score,
        rng=rng,
        n_bootstraps=n_bootstraps,
        rows=rows,
        sample_weight=sample_weight,
        many_scores=many_scores,
        deadline=deadline,
    )


def learn_single(
    predictions: Predictions,
    y: NDArray[Any],
    score: Score,
    *,
    rng: np.random.Generator,  # noqa: ARG001  (nothing is drawn)
    rows: IntArray | None = None,
    sample_weight: FloatArray | None = None,
    groups: Sequence[str] | None = None,  # noqa: ARG001
    deadline: float | None = None,  # noqa: ARG001  (one score per member)
    combine: Combine = "mean",
    many_scores: ManyScores | None = None,  # noqa: ARG001
    stacked_scores: StackedScores | None = None,  # noqa: ARG001
) -> FloatArray:
    """All weight on the member with the best score, the first at ties; parameters as in `Learn`.

    Raises
    ------
    ValueError
        If there are no predictions.
    """
    if not predictions:
        raise ValueError("an ensemble needs at least one prediction; got none")
    chosen = np.arange(len(y)) if rows is None else rows
    extra = () if sample_weight is None else (sample_weight[chosen],)
    scores = [score(y[chosen], part[chosen], *extra) for part in _as_combined(predictions, combine)]
    return np.asarray(np.eye(len(predictions))[int(np.argmax(scores))])


def _as_combined(predictions: Predictions, combine: Combine) -> Predictions:
    """What a method averages: the votes themselves where the members will vote."""
    return [votes(prediction) for prediction in predictions] if combine == "vote" else predictions


ENSEMBLES: dict[str, EnsembleMethod] = {
    "greedy": EnsembleMethod(
        learn_greedy,
        "the members that help the blend most, taken one by one, with replacement",
        "H18 2.5.3, after Caruana 2004, 2006",
        n_bags=5,
    ),
    "agnostic_bayes": EnsembleMethod(
        learn_agnostic_bayes,
        "each member by how often it is the best on bootstraps of the rows (50, or the histories')",
        "L14 section 3",
        library_size=None,
        least_weight=0.0,
        draws_bootstraps=True,
    ),
    "stacking": EnsembleMethod(
        learn_greedy,
        "models that learn from other models' out-of-fold predictions, blended as by greedy",
        "H18 2.5.3, after Wolpert 1992",
        is_second_layer=True,
        n_bags=5,
    ),
    "single": EnsembleMethod(
        learn_single, "the best member alone, to compare the others with", "H18 2.5.3"
    ),
}


def get_ensemble(name: str) -> EnsembleMethod:
    """Ensemble method of a name.

    Raises
    ------
    SettingsError
        If there is none of this name; the nearest one is proposed.
    """
    return entry_of(ENSEMBLES, name, "ensemble")
