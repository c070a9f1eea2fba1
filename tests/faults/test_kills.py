"""Whoever is killed, whenever: a model always, nothing lost or repeated, the same answer or said so.

The short profile kills a slot; tests/tracking kills mirrors, tests/integration drivers and servers. ``pytest tests/faults --kills 50`` kills fifty times.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import Command
from disturbed import (
    NAME,
    Kill,
    Undisturbed,
    assert_gone,
    assert_same_or_said,
    disturbed,
    predictions,
)

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    kills = [Kill.drawn(number) for number in range(metafunc.config.getoption("--kills"))]
    metafunc.parametrize("kill", kills, ids=[f"{i}: {kill}" for i, kill in enumerate(kills)])


def test_a_kill_changes_no_answer_in_silence(
    kill: Kill, home: Path, undisturbed: Undisturbed
) -> None:
    command = Command(home)
    result = disturbed(command, kill, undisturbed.seconds)
    found = assert_same_or_said(command, result, undisturbed)
    assert predictions(command, f"{NAME}@champion", home) == found
    (run,) = command.json("runs")
    assert run["status"] == "finished"
    assert_gone(home)
