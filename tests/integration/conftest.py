"""Real runs of the installed command, in processes of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

FAMILIES = "lightgbm,logistic_regression,knn,decision_tree"
OPTIONS = ["--target", "target", "--trials", "14", "--seed", "7", "--families", FAMILIES]


class Command:
    """The command line with one home."""

    def __init__(self, home: Path) -> None:
        self.home = home

    def arguments(self, *arguments: str) -> list[str]:
        """Command and arguments for a process."""
        return [sys.executable, "-m", "automl_flows.cli", *arguments, "--home", str(self.home)]

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


def decisions(result: dict[str, Any]) -> list[tuple[Any, ...]]:
    """What must be equal in two runs with equal seeds."""
    run_id = result["run_id"]
    columns = ("trial_id", "family", "score", "origin", "status")
    return [
        tuple(str(row[column]).replace(run_id, "") for column in columns)
        for row in result["leaderboard"]
    ]


@pytest.fixture(scope="session")
def command_in() -> Callable[[Path], Command]:
    return Command


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Command, dict[str, Any]]:
    """A finished run on a bundled table, with two workers."""
    command = Command(tmp_path_factory.mktemp("home"))
    table = "sklearn:breast_cancer"
    share = ["--test-share", "0.3", "--workers", "2"]
    return command, command.json("train", table, *OPTIONS, *share)
