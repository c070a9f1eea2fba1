"""A retraining whose process was killed goes on when the same content comes again."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import Command, journal_trials
from waiting import until

from automl.home import Home

pytestmark = pytest.mark.integration

TRIALS = 10
PATIENCE_SECONDS = 160.0


@pytest.mark.timeout(900)
@pytest.mark.usefixtures("_with_server")
def test_a_killed_retraining_goes_on_with_its_trials(
    tmp_path: Path, versions: dict[str, Path]
) -> None:
    home, command = Home(tmp_path / "home"), Command(tmp_path / "home")
    options = ["--target", "target", "--name", "tumors", "--preset", "fast", "--trials", "2"]
    trained = command.json("train", str(versions["first"]), *options, "--workers", "1")
    again = ["retrain", "tumors", str(versions["second"]), "--trials", str(TRIALS)]
    process = command.start(*again)
    try:
        killed = until(
            lambda: _run_with_trials(home, 3, besides=trained["run_id"]), PATIENCE_SECONDS
        )
    finally:
        process.kill()
        process.communicate(timeout=PATIENCE_SECONDS)
    before = _searched(home, killed)
    outcome = command.json(*again)
    after = _searched(home, killed)
    assert (outcome["status"], outcome["run_id"]) == ("trained", killed)
    assert after[: len(before)] == before
    assert len(set(after)) == len(after) == TRIALS
    assert len(home.run_folders()) == 2


def _searched(home: Home, run_id: str) -> list[str]:
    trials = journal_trials(home.path, run_id)
    return [trial.id for trial in trials if trial.stage == "search"]


def _run_with_trials(home: Home, n_trials: int, *, besides: str) -> str:
    """Id of the other run; empty until it has so many trials."""
    for folder in home.run_folders():
        if folder.run_id != besides and len(_searched(home, folder.run_id)) >= n_trials:
            return folder.run_id
    return ""
