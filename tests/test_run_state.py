"""What became of a run, from its folder alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from automl.home import RunFolder
from automl.record_files import StageRecords
from automl.run_state import Attempt, last_activity, state_of

BEGAN, LAST = 1_000.0, 1_060.0
DATA = {"data": {"rows": 3}}


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return RunFolder(tmp_path / "20260101-000000-aaaa")


def write(folder: RunFolder, *attempts: Attempt, is_result: bool = False, **facts: object) -> None:
    """A run folder whose last file was written at `LAST`."""
    entries = [attempt.to_json() for attempt in attempts]
    folder.write_facts({"started_at": BEGAN, "attempts": entries, **facts})
    if is_result:
        StageRecords(folder.stages).write("result", {"score": 0.5})
    for path in (folder.facts_file, *folder.path.rglob("*.json")):
        os.utime(path, (LAST, LAST))


def test_a_run_that_nobody_drives_was_killed_when_it_wrote_last(folder: RunFolder) -> None:
    write(folder, Attempt(BEGAN), status="running", **DATA)
    assert last_activity(folder) == LAST
    state = state_of(folder)
    assert (state.status, state.attempts) == ("interrupted", (Attempt(BEGAN, LAST, "killed"),))
    assert state.seconds == LAST - BEGAN


def test_the_time_between_attempts_is_no_time_of_the_run(folder: RunFolder) -> None:
    first = Attempt(BEGAN, BEGAN + 20, "killed")
    write(folder, first, Attempt(BEGAN + 50, BEGAN + 60, "finished"), is_result=True, **DATA)
    state = state_of(folder)
    assert (state.seconds, state.down_seconds) == (30.0, 30.0)


def test_a_run_with_a_driver_goes_on_until_the_driver_has_said_how_it_ended(
    folder: RunFolder,
) -> None:
    write(folder, Attempt(BEGAN), status="running", **DATA)
    with folder.lock():
        assert state_of(folder).status == "running"
        assert state_of(folder).ended_at is None
        write(folder, Attempt(BEGAN, 1_050.0, "interrupted"), status="interrupted", **DATA)
        assert state_of(folder).status == "interrupted"
        assert state_of(folder).ended_at == 1_050.0


def test_a_run_with_a_result_is_finished_whatever_came_over_its_registration(
    folder: RunFolder,
) -> None:
    ended = Attempt(BEGAN, 1_050.0, "interrupted")
    write(folder, ended, status="interrupted", is_result=True, **DATA)
    assert state_of(folder).status == "finished"
    assert state_of(folder).attempts[-1].status == "finished"


def test_the_time_between_two_attempts_does_not_count(folder: RunFolder) -> None:
    attempts = Attempt(BEGAN, 1_010.0, "killed"), Attempt(2_000.0, 2_005.0, "finished")
    write(folder, *attempts, status="finished", **DATA)
    state = state_of(folder)
    assert (state.seconds, state.started_at, state.ended_at) == (15.0, BEGAN, 2_005.0)
    assert state.attempts == attempts


@pytest.mark.parametrize("status", ["preparing", "running"])
def test_a_run_without_a_table_is_empty(folder: RunFolder, status: str) -> None:
    write(folder, Attempt(BEGAN), status=status)
    assert state_of(folder).status == "empty"


def test_a_run_of_an_earlier_version_has_one_attempt(folder: RunFolder) -> None:
    folder.write_facts({"started_at": BEGAN, "status": "failed", **DATA})
    os.utime(folder.facts_file, (LAST, LAST))
    assert state_of(folder).attempts == (Attempt(BEGAN, LAST, "failed"),)
