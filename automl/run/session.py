"""A run that is alive in this process: its folder, slots, journal, ledger and search."""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from automl.errors import AutoMLWarning, InterruptedRunError, StorageError
from automl.evaluation.journal import Journal
from automl.evaluation.plan import EvaluationPlan
from automl.evaluation.processes import release_freed_memory
from automl.evaluation.slots import Slots
from automl.experience.cleaning import learnable
from automl.experience.data_set import Experience
from automl.experience.harvest import remember
from automl.home import Home, RunFolder
from automl.inference.model import TableModel
from automl.record_files import StageRecords
from automl.records import Trial
from automl.run.ledger import Ledger, is_late
from automl.run.stage_table import REGISTRATION, stages_of
from automl.run_state import (
    FAILED,
    FINISHED,
    INTERRUPTED,
    Attempt,
    attempts_of,
    state_of,
)
from automl.settings import Settings
from automl.stage_record import StageRecord

R = TypeVar("R", bound=StageRecord)


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
    model
        The final model, until it is registered; None where another process has built it. Its bundle is there.
    """

    settings: Settings
    home: Home
    folder: RunFolder
    ledger: Ledger
    pool: Slots
    journal: Journal
    records: StageRecords
    earlier: list[Trial]
    experience: tuple[Experience, ...] = ()
    given_up: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    is_reproducible: bool = True
    is_closing: bool = False
    is_remembered: bool = False
    model: TableModel | None = None
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
        return learnable(self.experience, self.plan.table.task)

    @property
    def is_timed(self) -> bool:
        """Whether decisions may read the clock."""
        return self.settings.trials is None

    @property
    def is_late(self) -> bool:
        """Whether a budget of seconds leaves no trial any time; what only serves a search is saved then."""
        return is_late(self.settings, self.ledger)

    def cut_short(self, text: str = "") -> None:
        """Note that the clock decided: another run with these settings may do more; `text` tells the user."""
        self.is_reproducible = False
        if text:
            self.given_up.append(text)

    def record(self, kind: type[R], make: Callable[[], R]) -> R:
        """Record of a stage: the existing one at once, else made now and written.

        Two threads that ask for the same stage make it once. What the stage gave up and warned of,
        and whether it can be repeated, is part of its record, so that a resumed run still says it.
        """
        with self.stage_lock:
            existing = self._existing(kind)
            if existing is not None:
                return existing
            self._refuse_if_closing()
            n_given_up, n_warnings = len(self.given_up), len(self.warnings)
            with self.ledger.stage(kind.stage):
                made = make()
            said = {
                "stage_given_up": self.given_up[n_given_up:],
                "stage_warnings": self.warnings[n_warnings:],
                "stage_reproducible": self.is_reproducible,
            }
            self._refuse_if_closing()
            self.records.write(kind.stage, {**made.to_json(), **said})
            return made

    def _existing(self, kind: type[R]) -> R | None:
        """The record as it was written, and what was said with it; None if it must be made."""
        content = self.records.read(kind.stage)
        if content is None:
            return None
        try:
            record = kind.from_json(content)
        except ValueError as error:
            path = self.folder.stages / f"{kind.stage}.json"
            text = f"{path}: the stage record is damaged and ignored: {error}"
            warnings.warn(text, AutoMLWarning, stacklevel=2)
            return None
        self._recall(content)
        return record

    def _refuse_if_closing(self) -> None:
        if self.is_closing:
            raise InterruptedRunError(f"run {self.run_id} is being stopped; resume it later")

    def _recall(self, record: Mapping[str, Any]) -> None:
        for kept, key in ((self.given_up, "stage_given_up"), (self.warnings, "stage_warnings")):
            kept += [text for text in record.get(key, ()) if text not in kept]
        self.is_reproducible &= record.get("stage_reproducible", True)

    @property
    def current_stage(self) -> str:
        """Name of the stage that is being made; `search` before the first one is finished."""
        finished = set(self.records.names())
        names = (stage.name for stage in stages_of(self.settings))
        return next((name for name in names if name not in finished), REGISTRATION)

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
                # on a full disk not even this can be written; the free lock tells that no process drives it
                with suppress(StorageError):
                    self.end(FAILED if isinstance(error, Exception) else INTERRUPTED)
            raise

    def drop_model(self) -> None:
        """Free the final model: the check of its registration loads another in a process of its own."""
        if self.model is not None:
            self.model = None
            release_freed_memory()

    def close(self) -> None:
        """End the slots and the journal, and remember the trials; the run can be resumed."""
        self.is_closing = True
        self.pool.close()
        self.journal.close()
        if not self.is_remembered:
            self.is_remembered = True
            remember(self.folder, self.home)

    def release(self) -> None:
        """Give the run's lock back, which is held since the session was made; the last thing to do."""
        self.held.close()
