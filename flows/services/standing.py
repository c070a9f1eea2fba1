"""The services that `automl up` keeps standing for one home: Prefect's server and MLflow's page."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil
from filelock import FileLock

from automl.errors import ServiceError
from automl.privacy import UMASK, make_private_folder
from automl_flows.environment import TELEMETRY_OFF
from automl_flows.services.prefect_api import answers
from automl_flows.services.server import HOST, READY_SECONDS, LocalServer, listen_at_best

SERVICE_NAMES = ("prefect", "mlflow")
USUAL_PORTS = {"prefect": 4200, "mlflow": 5000}
STOP_SECONDS = 10.0
"""From SIGTERM to SIGKILL for both services and their children."""


@dataclass(frozen=True)
class Service:
    """A process that was left standing.

    Parameters
    ----------
    started : unix seconds, as the system tells it; with the pid it identifies the process
    """

    name: str
    pid: int
    port: int
    started: float

    @property
    def url(self) -> str:
        """Page of the service."""
        return f"http://{HOST}:{self.port}"

    @property
    def health_url(self) -> str:
        """Address that answers when the service is healthy."""
        return f"{self.url}/api/health" if self.name == "prefect" else f"{self.url}/health"

    def process(self) -> psutil.Process | None:
        """The process, unless it ended or its id belongs to another one by now."""
        try:
            process = psutil.Process(self.pid)
            same = abs(process.create_time() - self.started) < 1.0
            alive = process.is_running() and process.status() != psutil.STATUS_ZOMBIE
        except psutil.Error:
            return None
        return process if same and alive else None

    def has_its_port(self) -> bool:
        """Whether it is this process, or a child of it, that listens there, and no other program's."""
        process = self.process()
        try:
            family = [process, *process.children(recursive=True)] if process else []
            found = (c for member in family for c in member.net_connections(kind="tcp"))
            return any(c.status == psutil.CONN_LISTEN and c.laddr.port == self.port for c in found)
        except psutil.Error:
            return False


def services_file(home: Path) -> Path:
    """Where the standing services of a home are written down."""
    return home / "services.json"


def read_services(home: Path) -> dict[str, Service]:
    """Standing services by name; dead ones are left out."""
    try:
        content = json.loads(services_file(home).read_text(encoding="utf-8"))
        services = [Service(**entry) for entry in content]
    except (OSError, ValueError, TypeError):
        return {}
    return {service.name: service for service in services if service.process() is not None}


def start_services(home: Path, names: tuple[str, ...] = SERVICE_NAMES) -> dict[str, Service]:
    """Start the services that are not running, and return all once they are healthy.

    Raises
    ------
    ServiceError
        If a service does not become healthy; what this call started is stopped again.
    """
    make_private_folder(home)
    with FileLock(home / "services.lock"):
        standing = read_services(home)
        started: list[Service] = []
        try:
            for name in (name for name in names if name not in standing):
                service = _STARTERS[name](home, USUAL_PORTS[name])
                started += [service]  # at once: whatever fails next, it is stopped again
            for service in [*standing.values(), *started]:
                _wait_healthy(service, home)
        except ServiceError:
            for service in started:
                stop(service)
            raise
        services = {**standing, **{service.name: service for service in started}}
        _write(home, services)
    return services


def stop_services(home: Path) -> list[Service]:
    """Stop all standing services; returns what was stopped."""
    if not services_file(home).exists():
        return []
    with FileLock(home / "services.lock"):
        standing = read_services(home)
        for service in standing.values():
            stop(service)
        services_file(home).unlink(missing_ok=True)
    return list(standing.values())


def _write(home: Path, services: dict[str, Service]) -> None:
    temporary = services_file(home).with_suffix(".tmp")
    temporary.write_text(json.dumps([asdict(s) for s in services.values()], indent=1))
    temporary.replace(services_file(home))


def _start_prefect(home: Path, port: int) -> Service:
    server = LocalServer(home / "prefect", port=port, embedded=False)
    server.start()
    port = int(server.url.rsplit(":", 1)[1])
    return _identified("prefect", server.release(), port)


def _start_mlflow(home: Path, port: int) -> Service:
    make_private_folder(home / "artifacts")
    port = _port_at_best(port)
    command = [sys.executable, "-P", "-m", "mlflow", "server", "--host", HOST, "--port", str(port)]
    command += ["--default-artifact-root", (home / "artifacts").as_uri()]
    command += ["--no-serve-artifacts", "--workers", "1"]
    environment = {
        **os.environ,
        **TELEMETRY_OFF,
        "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
        # may name a password, which everybody would see among the arguments of the process
        "MLFLOW_BACKEND_STORE_URI": _tracking_store(home),
    }
    environment.pop("MLFLOW_TRACKING_URI", None)
    with (home / "mlflow-server.log").open("wb") as log:
        process = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=log,
            stderr=subprocess.STDOUT, start_new_session=True, cwd=home, umask=UMASK,
        )  # fmt: skip
    process.returncode = 0  # it stays; no warning when the handle is collected
    return _identified("mlflow", process.pid, port)


def _port_at_best(port: int) -> int:
    """A port that is free at this moment: MLflow's server takes a number, no open socket."""
    try:
        with listen_at_best(port) as listener:
            return int(listener.getsockname()[1])
    except OSError as error:
        raise ServiceError(f"no free port on {HOST} for mlflow: {error}") from None


def _tracking_store(home: Path) -> str:
    """Database behind the page; created here, since two first users at once would break it.

    That of a moved home learns its place here, since the page knows nothing of homes.
    """
    from automl.tracking.moved_home import place_before
    from automl.tracking.store import open_store, store_address

    address = store_address(home)
    is_new = address.sqlite_file is not None and not address.sqlite_file.exists()
    if is_new or (address.is_own and place_before(address.home)):
        open_store(address)
    return address.uri


_STARTERS: dict[str, Callable[[Path, int], Service]] = {
    "prefect": _start_prefect,
    "mlflow": _start_mlflow,
}


def _identified(name: str, pid: int, port: int) -> Service:
    return Service(name, pid, port, psutil.Process(pid).create_time())


def _wait_healthy(service: Service, home: Path) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline:
        if answers(service.health_url) and service.has_its_port():
            return
        if service.process() is None:
            break
        time.sleep(0.1)
    log = home / ("prefect/server.log" if service.name == "prefect" else "mlflow-server.log")
    raise ServiceError(f"the {service.name} server did not become healthy; see {log}")


def stop(service: Service) -> None:
    """End a service and its children; returns when they are gone."""
    process = service.process()
    if process is None:
        return
    family = [process, *process.children(recursive=True)]
    process.send_signal(signal.SIGTERM)
    _, alive = psutil.wait_procs(family, timeout=STOP_SECONDS)
    for survivor in alive:
        survivor.kill()
    psutil.wait_procs(alive, timeout=1.0)
