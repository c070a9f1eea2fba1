"""A deployment trains on the Dask cluster of the stack, and one of its workers is killed in the middle."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import decisions, journal_trials
from full_stack import FullStack
from platform_views import ended, parent, until
from stack_deployments import deploy
from stack_kills import serving

pytestmark = [
    pytest.mark.integration,
    pytest.mark.timeout(900),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of libraries below MLflow
]
DEPLOYMENT = "train-on-cluster"
SETTINGS = {
    "target": "target",
    "preset": "fast",
    "families": ["decision_tree", "logistic_regression", "random_forest"],
    "trials": 12,
    "experience": False,
    "seed": 7,
}
BEFORE_THE_KILL = 3
"""Trials that are done when the worker is killed: a quarter of all, so that the rest has yet to come."""


@pytest.fixture(scope="module")
def deployed(stack: FullStack) -> None:
    """The deployment `train` of the file, with the line that names the cluster."""
    changes = {
        "  - name: train\n": f"  - name: {DEPLOYMENT}\n",
        "# AUTOML_CLUSTER: tcp://scheduler:8786": f"AUTOML_CLUSTER: {stack.cluster}",
    }
    deploy(stack, "on-cluster", changes, "--name", DEPLOYMENT)


@pytest.mark.usefixtures("deployed")
def test_a_worker_that_is_killed_costs_no_trial_of_a_deployment(
    stack: FullStack, tables: dict[str, Path]
) -> None:
    settings = {"table": str(tables["569"]), "name": "on-cluster", **SETTINGS}
    stack.run(
        *("-m", "prefect", "deployment", "run", f"automl-train/{DEPLOYMENT}"),
        *("--params", json.dumps({"settings": settings})),
    )
    run_id = until(lambda: run_of(stack, "on-cluster"))
    until(lambda: len(journal_trials(stack.home, run_id)) >= BEFORE_THE_KILL)
    killed = until(lambda: serving(stack))
    killed.kill()
    n_before = len(journal_trials(stack.home, run_id))
    print(f"a Dask worker is killed after {n_before} of {SETTINGS['trials']} trials")  # noqa: T201
    (flow_run,) = ended(stack, DEPLOYMENT, 1)

    assert n_before < SETTINGS["trials"], "the search was over before a worker was killed"
    assert flow_run["state_type"] == "COMPLETED"
    facts = json.loads((stack.home / "runs" / run_id / "run.json").read_text())
    assert facts["settings"]["cluster"] == stack.cluster
    assert found_by(stack, run_id) == found_by(stack, trained_here(stack, tables))
    assert parent(stack, run_id).info.status == "FINISHED"
    stack.services["dask-worker"].wait_ready()


def trained_here(stack: FullStack, tables: dict[str, Path]) -> str:
    """A run with the same settings on the slots of this machine."""
    file = stack.folder / "user" / "here.json"
    file.write_text(json.dumps(SETTINGS), encoding="utf-8")
    command = ("train", str(tables["569"]), "--config", str(file), "--name", "here")
    run_id: str = stack.automl(*command)["run_id"]
    return run_id


def found_by(stack: FullStack, run_id: str) -> list[Any]:
    """Every trial of a run with its scores, each once, and the leaderboard."""
    trials = [
        (t.stage, t.index, t.configuration.id, t.status, t.score, t.fold_scores)
        for t in journal_trials(stack.home, run_id)
    ]
    result = json.loads((stack.home / "runs" / run_id / "stages" / "result.json").read_text())
    return [sorted(trials), result["score"], decisions(result)]


def run_of(stack: FullStack, name: str) -> str:
    """Id of the run of a problem that has read its table; empty before."""
    for file in (stack.home / "runs").glob("*/run.json"):
        facts = json.loads(file.read_text())
        if facts["settings"]["name"] == name and "data" in facts:
            return str(facts["run_id"])
    return ""
