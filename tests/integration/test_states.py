"""One state everywhere: the run folder, `automl runs` and `show`, Prefect's page and MLflow agree.

Real processes with one home, one after the other: a server that is killed during the search, one
that is up too late, a driver that is killed and its run resumed, the same table once more, a
retraining, a rollback.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil
import pytest
from command_line import PATIENT, Command, children_with
from waiting import until

from automl.home import Home, RunFolder
from automl.run_state import Attempt, state_of
from automl_flows.services.reconciliation import FINAL_TYPES

pytestmark = [
    pytest.mark.integration,
    pytest.mark.timeout(900),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of SQLAlchemy, through MLflow
]
TRIALS = ["--trials", "4", "--workers", "1"]
FAMILIES = ["--families", "decision_tree,gaussian_nb", "--preset", "fast"]
PREFECT = {"finished": {"COMPLETED"}, "failed": {"FAILED"}, "interrupted": {"CANCELLED"}}
MLFLOW = {"finished": "FINISHED", "failed": "FAILED", "interrupted": "KILLED"}
NEAR_SECONDS = 3.0
"""What two clocks may differ by: MLflow is told of the end a moment before the driver ends."""


@dataclass
class Views:
    """What everybody says of one home."""

    home: Path

    @property
    def runs(self) -> dict[str, dict[str, Any]]:
        """Lines of `automl runs --json`."""
        command = Command(self.home)
        return {line["run_id"]: line for line in command.json("runs")}

    def flow_runs(self, run_id: str) -> list[dict[str, Any]]:
        """Rows behind Prefect's page, one an attempt."""
        with closing(sqlite3.connect(self.home / "prefect" / "prefect.db")) as connection:
            connection.row_factory = sqlite3.Row
            rows = connection.execute("select * from flow_run order by start_time").fetchall()
        return [dict(row) for row in rows if run_id in json.loads(row["tags"])]

    def open_tasks(self, flow_run: str) -> list[str]:
        """Names of the tasks of a flow run that have not ended."""
        query = "select name, state_type from task_run where flow_run_id = ?"
        with closing(sqlite3.connect(self.home / "prefect" / "prefect.db")) as connection:
            rows = connection.execute(query, (flow_run,)).fetchall()
        return [name for name, state in rows if state not in FINAL_TYPES]

    def tracked(self, run_id: str) -> Any:
        """MLflow's parent run."""
        client = self.client()
        experiments = [e.experiment_id for e in client.search_experiments()]
        condition = f"tags.`automl.run_id` = '{run_id}' and tags.`automl.kind` = 'run'"
        (run,) = client.search_runs(experiments, condition)
        return run

    def client(self) -> Any:
        from mlflow import MlflowClient

        return MlflowClient(f"sqlite:///{self.home}/mlflow.db")

    def aliases(self, name: str) -> dict[str, str]:
        """Version by alias, in MLflow."""
        found = self.client().get_registered_model(name).aliases
        return {alias: str(version) for alias, version in found.items()}


def seconds_of(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def assert_one_state(views: Views) -> None:
    """Every view says the same of every run of the home, and of every version."""
    shown = views.runs
    folders = Home(views.home).run_folders()
    assert {folder.run_id for folder in folders} == shown.keys()
    for folder in folders:
        state, line = state_of(folder), shown[folder.run_id]
        assert line["status"] == state.status
        assert line["seconds"] == pytest.approx(state.seconds, abs=NEAR_SECONDS)
        run = views.tracked(folder.run_id)
        assert run.info.status == MLFLOW[state.status]
        assert state.ended_at is not None
        ended = run.info.end_time / 1000
        assert last_written(folder) - NEAR_SECONDS < ended < state.ended_at + NEAR_SECONDS
        flow_runs = views.flow_runs(folder.run_id)
        assert len(flow_runs) == len(state.attempts)
        for attempt, flow_run in zip(state.attempts, flow_runs, strict=True):
            assert_same(attempt, flow_run)
            assert views.open_tasks(flow_run["id"]) == []
    held = [line["registered"] for line in shown.values() if "@" in line["registered"]]
    for name in {label.rpartition("/")[0] for label in held}:
        said = {label.partition("@")[2]: label.partition("@")[0] for label in held if name in label}
        assert said == {a: f"{name}/{v}" for a, v in views.aliases(name).items()}


def last_written(folder: RunFolder) -> float:
    """When the run's journal was written last: a driver that waits for a core ends some time after it."""
    return max(path.stat().st_mtime for path in (folder.path / "journal").iterdir())


def assert_same(attempt: Attempt, flow_run: dict[str, Any]) -> None:
    """A flow run says when and how an attempt began and ended."""
    expected = {"CRASHED"} if attempt.status == "killed" else PREFECT[attempt.status]
    assert flow_run["state_type"] in expected
    assert attempt.ended is not None
    for moment, column in ((attempt.began, "start_time"), (attempt.ended, "end_time")):
        assert seconds_of(flow_run[column]) == pytest.approx(moment, abs=NEAR_SECONDS)
    # a duration is stored as a moment after the beginning of time
    ran = seconds_of(flow_run["total_run_time"])
    assert ran == pytest.approx(attempt.seconds, abs=NEAR_SECONDS)


def train(command: Any, table: Path, name: str, *options: str) -> Any:
    return command.start(
        "train", str(table), "--target", "target", "--name", name, *FAMILIES, *options, "--json"
    )


def ended(process: Any) -> dict[str, Any]:
    out, err = process.communicate(timeout=200)
    assert process.returncode == 0, err
    result: dict[str, Any] = json.loads(out)
    return result


@contextmanager
def server_of(process: Any) -> Iterator[psutil.Process]:
    """The Prefect server of a command, as soon as there is one."""
    yield until(lambda: children_with(process.pid, "server_process"), pause=0.02)[0]


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    from sklearn.datasets import load_breast_cancer

    frame = load_breast_cancer(as_frame=True).frame
    names = [name for name in frame.columns if name.startswith("mean ")][:4]
    frame = frame[[*names, "target"]].sample(frac=1.0, random_state=0)
    folder = tmp_path_factory.mktemp("tables")
    files = {"small": folder / "small.csv", "grown": folder / "grown.csv"}
    frame.iloc[:120].to_csv(files["small"], index=False)
    frame.iloc[:320].to_csv(files["grown"], index=False)
    return files


@pytest.fixture(scope="module")
def views(tmp_path_factory: pytest.TempPathFactory, tables: dict[str, Path]) -> Views:
    """A home after all that may come over a server and a driver, and one command more."""
    home = tmp_path_factory.mktemp("home")
    command = Command(home, PATIENT)
    lose_server(command, tables["small"])
    come_too_late(command, tables["small"])
    run_id = stop_driver(command, tables["small"])
    kill_driver(command, run_id)
    command.json("resume", run_id)
    command.json("sync")  # on a busy machine the short run had no time for the tracking store
    return Views(home)


def lose_server(command: Any, table: Path) -> None:
    """A run whose server is killed when the flow has begun; nothing can tell the page of its end."""
    process = train(command, table, "lost", *TRIALS)
    with server_of(process) as server:
        until(lambda: flows_begun(command.home) == 1)
        server.kill()
    result = ended(process)
    assert any("its server ended" in text for text in result["warnings"])
    assert Views(command.home).flow_runs(result["run_id"])[0]["state_type"] == "RUNNING"


def flows_begun(home: Path) -> int:
    try:
        with closing(sqlite3.connect(home / "prefect" / "prefect.db")) as connection:
            found = connection.execute("select count(*) from flow_run where state_type = 'RUNNING'")
            return int(found.fetchone()[0])
    except sqlite3.Error:
        return 0


def come_too_late(command: Any, table: Path) -> None:
    """A run of a few seconds whose server does not come up; it has no flow run then."""
    process = train(command, table, "late", "--budget", "60s", *TRIALS)
    with server_of(process) as server:
        server.suspend()
        result = ended(process)
    assert any("the search was over before it was ready" in text for text in result["warnings"])
    assert Views(command.home).flow_runs(result["run_id"]) == []


def stop_driver(command: Any, table: Path) -> str:
    """A run that SIGTERM stops when its flow has begun; the page knows it at the command's end."""
    before = flows_begun(command.home)
    process = train(command, table, "tumors", *TRIALS)
    until(lambda: flows_begun(command.home) > before)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=200)
    run_id = Home(command.home).run_folders()[-1].run_id
    (flow_run,) = Views(command.home).flow_runs(run_id)
    assert flow_run["state_type"] == "CANCELLED"
    return run_id


def kill_driver(command: Any, run_id: str) -> None:
    """The same run, resumed by a process that is killed when the flow has begun."""
    before = flows_begun(command.home)
    process = command.start("resume", run_id)
    until(lambda: flows_begun(command.home) > before)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert state_of(Home(command.home).run(run_id)).status == "interrupted"
    assert flows_begun(command.home) > before


def test_after_a_lost_a_late_and_a_resumed_run_all_views_agree(views: Views) -> None:
    assert_one_state(views)
    statuses = [line["status"] for line in views.runs.values()]
    assert statuses == ["finished"] * 3
    attempts = [state_of(folder).attempts for folder in Home(views.home).run_folders()]
    assert [len(each) for each in attempts] == [1, 1, 3]
    statuses = [attempt.status for attempt in attempts[-1]]
    assert statuses == ["interrupted", "killed", "finished"]


def test_the_same_table_once_more_does_not_take_the_alias_unseen(
    views: Views, tables: dict[str, Path]
) -> None:
    command = Command(views.home, PATIENT)
    result = ended(train(command, tables["small"], "tumors", *TRIALS))
    assert result["model"]["registered"] == "tumors/2@challenger"
    assert result["promotion"]["promote"] is False
    assert "too few fresh rows: 0 of 120 rows are new to tumors/1" in result["promotion"]["reason"]
    assert views.aliases("tumors") == {"champion": "1", "challenger": "2"}
    tags = views.client().get_model_version("tumors", "2").tags
    assert tags["automl.alias_reason"] == result["promotion"]["reason"]
    assert_one_state(views)


def test_after_a_retraining_and_a_rollback_one_version_is_the_champion(
    views: Views, tables: dict[str, Path]
) -> None:
    command = Command(views.home, PATIENT)
    outcome = command.json("retrain", "tumors", str(tables["grown"]), "--trials", "4")
    assert outcome["result"]["promotion"]["rows"] > 30
    assert outcome["promoted"] == (outcome["registered"] == "tumors/3@champion")
    assert_one_state(views)
    moved = command.json("rollback", "tumors", "--to", "2")
    assert moved["champion"] == "2"
    assert_one_state(views)
    lines = {line["registered"].partition("@")[0]: line for line in views.runs.values()}
    assert lines["tumors/2"]["registered"] == "tumors/2@champion"
    assert lines["tumors/1"]["was_champion"]
    assert [line["registered"] for line in lines.values()].count("tumors/2@champion") == 1
    shown = command.json("show", lines["tumors/1"]["run_id"])
    assert shown["model"].endswith(", was champion")
