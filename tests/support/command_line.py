"""The installed command in processes of its own, and what is compared between its runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
from ports import free_port

from automl.evaluation.journal import read
from automl.records import Trial

PATIENT = {
    "automl_flows.services.local_server.CLOSE_SECONDS": 60.0,
    "automl_flows.services.local_server.DRAIN_SECONDS": 20.0,
}
"""Constants of a command that does not end before its Prefect server knows all, as it does where it is not starved."""


class Command:
    """The command line with one home.

    Parameters
    ----------
    constants
        Values that constants of modules have in its processes, by dotted name.
    """

    def __init__(self, home: Path, constants: Mapping[str, object] | None = None) -> None:
        self.home = home
        self._constants = constants or {}

    def arguments(self, *arguments: str) -> list[str]:
        """Command and arguments for a process."""
        return [sys.executable, *self._program, *arguments, "--home", str(self.home)]

    @property
    def _program(self) -> list[str]:
        module = "automl_flows.commands.cli"
        if not self._constants:
            return ["-m", module]
        modules = [name.rpartition(".")[0] for name in self._constants]
        given = [f"{name} = {value!r}" for name, value in self._constants.items()]
        return [
            "-c",
            "\n".join([f"import {', '.join([module, *modules])}", *given, f"{module}.main()"]),
        ]

    def start(self, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        """The running process."""
        return subprocess.Popen(
            self.arguments(*arguments),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment},
        )

    def json(self, *arguments: str, **environment: str) -> Any:
        """Parsed standard output of a command that must succeed."""
        process = self.start(*arguments, "--json", **environment)
        out, err = process.communicate(timeout=170)
        assert process.returncode == 0, err
        return json.loads(out)


def any_ports() -> dict[str, object]:
    """Constants of a command whose standing services do not meet those of a test at the same moment."""
    usual = {"prefect": 0, "mlflow": free_port()}  # MLflow takes its port some seconds later
    return {"automl_flows.services.standing.USUAL_PORTS": usual}


def decisions(result: dict[str, Any]) -> list[tuple[Any, ...]]:
    """What must be equal in two runs with equal seeds."""
    run_id = result["run_id"]
    columns = ("trial_id", "family", "score", "origin", "status")
    return [
        tuple(str(row[column]).replace(run_id, "") for column in columns)
        for row in result["leaderboard"]
    ]


def journal_trials(home: Path, run_id: str) -> list[Trial]:
    records = read(home / "runs" / run_id / "journal")
    return [Trial.from_json(record["trial"]) for record in records if record["type"] == "trial"]


def children_with(pid: int, text: str) -> list[psutil.Process]:
    """Processes below a process whose command line holds a text; without those that end meanwhile."""
    found = []
    for child in psutil.Process(pid).children(recursive=True):
        with suppress(psutil.Error):
            if text in " ".join(child.cmdline()):
                found.append(child)
    return found


def processes_with(text: str) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        is_zombie = process.info["status"] == psutil.STATUS_ZOMBIE
        if not is_zombie and text in " ".join(process.info["cmdline"] or []):
            found.append(process)
    return found
