"""Numbered turns: who searches next, and on what knowledge.

Notation
--------
i : decision number, from 0
L : lookback; decision i sees exactly the results of decisions up to i - L, told in order.
    None under a time budget: a decision sees whatever has finished, and nothing waits.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest
from math import inf

from automl.bandits.protocol import Allocator
from automl.errors import AutoMLError
from automl.evaluation.racing import is_far_behind
from automl.optimizers.protocol import Optimizer, Proposal
from automl.randomness import Purpose, stream
from automl.records import Configuration, Trial
from automl.search.decided import Decided
from automl.search.opening import Opening
from automl.search.origins import DEFAULT, FLOOR
from automl.spaces.tree import SpaceTree

ASK_ATTEMPTS = 20
DRAW_ATTEMPTS = 100
WAKE_SECONDS = 0.5


@dataclass(frozen=True)
class Turn:
    """A decision: what to evaluate.

    Parameters
    ----------
    index : decision number
    origin : one of the opening's, `default`, or the optimizer's name
    sees : number of results that the decision has seen
    incumbent : fold scores of the best complete trial seen, None before there is one
    keep_above : score from which a trial is among the `n_kept` best seen
    earlier : partial trial of the configuration whose folds are part of this turn's
    """

    index: int
    proposal: Proposal
    origin: str
    sees: int
    incumbent: tuple[float, ...] | None
    keep_above: float
    earlier: Trial | None = None

    @property
    def family(self) -> str:
        """Family of the configuration."""
        return self.proposal.configuration.family


@dataclass(frozen=True)
class Arm:
    """What a turn is given to: a space, its optimizer and the optimizer's name.

    The space is that of a family, or a union of which the optimizer chooses the family.
    """

    space: SpaceTree
    optimizer: Optimizer
    optimizer_name: str


class Turns:
    """Gives numbered turns to threads and takes their results.

    Parameters
    ----------
    arms
        By name, in prior order: by family, or a single one of all families.
    opening
        What is tried before any optimizer is asked; floors however little time is left.
    lookback
        L, or None under a time budget.
    n_trials
        Number of decisions, or None.
    n_slots
        Most turns under way.
    n_kept
        Number of best trials whose fold models are worth keeping.
    races
        Whether the opening leaves out further configurations of a family that is far behind.
    fits
        Under a time budget: whether a trial of this proposal can still finish, given the partial
        trial whose folds it takes over.
    has_time
        Under a time budget: whether any trial can still finish. Nobody is asked where none can.
    replay
        Finished trials of an earlier process by index.
    """

    def __init__(
        self,
        arms: Mapping[str, Arm],
        allocator: Allocator,
        *,
        opening: Opening,
        seed: int,
        lookback: int | None,
        n_trials: int | None,
        n_slots: int,
        n_kept: int = 1,
        races: bool = False,
        fits: Callable[[Proposal, Trial | None], bool] = lambda *_: True,
        has_time: Callable[[], bool] = lambda: True,
        replay: Mapping[int, Trial] | None = None,
    ) -> None:
        self._arms = dict(arms)
        self._arm_of = {part.family: name for name in arms for part in arms[name].space.parts}
        self._allocator = allocator
        self._opening = opening
        self._seed = seed
        self._lookback, self._n_trials, self._n_slots = lookback, n_trials, n_slots
        self._n_kept = n_kept
        self._races = races
        self._fits, self._has_time = fits, has_time
        self._nothing_at = -1
        self._replay = dict(replay or {})
        self._condition = threading.Condition()
        self._next = 0
        self._turns: dict[int, Turn] = {}
        self._results: dict[int, Trial] = {}
        self._seen: list[Trial] = []
        self._untold: set[int] = set()
        self._under_way: set[int] = set()
        self._taken: set[int] = set()
        self._queues: dict[str, deque[Turn]] = {}
        self._decided = Decided()
        self._begun: set[str] = set()
        self.dropped: dict[str, str] = {}
        self._is_over = False
        if lookback is None:
            self._adopt()

    # --- what threads call -------------------------------------------------------------------

    def take(
        self, family: str | None = None, *, until: Callable[[], bool] | None = None
    ) -> Turn | None:
        """Next turn of a family (or of any), waiting for it; None when there will be none.

        Turns of families that take no part (floors of excluded families) are for anyone.

        Parameters
        ----------
        until
            Give up, without a turn, as soon as this holds.
        """
        with self._condition:
            while True:
                turn = self._queued(family)
                if turn is not None:
                    self._taken.add(turn.index)
                    return turn
                if (until is not None and until()) or self._is_finished():
                    return None
                if not self._decide() and not self._is_over:
                    self._condition.wait(WAKE_SECONDS)

    def finish(self, trial: Trial) -> None:
        """Take the committed trial of a turn."""
        with self._condition:
            self._under_way.discard(trial.index)
            self._taken.discard(trial.index)
            self._results[trial.index] = trial
            self._untold.add(trial.index)
            self._condition.notify_all()

    def end(self) -> None:
        """Decide nothing more; threads that wait return."""
        with self._condition:
            self._is_over = True
            self._queues.clear()
            self._condition.notify_all()

    def wake(self) -> None:
        """Let waiting threads look at their conditions again."""
        with self._condition:
            self._condition.notify_all()

    def wait_for_taken(self, *, unless: Callable[[], bool]) -> None:
        """Wait for the trials of all turns that were taken, by whichever thread.

        Parameters
        ----------
        unless
            Give up as soon as this holds.
        """
        with self._condition:
            while self._taken and not unless():
                self._condition.wait(WAKE_SECONDS)

    @property
    def trials(self) -> list[Trial]:
        """Finished trials in the order of their index."""
        with self._condition:
            return [self._results[i] for i in sorted(self._results)]

    @property
    def is_over(self) -> bool:
        """Whether nothing more will be decided and nothing is under way."""
        with self._condition:
            return self._is_finished() and not self._under_way

    @property
    def n_slots(self) -> int:
        """Most turns under way."""
        return self._n_slots

    @property
    def n_under_way(self) -> int:
        """Turns that have been given and not finished."""
        with self._condition:
            return len(self._under_way)

    # --- decisions, under the lock ----------------------------------------------------------------

    def _queued(self, family: str | None) -> Turn | None:
        for name, queue in self._queues.items():
            if queue and (family is None or name == family or name not in self._arm_of):
                return queue.popleft()
        return None

    def _is_finished(self) -> bool:
        if self._is_over:
            return True
        if self._n_trials is not None and self._next >= self._n_trials:
            return not any(self._queues.values())
        return False

    def _decide(self) -> bool:
        """Make the next decision if it is due; whether one was made."""
        if len(self._under_way) >= self._n_slots or not self._knows_enough():
            return False
        self._tell()
        n_seen = len(self._seen)
        proposed = None
        if n_seen != self._nothing_at:  # what was found without a result since then stays so
            proposed = self._propose_next()
        if proposed is None:
            self._nothing_at = n_seen
            if not self._under_way:
                self._is_over = True
                self._condition.notify_all()
            return False
        self._give(*proposed)
        return True

    def _propose_next(self) -> tuple[Proposal, str] | None:
        """What is next of the opening, else of the optimizers; where they share, in turn."""
        if self._opening.shares_turns(self._seen) and self._next % 2:
            return self._ask() or self._next_opening()
        return self._next_opening() or self._ask()

    def _knows_enough(self) -> bool:
        if self._n_trials is not None and self._next >= self._n_trials:
            return False
        if self._lookback is None:
            return True
        needed = self._next - self._lookback
        return all(i in self._results for i in range(len(self._seen), needed + 1))

    def _tell(self) -> None:
        visible = None if self._lookback is None else self._next - self._lookback
        for i in sorted(self._untold):
            if visible is not None and i > visible:
                break
            self._learn(self._results[i])
            self._untold.discard(i)

    def _learn(self, trial: Trial) -> None:
        self._seen.append(trial)
        self._allocator.update(trial)
        name = self._arm_of.get(trial.configuration.family)
        if name is not None:
            self._arms[name].optimizer.tell(trial)
        self._decided.learn(trial)

    def _pending(self) -> list[Configuration]:
        unseen = sorted(self._under_way | self._untold)
        return [self._turns[i].proposal.configuration for i in unseen]

    def _next_opening(self) -> tuple[Proposal, str] | None:
        while (found := self._opening.pop(self._seen)) is not None:
            configuration, origin = found
            if not self._decided.holds(Proposal(configuration)) and (
                origin == FLOOR
                or (
                    not self._is_futile(configuration.family)
                    and self._can_finish(Proposal(configuration))
                )
            ):
                return Proposal(configuration), origin
            self._opening.pass_over(configuration)
        return None

    def _can_finish(self, proposal: Proposal) -> bool:
        return self._fits(proposal, self._decided.earlier(proposal))

    def _is_futile(self, family: str) -> bool:
        """Whether a family has shown on all folds that it is far behind the best one."""
        best = self._best()
        own = self._best(family)
        if not self._races or best is None or own is None:
            return False
        return is_far_behind(own.fold_scores, best.fold_scores)

    def _best(self, family: str | None = None) -> Trial | None:
        """Best complete trial seen, of a family or of all."""
        complete = (
            trial
            for trial in self._seen
            if trial.is_complete and family in (None, trial.configuration.family)
        )
        return max(complete, key=lambda t: (t.score or 0.0, -t.index), default=None)

    def _ask(self) -> tuple[Proposal, str] | None:
        pending = self._pending()
        waiting = [self._arm_of.get(c.family, c.family) for c in pending]
        late: set[str] = set()
        while self._has_time():
            arms = [a for a in self._arms if a not in self.dropped and a not in late]
            if not arms:
                break
            rng = stream(self._seed, Purpose.ALLOCATOR, self._next, len(late))
            wanted = [a for a in arms if not self._is_hopeless(a)] or arms
            name = self._allocator.choose(wanted, pending=waiting, rng=rng)
            arm = self._arms[name]
            own = [c for c in pending if self._arm_of.get(c.family) == name]
            proposed = self._first_default(arm) or self._propose(name, arm, own)
            if proposed is None:
                self.dropped[name] = "its search space is exhausted"
            elif self._can_finish(proposed[0]):
                return proposed
            else:
                late.add(name)
        return None

    def _is_hopeless(self, name: str) -> bool:
        """Whether no family of an arm was ever tried, and other data sets speak against all."""
        families = {part.family for part in self._arms[name].space.parts}
        if families & self._begun:
            return False
        return families <= self._opening.hopeless(self._seen).families

    def _first_default(self, arm: Arm) -> tuple[Proposal, str] | None:
        """Default of the first family of the arm that has not had it, of a union one that fits.

        Passed over where other data sets speak against it and something else of the family was tried.
        """
        parts = arm.space.parts
        hopeless = self._opening.hopeless(self._seen)
        for part in parts:
            proposal = Proposal(part.default())
            is_known = part.family in self._begun or part.family in hopeless.families
            if is_known and proposal.configuration.id in hopeless.configurations:
                continue
            if not self._decided.holds(proposal) and (
                len(parts) == 1 or self._can_finish(proposal)
            ):
                return proposal, DEFAULT
        return None

    def _propose(
        self, name: str, arm: Arm, pending: Sequence[Configuration]
    ) -> tuple[Proposal, str] | None:
        """New proposal of the arm's optimizer; where it only repeats itself, a draw from the prior.

        None when the optimizer says so, or when not even the draws are new. In a union one that
        can still finish, if there is any.
        """
        late: tuple[Proposal, str] | None = None
        for attempt in range(ASK_ATTEMPTS):
            rng = stream(self._seed, Purpose.OPTIMIZER, self._next, attempt)
            proposal = arm.optimizer.ask(pending=pending, rng=rng)
            if proposal is None:
                return late
            illegal = arm.space.is_legal(proposal.configuration)
            if illegal is not None:
                raise AutoMLError(f"optimizer {arm.optimizer_name} proposed for {name}: {illegal}")
            if self._decided.holds(proposal):
                continue
            late = proposal, arm.optimizer_name
            if len(arm.space.parts) == 1 or self._can_finish(proposal):
                return late
        return self._draw(arm) or late

    def _draw(self, arm: Arm) -> tuple[Proposal, str] | None:
        """New draw from the prior, of a union one that fits; None where there is none."""
        rng = stream(self._seed, Purpose.OPTIMIZER, self._next, ASK_ATTEMPTS)
        for _ in range(DRAW_ATTEMPTS):
            proposal = Proposal(arm.space.sample(rng))
            if not self._decided.holds(proposal) and (
                len(arm.space.parts) == 1 or self._can_finish(proposal)
            ):
                return proposal, "random"
        return None

    def _give(self, proposal: Proposal, origin: str) -> None:
        best = self._best()
        turn = Turn(
            self._next,
            proposal,
            origin,
            len(self._seen),
            None if best is None else best.fold_scores,
            self._keep_above(),
            self._decided.earlier(proposal),
        )
        self._next += 1
        self._turns[turn.index] = turn
        self._decided.add(proposal.configuration, proposal.fidelity)
        self._begun.add(proposal.configuration.family)
        known = self._replay.pop(turn.index, None)
        if known is not None:
            self._check_replay(turn, known)
            self._results[turn.index] = known
            self._untold.add(turn.index)
            return
        self._under_way.add(turn.index)
        self._queues.setdefault(turn.family, deque()).append(turn)
        self._condition.notify_all()

    def _keep_above(self) -> float:
        scores = [t.score for t in self._seen if t.is_complete and t.score is not None]
        return nlargest(self._n_kept, scores)[-1] if len(scores) >= self._n_kept else -inf

    def _check_replay(self, turn: Turn, trial: Trial) -> None:
        is_same = trial.configuration.id == turn.proposal.configuration.id
        if not is_same or trial.fidelity != turn.proposal.fidelity:
            raise AutoMLError(
                f"trial {trial.id} cannot be replayed: the journal holds "
                f"{trial.configuration.signature}, the decision is "
                f"{turn.proposal.configuration.signature}; settings or version differ"
            )

    def _adopt(self) -> None:
        """Learn the trials of an earlier process; decisions go on behind the last one."""
        for index in sorted(self._replay):
            trial = self._replay[index]
            self._results[index] = trial
            self._decided.add(trial.configuration, trial.fidelity)
            self._begun.add(trial.configuration.family)
            self._learn(trial)
            self._next = index + 1
        self._replay.clear()
