"""A run that is alive in this process: its folder, slots, journal, ledger and search."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pandas as pd

from automl.errors import InterruptedRunError, SettingsError, StorageError
from automl.evaluation.journal import Journal
from automl.evaluation.journal import read as read_journal
from automl.evaluation.limits import crowding
from automl.evaluation.plan import EvaluationPlan
from automl.evaluation.slots import WorkerPool
from automl.evaluation.stage_records import StageRecords
from automl.home import Home, RunFolder
from automl.metalearning.experience import Experience
from automl.records import Trial
from automl.run_state import (
    FAILED,
    FINISHED,
    INTERRUPTED,
    KILLED,
    RUNNING,
    Attempt,
    attempts_of,
    last_activity,
    state_of,
)
from automl.settings import Settings
from automl.stages.description import describe_table
from automl.stages.experience import STAGE as EXPERIENCE
from automl.stages.experience import learnable, recall_snapshot, remember, take_snapshot
from automl.stages.ledger import Ledger
from automl.stages.own_priors import keep_own_priors
from automl.stages.preparation import check_workers, n_slots, prepare, versions
from automl.stages.provenance import PLAN, plan_digest, refuse_foreign, signed_facts
from automl.tracking.problem import check_problem
from automl.training_request import KEY as REQUEST
from automl.training_request import TrainingRequest

GIVEN_FRAME = "is_frame"
"""Key in `run.json`: the table was given from memory, so that it cannot be read once more."""

PRELOAD = ("automl.evaluation.trial", "automl.evaluation.model_jobs", "automl.families.registry")


@dataclass
class Session:
    """Everything the stages of one run share; made by `begin` or `reopen`.

    Parameters
    ----------
    earlier
        Trials of the run before it was interrupted.
    experience
        What the run knows of other data: the same in every process that drives it.
    given_up
        What was shortened or left out, one sentence each.
    warnings
        What the user should know, one sentence each.
    """

    settings: Settings
    home: Home
    folder: RunFolder
    ledger: Ledger
    pool: WorkerPool
    journal: Journal
    records: StageRecords
    earlier: list[Trial]
    experience: tuple[Experience, ...] = ()
    given_up: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    is_reproducible: bool = True
    is_closing: bool = False
    is_remembered: bool = False
    stage_lock: threading.RLock = field(default_factory=threading.RLock)
    held: ExitStack = field(default_factory=ExitStack)

    @property
    def run_id(self) -> str:
        """Identifier of the run."""
        return self.folder.run_id

    @cached_property
    def plan(self) -> EvaluationPlan:
        """Table, folds and score."""
        return EvaluationPlan(self.folder.path)

    @cached_property
    def learnable(self) -> tuple[Experience, ...]:
        """What may be learned from other data sets, and earlier versions of this one."""
        return learnable(self)

    @property
    def is_timed(self) -> bool:
        """Whether decisions may read the clock."""
        return self.settings.trials is None

    def stage(self, name: str, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Record of a stage: the existing one at once, else made now and written.

        Two threads that ask for the same stage make it once. What the stage gave up and warned of,
        and whether it can be repeated, is part of its record, so that a resumed run still says it.
        """
        with self.stage_lock:
            found = self.records.read(name)
            if found is not None:
                self._recall(found)
                return found
            self._refuse_if_closing()
            n_given_up, n_warnings = len(self.given_up), len(self.warnings)
            with self.ledger.stage(name):
                made = make()
            made |= {
                "stage_given_up": self.given_up[n_given_up:],
                "stage_warnings": self.warnings[n_warnings:],
                "stage_reproducible": self.is_reproducible,
            }
            self._refuse_if_closing()
            self.records.write(name, made)
            return made

    def _refuse_if_closing(self) -> None:
        if self.is_closing:
            raise InterruptedRunError(f"run {self.run_id} is being stopped; resume it later")

    def _recall(self, record: dict[str, Any]) -> None:
        for kept, key in ((self.given_up, "stage_given_up"), (self.warnings, "stage_warnings")):
            kept += [text for text in record.get(key, ()) if text not in kept]
        self.is_reproducible &= record.get("stage_reproducible", True)

    @property
    def current_stage(self) -> str:
        """Name of the stage that is being made; `search` before the first one is finished."""
        order = ("search", "candidates", "selection", "ensemble", "honest", "final", "result")
        finished = set(self.records.names())
        return next((name for name in order if name not in finished), "registration")

    def commit(self, trial: Trial, **decision: Any) -> None:
        """Make a trial durable."""
        self.journal.append({"type": "trial", "trial": trial.to_json(), "decision": decision})

    def end(self, status: str) -> None:
        """Write into `run.json` that, how and when this attempt at the run has ended."""
        facts = self.folder.read_facts()
        *earlier, last = attempts_of(facts)
        ended = [*earlier, Attempt(last.began, time.time(), status)]
        facts["attempts"] = [attempt.to_json() for attempt in ended]
        self.folder.write_facts({**facts, "status": status})

    @contextmanager
    def driven(self) -> Iterator[None]:
        """What ends the run otherwise than well is written down, and raised again."""
        try:
            yield
        except BaseException as error:
            if state_of(self.folder).status != FINISHED:
                # on a full disk not even this can be written; the lock tells that nobody drives it
                with suppress(StorageError):
                    self.end(FAILED if isinstance(error, Exception) else INTERRUPTED)
            raise

    def close(self) -> None:
        """End the slots and the journal, and remember the trials; the run can be resumed."""
        self.is_closing = True
        self.pool.close()
        self.journal.close()
        if not self.is_remembered:
            self.is_remembered = True
            remember(self)

    def release(self) -> None:
        """Give the run's lock back, which is held since the session was made; the last thing to do."""
        self.held.close()


def begin(
    settings: Settings,
    home: Home,
    *,
    frame: pd.DataFrame | None = None,
    started: float | None = None,
    request: TrainingRequest | None = None,
) -> Session:
    """Start a new run: slots in the background, then the table.

    The tables are read here and never again, so the run keeps their public addresses alone.

    Parameters
    ----------
    frame
        The table itself, instead of the source in the settings.
    started
        `time.monotonic()` of the command's first line.
    request
        Of a retraining: where its settings come from; kept in `run.json`.

    Raises
    ------
    DataError, SettingsError
        See `automl.stages.preparation.prepare`; the run folder is removed then.
    """
    check_workers(settings)
    check_problem(home.path, settings)
    folder = home.create_run()
    session = _open(settings.public, home, folder, started)
    began = time.time() - session.ledger.elapsed
    try:
        facts = {
            "run_id": folder.run_id,
            "settings": settings.public.model_dump(mode="json"),
            "home": str(home.path),
            "started_at": began,
            "attempts": [Attempt(began).to_json()],
            "pid": os.getpid(),
            "versions": versions(),
            "seed": settings.seed,
            "status": "preparing",
            **({} if frame is None else {GIVEN_FRAME: True}),
            **({} if request is None else {REQUEST: request.to_json()}),
            "processes": [process_facts(session)],
        }
        folder.write_facts(signed_facts(facts))
        _take_table(session, settings, facts, frame)
    except BaseException:
        session.close()
        _remove(folder)
        session.release()
        raise
    return session


def _take_table(
    session: Session, settings: Settings, facts: dict[str, Any], frame: pd.DataFrame | None = None
) -> None:
    """Read the table, and learn what depends on it alone; the run can begin to search.

    Parameters
    ----------
    settings
        Those of the session, with what is secret in the addresses of tables.
    facts
        What `run.json` says so far.
    """
    with session.ledger.stage("data"):
        data = prepare(session.folder, settings, frame=frame)
    describe_table(session)
    session.experience = take_snapshot(session)
    keep_own_priors(session)
    experience = (session.records.read(EXPERIENCE) or {}).get("digest", "")
    known = {PLAN: plan_digest(session.folder), "data": data, "status": RUNNING}
    session.folder.write_facts(signed_facts({**facts, "experience": experience, **known}))
    session.records.write("data", data)


def reopen(
    run_id: str, home: Home, *, started: float | None = None, trust: bool = False
) -> Session:
    """Continue an interrupted run from its journal and stage records.

    The budget is what the run had left when it was interrupted, and at least what the stages
    after the search need.

    Parameters
    ----------
    trust
        Whether a run that another installation has begun may be continued: its settings can name code.

    Raises
    ------
    SettingsError
        If there is no such run, it was ended before it had read a table that no file holds, another
        process drives it, or it needs `trust`.
    DataError
        If its settings or its plan were changed since this installation wrote them.
    """
    folder = home.run(run_id)
    facts = folder.read_facts()
    if "data" not in facts and (facts.get(GIVEN_FRAME) or not facts.get("settings")):
        raise SettingsError(
            f"run {folder.run_id} was interrupted before it had read its table, which no file holds; "
            "train again",
            run=folder.run_id,
        )
    if not trust:
        refuse_foreign(folder, facts)
    session = _open(Settings(**facts["settings"]), home, folder, started)
    session.earlier = [
        Trial.from_json(record["trial"])
        for record in read_journal(folder.journal)
        if record.get("type") == "trial"
    ]
    before = _earlier_attempts(folder, facts)
    used = sum(attempt.seconds for attempt in before)
    total = session.ledger.total
    session.ledger.started -= used if total is None else min(used, total)
    facts["attempts"] = [attempt.to_json() for attempt in (*before, Attempt(time.time()))]
    facts["processes"] = [*facts.get("processes", ()), process_facts(session)]
    facts |= {"pid": os.getpid(), "status": RUNNING}
    if "data" in facts:
        folder.write_facts(facts)
        session.experience = recall_snapshot(session)
    else:
        _take_table(session, session.settings, facts)
    return session


def process_facts(session: Session) -> dict[str, float | int]:
    """When this process began to drive the run, and on how many slots."""
    return {"started_at": time.time(), "slots": session.pool.n_slots}


def _earlier_attempts(folder: RunFolder, facts: dict[str, Any]) -> list[Attempt]:
    """Attempts before this one, the last of which may have been killed."""
    *earlier, last = attempts_of(facts)
    if last.ended is None:
        last = Attempt(last.began, max(last.began, last_activity(folder)), KILLED)
    return [*earlier, last]


def _open(settings: Settings, home: Home, folder: RunFolder, started: float | None) -> Session:
    held = ExitStack()
    held.enter_context(folder.lock())
    ledger = Ledger(
        settings.seconds,
        settings.reserve,
        time.monotonic() if started is None else started,
        slowness=crowding(),
    )
    pool = WorkerPool(
        n_slots(settings),
        context=str(folder.path),
        threads=settings.threads,
        memory_limit_mib=None if settings.memory_mib is None else int(settings.memory_mib),
        log_path=folder.path / "workers.log",
        preload=PRELOAD,
    )
    journal, records = Journal(folder.journal), StageRecords(folder.stages)
    return Session(settings, home, folder, ledger, pool, journal, records, earlier=[], held=held)


def _remove(folder: RunFolder) -> None:
    import shutil

    shutil.rmtree(folder.path, ignore_errors=True)
