"""Serves the retraining of problems on this machine: on a schedule, on new files, or both.

One process: Prefect's runner in a thread takes the flow runs that are due and starts a process for
each; the main thread looks at the places where files arrive. The Prefect server is the running one (`automl up`,
or `PREFECT_API_URL`); if there is none it is started, and stopped with the service.
"""

from __future__ import annotations

import asyncio
import contextvars
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import psutil
from filelock import Timeout

from automl.addresses import check_told_apart, public_address, public_text
from automl.errors import ServiceError, SettingsError
from automl.home import Home
from automl.problem_names import clean_name
from automl_flows.services.drop_place import DropPlace
from automl_flows.services.drop_runs import DropRuns, emitter
from automl_flows.services.drop_store import DropStore
from automl_flows.services.prefect_api import answers
from automl_flows.services.promotion_events import emit_new_champions
from automl_flows.services.server import LocalServer
from automl_flows.services.service_plan import Plan
from automl_flows.services.standing import read_services, start_services, stop
from automl_flows.services.watching import Watcher
from automl_flows.services.zombies import HEARTBEAT_SECONDS, close_zombies

if TYPE_CHECKING:
    from prefect.deployments.runner import RunnerDeployment
    from prefect.runner import Runner

LOOK_SECONDS = 0.5
"""Between looks at the folder, which cost next to nothing."""
POLL_SECONDS = 2
"""Between the runner's questions for planned runs, a whole number as Prefect wants it."""
STOP_SECONDS = 20.0
"""For runs under way to end in order and be told to the server."""
RUNS_AT_ONCE = 2
"""A scheduled run and one of a new file; more would share the same cores."""
SERVER_LOST_AFTER = 3
"""Unanswered requests in a row, five seconds apart: a restart takes less."""
SCHEDULER_SECONDS = 60.0
"""Seconds until the absence of Prefect's scheduler is reported."""
PLANNED_AHEAD = timedelta(days=90)
"""A date that is nearer than this is planned: Prefect plans the next 100 days."""

Say = Callable[[str], None]


def serve_plans(
    plans: Sequence[Plan],
    home: Home,
    deployments: Callable[[Plan], Sequence[RunnerDeployment]],
    *,
    say: Say,
) -> None:
    """Serve until an exception or a signal ends it; then nothing of it is left running.

    Parameters
    ----------
    plans
        One for each problem.
    deployments
        Makes what is served of a plan; asked once the Prefect server answers.

    Raises
    ------
    SettingsError
        If a plan cannot be served, or another process serves its problem.
    ServiceError
        If the Prefect server cannot be started, or is lost.
    """
    check_told_apart(plan.table for plan in plans if plan.table is not None)
    for plan in plans:
        plan.check(home)
    with ExitStack() as stack:
        for plan in plans:
            stack.enter_context(_only_server_of(plan, home))
        api_url = stack.enter_context(_api(home, say))
        watchers = [new_watcher(plan, home, say) for plan in plans if plan.drops is not None]
        for watcher in watchers:
            stack.callback(watcher.close)  # last: runs that end themselves have said how by then
        runner = _RunnerThread([one for plan in plans for one in deployments(plan)])
        stack.callback(_end_children, _children())
        stack.callback(runner.stop)
        runner.start()
        runner.wait_ready()
        close_zombies()
        for plan in plans:
            say(
                f"serving {plan.name}: {plan.described}; page {public_address(api_url).removesuffix('/api')}"
            )
        proofs = [_ScheduleProof(plan) for plan in plans if plan.has_schedule]
        _look(watchers, runner, api_url, proofs, home)


def _look(
    watchers: Sequence[Watcher],
    runner: _RunnerThread,
    api_url: str,
    proofs: Sequence[_ScheduleProof],
    home: Home,
) -> None:
    """Look at the places repeatedly, and for new champions; the server must always answer."""
    n_lost, checked_at = 0, time.monotonic()
    while True:
        for watcher in watchers:
            watcher.step()
        if not runner.is_alive():
            raise ServiceError(f"Prefect's runner ended: {runner.failure or 'no reason given'}")
        if time.monotonic() - checked_at > 10 * LOOK_SECONDS:
            n_lost = 0 if answers(f"{api_url}/health", 5.0) else n_lost + 1
            for proof in proofs:
                proof.demand()
            if not n_lost:
                emit_new_champions(home)
            checked_at = time.monotonic()
        if n_lost >= SERVER_LOST_AFTER:
            raise ServiceError(f"the Prefect server {public_address(api_url)} no longer answers")
        time.sleep(LOOK_SECONDS)


class _ScheduleProof:
    """Makes sure that the server plans runs: one whose scheduler fails would do so in silence."""

    def __init__(self, plan: Plan) -> None:
        self._deployment = clean_name(plan.name)
        self._since = now = datetime.now(UTC)
        self._asked_from = max(now, (plan.next_date(now) or now) - PLANNED_AHEAD)
        self._is_given = False

    def demand(self) -> None:
        """Look whether a run is planned, once its date is near enough.

        Raises
        ------
        ServiceError
            If none is after a minute.
        """
        waited = (datetime.now(UTC) - self._asked_from).total_seconds()
        if self._is_given or waited < 0:
            return
        self._is_given = _planned_after(self._deployment, self._since)
        if not self._is_given and waited > SCHEDULER_SECONDS:
            raise ServiceError(
                f"the Prefect server has planned no run within {SCHEDULER_SECONDS:g} s: its scheduler "
                "is off or fails (Prefect 3.8 needs SQLAlchemy below 2.1); see server.log in the "
                "folder prefect of the home"
            )


def _planned_after(deployment: str, moment: datetime) -> bool:
    import httpx
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.filters import DeploymentFilter, DeploymentFilterName
    from prefect.client.schemas.sorting import FlowRunSort
    from prefect.exceptions import PrefectException

    try:
        with get_client(sync_client=True) as client:
            runs = client.read_flow_runs(
                deployment_filter=DeploymentFilter(name=DeploymentFilterName(any_=[deployment])),
                sort=FlowRunSort.EXPECTED_START_TIME_DESC,
                limit=1,
            )
    except (PrefectException, httpx.HTTPError, OSError):
        return False
    return any(run.expected_start_time and run.expected_start_time > moment for run in runs)


class _RunnerThread(threading.Thread):
    """Prefect's runner, with an event loop and the caller's settings."""

    def __init__(self, deployments: list[RunnerDeployment]) -> None:
        super().__init__(name="automl-runner", daemon=True)
        self._deployments = deployments
        self._context = contextvars.copy_context()
        self._is_ready = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._runner: Runner | None = None
        self.failure = ""

    def run(self) -> None:
        try:
            self._context.run(asyncio.run, self._serve())
        except Exception as error:  # noqa: BLE001 - told by the thread that waits
            text = public_text(" ".join(str(error).split()))[:300]
            self.failure = f"{type(error).__name__}: {text}"
        finally:
            self._is_ready.set()

    def wait_ready(self) -> None:
        """Return when the deployments are known to the server.

        Raises
        ------
        ServiceError
            If they cannot be made.
        """
        while not self._is_ready.wait(0.1):
            pass
        if self.failure:
            raise ServiceError(f"the deployments cannot be served: {self.failure}")

    def stop(self) -> None:
        """Cancel the runs under way and end the thread; at most about 20 seconds."""
        if self._loop is not None and self._runner is not None and self.is_alive():
            stopping = asyncio.run_coroutine_threadsafe(self._runner.astop(), self._loop)
            try:
                stopping.result(STOP_SECONDS)
            except (TimeoutError, RuntimeError):
                return
        self.join(STOP_SECONDS)

    async def _serve(self) -> None:
        from prefect.runner import Runner

        self._loop = asyncio.get_running_loop()
        self._runner = Runner(
            name="automl",
            query_seconds=POLL_SECONDS,
            limit=RUNS_AT_ONCE,
            pause_on_shutdown=True,
            heartbeat_seconds=HEARTBEAT_SECONDS,
        )
        for deployment in self._deployments:
            await self._runner.aadd_deployment(deployment)
        self._is_ready.set()
        await self._runner.start()


def new_watcher(plan: Plan, home: Home, say: Say) -> Watcher:
    """Watcher of a plan with a place where files arrive."""
    name = clean_name(plan.name)
    return Watcher(
        DropPlace(plan.drops or "", pattern=plan.pattern),
        DropStore(home, plan.name),
        DropRuns(f"automl-on-new-data/{name}"),
        plan.completeness,
        emitter(name),
        say,
    )


@contextmanager
def standing_api(home: Home) -> Iterator[str]:
    """Settings of the Prefect server of the environment, or of a home's running one.

    Raises
    ------
    ServiceError
        If there is none that answers.
    """
    if not os.environ.get("PREFECT_API_URL") and "prefect" not in read_services(home.path):
        raise ServiceError(
            "no Prefect server is running: start one with automl up, or set PREFECT_API_URL"
        )
    with _api(home, lambda _: None) as api_url:
        yield api_url


@contextmanager
def _api(home: Home, say: Say) -> Iterator[str]:
    """Settings of a Prefect server that answers; one that is started here is stopped again."""
    given = os.environ.get("PREFECT_API_URL", "").rstrip("/")
    if given:
        if not answers(f"{given}/health", 5.0):
            raise ServiceError(
                f"the Prefect server {public_address(given)} of PREFECT_API_URL does not answer"
            )
        yield given
        return
    is_ours = "prefect" not in read_services(home.path)
    if is_ours:
        say("starting a Prefect server")
    service = start_services(home.path, ("prefect",))["prefect"]
    try:
        server = LocalServer(home.path / "prefect", url=service.url)
        with server.connected():
            yield server.api_url
    finally:
        if is_ours:
            stop(service)


def _children() -> set[int]:
    return {process.pid for process in psutil.Process().children(recursive=True)}


def _end_children(before: set[int]) -> None:
    """End processes of runs that did not end by themselves, as the last act."""
    left = [p for p in psutil.Process().children(recursive=True) if p.pid not in before]
    for signal_name in ("terminate", "kill"):
        for process in left:
            try:
                getattr(process, signal_name)()
            except psutil.NoSuchProcess:
                continue
        _, left = psutil.wait_procs(left, timeout=5.0)


@contextmanager
def _only_server_of(plan: Plan, home: Home) -> Iterator[None]:
    home.check()
    try:
        held = home.lock(f"serve-{clean_name(plan.name)}").acquire(timeout=0)
    except Timeout:
        raise SettingsError(f"another process serves {plan.name!r} in {home.path}") from None
    with held:
        yield
