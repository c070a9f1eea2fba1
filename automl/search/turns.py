"""Numbered turns: who searches next, and on what knowledge.

Notation
--------
i : decision number, from 0
L : lookback; decision i sees exactly the results of decisions up to i - L, told in order.
    None under a time budget: a decision sees whatever has finished, and nothing waits.
round : decisions that are made one after the other without learning anything in between, so that an
    optimizer thinks once for all of them. With a lookback they are max(1, L // 4) by number, and i
    above is the first of the round; under a time budget one for every slot that is free.

One thread at a time decides, and holds no lock meanwhile: results are taken and turns are handed out
while an optimizer thinks.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from automl.errors import AutoMLError
from automl.optimizers.protocol import Proposal
from automl.records import Configuration, Trial
from automl.search.proposing import Proposer
from automl.search.spells import Spell, Spells

WAKE_SECONDS = 0.5
"""Between looks whether the search is over; a turn that becomes free wakes its waiter at once."""
ROUNDS_PER_LOOKBACK = 4
"""Rounds that a lookback spans: what a decision sees is a quarter older than it could be. One decision a
round at the default lookback."""
ROUND_SECONDS = 1.0
"""After which a round under a time budget ends, so that the next decision learns what has finished."""

T = TypeVar("T")


@dataclass(frozen=True)
class Turn:
    """A decision: what to evaluate.

    Parameters
    ----------
    index : decision number
    origin : one of the opening's, `default`, `initial_design`, or the optimizer's name
    sees : number of results that the decision has seen
    incumbent : fold scores of the best complete trial seen, None if all folds are run
    keep_above
        Score from which a trial is among the `n_kept` best seen, or leads its family with its preprocessing.
    earlier : partial trial of the configuration whose folds are part of this turn's
    ask_seconds
        Wall seconds that the decision took; those of attempts that came to nothing count with the
        next one. No decision reads them.
    expected_seconds
        That the trial is forecast to take, without folds that it takes over; None without a forecast.
    """

    index: int
    proposal: Proposal
    origin: str
    sees: int
    incumbent: tuple[float, ...] | None
    keep_above: float
    earlier: Trial | None = None
    ask_seconds: float = field(default=0.0, compare=False)
    expected_seconds: float | None = field(default=None, compare=False)

    @property
    def family(self) -> str:
        """Family of the configuration."""
        return self.proposal.configuration.family


@dataclass(frozen=True)
class Due:
    """A decision that is due.

    Parameters
    ----------
    begins_round : whether optimizers think anew
    learned
        Earlier results that are reported first, in order.
    pending
        What was decided and is not seen, in order.
    """

    number: int
    begins_round: bool
    learned: tuple[Trial, ...]
    pending: tuple[Configuration, ...]


class Turns:
    """Gives numbered turns to threads and takes their results.

    Parameters
    ----------
    proposer
        Says what is tried next.
    lookback
        L, or None under a time budget.
    n_trials
        Number of decisions, or None.
    n_slots
        Most turns under way, now.
    n_kept
        Number of best trials whose fold models are worth keeping.
    replay
        Finished trials of an earlier process by index.
    """

    def __init__(
        self,
        proposer: Proposer,
        *,
        lookback: int | None,
        n_trials: int | None,
        n_slots: Callable[[], int],
        n_kept: int = 1,
        replay: Mapping[int, Trial] | None = None,
    ) -> None:
        self._proposer = proposer
        self._lookback, self._n_trials, self._n_slots = lookback, n_trials, n_slots
        self._n_kept = n_kept
        self._nothing_at = -1
        self._replay = dict(replay or {})
        self._condition = threading.Condition()
        self._next = 0
        self._results: dict[int, Trial] = {}
        self._untold: set[int] = set()
        self._n_told = 0
        self._under_way: dict[int, str] = {}
        self._taken: set[int] = set()
        self._queues: dict[str, deque[Turn]] = {}
        self._spells: defaultdict[str, Spells] = defaultdict(Spells)
        self._unattended: dict[str, None] = {}
        self._attended: set[str] = set()
        self._is_by_family = False
        self._is_over = False
        self._is_deciding = False
        self._unseen: dict[int, Configuration] = {}
        self._round_end, self._round_began = 0, 0.0
        self._ask_seconds = 0.0
        self._take_over_floors()
        if lookback is None:
            self._adopt()

    # --- what threads call -------------------------------------------------------------------

    def take(
        self,
        family: str | None = None,
        *,
        until: Callable[[], bool] | None = None,
        look: Callable[[], None] | None = None,
    ) -> Turn | None:
        """Next turn of a family (or of any), waiting for it; None when there will be none.

        Turns of families that take no part (floors of excluded families) are for anyone, unless
        `next_family` gives every family a thread.

        Parameters
        ----------
        until
            Give up, without a turn, as soon as this holds.
        look
            Called before the first look for a turn, and after each that was in vain.
        """

        def find() -> Turn | None:
            turn = None if self._is_over else self._queued(family)
            if turn is not None:
                self._taken.add(turn.index)
            return turn

        return self._wait_for(find, family, until, look)

    def next_family(self, *, until: Callable[[], bool] | None = None) -> str | None:
        """Next family that needs a thread of its own; None when there will be none.

        A family needs one from its first turn on. It needs another one if it has a turn after its
        thread has left, as `take` lets it where the family is out.

        Parameters
        ----------
        until
            Give up as soon as this holds.
        """
        with self._condition:
            self._is_by_family = True

        def find() -> str | None:
            family = next(iter(self._unattended), None)
            if family is not None:
                del self._unattended[family]
                self._attended.add(family)
            return family

        return self._wait_for(find, None, until)

    def _wait_for(
        self,
        find: Callable[[], T | None],
        family: str | None,
        until: Callable[[], bool] | None,
        look: Callable[[], None] | None = None,
    ) -> T | None:
        """What is found, deciding meanwhile what is due; None if a thread of a family may leave."""
        while True:
            if look is not None:
                look()
            with self._condition:
                found = find()
                if found is not None:
                    return found
                if (until is not None and until()) or self._is_finished() or self._is_out(family):
                    self._attended.discard(family or "")
                    return None
                due = self._due()
                if due is None and not self._is_over:
                    self._condition.wait(WAKE_SECONDS)
            if due is not None:
                self._decide(due)

    def finish(self, trial: Trial) -> None:
        """Take the committed trial of a turn."""
        with self._condition:
            family = self._under_way.pop(trial.index, None)
            if family is not None:
                self._spells[family].end(time.monotonic())
            self._taken.discard(trial.index)
            self._results[trial.index] = trial
            self._untold.add(trial.index)
            self._condition.notify_all()

    def end(self) -> None:
        """Decide nothing more; threads that wait return.

        An optimizer that is thinking is not waited for; what it proposes is not tried. Trials of an
        earlier process count, whether or not their decisions were made again.
        """
        with self._condition:
            self._is_over = True
            self._queues.clear()
            self._next = max([self._next, *(index + 1 for index in self._replay)])
            self._results.update(self._replay)
            self._replay.clear()
            self._condition.notify_all()

    def wake(self) -> None:
        """Let waiting threads look at their conditions again."""
        with self._condition:
            self._condition.notify_all()

    def wait_for_taken(self, family: str | None = None, *, unless: Callable[[], bool]) -> None:
        """Wait for the trials of all turns of a family (or of any) that were taken, by whichever thread.

        Parameters
        ----------
        unless
            Give up as soon as this holds.
        """

        def is_taken() -> bool:
            return any(family in (None, self._under_way.get(index)) for index in self._taken)

        with self._condition:
            while is_taken() and not unless():
                self._condition.wait(WAKE_SECONDS)

    @property
    def trials(self) -> list[Trial]:
        """Finished trials in the order of their index."""
        with self._condition:
            return [self._results[i] for i in sorted(self._results)]

    @property
    def index_behind(self) -> int:
        """Behind all turns, those that are not given among them: a decision never has it."""
        with self._condition:
            return max(self._next, self._n_trials or 0)

    @property
    def is_over(self) -> bool:
        """Whether nothing more will be decided and nothing is under way."""
        with self._condition:
            return self._is_finished() and not self._under_way

    @property
    def dropped(self) -> dict[str, str]:
        """Arms that get no turns any more, and why."""
        return self._proposer.dropped

    @property
    def n_under_way(self) -> int:
        """Turns that have been given and not finished."""
        with self._condition:
            return len(self._under_way)

    def spells(self, family: str) -> tuple[Spell, ...]:
        """When the family had turns under way; short gaps left out."""
        with self._condition:
            return self._spells[family].so_far()

    # --- what is due, under the lock --------------------------------------------------------------

    def _queued(self, family: str | None) -> Turn | None:
        for name, queue in self._queues.items():
            if queue and (family is None or name == family or self._is_for_anyone(name)):
                return queue.popleft()
        return None

    def _is_for_anyone(self, family: str) -> bool:
        return not self._is_by_family and not self._proposer.takes_part(family)

    def _is_out(self, family: str | None) -> bool:
        """Whether the thread of a family may leave: where it has a turn again, another one begins."""
        return self._is_by_family and family is not None and self._proposer.is_out(family)

    def _is_finished(self) -> bool:
        if self._is_over:
            return True
        if self._n_trials is not None and self._next >= self._n_trials:
            return not any(self._queues.values())
        return False

    def _due(self) -> Due | None:
        """The next decision if it can be made now, by whoever is given it; or else None."""
        if self._is_deciding or len(self._under_way) >= self._n_slots() or not self._knows_enough():
            return None
        begins_round = self._begins_round()
        learned = self._to_learn() if begins_round else ()
        if learned is None:
            return None
        if begins_round:
            self._round_end, self._round_began = self._next + self._n_due, time.monotonic()
        self._is_deciding = True
        return Due(self._next, begins_round, learned, tuple(self._unseen.values()))

    def _begins_round(self) -> bool:
        if self._next >= self._round_end:
            return True
        return self._lookback is None and time.monotonic() - self._round_began > ROUND_SECONDS

    def _to_learn(self) -> tuple[Trial, ...] | None:
        """What a round learns first; None if nothing is found without results that are still to come.

        Where none are to come, all are learned; the search is over if that was so before.
        """
        learned = self._untold_up_to(self._begun - (self._lookback or 0))
        if learned or len(self._proposer.seen) != self._nothing_at:
            return learned
        if self._under_way:
            return None
        learned = self._untold_up_to(self._next)
        if not learned:
            self._is_over = True
            self._condition.notify_all()
            return None
        return learned

    @property
    def _round_size(self) -> int:
        return max(1, (self._lookback or 1) // ROUNDS_PER_LOOKBACK)

    @property
    def _begun(self) -> int:
        """Number of the first decision of the round that the next one belongs to."""
        return self._next - self._next % self._round_size

    @property
    def _n_due(self) -> int:
        if self._lookback is None:
            return max(self._n_slots() - len(self._under_way), 1)
        return self._begun + self._round_size - self._next

    def _knows_enough(self) -> bool:
        if self._n_trials is not None and self._next >= self._n_trials:
            return False
        if self._lookback is None:
            return True
        needed = self._begun - self._lookback
        return all(i in self._results for i in range(self._n_told, needed + 1))

    def _untold_up_to(self, last: int) -> tuple[Trial, ...]:
        """Results to report now, in order."""
        told = sorted(i for i in self._untold if i <= last)
        self._untold.difference_update(told)
        self._n_told += len(told)
        for i in told:
            self._unseen.pop(i, None)
        return tuple(self._results[i] for i in told)

    # --- decisions, by one thread at a time, without the lock -----------------------------------

    def _decide(self, due: Due) -> None:
        """Make a decision and give it."""
        turn: Turn | None = None
        try:
            turn = self._turn(due)
        finally:
            with self._condition:
                self._is_deciding = False
                if turn is None:
                    self._nothing_at, self._round_end = len(self._proposer.seen), self._next
                elif not self._is_over:
                    self._give(turn)
                self._condition.notify_all()

    def _turn(self, due: Due) -> Turn | None:
        """The next configuration; None if there is none."""
        started = time.monotonic()
        if due.begins_round:
            self._proposer.begin_round(due.learned)
        proposed = self._proposer.propose(due.number, due.pending)
        self._ask_seconds += time.monotonic() - started
        if proposed is None:
            return None
        proposal, origin = proposed
        best = self._proposer.best() if self._proposer.races(proposal, origin) else None
        turn = Turn(
            due.number,
            proposal,
            origin,
            len(self._proposer.seen),
            None if best is None else best.fold_scores,
            self._proposer.least_kept(self._n_kept, proposal.configuration),
            self._proposer.earlier(proposal),
            self._ask_seconds,
            self._proposer.expected_seconds(proposal),
        )
        self._ask_seconds = 0.0
        self._proposer.note(proposal)
        return turn

    def _give(self, turn: Turn) -> None:
        self._next = turn.index + 1
        self._unseen[turn.index] = turn.proposal.configuration
        self._need_thread(turn.family)
        replayed = self._replay.pop(turn.index, None)
        if replayed is not None:
            self._check_replay(turn, replayed)
            self._results[turn.index] = replayed
            self._untold.add(turn.index)
            return
        self._under_way[turn.index] = turn.family
        self._spells[turn.family].begin(time.monotonic())
        self._queues.setdefault(turn.family, deque()).append(turn)

    def _need_thread(self, family: str) -> None:
        if family not in self._attended:
            self._unattended[family] = None

    def _check_replay(self, turn: Turn, trial: Trial) -> None:
        is_same = trial.configuration.id == turn.proposal.configuration.id
        if not is_same or trial.fidelity != turn.proposal.fidelity:
            raise AutoMLError(
                f"trial {trial.id} cannot be replayed: the journal holds "
                f"{trial.configuration.signature}, the decision is "
                f"{turn.proposal.configuration.signature}; settings or version differ"
            )

    def _take_over_floors(self) -> None:
        """Trials behind the last turn: of the floor that was scored because no turn was completed."""
        if self._n_trials is not None:
            for index in [i for i in self._replay if i >= self._n_trials]:
                self._results[index] = self._replay.pop(index)

    def learn(self, trial: Trial) -> None:
        """Let decisions know a trial that is none of this search; before the first turn is taken."""
        self._proposer.note(Proposal(trial.configuration, trial.fidelity))
        self._proposer.learn(trial)

    def _adopt(self) -> None:
        """Learn the trials of an earlier process; decisions go on behind the last one."""
        for index in sorted(self._replay):
            trial = self._replay[index]
            self._results[index] = trial
            self.learn(trial)
            self._need_thread(trial.configuration.family)
            self._next = index + 1
        self._replay.clear()
