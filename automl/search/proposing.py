"""The next configuration: from the opening, or from the optimizer of the family whose turn it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from automl.bandits.protocol import Allocator, LetsGo
from automl.errors import AutoMLError
from automl.evaluation.racing import is_far_behind
from automl.optimizers.protocol import AsksAgain, BeginsByKnowledge, Optimizer, Proposal
from automl.origins import DEFAULT, FLOOR, INITIAL_DESIGN
from automl.randomness import Purpose, stream
from automl.records import Configuration, Trial
from automl.search.best_seen import Standing
from automl.search.decided import Decided
from automl.search.opening import Opening
from automl.search.rungs import Rungs, is_first_look
from automl.spaces.tree import SpaceTree

OWED_SHARE = 1 / 6
"""Share of the decisions after the opening that may go to defaults without a turn so far.

A run of a hundred trials gets to a dozen of them, and one of sixty loses no more than six trials:
with a third, which were nine, a table of three lost some of its score.
"""
ASK_ATTEMPTS = 20
"""Attempts of an optimizer that repeats itself, before a draw from the prior replaces them."""
DRAW_ATTEMPTS = 100
"""From the prior, before a family counts as exhausted."""


@dataclass(frozen=True)
class Arm:
    """What a turn is given to: a space, its optimizer and the optimizer's name.

    The space is that of a family, or a union of which the optimizer chooses the family.
    """

    space: SpaceTree
    optimizer: Optimizer
    optimizer_name: str


class Proposer:
    """Knows what was tried and what it gave, and says what comes next.

    Parameters
    ----------
    arms
        By name, in prior order: by family, or a single one of all families.
    opening
        What is tried before any optimizer is asked; floors however little time is left.
    races
        Whether the opening leaves out further configurations of a family that is far behind.
    fits
        Under a time budget: whether a trial of this proposal can still finish, given the partial
        trial whose folds it takes over.
    has_time
        Under a time budget: whether any trial can still finish. If none can, no optimizer is asked.
    defaults
        Default of each family in the order in which those are tried that the opening and the
        allocator leave out: every family's is owed one trial.
    affords
        Under a time budget: whether a default may have as many seconds as a trial on all folds takes,
        though other data sets or the first folds speak against it.
    seconds
        Under a time budget: forecast of a trial of this proposal, given the partial trial whose folds it
        takes over; None while nothing is known.
    rungs
        Under a time budget, on a large table: which configurations of the opening begin on few rows.
    """

    def __init__(
        self,
        arms: Mapping[str, Arm],
        allocator: Allocator,
        *,
        opening: Opening,
        seed: int,
        races: bool = False,
        fits: Callable[[Proposal, Trial | None], bool] = lambda *_: True,
        has_time: Callable[[], bool] = lambda: True,
        defaults: Sequence[Configuration] = (),
        affords: Callable[[Proposal], bool] = lambda _: True,
        seconds: Callable[[Proposal, Trial | None], float | None] = lambda *_: None,
        rungs: Rungs | None = None,
    ) -> None:
        self.arms = dict(arms)
        self._arm_of = {part.family: name for name in arms for part in arms[name].space.parts}
        self._allocator = allocator
        self._opening = opening
        self._seed = seed
        self._races = races
        self._fits, self._has_time = fits, has_time
        self._owed, self._affords = list(defaults), affords
        self._seconds = seconds
        self._rungs = rungs
        self._n_owed = self._n_later = 0
        self._decided = Decided()
        self._begun: set[str] = set()
        self._asked: set[str] = set()
        self._standing = Standing()
        self.seen: list[Trial] = []
        self.dropped: dict[str, str] = {}

    def takes_part(self, family: str) -> bool:
        """Whether the family is of an arm; a floor may be of none."""
        return family in self._arm_of

    def is_out(self, family: str) -> bool:
        """Whether a family is hardly given another turn: it is of no arm, or of one that was let go."""
        name = self._arm_of.get(family)
        if name is None or name in self.dropped:
            return True
        return isinstance(self._allocator, LetsGo) and name in self._allocator.gone

    def begin_round(self, learned: Iterable[Trial] = ()) -> None:
        """Take results, in the order in which decisions see them, and let optimizers think anew.

        What is proposed until the next call is proposed on the same results.
        """
        self._asked.clear()
        for trial in learned:
            self.learn(trial)

    def learn(self, trial: Trial) -> None:
        """Take a result, in the order in which decisions see them."""
        self.seen.append(trial)
        self._standing.add(trial)
        if not is_first_look(trial):
            self._allocator.update(trial)
        name = self._arm_of.get(trial.configuration.family)
        if name is not None:
            self.arms[name].optimizer.tell(trial)
        self._decided.learn(trial)

    def note(self, proposal: Proposal) -> None:
        """Take note that a proposal is tried."""
        self._decided.add(proposal.configuration, proposal.fidelity)
        self._begun.add(proposal.configuration.family)

    def earlier(self, proposal: Proposal) -> Trial | None:
        """Partial trial whose folds a proposal takes over."""
        return self._decided.earlier(proposal)

    def expected_seconds(self, proposal: Proposal) -> float | None:
        """What a trial of a proposal is forecast to take itself; None without a forecast."""
        return self._seconds(proposal, self._decided.earlier(proposal))

    def best(self, family: str | None = None) -> Trial | None:
        """Best complete trial seen, of a family or of all."""
        return self._standing.best(family)

    def least_kept(self, n: int, configuration: Configuration) -> float:
        """Score from which a trial is among the `n` best seen, or leads its family with its preprocessing.

        -inf where there are fewer trials, or none of its kind.
        """
        return self._standing.least_kept(n, configuration)

    def propose(self, number: int, pending: Sequence[Configuration]) -> tuple[Proposal, str] | None:
        """What comes next and its origin: of the opening, then of the defaults and the optimizers.

        Parameters
        ----------
        number
            Of the decision; draws depend on it.
        pending
            What was decided and is not seen.

        Returns
        -------
        None if nothing is left, nothing that can still finish, or nothing before a pending
        result is seen.
        """
        opened = self._next_promoted() or self._next_opening()
        if opened := opened or self._next_promoted(all_begun=True):
            return opened
        owed = self._next_owed()
        opened = owed or self._ask(number, pending)
        self._n_later += opened is not None
        self._n_owed += owed is not None
        return opened

    def races(self, proposal: Proposal, origin: str) -> bool:
        """Whether a trial may end before its last fold: a default has all of them, if affordable."""
        return origin != DEFAULT or not self._affords(proposal)

    def _next_promoted(self, *, all_begun: bool = False) -> tuple[Proposal, str] | None:
        """What has done so well on few rows that it goes on, if it can finish."""
        if self._rungs is None:
            return None
        for proposal, origin in self._rungs.promoted(self.seen, all_begun=all_begun):
            if not self._decided.holds(proposal) and self._can_finish(proposal):
                return proposal, origin
        return None

    def _next_opening(self) -> tuple[Proposal, str] | None:
        while (opened := self._opening.pop(self.seen)) is not None:
            configuration, origin = opened
            rungs = self._rungs
            proposal = rungs.first(configuration, origin) if rungs else Proposal(configuration)
            if self._is_worth_opening(proposal, origin):
                return proposal, origin
            self._opening.pass_over(configuration)
        return None

    def _is_worth_opening(self, proposal: Proposal, origin: str) -> bool:
        if self._decided.holds(proposal):
            return False
        if origin == FLOOR:
            return True
        is_futile = origin != DEFAULT and self._is_futile(proposal.configuration.family)
        whole = Proposal(proposal.configuration)  # few rows alone make no model
        return not is_futile and self._can_finish(proposal) and self._can_finish(whole)

    def _next_owed(self) -> tuple[Proposal, str] | None:
        """Default that had no turn; None if too many were tried since the opening, or none fits."""
        if self._n_owed > OWED_SHARE * self._n_later or not self._has_time():
            return None
        self._owed = [owed for owed in self._owed if not self._decided.holds(Proposal(owed))]
        for proposal in map(Proposal, self._owed):
            if self._can_finish(proposal) and self._affords(proposal):
                return proposal, DEFAULT
        return None

    def _can_finish(self, proposal: Proposal) -> bool:
        return self._fits(proposal, self._decided.earlier(proposal))

    def _is_futile(self, family: str) -> bool:
        """Whether a family has shown on all folds that it is far behind the best one."""
        best = self.best()
        own = self.best(family)
        if not self._races or best is None or own is None:
            return False
        return is_far_behind(own.fold_scores, best.fold_scores)

    def _ask(self, number: int, pending: Sequence[Configuration]) -> tuple[Proposal, str] | None:
        waiting = [self._arm_of.get(c.family, c.family) for c in pending]
        late: set[str] = set()
        while self._has_time():
            arms = [a for a in self.arms if a not in self.dropped and a not in late]
            if not arms:
                break
            rng = stream(self._seed, Purpose.ALLOCATOR, number, len(late))
            wanted = [a for a in arms if not self._is_discouraged(a)] or arms
            name = self._allocator.choose(wanted, pending=waiting, rng=rng)
            arm = self.arms[name]
            own = [c for c in pending if self._arm_of.get(c.family) == name]
            proposed = self._first_default(arm) or self._ask_arm(name, number, own)
            if proposed is not None and self._can_finish(proposed[0]):
                return proposed
            if proposed is None and not own:
                self.dropped[name] = "its search space is exhausted"
            late.add(name)
        return None

    def _is_discouraged(self, name: str) -> bool:
        """Whether no family of an arm was ever tried, and other data sets speak against all."""
        families = {part.family for part in self.arms[name].space.parts}
        if families & self._begun:
            return False
        return families <= self._opening.discouraged(self.seen).families

    def _first_default(self, arm: Arm) -> tuple[Proposal, str] | None:
        """Default of the first family of the arm that has not had it, of a union one that fits.

        Passed over where other data sets speak against it and something else of the family was tried. None of
        a union whose optimizer knows which families are worth a trial.
        """
        parts = arm.space.parts
        if len(parts) > 1 and begins_by_knowledge(arm.optimizer):
            return None
        discouraged = self._opening.discouraged(self.seen)
        for part in parts:
            proposal = Proposal(part.default())
            is_known = part.family in self._begun or part.family in discouraged.families
            if is_known and proposal.configuration.id in discouraged.configurations:
                continue
            if not self._decided.holds(proposal) and (
                len(parts) == 1 or self._can_finish(proposal)
            ):
                return proposal, DEFAULT
        return None

    def _ask_arm(
        self, name: str, number: int, pending: Sequence[Configuration]
    ) -> tuple[Proposal, str] | None:
        """New proposal of the arm's optimizer; where it only repeats itself, a draw from the prior.

        None when the optimizer says so, or when not even the draws are new. In a union one that
        can still finish, if there is any.
        """
        arm = self.arms[name]
        late: tuple[Proposal, str] | None = None
        for attempt in range(ASK_ATTEMPTS):
            rng = stream(self._seed, Purpose.OPTIMIZER, number, attempt)
            proposal = self._asking(name)(pending=pending, rng=rng)
            if proposal is None:
                return late
            illegal = arm.space.is_legal(proposal.configuration)
            if illegal is not None:
                raise AutoMLError(f"optimizer {arm.optimizer_name} proposed for {name}: {illegal}")
            if self._decided.holds(proposal):
                continue
            late = proposal, INITIAL_DESIGN if proposal.is_designed else arm.optimizer_name
            self._asked.add(name)
            if len(arm.space.parts) == 1 or self._can_finish(proposal):
                return late
        return self._draw(arm, number) or late

    def _asking(self, name: str) -> Callable[..., Proposal | None]:
        """How the optimizer of an arm is asked: again in a round, if it can."""
        optimizer = self.arms[name].optimizer
        if name in self._asked and isinstance(optimizer, AsksAgain):
            return optimizer.ask_again
        return optimizer.ask

    def _draw(self, arm: Arm, number: int) -> tuple[Proposal, str] | None:
        """New draw from the prior, of a union one that fits; None if there is none."""
        rng = stream(self._seed, Purpose.OPTIMIZER, number, ASK_ATTEMPTS)
        for _ in range(DRAW_ATTEMPTS):
            proposal = Proposal(arm.space.sample(rng))
            if not self._decided.holds(proposal) and (
                len(arm.space.parts) == 1 or self._can_finish(proposal)
            ):
                return proposal, "random"
        return None


def begins_by_knowledge(optimizer: Optimizer) -> bool:
    """Whether earlier data sets tell an optimizer where to begin."""
    return isinstance(optimizer, BeginsByKnowledge) and optimizer.begins_by_knowledge
