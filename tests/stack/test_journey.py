"""Train, retrain on a schedule and on an event, promote, roll back, predict: through every service of the stack."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from full_stack import FullStack
from platform_views import OPEN, aliases, ended, flow_runs, mlflow, parent, tracked, until, versions
from stack_deployments import deploy

from automl.addresses import request_to

pytestmark = [
    pytest.mark.integration,
    pytest.mark.timeout(900),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of libraries below MLflow
]
NAME = "tumors"
EXPERIMENTS = "api/2.0/mlflow/experiments/search?max_results=1"
PLAIN = """
import json, sys, mlflow, pandas
rows = pandas.read_csv(sys.argv[2]).drop(columns="target")
print(json.dumps(mlflow.pyfunc.load_model(sys.argv[1]).predict(rows).tolist()))
"""
SETTINGS = {
    "target": "target",
    "name": NAME,
    "preset": "fast",
    "families": ["decision_tree", "logistic_regression"],
    "trials": 4,
    "workers": 1,
}


@pytest.fixture(scope="module")
def deployed(stack: FullStack, tables: dict[str, Path]) -> None:
    """The deployments of the file, for one problem; the schedule is every twenty seconds."""
    changes = {
        "name: NAME": f"name: {NAME}",
        "problem.NAME": f"problem.{NAME}",
        "/data/table.csv": str(tables["300"]),
        'cron: "0 3 * * *"': "interval: 20",
        "        timezone: UTC\n": "",
        "active: true": "active: false",
    }
    deploy(stack, "prefect", changes, "--all")


def test_whoever_has_no_password_is_refused(stack: FullStack) -> None:
    assert answer_of(f"http://{stack.address('prefect')}/api/admin/version") == 401
    assert answer_of(f"http://{stack.address('mlflow')}/{EXPERIMENTS}") == 401


def test_the_page_of_prefect_is_there_and_asks_the_server_it_is_from(stack: FullStack) -> None:
    address = f"http://{stack.address('prefect')}"
    assert answer_of(f"{address}/", accept="text/html") == 200
    with urllib.request.urlopen(f"{address}/ui-settings", timeout=10) as response:
        assert json.load(response)["api_url"] == "/api"


def test_mlflow_answers_to_its_own_names_alone(stack: FullStack) -> None:
    url = f"{stack.mlflow_uri}/{EXPERIMENTS}"
    port = stack.address("mlflow").partition(":")[2]
    assert answer_of(url, host=f"mlflow:{port}") == 200
    assert answer_of(url, host="elsewhere.example") == 403


@pytest.mark.usefixtures("deployed")
def test_a_deployment_trains_and_registers_a_champion(
    stack: FullStack, tables: dict[str, Path]
) -> None:
    parameters = {"settings": {"table": str(tables["60"]), **SETTINGS}}
    stack.run(
        *("-m", "prefect", "deployment", "run", "automl-train/train"),
        *("--params", json.dumps(parameters), "--watch"),
    )
    (flow_run,) = ended(stack, "train", 1)
    assert flow_run["state_type"] == "COMPLETED"
    (line,) = stack.automl("runs")
    assert line["status"] == "finished"
    assert line["registered"] == f"{NAME}/1@champion"
    assert line["run_id"] in flow_run["tags"]
    run = parent(stack, line["run_id"])
    assert run.info.status == "FINISHED"
    assert run.info.artifact_uri.startswith("mlflow-artifacts:/")
    assert aliases(stack, NAME) == {"champion": "1"}


def test_the_schedule_retrains_once_on_a_table_that_has_grown(stack: FullStack) -> None:
    with schedule(stack):
        first, second = ended(stack, "retrain", 2)[:2]
    assert first["auto_scheduled"]
    assert [first["state_type"], second["state_type"]] == ["COMPLETED"] * 2
    assert versions(stack, NAME) == ["1", "2"]
    lines = stack.automl("runs")
    assert [line["status"] for line in lines] == ["finished"] * 2
    assert parent(stack, lines[-1]["run_id"]).info.status == "FINISHED"


def test_a_dropped_file_is_announced_by_an_event_and_retrains(
    stack: FullStack, tables: dict[str, Path]
) -> None:
    stack.run(
        *(
            "-m",
            "prefect",
            "event",
            "emit",
            "automl.new-data",
            "--resource-id",
            f"automl.problem.{NAME}",
        ),
        *("--payload", json.dumps({"table": str(tables["500"])})),
    )
    (flow_run,) = ended(stack, "on-new-data", 1)
    assert flow_run["state_type"] == "COMPLETED"
    assert flow_run["parameters"]["table"] == str(tables["500"])
    assert versions(stack, NAME) == ["1", "2", "3"]


def test_the_alias_is_with_the_version_that_the_promotion_chose(stack: FullStack) -> None:
    holder = "1"
    for version in ("2", "3"):
        details = mlflow(stack).get_model_version(NAME, version)
        record = json.loads((run_folder(stack, details) / "stages" / "promotion.json").read_text())
        assert record["rows"] >= 30
        holder = version if record["promote"] else holder
    assert aliases(stack, NAME)["champion"] == holder


def test_rollback_moves_the_alias_and_back(stack: FullStack) -> None:
    before = aliases(stack, NAME)["champion"]
    other = next(version for version in versions(stack, NAME) if version != before)
    assert stack.automl("rollback", NAME, "--to", other)["champion"] == other
    assert aliases(stack, NAME)["champion"] == other
    elsewhere = str(stack.folder / "user" / "elsewhere")
    assert stack.automl("rollback", NAME, AUTOML_HOME=elsewhere)["champion"] == before
    assert aliases(stack, NAME)["champion"] == before


def test_the_champion_predicts_on_another_machine_and_for_mlflow_alike(
    stack: FullStack, tables: dict[str, Path]
) -> None:
    table, out = str(tables["569"]), stack.folder / "user" / "predictions.csv"
    home = stack.folder / "user" / "elsewhere"
    elsewhere = {"AUTOML_HOME": str(home), "AUTOML_KEY_FILE": str(home / "key")}
    said = stack.automl("predict", f"{NAME}@champion", table, "-o", str(out), **elsewhere)
    assert said["rows"] == 569
    predicted, truth = pd.read_csv(out)["prediction"], pd.read_csv(table)["target"]
    assert (predicted == truth).mean() > 0.85
    plain = json.loads(stack.run("-c", PLAIN, f"models:/{NAME}@champion", table))
    assert plain == predicted.tolist()


def test_nothing_is_left_running(stack: FullStack) -> None:
    assert tracked(stack, "RUNNING") == []
    until(lambda: flow_runs(stack, states=OPEN) == [])


def answer_of(url: str, **headers: str) -> int:
    """Status of a GET."""
    request = request_to(url)
    for name, value in headers.items():
        request.add_header(name.capitalize(), value)
    try:
        with urllib.request.urlopen(request, timeout=10) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


@contextmanager
def schedule(stack: FullStack) -> Iterator[None]:
    """The schedule of the retraining is on."""
    found = stack.prefect.get("deployments/name/automl-retrain/retrain")
    (planned,) = found["schedules"]
    command = ("-m", "prefect", "deployment", "schedule")
    stack.run(*command, "resume", "automl-retrain/retrain", planned["id"])
    try:
        yield
    finally:
        stack.run(*command, "pause", "automl-retrain/retrain", planned["id"])


def run_folder(stack: FullStack, version: Any) -> Path:
    """Folder of the run that a version is from."""
    run_id = mlflow(stack).get_run(version.run_id).data.tags["automl.run_id"]
    return stack.home / "runs" / run_id
