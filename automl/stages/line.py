"""The line of a run: its stages in the order of their table, each of which makes or returns its record.

::

    data ─► search (one thread or task per family) ─► candidates ─► selection
         ─► ensemble ─► honest ─► final ─► promotion ─► result ─► registration
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from automl.errors import InterruptedRunError, SettingsError
from automl.evaluation.fold_models import remove_all_models
from automl.home import Home, RunFolder
from automl.records import Trial
from automl.run.beginning import reopen
from automl.run.local_slots import MakeSlots, local_slots
from automl.run.session import Session
from automl.run.stage_table import REGISTRATION, stage_of, stages_of
from automl.run_records.result import RunResult
from automl.run_records.search import FamilyFindings, SearchRecord
from automl.run_state import FINISHED, RUNNING, state_of
from automl.search.spells import Spell
from automl.stage_record import StageRecord
from automl.stages.notices import notices_of, store_warning
from automl.stages.searching import Search, run_search
from automl.tracking.links import links
from automl.tracking.mirror_process import MirrorProcess, Registration, registration
from automl.tracking.outbox import Outbox

UNLIMITED_REGISTRATION_SECONDS = 120.0
"""Without a budget; what a slower store lacks then, `automl sync` completes."""
GRACE_SECONDS = 2.0
"""Beyond the budget, where the store is open so that a registration may be near its end."""
DETACHED_SECONDS = 600.0
"""Most that a mirror goes on after the run, where the settings let it."""
END_SECONDS = 2.0
"""For the tracking store to be told that a run was stopped: it may be amid a batch of trials."""

R = TypeVar("R", bound=StageRecord)


class Line:
    """Stages of one session; safe to call from several threads, each stage runs once."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.search = Search(session)
        self.mirror = MirrorProcess(session.folder)
        self.is_mirrored = True
        self._complete: RunResult | None = None

    def run(self) -> RunResult:
        """Every stage, without an orchestrator; finished ones are not repeated. The final result."""
        self.finish_search()
        for stage in stages_of(self.session.settings):
            self.record(stage.record)
        self.registration()
        return self.close()

    @property
    def _is_searched(self) -> bool:
        return self.session.records.read(SearchRecord.stage) is not None

    def finish_search(self) -> SearchRecord:
        """Run what is left of the search with plain threads; its record."""
        if not self._is_searched:
            run_search(self.search)
        return self.record(SearchRecord)

    def families_in_turn(self) -> Iterator[str]:
        """Families as they need a thread that calls `search_family`; at the end those without a turn."""
        self.search.attach()
        begun = set()
        record = SearchRecord.read(self.session.folder)
        for family in self.search.families_in_turn() if record is None else record.families:
            begun.add(family)
            yield family
        yield from (family for family in self.search.families if family not in begun)

    def search_family(
        self, family: str, *, see: Callable[[Sequence[Spell]], None] | None = None
    ) -> FamilyFindings:
        """Take this family's turns until it gets no more; what the family found.

        Parameters
        ----------
        see
            Called repeatedly with the times at which the family had trials.
        """
        if not self._is_searched:
            self.search.run(family, see=see)
            self.search.wait(family)
        return self.search.findings().get(family, FamilyFindings())

    @property
    def trials(self) -> list[Trial]:
        """Trials of the search; of one that ended before this line was opened, those of the journal."""
        taken = self.search.turns.trials
        earlier = [trial for trial in self.session.earlier if trial.stage == "search"]
        if len(taken) >= len(earlier) or not self._is_searched:
            return taken
        return sorted(earlier, key=lambda trial: trial.index)

    def record(self, kind: type[R]) -> R:
        """Record of a stage; it and those that it needs are made if they are not there.

        Raises
        ------
        AutoMLError
            If a stage cannot be made.
        """
        stage, session = stage_of(kind), self.session
        if kind is SearchRecord:
            conclude: Any = self.search.conclude  # of the type that was asked for
            return session.record(kind, conclude)
        inputs = {needed.stage: self._input(needed) for needed in stage.inputs}
        return session.record(kind, lambda: stage.load()(session, self.trials, **inputs))

    def _input(self, kind: type[R]) -> R | None:
        """Record of a stage, or None if runs of these settings do not have it."""
        return self.record(kind) if stage_of(kind).applies(self.session.settings) else None

    def registration(self) -> Registration:
        """Registration of the model in the tracking store; pending if there was no time.

        The result of the run is written first, so nothing depends on the store.
        """
        self.record(RunResult)
        seconds = self._registration_seconds()
        # one asker at a time: a flow that came late may run beside the stages called directly
        with self.session.stage_lock, self.session.ledger.stage(REGISTRATION):
            if self._complete is None:
                self.session.drop_model()
                self.is_mirrored = self.mirror.finish(seconds) == "done"
        return registration(self.session.folder)

    def _registration_seconds(self) -> float:
        """Most that is waited for the tracking store; 0 where a mirror would only have to be started."""
        left = self.session.ledger.left_for(REGISTRATION)
        if left is None:
            return UNLIMITED_REGISTRATION_SECONDS
        if self.session.is_late and self.mirror.pid is None:
            return 0.0
        is_open = bool(Outbox.load(self.session.folder.path / "outbox.json").parent)
        return max(left, 0.0) + (GRACE_SECONDS if is_open else 0.0)

    def close(self) -> RunResult:
        """Final form of the result: with registration, links and the ledger; the run is finished.

        Made once, so that a flow whose server was slow ends like the stages called directly.
        """
        with self.session.stage_lock:
            if self._complete is None:
                self._complete = self._made_complete()
            return self._complete

    def _made_complete(self) -> RunResult:
        session, folder = self.session, self.session.folder
        told = registration(folder)
        made = _registered(self.record(RunResult), told)
        if told.alias_stays:
            session.warnings.append(told.alias_stays)
        lacks = store_warning(folder, [trial.id for trial in self.trials])
        if lacks:
            session.warnings.append(lacks)
        complete = replace(
            made,
            warnings=tuple(dict.fromkeys((*made.warnings, *session.warnings))),
            notices=tuple(notices_of(made.to_json(), folder)),
            links=links(folder),
            ledger=session.ledger.to_json(),
            seconds=session.ledger.elapsed,
        )
        complete.write(session.records)
        session.end(FINISHED)
        if not session.settings.keep_models:
            remove_all_models(folder.path)
        return complete


def _registered(result: RunResult, told: Registration) -> RunResult:
    """The result with what became of its model in the tracking store."""
    model = replace(result.model, registered=told.registered, registration=told.status)
    promotion = result.promotion
    if promotion is not None and told.registered:
        promotion = replace(
            promotion,
            promote=told.is_champion,
            reason=told.alias_reason,
            is_compared=promotion.is_compared and not told.alias_stays,
        )
    return replace(result, model=model, promotion=promotion)


_open_lines: dict[str, Line] = {}
_closed_here: set[str] = set()
"""Runs that this process has closed: tasks of theirs that come late must not begin another attempt."""


def open_line(session: Session) -> Line:
    """The line of a session, known by its run folder until the session is closed."""
    line = Line(session)
    path = str(session.folder.path.resolve())
    _open_lines[path] = line
    _closed_here.discard(path)
    return line


@dataclass(frozen=True)
class RunReference:
    """A run as a task names it; any process on the machine can open it.

    Parameters
    ----------
    folder : of the run
    """

    folder: str

    @property
    def line(self) -> Line | None:
        """The line that drives the run in this process; None if there is none."""
        return _open_lines.get(str(self._path))

    @property
    def _path(self) -> Path:
        return Path(self.folder).expanduser().resolve()

    @contextmanager
    def opened(self, make_slots: MakeSlots = local_slots) -> Iterator[Line]:
        """The run's line: the one that drives it in this process, else the run reopened here.

        Parameters
        ----------
        make_slots
            Makes the slots of a run that is reopened.

        Raises
        ------
        SettingsError
            If this is no folder of a run, or another process drives the run.
        InterruptedRunError
            If this process has closed the run.
        """
        if self.line is not None:
            yield self.line
            return
        if str(self._path) in _closed_here:
            raise InterruptedRunError(f"run {self._path.name} was stopped here; resume it later")
        if not RunFolder(self._path).facts_file.exists():
            raise SettingsError(f"{self.folder} is no folder of a run: it holds no run.json")
        session = reopen(self._path.name, Home(self._path.parents[1]), make_slots=make_slots)
        line = open_line(session)
        try:
            with session.driven():
                yield line
        finally:
            close_line(line)
            session.release()


def close_line(line: Line) -> None:
    """End the slots and the mirror; the run folder stays.

    What was stopped or failed is ended in the tracking store as well.
    """
    path = str(line.session.folder.path.resolve())
    _open_lines.pop(path, None)
    _closed_here.add(path)
    line.session.is_closing = True
    line.search.turns.end()
    line.session.close()
    if state_of(line.session.folder).status not in (FINISHED, RUNNING):
        line.mirror.end(END_SECONDS)
    if line.session.settings.register_after and not line.is_mirrored:
        line.mirror.detach(DETACHED_SECONDS)
    line.mirror.stop()
