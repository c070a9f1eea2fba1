"""The services of the compose file as processes of this machine, with a PostgreSQL cluster of their own.

Commands and environments are those of `deployments/stack/compose.yaml`; only ports, host names and the folders of
volumes are replaced. PostgreSQL, whose image has no command there, is Debian's.
"""

from __future__ import annotations

import json
import os
import pwd
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import compose
import psutil
from ports import free_port

from automl_flows.services.prefect_api import PrefectAPI, answers

READY_SECONDS = 240.0
"""For a service to answer: it takes some 20 s, and ten times that on a machine with much else to do."""
STOP_SECONDS = 15.0
"""For killed processes to be gone, which takes no second, and for PostgreSQL to write what it holds."""
LONGEST_SECONDS = 500.0
"""For one command or flow run: each takes some 20 s on a machine that does nothing else."""

PORTS = {"postgres": 5432, "prefect": 4200, "mlflow": 5000, "scheduler": 8786, "dashboard": 8787}
"""Ports of the compose file."""

_OTHERS = ("AUTOML_", "DASK_", "MLFLOW_", "PG", "PREFECT_", "_MLFLOW_")
"""Beginnings of the variables that a user's own installation may have set."""


@dataclass
class Service:
    """A process that is started, killed and started again."""

    name: str
    command: list[str]
    environment: Mapping[str, str]
    folder: Path
    is_ready: Callable[[], bool]
    user: int | None = None
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def log(self) -> Path:
        """What it prints."""
        return self.folder / f"{self.name}.log"

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """The one that was started last."""
        return self.processes[-1]

    def start(self) -> None:
        """Start it in a session of its own and return at once."""
        with self.log.open("ab") as log:
            self.processes.append(
                subprocess.Popen(
                    self.command,
                    env=dict(self.environment),
                    cwd=self.folder,
                    user=self.user,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            )

    def wait_ready(self) -> None:
        """Wait until it answers; a process that has ended is started again, as compose does it."""
        deadline = time.monotonic() + READY_SECONDS
        while self.process.poll() is not None or not self.is_ready():
            if self.process.poll() is not None:
                time.sleep(1.0)
                self.start()
            assert time.monotonic() < deadline, f"{self.name}: {self.log.read_text()[-3000:]}"
            time.sleep(0.2)

    def family(self) -> list[psutil.Process]:
        """The process and what it has started."""
        try:
            first = psutil.Process(self.process.pid)
            return [first, *first.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []

    def kill(self) -> None:
        """End it and its children with SIGKILL, as a container ends."""
        family = self.family()
        for process in family:
            if process.is_running():
                process.kill()
        self.process.wait()
        psutil.wait_procs(family, timeout=STOP_SECONDS)


class FullStack:
    """All services of the compose file.

    Parameters
    ----------
    folder
        Holds clusters, volumes and logs; PostgreSQL's user must be able to enter it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "volumes" / "state"
        self.secrets = {
            **{name: secrets.token_hex(12) for name in compose.required_variables()},
            "MLFLOW_USER": "owner",
            "PREFECT_AUTH": f"owner:{secrets.token_hex(12)}",
        }
        self._ports = {port: str(free_port()) for port in PORTS.values()}
        self._declared = self._local(compose.services(self.secrets))
        self.services = {
            "postgres": self._postgres(),
            **{name: self._service(name) for name in self._declared if name != "postgres"},
        }

    @property
    def client(self) -> dict[str, str]:
        """Environment of a process that uses the stack."""
        return self.services["worker"].environment | {"PYTHONWARNINGS": "ignore"}

    @property
    def prefect(self) -> PrefectAPI:
        """Prefect's API, as its user."""
        host = f"127.0.0.1:{self._ports[PORTS['prefect']]}"
        return PrefectAPI(f"http://{self.secrets['PREFECT_AUTH']}@{host}/api")

    @property
    def mlflow_uri(self) -> str:
        """Address of MLflow with its user."""
        user = f"{self.secrets['MLFLOW_USER']}:{self.secrets['MLFLOW_PASSWORD']}"
        return f"http://{user}@{self.address('mlflow')}"

    @property
    def cluster(self) -> str:
        """Address of the Dask scheduler."""
        return f"tcp://{self.address('scheduler')}"

    def address(self, name: str) -> str:
        """Host and port of a service."""
        return f"127.0.0.1:{self._ports[PORTS[name]]}"

    def start(self) -> None:
        """Start all services and wait until they are ready."""
        for folder in ("volumes/state", "volumes/artifacts", "volumes/key", "user", "processes"):
            (self.folder / folder).mkdir(mode=0o700, parents=True)
        self._make_databases()
        for name in ("prefect", "mlflow", "scheduler"):
            self.services[name].start()
        for name in ("prefect", "mlflow", "scheduler"):
            self.services[name].wait_ready()
        for name in ("worker", "dask-worker"):
            self.services[name].start()
        for name in ("worker", "dask-worker"):
            self.services[name].wait_ready()

    def logs(self) -> str:
        """The last lines of every service."""
        tails = [(name, service.log) for name, service in self.services.items()]
        return "\n".join(
            f"--- {name}\n{log.read_text()[-4000:]}" for name, log in tails if log.exists()
        )

    def stop(self) -> None:
        """Kill everything; PostgreSQL, the last, first gives its shared memory back."""
        for service in [one for one in reversed(self.services.values()) if one.processes]:
            if service.name == "postgres":
                service.process.send_signal(signal.SIGINT)  # on SIGTERM it waits for its clients
                psutil.wait_procs(service.family(), timeout=STOP_SECONDS)
            service.kill()

    def run(self, *command: str, seconds: float = LONGEST_SECONDS, **more: str) -> str:
        """Standard output of a user's Python with these arguments, which must succeed."""
        done = subprocess.run(
            [sys.executable, *command], env={**self.client, **more}, cwd=self.folder / "user",
            capture_output=True, text=True, timeout=seconds, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        return done.stdout

    def automl(self, *arguments: str, **more: str) -> Any:
        """What a command of ours prints with ``--json``."""
        return json.loads(self.run("-m", "automl_flows.commands.cli", *arguments, "--json", **more))

    def begin(self, *arguments: str, **more: str) -> subprocess.Popen[str]:
        """A command of ours that goes on."""
        command = [sys.executable, "-m", "automl_flows.commands.cli", *arguments, "--json"]
        return subprocess.Popen(
            command,
            env={**self.client, **more},
            cwd=self.folder / "user",
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def end(self, process: subprocess.Popen[str]) -> Any:
        """What a command prints that was begun, and must succeed."""
        out, err = process.communicate(timeout=LONGEST_SECONDS)
        assert process.returncode == 0, err
        return json.loads(out)

    def _local(self, declared: dict[str, Any]) -> dict[str, Any]:
        """The services with ports, hosts and folders of this machine."""
        text = json.dumps(declared)
        volumes = {
            target: str(
                compose.FOLDER / source
                if source.startswith(".")
                else self.folder / "volumes" / source
            )
            for service in declared.values()
            for source, target in (v.split(":")[:2] for v in service.get("volumes", ()))
        }
        text = text.replace(': "postgres"', ': "127.0.0.1"').replace("0.0.0.0", "127.0.0.1")
        for name in PORTS:
            text = text.replace(f"//{name}:", "//127.0.0.1:")
        for port, own in self._ports.items():
            text = re.sub(rf"\b{port}\b", own, text)
        for target, folder in volumes.items():
            text = text.replace(target, folder)
        found: dict[str, Any] = json.loads(text)
        return found

    def _environment(self, **more: str) -> dict[str, str]:
        kept = {key: value for key, value in os.environ.items() if not key.startswith(_OTHERS)}
        own = {"HOME": str(self.folder / "user"), "PREFECT_HOME": str(self.folder / "user/prefect")}
        path = f"{Path(sys.executable).parent}:{kept.get('PATH', '')}"
        return {**kept, **own, "PATH": path, **more}

    def _service(self, name: str) -> Service:
        declared = self._declared[name]
        return Service(
            name,
            declared["command"],
            self._environment(**declared["environment"]),
            self.folder / "processes",
            {
                "prefect": lambda: answers(f"http://{self.address('prefect')}/api/health"),
                "mlflow": lambda: answers(f"http://{self.address('mlflow')}/health"),
                "worker": self._has_worker,
                "scheduler": lambda: _listens(self.address("scheduler")),
                "dask-worker": self._has_dask_workers,
            }[name],
        )

    def _has_worker(self) -> bool:
        try:
            workers = self.prefect.post("work_pools/automl/workers/filter", {})
        except OSError:
            return False
        return any(worker["status"] == "ONLINE" for worker in workers)

    def _has_dask_workers(self) -> bool:
        from distributed import Client

        with Client(self.cluster, timeout=10, set_as_default=False) as client:
            return len(client.scheduler_info(n_workers=-1)["workers"]) == 2

    def _postgres(self) -> Service:
        port = self._ports[PORTS["postgres"]]
        options = ["-c", "listen_addresses=127.0.0.1", "-p", port, "-k", str(self._database_folder)]
        return Service(
            "postgres",
            [postgres_program("postgres"), "-D", str(self._database_folder / "data"), *options],
            self._environment(),
            self._database_folder,
            lambda: _succeeds(postgres_program("pg_isready"), "-h", "127.0.0.1", "-p", port),
            user=database_user(),
        )

    @property
    def _database_folder(self) -> Path:
        return self.folder / "postgres"

    def _make_databases(self) -> None:
        """Make the cluster, start it, and make roles and databases by the script of the compose file."""
        folder, service = self._database_folder, self.services["postgres"]
        folder.mkdir(mode=0o700)
        password = folder / "password"
        password.write_text(self.secrets["POSTGRES_PASSWORD"])
        if service.user is not None:
            for path in (folder, password):
                os.chown(path, service.user, -1)
        command = [postgres_program("initdb"), "-D", str(folder / "data"), "--username", "postgres"]
        command += [
            "--pwfile",
            str(password),
            "--auth",
            "scram-sha-256",
            "--no-sync",
            "--encoding",
            "UTF8",
        ]
        subprocess.run(
            command,
            user=service.user,
            cwd=folder,
            env=dict(service.environment),
            check=True,
            stdout=subprocess.DEVNULL,
        )
        password.unlink()
        service.start()
        service.wait_ready()
        environment = {
            **self._environment(**self._declared["postgres"]["environment"]),
            "PGPASSWORD": self.secrets["POSTGRES_PASSWORD"],
        }
        script = [
            "-h",
            "127.0.0.1",
            "-p",
            self._ports[5432],
            "-f",
            str(compose.FOLDER / "databases.sql"),
        ]
        command = [postgres_program("psql"), "--no-psqlrc", "--quiet", "-U", "postgres", *script]
        subprocess.run(command, env=environment, check=True)


def postgres_program(name: str) -> str:
    """Debian's program of the newest PostgreSQL; only some are on the path.

    Raises
    ------
    FileNotFoundError
        If PostgreSQL is not installed.
    """
    found = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    program = str(found[-1]) if found else shutil.which(name)
    if program is None:
        raise FileNotFoundError(f"PostgreSQL's {name} is not installed: apt-get install postgresql")
    return program


def database_user() -> int | None:
    """User that PostgreSQL runs as: its own where this is root, who may not run it."""
    return pwd.getpwnam("postgres").pw_uid if os.geteuid() == 0 else None


def _listens(address: str) -> bool:
    host, port = address.split(":")
    try:
        socket.create_connection((host, int(port)), 1.0).close()
    except OSError:
        return False
    return True


def _succeeds(*command: str) -> bool:
    return subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode == 0
