"""The search stage: opening, turns, limits, and what the families found."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from automl.bandits.registry import allocator_name, get_allocator
from automl.errors import AutoMLError, StorageError
from automl.evaluation.fold_models import models_mib, remove_models
from automl.evaluation.partial_predictions import PartialPredictions
from automl.experience.harvest import data_set_facts
from automl.families.registry import WITHOUT_MODEL, families
from automl.forecasts.forecast import Forecast
from automl.optimizers.registry import get_optimizer
from automl.origins import GIVEN
from automl.randomness import Purpose, stream
from automl.recommendation.meta_vote import MetaVote, vote_on
from automl.recommendation.methods import obstacle
from automl.recommendation.transfer_sources import sources_of
from automl.records import Configuration, Trial, TrialStatus
from automl.run.choices import check_only_family, reads_clock
from automl.run.fold_plan import kept_repeats
from automl.run.search_spaces import spaces_of
from automl.run.session import Session
from automl.run_records.search import FamilyFindings, SearchRecord
from automl.search.opening import Opening
from automl.search.proposing import Proposer
from automl.search.runner import TrialRunner, work
from automl.search.spells import Spell
from automl.search.turns import Turn, Turns
from automl.search.untried import why_untried
from automl.selection.defaults import default_trials
from automl.spaces.configuration_encoder import ConfigurationEncoder
from automl.stages.arms import arms_of, drawn_at_random
from automl.stages.best_trials import BestTrials
from automl.stages.first_configurations import constant_of, opening_of
from automl.stages.outlook import Outlook, warm_up
from automl.stages.participation import (
    all_failed,
    defaults_of,
    unkept_requests,
    usable_families,
)
from automl.stages.search_time import LOOK_SECONDS, SearchTime, known_timings

N_KEPT = 64
"""Trials whose fold models are kept for the final model: the 60 that an ensemble chooses from, and some for which
a later trial makes room. Of 60 alone 4 of 9,000 members were missing in simulated searches, of 64 none."""
MODELS_MIB = 4_096.0
"""Disk space for them: a forest on 14,000 rows of 26 classes takes a GiB (by judgement)."""
N_PARTIAL = 50
"""Partial trials whose predictions wait for the rest of their folds."""
N_UNDER_WAY = 16
"""Predictions that are written and not ranked yet; the same for any number of workers."""


class Search:
    """The search of one session; its threads come and go, its turns stay.

    The constructor decides which families take part; `work` is called by any number of threads.

    Parameters
    ----------
    keeps_models
        Whether fold models of good trials are kept, where the run's data mode has them kept at all.
    """

    def __init__(self, session: Session, *, keeps_models: bool = True) -> None:
        self.session = session
        settings, plan = session.settings, session.plan
        self.families, self.refused = usable_families(settings, plan)
        self._defaults = defaults_of(settings, plan, self.families)
        self._is_attached = threading.Event()
        self.failure: BaseException | None = None
        check_only_family(settings, self.families.__contains__)
        entry = get_allocator(settings.chosen_allocator)
        session.is_reproducible &= not (reads_clock(settings) or session.is_timed)
        session.is_reproducible &= not any(trial.depends_on_machine for trial in session.earlier)
        timings = known_timings(session)
        self._forecast = Forecast(
            spaces_of(plan, self.families, settings),
            timings,
            n_folds=len(plan.stage("search").jobs),
            seed=settings.seed,
        )
        self.time = SearchTime(session, self._forecast)
        opening = opening_of(session, self.families)
        proposer = Proposer(
            arms_of(
                plan,
                settings,
                self.families,
                timings=timings,
                sources=lambda encoder: sources_of(
                    session.learnable, encoder, data_set_facts(session.folder)
                ),
                votes=votes_of(session, opening),
            ),
            entry.make(),
            opening=opening,
            seed=settings.seed,
            races=settings.racing,
            fits=self.time.fits,
            has_time=self.time.is_left,
            defaults=self._owed_defaults(),
            affords=self.time.affords,
            seconds=self.time.expected_seconds,
            rungs=self.time.rungs(),
        )
        self.turns = Turns(
            proposer,
            lookback=None if session.is_timed else settings.lookback,
            n_trials=settings.trials,
            n_slots=lambda: session.pool.n_slots,
            n_kept=N_KEPT,
            replay={t.index: t for t in session.earlier if t.stage == "search"},
        )
        self._outlook = Outlook(session, lambda: self.turns.trials, self._forecast.usual_seconds)
        self._best_models = BestTrials(
            N_KEPT,
            partial(remove_models, session.folder.path),
            mib_of=partial(models_mib, session.folder.path),
            room_mib=MODELS_MIB,
        )
        self._best_predictions, self._partial_predictions = self._begin_predictions()
        for trial in session.earlier:
            self._keep_models(trial)
            self.time.add(trial)
        self.runner = TrialRunner(
            session.pool,
            session.run_id,
            "search",
            plan.stage("search"),
            plan.index.aggregate,
            keeps_models=keeps_models and plan.settings.keep_models,
            races=settings.racing and not plan.settings.n_bootstraps,
            has_time=self.time.is_left if session.is_timed else None,
            stoppable=frozenset(n for n, f in families().items() if f.capabilities.stops),
        )

    def run(
        self,
        family: str | None = None,
        *,
        until: Callable[[], bool] | None = None,
        see: Callable[[Sequence[Spell]], None] | None = None,
    ) -> None:
        """Take turns until the search is over; of one family, or of any.

        What goes wrong ends the search for all threads and is kept in `failure`.

        Parameters
        ----------
        until
            Take no further turns as soon as this holds.
        see
            Called repeatedly with the times at which the family had trials.
        """

        def is_enough() -> bool:
            return self.time.is_late() or (until is not None and until())

        def look() -> None:
            if see is not None and family is not None:
                see(self.turns.spells(family))

        with self._failing():
            if self._workers_come(is_enough):
                work(
                    self.turns,
                    self.runner,
                    commit=self._commit,
                    limit_seconds=self.time.limit,
                    family=family,
                    until=is_enough,
                    look=look,
                )
            if self.time.is_late():
                self.turns.end()

    def families_in_turn(self) -> Iterator[str]:
        """Families as they need a thread, which calls `run` with the family; until the search is over."""
        if not self._workers_come(self.time.is_late):
            return
        while True:
            with self._failing():
                family = self.turns.next_family(until=self.time.is_late)
            if family is None:
                return
            yield family

    @contextlib.contextmanager
    def _failing(self) -> Iterator[None]:
        """Let what goes wrong end the search."""
        try:
            yield
        except BaseException as error:
            self.failure = self.failure or error
            self.turns.end()
            raise

    def start(self) -> list[threading.Thread]:
        """Threads that begin the search before a flow attaches to it."""

        def run() -> None:
            with contextlib.suppress(Exception):
                self.run(until=self._is_attached.is_set)

        threads = [threading.Thread(target=run, daemon=True)]
        if not self.time.is_late():  # else it would take the core from the one model that is left
            threads.append(threading.Thread(target=warm_up, daemon=True))
        for thread in threads:
            thread.start()
        return threads

    @property
    def is_over(self) -> bool:
        """Whether no turn is left and none is under way."""
        return self.turns.is_over

    def attach(self) -> None:
        """Leave all further turns to the families' own threads."""
        self._is_attached.set()
        self.turns.wake()

    def wait(self, family: str | None = None) -> None:
        """Wait for trials (of a family) that still run: a thread from before a flow attached may have one."""
        self.turns.wait_for_taken(
            family, unless=lambda: self.failure is not None or self.session.is_closing
        )

    def fall_back(self) -> None:
        """Score the constant in this process where limits alone kept every trial from its end.

        It takes next to nothing, so that even a machine that ends every worker too late leaves a
        model, and a score that says what it is worth.
        """
        session, trials = self.session, self.turns.trials
        configuration = constant_of(session)
        ends = {t.status for t in trials if t.configuration.id == configuration.id}
        if any(trial.is_complete for trial in trials):
            return
        if not all(status.depends_on_machine for status in ends):
            return
        index = self.turns.index_behind
        try:
            trial = self.runner.run_here(session.folder.path, configuration, index=index)
        except StorageError:
            raise
        except Exception as error:  # noqa: BLE001 (a metric of the user may raise anything)
            session.warnings.append(
                f"not even the constant could be scored: {type(error).__name__}: {error}"
            )
            return
        limit = "its limit of memory" if TrialStatus.OUT_OF_MEMORY in ends else "the time"
        session.cut_short(f"no worker completed a trial within {limit}: the constant is the model")
        self._keep(trial, sees=0, ask_seconds=0.0)
        self.turns.finish(trial)

    def findings(self) -> dict[str, FamilyFindings]:
        """Results of each family so far."""
        of_family: dict[str, list[Trial]] = {}
        for trial in self.turns.trials:
            of_family.setdefault(trial.configuration.family, []).append(trial)
        return {family: _findings(trials) for family, trials in of_family.items()}

    def conclude(self) -> SearchRecord:
        """Record of the search, once its last trial has ended.

        Raises
        ------
        AutoMLError
            If not one trial is complete.
        """
        self.wait()
        if self.failure is not None:
            raise self.failure
        self.fall_back()
        record, ledger = self._record(), self.session.ledger
        self.session.warnings += unkept_requests(
            self.session.settings,
            self.families,
            self.refused,
            record.untried,
            all_failed(self.turns.trials),
        )
        self.session.warnings += drawn_at_random(
            self.session.plan, self.session.settings, self.families, self.turns.trials
        )
        if not record.complete:
            raise AutoMLError(self._nothing_complete())
        ledger.used["search"] = ledger.elapsed - ledger.used.get("data", 0.0)
        return record

    def _nothing_complete(self) -> str:
        reasons = sorted({trial.reason for trial in self.turns.trials if trial.reason})
        total = self.session.ledger.total
        limit = "" if total is None else f" within the budget of {total:g} s"
        return f"no trial could be completed{limit}: {'; '.join(reasons) or 'no time left'}"

    def _record(self) -> SearchRecord:
        trials, findings, untried = self.turns.trials, self.findings(), self._reasons()
        allocator = self.session.settings.chosen_allocator
        has_choice = len(self.families.keys() - WITHOUT_MODEL) > 1
        return SearchRecord(
            trials=len(trials),
            complete=sum(trial.is_complete for trial in trials),
            families=findings,
            dropped={**self.refused, **self.turns.dropped},
            untried={name: untried[name] for name in self.families if name not in findings},
            defaults=default_trials(trials, self._defaults, untried),
            seconds=self.session.ledger.elapsed,
            allocator=allocator_name(allocator) if has_choice else "",
            joined_families=get_allocator(allocator).joins_families,
        )

    def _owed_defaults(self) -> list[Configuration]:
        """Defaults to be tried however poor; none if the run was given what to try."""
        is_given = self.session.records.read(GIVEN) is not None
        return [] if is_given else list(self._defaults.values())

    def _reasons(self) -> dict[str, str]:
        """Why the defaults that were not tried were not, by family.

        Not of the others: a forecast may need a model of seconds to be fitted, a tenth of a second each.
        """
        n_trials = self.session.settings.trials
        tried = {trial.configuration.id for trial in self.turns.trials}
        return {
            name: self._why_untried(name, n_trials)
            for name, configuration in self._defaults.items()
            if configuration.id not in tried
        }

    def _why_untried(self, family: str, n_trials: int | None) -> str:
        if n_trials is not None and len(self.turns.trials) >= n_trials:
            return f"the {n_trials} trials went to others first"
        if not self.session.is_timed:
            return "the search ended before"
        is_late = self.session.is_late  # nothing but the start took its time
        seconds = None if is_late else self._forecast.seconds(self._defaults[family])
        return why_untried(self.turns.trials, seconds)

    def _commit(self, trial: Trial, turn: Turn) -> None:
        if trial.depends_on_machine:
            self.session.is_reproducible = False
        self._keep(trial, sees=turn.sees, ask_seconds=round(turn.ask_seconds, 6))

    def _keep(self, trial: Trial, *, sees: int, ask_seconds: float) -> None:
        """Make a trial durable, and whatever of it is worth keeping."""
        allocator = allocator_name(self.session.settings.chosen_allocator)
        self.session.commit(trial, sees=sees, allocator=allocator, ask_seconds=ask_seconds)
        self._keep_models(trial)
        self.time.add(trial)
        self._best_predictions.add(trial)
        self._partial_predictions.add(trial)
        self._outlook.refresh()

    def _keep_models(self, trial: Trial) -> None:
        if trial.stage == "search":
            self._best_models.add(trial)

    def _begin_predictions(self) -> tuple[BestTrials, PartialPredictions]:
        """Stores that keep predictions within their quota, with room for those under way."""
        session, plan = self.session, self.session.plan
        store = session.plan.predictions
        shape = (len(plan.stage("search").rows), max(plan.table.n_classes, 1))
        room = store.capacity(shape)
        n_repeats = kept_repeats(plan.stage("candidates").jobs_per_repeat, session.settings)
        n_fresh = session.settings.candidate_limit * n_repeats
        capacity = room - min(N_UNDER_WAY, room // 2) - min(n_fresh, room // 4)
        has_levels = get_optimizer(session.settings.optimizer).has_levels
        n_partial = min(N_PARTIAL, capacity // 4) if has_levels else 0
        unfinished = PartialPredictions(store, max(n_partial, 0))
        best = BestTrials(max(capacity - n_partial, 1), store.remove)
        for trial in session.earlier:
            if trial.stage == "search":
                best.add(trial)
                unfinished.add(trial)
        return best, unfinished

    def _workers_come(self, until: Callable[[], bool]) -> bool:
        """Wait until workers can be started; whether that was before `until` held.

        Without a limit of time nothing is waited for here: the first trial does.
        """
        if not self.session.is_timed:
            return True
        while not until():
            if self.session.pool.is_ready(LOOK_SECONDS):
                return True
        return False


def votes_of(
    session: Session, opening: Opening
) -> Callable[[ConfigurationEncoder], MetaVote | None] | None:
    """Votes of meta-learners on what optimizers propose; None if there are none.

    What other data sets teach has to agree, as for a warm start; where the opening turns out to be
    misled, votes are no longer heard.
    """
    settings = session.settings
    if not settings.blend:
        return None
    reason = obstacle(session.experience, session.plan.table.task)
    if reason:
        session.warnings.append(f"setting blend: there is no vote: {reason}")
        return None
    experiences, data = session.learnable, data_set_facts(session.folder)

    def vote(encoder: ConfigurationEncoder) -> MetaVote | None:
        rng = stream(settings.seed, Purpose.META_LEARNER)
        return vote_on(
            data,
            experiences,
            encoder,
            k=settings.blend,
            rng=rng,
            is_heard=lambda: not opening.is_misled,
        )

    return vote


def _findings(trials: Sequence[Trial]) -> FamilyFindings:
    """Best result of the trials of one family; of equal scores the first counts."""
    complete = [trial for trial in trials if trial.is_complete and trial.score is not None]
    best = max(complete, key=lambda trial: trial.achieved, default=None)
    return FamilyFindings(
        trials=len(trials),
        complete=sum(trial.is_complete for trial in trials),
        best_score=None if best is None else best.score,
        best_trial=None if best is None else best.id,
        seconds=sum(trial.spent_seconds for trial in trials),
    )


def run_search(search: Search, *, until: Callable[[], bool] | None = None) -> None:
    """Run the rest of the search without an orchestrator.

    Parameters
    ----------
    until
        Take no further turns as soon as this holds.
    """
    search.attach()
    search.run(until=until)
