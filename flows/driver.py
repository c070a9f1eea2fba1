"""Drives a run from its first line to its result, with the flow beside it or without.

The slots, the table and the first trials start before the orchestrator is imported; the flow then
attaches to the running search. If the orchestrator's server dies, the run continues without it.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from automl.errors import AutoMLError, ServiceError
from automl.home import Home
from automl.progress import Progress
from automl.reports.command_line import command
from automl.reports.first_words import first_words
from automl.reports.run_progress import progress_of
from automl.run.beginning import Place, begin, reopen
from automl.run.session import Session
from automl.run_records.recipe import Recipe
from automl.settings import Settings
from automl.stages.line import Line, close_line, open_line
from automl.stages.recipes import give_recipe
from automl.training_request import TrainingRequest
from automl_flows.environment import silence_orchestrator
from automl_flows.services.prefect_api import given_server
from automl_tasks.run_slots import run_slots

if TYPE_CHECKING:
    import pandas as pd

    from automl_flows.services.server import LocalServer

REPORT_SECONDS = 0.5
"""Between two reports of the progress, as fast as a bar is read."""
LATE_SECONDS = 2.0
"""For a flow whose server was too slow, or whose run is stopped: it has little left to do."""

OnProgress = Callable[[Progress], None]


def train(
    settings: Settings,
    *,
    home: Home,
    server: LocalServer | None = None,
    on_progress: OnProgress | None = None,
    frame: pd.DataFrame | None = None,
    started: float | None = None,
    request: TrainingRequest | None = None,
    recipe: Recipe | None = None,
) -> dict[str, Any]:
    """Run the whole line for a table and return its result.

    Parameters
    ----------
    server
        Local orchestrator that is starting; None to use the one of a flow that calls us, or of `PREFECT_API_URL`.
    on_progress
        Called about twice a second from a thread of its own.
    frame
        The table itself, instead of the source in the settings.
    started
        `time.monotonic()` of the command's first line.
    request
        Of a retraining: where its settings come from.
    recipe
        What the run follows, or begins with.

    Raises
    ------
    DataError, SettingsError
        Before anything is registered.
    AutoMLError
        If no usable model came out.
    """
    session = begin(
        settings,
        home,
        frame=frame,
        started=started,
        request=request,
        make_slots=run_slots,
    )
    return _drive(session, server, on_progress, recipe)


def resume(
    run_id: str,
    *,
    home: Home,
    server: LocalServer | None = None,
    on_progress: OnProgress | None = None,
    trust: bool = False,
    place: Place | None = None,
) -> dict[str, Any]:
    """Continue an interrupted run from its journal and stage records; see `train`.

    Parameters
    ----------
    trust
        Whether a run that another installation has begun may be continued: its settings can name code.
    place
        Of its further trials; None for the one that it was begun with.
    """
    session = reopen(run_id, home, trust=trust, place=place, make_slots=run_slots)
    return _drive(session, server, on_progress)


def _drive(
    session: Session,
    server: LocalServer | None,
    on_progress: OnProgress | None,
    recipe: Recipe | None = None,
) -> dict[str, Any]:
    try:
        if recipe is not None:
            give_recipe(session, recipe)
        _drive_line(open_line(session), server, on_progress)
        return session.records.read("result") or {}
    finally:
        session.close()
        session.release()


def _drive_line(line: Line, server: LocalServer | None, on_progress: OnProgress | None) -> None:
    from automl.flow_run_notes import LOCAL
    from automl_flows.services.reconciliation import note_attempt, server_name

    session = line.session
    note_attempt(session.folder, LOCAL if server else server_name(session.home))
    flow = _FlowThread(line, server)
    try:
        with session.driven():
            if not session.is_late:
                line.search.start()
                line.mirror.start()
            with _Reporter(line, on_progress):
                _run(line, flow)
    finally:
        close_line(line)
        flow.wait_briefly()  # what it still tells the page must come before the last word


def _run(line: Line, flow: _FlowThread) -> None:
    """The flow in a thread of its own; without it, the stages directly."""
    if not line.session.is_late and not flow.is_idle:
        flow.start()
    while flow.is_alive() and not flow.is_lost():
        flow.join(0.1)
    if flow.is_done:
        return
    if isinstance(flow.error, AutoMLError) and not isinstance(flow.error, ServiceError):
        raise flow.error
    silence_orchestrator()
    line.session.warnings.append(f"the run went on without the orchestrator: {flow.why_lost()}")
    line.run()
    flow.wait_briefly()


class _FlowThread(threading.Thread):
    """Waits for the orchestrator, then runs the flow; the search has begun before."""

    def __init__(self, line: Line, server: LocalServer | None) -> None:
        super().__init__(name="automl-flow", daemon=True)
        self._line, self._server = line, server
        self._context = contextvars.copy_context()  # a flow that calls us is the parent of ours
        self._lock = threading.Lock()
        self.is_attached = False
        self._is_abandoned = False
        self.error: Exception | None = None
        self.is_done = False

    @property
    def is_idle(self) -> bool:
        """Whether it must not begin, for lack of a server."""
        return self._server is not None and self._server.is_idle

    def is_lost(self) -> bool:
        """Whether the run has to go on without the flow: its server ended, or is too slow.

        Under a time budget a server is too slow when the search is over before it is up; a run that
        only counts trials waits for a server that lives. A flow that is too late does not begin any
        more. Later a server is too slow when it does not answer at all.
        """
        if self._server is None:
            return False
        with self._lock:
            if not self.is_attached:
                is_urgent = self._line.session.ledger.total is not None
                is_over = self._line.search.is_over
                self._is_abandoned = is_over and (is_urgent or not self._server.is_alive())
                return self._is_abandoned
        return not self._server.is_alive() or self._server.is_silent()

    def wait_briefly(self) -> None:
        """Let the flow end by itself where its server lives; it has little left to do."""
        if self._server is None or (self.is_attached and self._server.is_alive()):
            with suppress(RuntimeError):  # it was never started
                self.join(LATE_SECONDS)

    def why_lost(self) -> str:
        """Why the run went on without the flow, in a few words."""
        if self.ident is None:
            return "the machine left no time to begin it"
        is_dead = self._server is not None and not self._server.is_alive()
        if is_dead and not isinstance(self.error, ServiceError):
            return "its server ended"
        if self.error is not None:
            return next(iter(str(self.error).splitlines()), type(self.error).__name__)
        if self._is_abandoned:
            return "the search was over before it was ready"
        return "its server does not answer"

    def run(self) -> None:
        try:
            self._context.run(self._run)
        except Exception as error:  # noqa: BLE001 - the run outlives its orchestrator
            self.error = error

    def _run(self) -> None:
        connection = given_server()
        if self._server is not None:
            self._server.wait_ready()
            if not self._attach():
                return
            connection = self._server.connected()
        with connection:
            self._run_flow()
        self.is_done = True

    def _run_flow(self) -> None:
        from prefect import tags

        from automl_flows.services.reconciliation import run_tags
        from automl_flows.training import driven_flow

        session = self._line.session
        with tags(*run_tags(session.folder)):
            driven_flow(session.settings, str(session.folder.path))

    def _attach(self) -> bool:
        with self._lock:
            self.is_attached = not self._is_abandoned
            return self.is_attached


class _Reporter:
    """Tells of the run's progress twice a second."""

    def __init__(self, line: Line, on_progress: OnProgress | None) -> None:
        self._line, self._tell = line, on_progress
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._report, daemon=True)

    def __enter__(self) -> None:
        if self._tell is not None:
            self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        if self._tell is not None:
            self._thread.join()

    def _report(self) -> None:
        assert self._tell is not None
        self._tell(replace(progress_of(self._line), message=_understood(self._line.session)))
        while not self._is_over.wait(REPORT_SECONDS):
            self._tell(progress_of(self._line))


def _understood(session: Session) -> str:
    """The table as the run has understood it."""
    data = session.folder.read_facts()["data"]
    more = command(session.home, "show", session.run_id)
    return "\n".join([f"run: {session.run_id}", *first_words(session.plan, data, more=more)])
