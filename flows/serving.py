"""Serves the retraining of one problem on this machine: on a schedule, on new files, or both.

One process: Prefect's runner in a thread takes the flow runs that are due and starts a process for
each; the main thread looks at the folder. The Prefect server is the one that stands (`automl up`,
or `PREFECT_API_URL`); where there is none it is started, and stopped with the service.
"""

from __future__ import annotations

import asyncio
import contextvars
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
from filelock import FileLock, Timeout

from automl.errors import ServiceError, SettingsError
from automl.home import Home
from automl.tracking.layout import clean_name
from automl_flows.arrivals import Arrivals, FolderWatch
from automl_flows.retraining import finished_runs
from automl_flows.server import LocalServer, answers
from automl_flows.standing import Service, read_services, start_services
from automl_flows.watching import Watcher

if TYPE_CHECKING:
    from prefect.deployments.runner import RunnerDeployment
    from prefect.runner import Runner

LOOK_SECONDS = 0.5
POLL_SECONDS = 2
LEAST_INTERVAL_SECONDS = 10.0
STOP_SECONDS = 20.0
RUNS_AT_ONCE = 2
SERVER_LOST_AFTER = 3
_CONSOLE_LEVEL = "PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL"

Say = Callable[[str], None]


@dataclass(frozen=True)
class Plan:
    """What is served.

    Parameters
    ----------
    table : of the scheduled retraining
    cron, interval_seconds : at most one of them
    folder : where new files arrive
    pattern : of their names; None takes every kind of table
    overrides : `budget_seconds` and `trials` of the runs
    """

    name: str
    table: str | None = None
    cron: str | None = None
    interval_seconds: float | None = None
    folder: Path | None = None
    pattern: str | None = None
    settle_seconds: float = 5.0
    overrides: Mapping[str, Any] = field(default_factory=dict)

    @property
    def has_schedule(self) -> bool:
        """Whether something is to be done at certain times."""
        return self.cron is not None or self.interval_seconds is not None

    def check(self, home: Home) -> None:
        """Refuse what cannot be served.

        Raises
        ------
        SettingsError
            With the option that is missing or wrong.
        """
        if not self.has_schedule and self.folder is None:
            raise SettingsError(
                "nothing to serve: give --watch DIR, or --table with --cron or --interval"
            )
        if self.cron is not None and self.interval_seconds is not None:
            raise SettingsError("--cron and --interval cannot be combined; give one of them")
        if self.has_schedule != (self.table is not None):
            raise SettingsError("a schedule needs both --table and one of --cron and --interval")
        if self.interval_seconds is not None and self.interval_seconds < LEAST_INTERVAL_SECONDS:
            raise SettingsError(f"--interval must be at least {LEAST_INTERVAL_SECONDS:g} s")
        if self.cron is not None:
            _check_cron(self.cron)
        if self.folder is not None and not self.folder.is_dir():
            raise SettingsError(f"--watch: there is no folder {self.folder}")
        if not finished_runs(home, self.name):
            raise SettingsError(
                f"there is no finished run of problem {self.name!r} in {home.path}; train it first"
            )


def serve_plan(plan: Plan, home: Home, *, say: Say) -> None:
    """Serve until an exception or a signal ends it; then nothing of it is left running.

    Raises
    ------
    SettingsError
        If the plan cannot be served, or another process serves this problem.
    ServiceError
        If the Prefect server cannot be started, or is lost.
    """
    plan.check(home)
    if os.environ.get(_CONSOLE_LEVEL) == "WARNING":
        os.environ[_CONSOLE_LEVEL] = "CRITICAL"  # what fails is told in one line, and on the page
    with _only_server_of(plan, home), _api(home, say) as api_url, ExitStack() as stack:
        runner = _RunnerThread(_deployments(plan, home))
        stack.callback(_end_children, _children())
        stack.callback(runner.stop)
        runner.start()
        runner.wait_ready()
        watcher = _watcher(plan, home, say)
        if watcher is not None:
            stack.callback(watcher.close)
        say(f"serving {plan.name}: {_described(plan)}; page {api_url.removesuffix('/api')}")
        _look(watcher, runner, api_url)


def _look(watcher: Watcher | None, runner: _RunnerThread, api_url: str) -> None:
    """Look at the folder again and again; the server must be there all the time."""
    n_lost, checked_at = 0, time.monotonic()
    while True:
        if watcher is not None:
            watcher.step()
        if not runner.is_alive():
            raise ServiceError(f"Prefect's runner ended: {runner.failure or 'no reason given'}")
        if time.monotonic() - checked_at > 10 * LOOK_SECONDS:
            n_lost = 0 if answers(f"{api_url}/health", 5.0) else n_lost + 1
            checked_at = time.monotonic()
        if n_lost >= SERVER_LOST_AFTER:
            raise ServiceError(f"the Prefect server {api_url} does not answer any more")
        time.sleep(LOOK_SECONDS)


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
            self.failure = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
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
        )
        for deployment in self._deployments:
            await self._runner.aadd_deployment(deployment)
        self._is_ready.set()
        await self._runner.start()


def _deployments(plan: Plan, home: Home) -> list[RunnerDeployment]:
    from prefect.client.schemas.objects import ConcurrencyLimitConfig, ConcurrencyLimitStrategy
    from prefect.types.entrypoint import EntrypointType

    from automl_flows.retrain_flows import on_new_data_flow, retrain_flow

    parameters = {"name": plan.name, "home": str(home.path), **_run_parameters(plan)}
    found: list[Any] = []
    if plan.has_schedule:
        found.append(
            retrain_flow.to_deployment(
                clean_name(plan.name),
                cron=plan.cron,
                interval=plan.interval_seconds,
                parameters={**parameters, "table": plan.table},
                entrypoint_type=EntrypointType.MODULE_PATH,
                concurrency_limit=ConcurrencyLimitConfig(
                    limit=1, collision_strategy=ConcurrencyLimitStrategy.CANCEL_NEW
                ),
                tags=["automl"],
            )
        )
    if plan.folder is not None:
        found.append(
            on_new_data_flow.to_deployment(
                clean_name(plan.name),
                parameters=parameters,
                entrypoint_type=EntrypointType.MODULE_PATH,
                tags=["automl"],
            )
        )
    return found


def _run_parameters(plan: Plan) -> dict[str, Any]:
    seconds = plan.overrides.get("budget_seconds")
    return {
        "budget": "" if seconds is None else f"{seconds:g}s",
        "trials": plan.overrides.get("trials"),
    }


def _watcher(plan: Plan, home: Home, say: Say) -> Watcher | None:
    if plan.folder is None:
        return None
    arrivals = Arrivals(home, plan.name)
    arrivals.recover()
    watch = FolderWatch(plan.folder, pattern=plan.pattern, settle_seconds=plan.settle_seconds)
    begin = _Beginner(plan)
    return Watcher(watch, arrivals, begin=begin, ended=_ending, say=say)


@dataclass(frozen=True)
class _Beginner:
    """Begins a flow run of the deployment for new data."""

    plan: Plan

    def __call__(self, path: Path, digest: str) -> str:
        import httpx
        from prefect.deployments import run_deployment
        from prefect.exceptions import PrefectException

        try:
            run: Any = run_deployment(
                f"automl-on-new-data/{clean_name(self.plan.name)}",
                parameters={"table": str(path), "digest": digest},
                timeout=0,
                as_subflow=False,
            )
        except (PrefectException, httpx.HTTPError, OSError) as error:
            raise ServiceError(f"no run could be begun: {error}") from None
        return str(run.id)


def _ending(flow_run: str) -> str:
    """How a flow run ended; empty while it is under way or the server does not answer."""
    from uuid import UUID

    import httpx
    from prefect.client.orchestration import get_client
    from prefect.exceptions import ObjectNotFound, PrefectException

    try:
        with get_client(sync_client=True) as client:
            state = client.read_flow_run(UUID(flow_run)).state
    except ObjectNotFound:
        return "its flow run is gone"
    except (PrefectException, httpx.HTTPError, OSError):
        return ""
    if state is None or not state.is_final():
        return ""
    return f"its flow run ended as {state.name}: {' '.join((state.message or '').split())}"[:500]


@contextmanager
def _api(home: Home, say: Say) -> Iterator[str]:
    """Settings of a Prefect server that answers; one that is started here is stopped again."""
    given = os.environ.get("PREFECT_API_URL", "").rstrip("/")
    if given:
        if not answers(f"{given}/health", 5.0):
            raise ServiceError(f"the Prefect server {given} of PREFECT_API_URL does not answer")
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
            _end_service(service)


def _end_service(service: Service) -> None:
    process = service.process()
    if process is not None:
        process.terminate()
        _, alive = psutil.wait_procs([process], timeout=5.0)
        for survivor in alive:
            survivor.kill()


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
    folder = home.path / "locks"
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / f"serve-{clean_name(plan.name)}.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise SettingsError(f"another process serves {plan.name!r} in {home.path}") from None
    try:
        yield
    finally:
        lock.release()


def _check_cron(text: str) -> None:
    from prefect.client.schemas.schedules import CronSchedule
    from pydantic import ValidationError

    try:
        CronSchedule(cron=text)
    except ValidationError:
        raise SettingsError(
            f'--cron must look like "0 3 * * *" (minute hour day month weekday); got {text!r}'
        ) from None


def _described(plan: Plan) -> str:
    parts = []
    if plan.cron is not None:
        parts.append(f"retrained on {plan.table} at {plan.cron!r}")
    if plan.interval_seconds is not None:
        parts.append(f"retrained on {plan.table} every {plan.interval_seconds:g} s")
    if plan.folder is not None:
        parts.append(f"new files in {plan.folder}")
    return " and ".join(parts)
