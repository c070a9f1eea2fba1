"""Sequential model-based ensemble optimization: one history per bootstrap of the validation rows.

Agnostic Bayes draws a member of the ensemble by drawing a bootstrap of the validation rows and
taking the model that is best on it. Over an infinite space each bootstrap is a search of its own;
the searches share their trials, because all of them train on the same rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from automl.forecasts.timings import KnownTimings
from automl.optimizers.composition import Composition
from automl.optimizers.geometry import Geometry
from automl.optimizers.model_based import ModelBasedOptimizer
from automl.optimizers.protocol import Proposal
from automl.records import Configuration, Trial
from automl.spaces.tree import SpaceTree


class EnsembleOptimizer:
    """Model-based searches of N bootstraps, asked in turn; one trial feeds all of them.

    Search v of turn k = v, v + N, … proposes what promises the best score on its bootstrap, so an
    ask fits one surrogate on one history. The initial design, which looks at no score, is common
    to all. No history sees data: the scores on the bootstraps come with the trial
    (`Trial.bootstrap_scores`); a complete trial without them has the same score in every history.
    Raced, failed and partial trials have none either and count in each history as they do in
    `ModelBasedOptimizer`.

    Parameters
    ----------
    space
        Space of one family, or a union of them.
    composition
        The parts of each search, and with `n_histories` how many there are: N, at least 1. What
        is told must have no or so many scores on bootstraps.
    timings
        What the run knows of seconds, for an acquisition per cost.

    Notes
    -----
    The ensemble takes the best of *all* trials on each bootstrap (`automl.ensembles.agnostic`).
    Algorithm 2 as printed returns every model that was trained, which is not the distribution of
    equation 6 that it samples from.

    References
    ----------
    .. [1] Lacoste et al., Sequential model-based ensemble optimization, Algorithm 2.
    """

    def __init__(
        self,
        space: SpaceTree,
        composition: Composition,
        *,
        timings: KnownTimings | None = None,
    ) -> None:
        geometry = Geometry(space, form=composition.encoding)
        self._histories = [
            ModelBasedOptimizer(space, composition, timings=timings, geometry=geometry)
            for _ in range(composition.n_histories)
        ]
        self._turn = 0

    def ask(self, *, pending: Sequence[Configuration], rng: np.random.Generator) -> Proposal | None:
        """What the history whose turn it is proposes; None when the space is exhausted."""
        first = self._histories[0]
        if first.is_designing(pending):
            return first.ask(pending=pending, rng=rng)
        history = self._histories[self._turn % len(self._histories)]
        self._turn += 1
        return history.ask(pending=pending, rng=rng)

    def tell(self, trial: Trial) -> None:
        """Add a trial to every history, with the score on its bootstrap.

        Raises
        ------
        ValueError
            If the trial has scores on another number of bootstraps.
        """
        scores = trial.bootstrap_scores or (trial.score,) * len(self._histories)
        for history, score in zip(self._histories, scores, strict=True):
            history.tell(replace(trial, score=score))
