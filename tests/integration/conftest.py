"""Real runs of the installed command, in processes of their own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import Command

FAMILIES = "lightgbm,logistic_regression,knn,decision_tree"
OPTIONS = ["--target", "target", "--trials", "14", "--seed", "7", "--families", FAMILIES]


@pytest.fixture(scope="session")
def command_in() -> Callable[[Path], Command]:
    return Command


@pytest.fixture(scope="session")
def finished(
    tmp_path_factory: pytest.TempPathFactory, prefect_url: str
) -> tuple[Command, dict[str, Any]]:
    """A finished run on a bundled table, with two workers."""
    command = Command(tmp_path_factory.mktemp("home"))
    table = "sklearn:breast_cancer"
    share = ["--test-share", "0.3", "--workers", "2"]
    return command, command.json("train", table, *OPTIONS, *share, PREFECT_API_URL=prefect_url)
