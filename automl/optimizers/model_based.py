"""Sequential model-based optimization: fit a surrogate, maximize an acquisition, evaluate.

One surrogate covers all signatures of the space: what is not active in a configuration is imputed
by the encoding, with a flag.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, cached_property
from typing import Any

import numpy as np

from automl.acquisition.criterion import Criterion
from automl.acquisition.functions import Reference
from automl.acquisition.maximizers import Ground, best_first
from automl.forecasts.runtime_model import RuntimeModel
from automl.forecasts.timings import KnownTimings, timing_of
from automl.optimizers.composition import Composition
from automl.optimizers.geometry import Geometry
from automl.optimizers.observations import Observations, Table
from automl.optimizers.protocol import Proposal
from automl.optimizers.rounds import NEAR, Shortlist
from automl.recommendation.meta_vote import MetaVote
from automl.records import BoolArray, Configuration, FloatArray, Trial, TrialStatus
from automl.spaces.points import Points, join
from automl.spaces.tree import SpaceTree
from automl.surrogates.earlier_data import ExpectingSurrogate, Sources, TransferSurrogate
from automl.surrogates.protocol import (
    BelievingSurrogate,
    JointSurrogate,
    Surrogate,
    UnevenSurrogate,
)
from automl.surrogates.score_targets import TARGETS

FEWEST = 2
"""Complete trials without which there is no model."""
DRAW_ATTEMPTS = 200
"""Draws, or points beyond the known ones, before a space counts as exhausted: a small one is to be searched
to its end."""
USUAL = 1000
"""Draws that show what predictions are usual in the space."""
_LIES = {"median": 0.5, "worst": 0.0, "best": 1.0}
_SAME = 1e-9
"""Encoded points closer than this are one: more than rounding, less than a step of any number."""
Propose = Callable[[Sequence[Configuration], set[str], np.random.Generator], Configuration | None]
"""How to propose, by what is pending, what is taken, and a stream."""
N_ELSEWHERE = 3
"""Best configurations of each other data set at which the acquisition is looked at as well (by judgement)."""
BLOCK = 256
"""Points that are compared with the known ones at a time, best first."""


@cache
def _linear_algebra() -> Any:
    """Thread control of the BLAS libraries of numpy and scipy.

    With one thread sums are taken in the same order on every machine, so that a run is replayed
    wherever it is resumed, and the workers keep their cores.
    """
    import scipy.linalg  # noqa: F401 loads its BLAS
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def _are_among(X: FloatArray, points: FloatArray, *, within: float = _SAME) -> BoolArray:
    """Whether each row (m,) is as good as one of the known rows (n, d); n may be 0."""
    from scipy.spatial.distance import cdist

    if len(points) == 0:
        return np.zeros(len(X), dtype=bool)
    return np.asarray(cdist(X, points, "chebyshev").min(axis=1) < within)


class ModelBasedOptimizer:
    """Composition of a surrogate, an acquisition, a maximizer and an initial design.

    Until as many trials are known as the initial design has points, it proposes the design; then
    every `interleaving`-th proposal is a random draw and the others maximize the acquisition over
    the surrogate. No configuration is proposed that was told (other than partially) or is pending,
    and the model proposes none that hardly differs from one that was raced: it would measure once
    more what is hopeless. A finite space is exhausted in the end.

    Parameters
    ----------
    space
        Space of one family, or a union of them.
    composition
        The parts.
    candidates
        The only configurations that may be proposed; by default every one of the space. The
        points of a small finite space, as those of a list, are all scored.
    timings
        What the run knows of seconds, for an acquisition per cost.
    sources
        Trials on earlier data sets, for a surrogate that learns from them. There is no initial
        design where the surrogate knows what they expect, and one of a single point otherwise.
    vote
        Of a meta-learner, which orders the maximizer's points together with the acquisition; then
        there is no initial design, and draws are ordered by it until there is a model.
    geometry
        Of this space, encoding and candidates, if other optimizers have it already.

    References
    ----------
    .. [1] Hutter et al. (2011), Sequential model-based optimization for general algorithm
       configuration; van Hoof (2018), section 2.2; Lacoste et al. (2014), Algorithm 1.
    """

    def __init__(
        self,
        space: SpaceTree,
        composition: Composition,
        *,
        candidates: Sequence[Configuration] | None = None,
        timings: KnownTimings | None = None,
        sources: Sources | None = None,
        vote: MetaVote | None = None,
        geometry: Geometry | None = None,
    ) -> None:
        self._space = space
        self._geometry = geometry or Geometry(
            space, form=composition.encoding, candidates=candidates
        )
        self._timings = timings or KnownTimings()
        self._composition = composition
        self._vote = vote
        self._surrogate: Surrogate = composition.new_surrogate()
        self._sources: Sources | None = None
        if sources is not None and isinstance(self._surrogate, TransferSurrogate):
            self._surrogate.learn_from(sources)
            self._sources = sources if len(sources.y) else None
        self._acquisition = composition.new_acquisition()
        self._maximizer = composition.new_maximizer()
        self._design = composition.new_initial_design()
        self._observations = Observations()
        self._plan: list[Configuration] | None = None
        self._shortlist: Shortlist | None = None
        self._turn = 0

    @property
    def _has_learned(self) -> bool:
        return self._sources is not None

    @property
    def _heard(self) -> MetaVote | None:
        """The vote, as long as it is heard."""
        return self._vote if self._vote is not None and self._vote.is_heard() else None

    @property
    def begins_by_knowledge(self) -> bool:
        """Whether earlier data sets say where to begin."""
        return self._has_learned and isinstance(self._surrogate, ExpectingSurrogate)

    @property
    def _n_designed(self) -> int:
        if self._heard is not None or self.begins_by_knowledge:
            return 0
        return 1 if self._has_learned else self._design.n_points

    # --- the protocol -----------------------------------------------------------------------

    def ask(self, *, pending: Sequence[Configuration], rng: np.random.Generator) -> Proposal | None:
        """Point of the initial design, random draw, or the best point found; None if exhausted."""
        self._shortlist = None
        return self.ask_again(pending=pending, rng=rng)

    def ask_again(
        self, *, pending: Sequence[Configuration], rng: np.random.Generator
    ) -> Proposal | None:
        """As `ask`, with the model and the search of the last one where they can give more."""
        taken = self._taken(pending)
        if self._geometry.listed is not None and taken.issuperset(self._geometry.listed_ids):
            return None
        is_designed = self.is_designing(pending)
        proposed = self._propose(pending, taken, rng)
        return None if proposed is None else Proposal(proposed, is_designed=is_designed)

    def is_designing(self, pending: Sequence[Configuration]) -> bool:
        """Whether the next proposal belongs to the initial design, whatever the scores."""
        return len(self._taken(pending)) < self._n_designed

    def tell(self, trial: Trial) -> None:
        """Remember a trial unless it is partial; its seconds in any case, where they matter."""
        timing = timing_of(trial, self._timings.workload)
        if self._acquisition.needs_seconds and timing is not None:
            self._runtime.add(timing)
        if trial.status is not TrialStatus.PARTIAL:
            is_legal = self._space.is_legal(trial.configuration) is None
            row = self._geometry.row(trial.configuration)
            self._observations.add(trial, row, is_legal=is_legal)

    # --- what to propose --------------------------------------------------------------------

    def _taken(self, pending: Sequence[Configuration]) -> set[str]:
        return self._observations.known | {configuration.id for configuration in pending}

    def _propose(
        self, pending: Sequence[Configuration], taken: set[str], rng: np.random.Generator
    ) -> Configuration | None:
        if len(taken) < self._n_designed:
            return self._planned(taken, rng) or self._draw(taken, rng)
        self._turn += 1
        every = self._composition.interleaving
        is_random = every > 0 and self._turn % every == 0
        if is_random or not self._geometry.encoder.feature_names:
            return self._draw(taken, rng)
        propose = self._way()
        if propose is None:
            return self._draw(taken, rng)
        with _linear_algebra().limit(limits=1, user_api="blas"):
            proposed = propose(pending, taken, rng)
        return proposed or self._draw(taken, rng)

    def _way(self) -> Propose | None:
        """How to propose after the initial design, by what is known; None: at random."""
        if self._observations.n_complete + self._has_learned >= FEWEST:
            return self._maximize
        if self._heard is not None:
            return self._follow_vote
        return self._follow_sources if self.begins_by_knowledge else None

    def _planned(self, taken: set[str], rng: np.random.Generator) -> Configuration | None:
        if self._plan is None:
            is_free = self._geometry.is_free
            self._plan = list(self._design.plan(self._geometry.points, rng)) if is_free else []
        while self._plan:
            configuration = self._plan.pop(0)
            if self._is_new(configuration, taken):
                return configuration
        return None

    def _draw(self, taken: set[str], rng: np.random.Generator) -> Configuration | None:
        """Draw from the prior that is not taken; of a list, any that is not."""
        if self._geometry.is_free:
            for _ in range(DRAW_ATTEMPTS):
                drawn = self._space.sample(rng)
                if drawn.id not in taken:
                    return drawn
        rest = [i for i, key in enumerate(self._geometry.listed_ids) if key not in taken]
        if self._geometry.listed is None or not rest:
            return None
        return self._geometry.listed[rest[int(rng.integers(len(rest)))]]

    def _is_new(self, configuration: Configuration, taken: set[str]) -> bool:
        return configuration.id not in taken and self._space.is_legal(configuration) is None

    def _is_worth_it(self, configuration: Configuration, taken: set[str]) -> bool:
        """Whether it is new and not next to a hopeless one."""
        if not self._is_new(configuration, taken):
            return False
        return not self._are_hopeless(self._geometry.encoder.transform([configuration]))[0]

    def _are_hopeless(self, X: FloatArray) -> BoolArray:
        """Whether each row (m, d) hardly differs from a trial that was raced."""
        return _are_among(X, self._observations.hopeless_rows, within=NEAR)

    # --- the model --------------------------------------------------------------------------

    def _maximize(
        self, pending: Sequence[Configuration], taken: set[str], rng: np.random.Generator
    ) -> Configuration | None:
        if self._shortlist is not None:
            further = self._shortlist.next(lambda found: self._is_worth_it(found, taken))
            if further is not None:
                return further
        table = self._observations.table()
        waiting = self._geometry.encoder.transform(list(pending))
        best = self._fit(table, waiting, rng)
        criterion = self._criterion(best, rng)
        if self._geometry.listed is not None:
            return self._best_listed(criterion, taken, rng)
        return self._search(criterion, table, waiting, taken, rng)

    def _follow_vote(
        self, pending: Sequence[Configuration], taken: set[str], rng: np.random.Generator
    ) -> Configuration | None:
        """Best by the vote alone, of the listed points or of draws."""
        if self._geometry.listed is not None:
            return self._best_listed(lambda X: np.zeros(len(X)), taken, rng)
        drawn = self._geometry.points.sample(USUAL, rng)
        best = self._ordered(drawn, np.zeros(len(drawn)), rng)
        taken_points = self._geometry.encoder.transform(
            [*self._observations.configurations, *pending]
        )
        return self._first_new(best, taken_points, taken)

    def _follow_sources(
        self, pending: Sequence[Configuration], taken: set[str], rng: np.random.Generator
    ) -> Configuration | None:
        """Best by what earlier data sets expect, beside the points under way."""
        assert isinstance(self._surrogate, ExpectingSurrogate)
        surrogate = self._surrogate
        waiting = self._geometry.encoder.transform(list(pending))
        if self._geometry.listed is not None:
            return self._best_listed(lambda X: surrogate.expect(X, waiting, rng=rng), taken, rng)
        points = self._geometry.points.sample(USUAL, rng)
        if self._elsewhere is not None:
            points = join([points, self._elsewhere])
        expected = surrogate.expect(self._geometry.points_encoder.encode(points), waiting, rng=rng)
        return self._first_new(points.take(best_first(expected, rng)), waiting, taken)

    def _best_listed(
        self,
        criterion: Callable[[FloatArray], FloatArray],
        taken: set[str],
        rng: np.random.Generator,
    ) -> Configuration | None:
        listed = self._geometry.listed or []
        rows = np.array([i for i, key in enumerate(self._geometry.listed_ids) if key not in taken])
        X = self._geometry.listed_rows[rows]
        first = best_first(self._voted(criterion(X), X), rng)[0]
        return listed[int(rows[first])]

    def _fit(self, table: Table, waiting: FloatArray, rng: np.random.Generator) -> float:
        """Fit the surrogate, pending configurations included; the best target seen."""
        y = TARGETS[self._composition.target](table.scores)
        best = float(y[table.is_complete].max())
        X, noise_scale = table.X, table.noise_scale
        lie = _LIES.get(self._composition.pending)
        if lie is not None and len(waiting):
            lies = np.full(len(waiting), np.quantile(y[table.is_complete], lie))
            X, y = np.concatenate([X, waiting]), np.concatenate([y, lies])
            noise_scale = np.concatenate([noise_scale, np.ones(len(waiting))])
        if isinstance(self._surrogate, UnevenSurrogate):
            self._surrogate.fit_uneven(X, y, noise_scale, rng=rng)
        else:
            self._surrogate.fit(X, y, rng=rng)
        if lie is None and len(waiting):
            assert isinstance(self._surrogate, BelievingSurrogate)
            self._surrogate.believe(waiting)
        return best

    def _criterion(self, best: float, rng: np.random.Generator) -> Criterion:
        nothing: FloatArray = np.zeros(0)
        runtime = self._fit_runtime(rng)
        if runtime is None and not self._acquisition.needs_space:
            reference = Reference(best, nothing, nothing)
            return Criterion(self._surrogate, self._acquisition, reference)
        usual = (
            self._geometry.points_encoder.encode(self._geometry.points.sample(USUAL, rng))
            if self._geometry.listed is None
            else self._geometry.listed_rows
        )
        typical = 1.0 if runtime is None else float(np.median(np.exp(runtime.predict(usual)[0])))
        means, stds = nothing, nothing
        if self._acquisition.needs_space:
            means, stds = self._surrogate.predict(usual)
        reference = Reference(best, means, stds, typical)
        return Criterion(self._surrogate, self._acquisition, reference, runtime)

    def _fit_runtime(self, rng: np.random.Generator) -> RuntimeModel | None:
        """Model of the logarithm of seconds; None while too little is known of them."""
        if not self._acquisition.needs_seconds:
            return None
        if self._runtime.n_earlier + self._runtime.n_own < FEWEST:
            return None
        self._runtime.fit(rng)
        return self._runtime

    def _search(
        self,
        criterion: Criterion,
        table: Table,
        waiting: FloatArray,
        taken: set[str],
        rng: np.random.Generator,
    ) -> Configuration | None:
        """Best point of the maximizer that is legal and new."""
        rows = np.flatnonzero(table.is_legal)
        ground = Ground(
            self._geometry.points,
            self._geometry.points_encoder,
            [table.configurations[i] for i in rows],
            table.X[rows],
            table.scores[rows],
            self._elsewhere,
        )
        scored = self._maximizer.search(criterion, ground, rng)
        best = self._ordered(scored.points, scored.utilities, rng)
        found = self._first_new(best, np.concatenate([table.X, waiting]), taken)
        is_joint = isinstance(criterion.surrogate, JointSurrogate) and self._heard is None
        if found is not None and is_joint:
            self._shortlist = Shortlist(criterion, self._geometry, best, found)
        return found

    def _ordered(self, points: Points, utilities: FloatArray, rng: np.random.Generator) -> Points:
        """Points, best first; they are encoded only where there is a vote on them."""
        if self._heard is not None:
            utilities = self._voted(utilities, self._geometry.points_encoder.encode(points))
        return points.take(best_first(utilities, rng))

    def _voted(self, utilities: FloatArray, X: FloatArray) -> FloatArray:
        """(m,) what points with the encodings X (m, d) are ordered by."""
        heard = self._heard
        if heard is None:
            return utilities
        return heard.beside(utilities, X, self._observations.n_complete)

    def _first_new(
        self, points: Points, taken_points: FloatArray, taken: set[str]
    ) -> Configuration | None:
        """First point that is legal and new; of equal ones a single one is looked at.

        A part of the space without numbers may come thousands of times among the points.
        """
        n_tried = len(taken_points) + DRAW_ATTEMPTS
        for start in range(0, len(points), BLOCK):
            block = points.take(slice(start, start + BLOCK))
            X = self._geometry.points_encoder.encode(block)
            is_out = _are_among(X, taken_points) | self._are_hopeless(X)
            for row in np.flatnonzero(~is_out):
                if _are_among(X[[row]], taken_points)[0]:
                    continue
                configuration = self._geometry.points.configuration(block, int(row))
                if self._is_new(configuration, taken):
                    return configuration
                taken_points = np.concatenate([taken_points, X[[row]]])
                if len(taken_points) == n_tried:
                    return None
        return None

    # --- what is worked out once ------------------------------------------------------------

    @cached_property
    def _elsewhere(self) -> Points | None:
        """What was good on other data sets and can be tried here; None if nothing is known of that."""
        if self._sources is None:
            return None
        best = self._sources.best_of_each(N_ELSEWHERE)
        legal = [one for one in best if self._space.is_legal(one) is None]
        any_position = np.random.default_rng(0)  # of leaves that are not active
        return self._geometry.points.read(legal, any_position) if legal else None

    @cached_property
    def _runtime(self) -> RuntimeModel:
        return RuntimeModel(
            self._geometry.encoder, self._timings, make=self._composition.new_runtime
        )
