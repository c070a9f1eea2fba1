"""A run that nothing disturbs, and a home for those that something does."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from command_line import Command
from disturbed import TRAIN, Undisturbed, predictions


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    folder = tmp_path_factory.mktemp("undisturbed")
    command, started = Command(folder), time.monotonic()
    result = command.json(*TRAIN)
    seconds = time.monotonic() - started
    return Undisturbed(command, result, seconds, predictions(command, result["run_id"], folder))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"
