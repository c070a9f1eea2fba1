"""Others at the same home: a file system that is read-only, a database that is locked, a second run, a second retraining."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
from command_line import PATIENT, Command, decisions
from disturbed import NAME, TABLE, TRAIN, Undisturbed, complete, predictions

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]
IMPATIENT = {
    "automl.stages.line.UNLIMITED_REGISTRATION_SECONDS": 8.0,
    "automl_flows.services.server.READY_SECONDS": 10.0,
}
"""A run waits two minutes for the tracking store, and as long for its server; here a few seconds each."""


@pytest.fixture
def closed(undisturbed: Undisturbed, tmp_path: Path) -> Iterator[Command]:
    """The home of the undisturbed run, where nothing can be written."""
    folder = tmp_path / "closed"
    folder.mkdir()
    bind = ["mount", "--bind", str(undisturbed.command.home), str(folder)]
    if (
        not shutil.which("mount")
        or subprocess.run(bind, capture_output=True, check=False).returncode
    ):
        pytest.skip("a file system can be mounted by root alone")
    subprocess.run(["mount", "-o", "remount,ro,bind", str(folder)], check=True)
    yield Command(folder)
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def test_a_home_that_is_read_only_can_be_read_and_refuses_a_run_in_a_sentence(
    closed: Command, tmp_path: Path
) -> None:
    (line,) = closed.json("runs")
    assert line["status"] == "finished"
    assert closed.json("show", line["run_id"])["run_id"] == line["run_id"]
    assert predictions(closed, line["run_id"], tmp_path)
    assert predictions(closed, f"{NAME}@champion", tmp_path)
    for arguments in (TRAIN, ["retrain", NAME, TABLE, "--force"]):
        process = closed.start(*arguments)
        _, err = process.communicate(timeout=170)
        assert process.returncode in (2, 4), err
        (told,) = [text for text in err.splitlines() if text.startswith("error: ")]
        assert "it is not writable" in told or "Read-only file system" in told
        assert "Traceback" not in err


def test_databases_that_another_process_keeps_locked_cost_no_model(
    undisturbed: Undisturbed,
) -> None:
    trained, name = undisturbed.command, "locked"
    with ExitStack() as locks:
        for database in ("mlflow.db", "prefect/prefect.db"):
            lock = locks.enter_context(
                closing(sqlite3.connect(trained.home / database, isolation_level=None))
            )
            lock.execute("begin exclusive")
            locks.callback(lock.execute, "rollback")
        process = Command(trained.home, IMPATIENT).start(*TRAIN, "--name", name, "--json")
        out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    result = json.loads(out)
    assert result["model"]["members"]
    stages = [stage for stage, _ in complete(trained.home, result["run_id"])]
    assert stages.count("search") == 8
    trained.json("sync")
    assert champions(trained)[name] == 1
    assert unsettled(trained) == []


def test_two_runs_of_one_problem_at_once_are_two_versions_and_one_champion(
    home: Path, undisturbed: Undisturbed
) -> None:
    command = Command(home, PATIENT)
    results = at_once(command, TRAIN, TRAIN)
    for result in results:
        complete(home, result["run_id"])
        assert decisions(result) == decisions(undisturbed.result)
    command.json("sync")
    registered = sorted(line["registered"].partition("@")[0] for line in command.json("runs"))
    assert registered == [f"{NAME}/1", f"{NAME}/2"]
    assert champions(command) == {NAME: 1}
    assert unsettled(command) == []


def test_a_retraining_that_is_started_twice_is_done_once(home: Path, tmp_path: Path) -> None:
    from sklearn.datasets import load_breast_cancer

    frame = load_breast_cancer(as_frame=True).frame.sample(frac=1.0, random_state=0)
    for n_rows in (200, 569):
        frame.iloc[:n_rows].to_csv(tmp_path / f"{n_rows}.csv", index=False)
    command = Command(home, PATIENT)
    command.json("train", str(tmp_path / "200.csv"), *TRAIN[2:])
    again = ["retrain", NAME, str(tmp_path / "569.csv")]
    outcomes = at_once(command, again, again)
    assert sorted(outcome["status"] for outcome in outcomes) == ["trained", "unchanged"]
    assert len({outcome["run_id"] for outcome in outcomes}) == 1
    assert len(command.json("runs")) == 2
    assert champions(command) == {NAME: 1}
    assert unsettled(command) == []


def at_once(command: Command, *lines: list[str]) -> list[dict[str, Any]]:
    """What commands print that run side by side and must succeed."""
    processes = [command.start(*line, "--json") for line in lines]
    found = []
    for process in processes:
        out, err = process.communicate(timeout=400)
        assert process.returncode == 0, err
        found.append(json.loads(out))
    return found


def champions(command: Command) -> Counter[str]:
    """How many versions of each name have the alias `champion`."""
    held = [line["registered"] for line in command.json("runs")]
    return Counter(label.split("/")[0] for label in held if label.endswith("@champion"))


def unsettled(command: Command) -> list[str]:
    """Runs that MLflow or Prefect show as running."""
    queries = {
        "mlflow.db": "select name from runs where status = 'RUNNING'",
        "prefect/prefect.db": "select name from flow_run where state_type in ('RUNNING', 'PENDING')",
    }
    found = []
    for database, query in queries.items():
        with closing(sqlite3.connect(command.home / database)) as connection:
            found += [name for (name,) in connection.execute(query)]
    return found
