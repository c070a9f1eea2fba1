"""Successive halving, Hyperband and BOHB over a ladder of fidelities (H18, section 8.2).

Notation
--------
level : position in the ladder, 0 the cheapest, the last one a complete trial
rung : the configurations of a bracket at one level
eta : one of eta members of a rung goes on to the next one

A bracket is never waited for: while results of its rung are missing, the next bracket begins.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np
from pydantic import Field

from automl.errors import SettingsError
from automl.factory_options import Count, Share
from automl.optimizers.fidelities import ETA, FULL, Levels, row_levels
from automl.optimizers.protocol import Proposal
from automl.optimizers.random_search import DRAW_ATTEMPTS
from automl.optimizers.tpe import N_STARTUP, TPE
from automl.records import Configuration, Trial, TrialStatus
from automl.spaces.tree import SpaceTree

DEFAULT_LEVELS = row_levels(10_000)
RANDOM_SHARE = 1 / 3


@dataclass
class _Bracket:
    """Rungs from `level` upward; `sizes` are the members of each, the current one first."""

    level: int
    sizes: list[int]
    members: list[Configuration] = field(default_factory=list)
    given: set[str] = field(default_factory=set)
    lost: set[str] = field(default_factory=set)

    def close(self) -> None:
        """Draw no more members."""
        self.sizes[0] = len(self.members)

    @property
    def is_filled(self) -> bool:
        return len(self.members) >= self.sizes[0]

    def climb(self, best: Sequence[Configuration]) -> None:
        """Go on with the best members; without any the bracket is at its end."""
        self.sizes = self.sizes[1:]
        self.level += 1
        self.members = list(best[: self.sizes[0]]) if self.sizes else []
        self.given, self.lost = set(), set()
        if self.sizes:
            self.close()

    @property
    def is_done(self) -> bool:
        return not self.sizes or (self.sizes[0] == 0 and not self.members)


class SuccessiveHalving:
    """Many configurations at the lowest fidelity; the best of each rung at the next.

    Results are compared at their own level only. A member whose trial failed, was raced or was
    never told goes no further, nor does one that is complete already.

    Parameters
    ----------
    levels
        Ladder of fidelities; the last is the full one.
    eta : >= 2

    Raises
    ------
    SettingsError
        If the ladder does not end with the full fidelity, or `eta` is too small.

    References
    ----------
    .. [1] van Hoof, section 8.2.2; Jamieson and Talwalkar (2016).
    """

    def __init__(
        self,
        space: SpaceTree,
        *,
        levels: Levels = DEFAULT_LEVELS,
        eta: Annotated[int, Field(ge=2)] = ETA,
    ) -> None:
        if not levels or levels[-1] != FULL:
            raise SettingsError(f"levels must end with the full fidelity; got {levels}")
        if eta < 2:
            raise SettingsError(f"eta must be at least 2; got {eta}")
        self._space, self._levels, self._eta = space, levels, eta
        self._brackets: list[_Bracket] = []
        self._n_begun = 0
        self._seen: dict[str, Configuration] = {}
        self._scores: dict[tuple[str, int], float] = {}

    def ask(self, *, pending: Sequence[Configuration], rng: np.random.Generator) -> Proposal | None:
        """Next member of the oldest bracket that has one; None when nothing is left."""
        waiting = {configuration.id for configuration in pending}
        for bracket in self._brackets:
            bracket.lost |= {
                identity
                for identity in bracket.given - waiting
                if not self._is_known(identity, bracket.level)
            }
        for bracket in [*self._brackets, self._begin()]:
            proposal = self._next_of(bracket, pending, rng)
            if proposal is not None:
                break
        self._brackets = [bracket for bracket in self._brackets if not bracket.is_done]
        return proposal or self._leftover(waiting)

    def tell(self, trial: Trial) -> None:
        """Take the result of a level; partial trials of other fidelities are passed over."""
        configuration = trial.configuration
        self._seen[configuration.id] = configuration
        if trial.fidelity not in self._levels:
            return
        is_scored = trial.is_complete or trial.status is TrialStatus.PARTIAL
        score = trial.score if is_scored else None
        level = self._levels.index(trial.fidelity)
        self._scores[configuration.id, level] = -math.inf if score is None else score
        self._learn(configuration, level, score)

    # --- what variants change -------------------------------------------------------------------

    def _sizes(self, number: int) -> list[int]:  # noqa: ARG002 every bracket is the same
        """Members of each rung of a bracket; the last rung is at the full fidelity."""
        top = len(self._levels) - 1
        return [self._eta ** (top - i) for i in range(top + 1)]

    def _draw(
        self,
        pending: Sequence[Configuration],  # noqa: ARG002 draws are independent
        rng: np.random.Generator,
    ) -> Configuration:
        """A configuration to begin with."""
        return self._space.sample(rng)

    def _learn(self, configuration: Configuration, level: int, score: float | None) -> None:
        """Take a result for later draws."""

    # --- brackets ---------------------------------------------------------------------------------

    def _begin(self) -> _Bracket:
        """A new bracket, kept once it has a member."""
        sizes = self._sizes(self._n_begun)
        return _Bracket(len(self._levels) - len(sizes), sizes)

    def _next_of(
        self, bracket: _Bracket, pending: Sequence[Configuration], rng: np.random.Generator
    ) -> Proposal | None:
        while not bracket.is_done:
            if not bracket.is_filled:
                drawn = self._draw_new(pending, rng)
                if drawn is None:
                    bracket.close()
                    continue
                self._keep(bracket)
                bracket.members.append(drawn)
                return self._give(bracket, drawn)
            for member in bracket.members:
                identity = member.id
                if identity not in bracket.given and not self._is_known(identity, bracket.level):
                    return self._give(bracket, member)
            if not self._is_told(bracket):
                return None
            bracket.climb(self._ranked(bracket))
        return None

    def _keep(self, bracket: _Bracket) -> None:
        if not any(bracket is kept for kept in self._brackets):
            self._brackets.append(bracket)
            self._n_begun += 1

    def _give(self, bracket: _Bracket, member: Configuration) -> Proposal:
        bracket.given.add(member.id)
        self._seen[member.id] = member
        return Proposal(member, self._levels[bracket.level])

    def _is_told(self, bracket: _Bracket) -> bool:
        return all(
            member.id in bracket.lost or self._is_known(member.id, bracket.level)
            for member in bracket.members
        )

    def _ranked(self, bracket: _Bracket) -> list[Configuration]:
        """Members with a score at the rung's level, best first."""
        scored = [
            (self._scores.get((member.id, bracket.level), -math.inf), member)
            for member in bracket.members
        ]
        scored = [(score, member) for score, member in scored if score > -math.inf]
        return [member for _, member in sorted(scored, key=lambda each: -each[0])]

    def _is_known(self, identity: str, level: int) -> bool:
        """Whether there is a result at a level, or a complete trial."""
        return (identity, level) in self._scores or (
            identity,
            len(self._levels) - 1,
        ) in self._scores

    def _draw_new(
        self, pending: Sequence[Configuration], rng: np.random.Generator
    ) -> Configuration | None:
        taken = self._seen.keys() | {configuration.id for configuration in pending}
        drawn = self._draw(pending, rng)
        for _ in range(DRAW_ATTEMPTS):
            if drawn.id not in taken:
                return drawn
            drawn = self._space.sample(rng)
        return None

    def _leftover(self, waiting: set[str]) -> Proposal | None:
        """Where no configuration is new: the best one without a complete trial, in full."""
        top = len(self._levels) - 1
        left = [
            identity
            for identity in self._seen
            if identity not in waiting and (identity, top) not in self._scores
        ]
        if not left:
            return None

        def rank(identity: str) -> tuple[int, float]:
            levels = [i for i in range(top) if (identity, i) in self._scores]
            return (levels[-1], self._scores[identity, levels[-1]]) if levels else (-1, 0.0)

        return Proposal(self._seen[max(left, key=rank)])


class Hyperband(SuccessiveHalving):
    """Successive halving in brackets that begin at every level in turn, the lowest first.

    References
    ----------
    .. [1] van Hoof, section 8.2.2; Li et al. (2018), Hyperband, algorithm 1.
    """

    def _sizes(self, number: int) -> list[int]:
        n_levels = len(self._levels)
        s = n_levels - 1 - number % n_levels
        first = math.ceil(n_levels / (s + 1) * self._eta**s)
        return [max(1, first // self._eta**i) for i in range(s + 1)]


class BOHB(Hyperband):
    """Hyperband whose configurations come from the tree-structured Parzen estimator.

    The estimator of the highest level with enough results proposes; a share of the draws, and all
    before that, are from the prior. Results of different levels are never mixed.

    Parameters
    ----------
    n_startup
        Results of a level before its estimator is used.
    random_share : in [0, 1]
        Probability of a draw from the prior.

    References
    ----------
    .. [1] van Hoof, section 8.2.2; Falkner et al. (2018), BOHB.
    """

    def __init__(
        self,
        space: SpaceTree,
        *,
        levels: Levels = DEFAULT_LEVELS,
        eta: Annotated[int, Field(ge=2)] = ETA,
        n_startup: Count = N_STARTUP,
        random_share: Share = RANDOM_SHARE,
    ) -> None:
        super().__init__(space, levels=levels, eta=eta)
        self._random_share = random_share
        self._estimators = [TPE(space, n_startup=n_startup) for _ in levels]

    def _draw(self, pending: Sequence[Configuration], rng: np.random.Generator) -> Configuration:
        ready = [estimator for estimator in self._estimators if estimator.is_ready]
        if not ready or rng.random() < self._random_share:
            return self._space.sample(rng)
        return ready[-1].propose(pending, rng)

    def _learn(self, configuration: Configuration, level: int, score: float | None) -> None:
        self._estimators[level].learn(configuration, score)
