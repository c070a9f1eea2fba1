"""Drives a run from its first line to its result, with the flow beside it or without.

The slots, the table and the first trials start before the orchestrator is imported; the flow then
attaches to the running search. If the orchestrator's server dies, the run goes on without it.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from automl.errors import AutoMLError, ServiceError
from automl.home import Home
from automl.progress import Progress
from automl.settings import Settings
from automl.stages.line import Line, close_line, open_line
from automl.stages.session import Session, begin, reopen
from automl.training_request import TrainingRequest

if TYPE_CHECKING:
    import pandas as pd

    from automl_flows.server import LocalServer

REPORT_SECONDS = 0.5
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
) -> dict[str, Any]:
    """Run the whole line for a table and return its result.

    Parameters
    ----------
    server
        Local orchestrator that is starting; None to use the one that `PREFECT_API_URL` names.
    on_progress
        Called about twice a second from a thread of its own.
    frame
        The table itself, instead of the source in the settings.
    started
        `time.monotonic()` of the command's first line.
    request
        Of a retraining: where its settings come from.

    Raises
    ------
    DataError, SettingsError
        Before anything is registered.
    AutoMLError
        If no usable model came out.
    """
    session = begin(settings, home, frame=frame, started=started, request=request)
    return _drive(session, server, on_progress)


def resume(
    run_id: str,
    *,
    home: Home,
    server: LocalServer | None = None,
    on_progress: OnProgress | None = None,
) -> dict[str, Any]:
    """Continue an interrupted run from its journal and stage records; see `train`."""
    session = reopen(run_id, home)
    return _drive(session, server, on_progress)


def _drive(
    session: Session, server: LocalServer | None, on_progress: OnProgress | None
) -> dict[str, Any]:
    try:
        _drive_line(open_line(session), server, on_progress)
        return session.records.read("result") or {}
    except BaseException as error:
        if session.folder.read_facts().get("status") != "finished":
            interrupted = not isinstance(error, Exception)
            session.set_status("interrupted" if interrupted else "failed")
        raise
    finally:
        session.close()
        session.release()


def _drive_line(line: Line, server: LocalServer | None, on_progress: OnProgress | None) -> None:
    try:
        line.search.start()
        line.mirror.start()
        with _Reporter(line, on_progress):
            _run(line, server)
    finally:
        close_line(line)


def _run(line: Line, server: LocalServer | None) -> None:
    """The flow in a thread of its own; without it, the stages directly."""
    flow = _FlowThread(line, server)
    flow.start()
    while flow.is_alive() and not flow.is_lost():
        flow.join(0.1)
    if flow.is_done:
        return
    if isinstance(flow.error, AutoMLError) and not isinstance(flow.error, ServiceError):
        raise flow.error
    reason = "the search was over before it was ready" if flow.is_late else "its server ended"
    if flow.error is not None:
        reason = next(iter(str(flow.error).splitlines()), type(flow.error).__name__)
    line.session.warnings.append(f"the run went on without the orchestrator: {reason}")
    from automl_flows.training import run_stages_directly

    run_stages_directly(line)


class _FlowThread(threading.Thread):
    """Waits for the orchestrator, then runs the flow; the search has begun before."""

    def __init__(self, line: Line, server: LocalServer | None) -> None:
        super().__init__(name="automl-flow", daemon=True)
        self._line, self._server = line, server
        self._context = contextvars.copy_context()  # a flow that calls us is the parent of ours
        self._lock = threading.Lock()
        self._is_attached = False
        self._is_abandoned = False
        self.error: Exception | None = None
        self.is_done = False

    def is_lost(self) -> bool:
        """Whether the run has to go on without the flow: its server ended, or is up too late.

        Under a time budget the server is too late when the search is over; a run that only counts
        trials waits for a server that lives. A flow that is too late does not begin any more.
        """
        if self._server is None:
            return False
        with self._lock:
            if not self._is_attached:
                is_urgent = self._line.session.ledger.total is not None
                is_over = self._line.search.is_over
                self._is_abandoned = is_over and (is_urgent or not self._server.is_alive())
                return self._is_abandoned
        return not self._server.is_alive()

    @property
    def is_late(self) -> bool:
        """Whether the search was over before the flow could attach to it."""
        return self._is_abandoned

    def run(self) -> None:
        try:
            self._context.run(self._run)
        except Exception as error:  # noqa: BLE001 - the run outlives its orchestrator
            self.error = error

    def _run(self) -> None:
        from automl_flows.training import train_flow

        session = self._line.session
        folder = str(session.folder.path)
        if self._server is None:
            train_flow(session.settings, str(session.home.path), folder)
        else:
            self._server.wait_ready()
            if not self._attach():
                return
            with self._server.connected():
                train_flow(session.settings, str(session.home.path), folder)
        self.is_done = True

    def _attach(self) -> bool:
        with self._lock:
            self._is_attached = not self._is_abandoned
            return self._is_attached


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
        while not self._is_over.wait(REPORT_SECONDS):
            self._tell(progress_of(self._line))


def progress_of(line: Line) -> Progress:
    """What a run says of itself now."""
    session, trials = line.session, line.trials
    complete = [trial for trial in trials if trial.is_complete]
    best = max(complete, key=lambda trial: trial.score or 0.0, default=None)
    return Progress(
        stage=session.current_stage,
        elapsed=session.ledger.elapsed,
        budget=session.ledger.total,
        trials_done=len(trials),
        trials_running=line.search.turns.n_under_way,
        best_score=None if best is None else best.score,
        best_family="" if best is None else best.configuration.family,
        trials_planned=session.settings.trials,
    )
