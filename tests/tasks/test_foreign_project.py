"""Someone else's project, with folders `tasks/` and `flows/` of its own, uses our tasks."""

import os
import subprocess
import sys

import pytest

OWN_TASK = '''
from prefect import task

@task
def impute(frame):
    """Not ours: a task of the same name in a module of the same name."""
    return "own impute"
'''
FLOW = """
import sys
from pathlib import Path

import pandas as pd
from prefect import flow

import automl_tasks
from automl_tasks.data import make_folds, split_test
from automl_tasks.models import evaluate_configuration
from automl_tasks.preprocessing import apply, fit_scaler, impute
from flows import train as own_train
from tasks.preprocessing import impute as own_impute

ROOT = Path(__file__).resolve().parent.parent


@flow
def mine():
    rows = range(60)
    frame = pd.DataFrame(
        {
            "size": [None if i % 9 == 0 else float(i * 37 % 50) for i in rows],
            "color": ["red", "green", "blue"] * 20,
            "kind": ["yes" if i * 37 % 50 > 25 else "no" for i in rows],
        }
    )
    training, test = split_test(frame, "kind", 0.25)
    filled = impute(training.drop(columns="kind"), method="median")
    assert not filled.isna().any().any()
    scaler = fit_scaler.submit(filled)
    scaled = apply(scaler, impute(test.drop(columns="kind")))
    folds = make_folds(training, "kind", 3)
    found = evaluate_configuration(training, "kind", "decision_tree", {"max_depth": 3}, folds=3)
    return len(scaled), sorted(set(folds)), own_impute(frame), found.score > 0.3


def origins():
    import automl_flows.driver
    import automl_tasks.preprocessing
    import flows
    import tasks.preprocessing

    own = [flows, own_train, tasks, tasks.preprocessing]
    assert all(Path(module.__file__).is_relative_to(ROOT) for module in own)
    ours = [automl_tasks, automl_tasks.preprocessing, automl_flows.driver]
    assert not any(Path(module.__file__).is_relative_to(ROOT) for module in ours)
    assert own_train.NAME == "own train"
    assert automl_tasks.preprocessing.impute is impute is not own_impute


origins()
if "--imports" in sys.argv:
    print("imported", impute.fn(pd.DataFrame({"a": [1.0, None, 3.0]}))["a"].tolist())
else:
    print(mine())
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("foreign")
    for package in ("tasks", "flows"):
        (folder / package).mkdir()
        (folder / package / "__init__.py").write_text("")
    (folder / "tasks" / "preprocessing.py").write_text(OWN_TASK)
    (folder / "flows" / "train.py").write_text('NAME = "own train"\n')
    (folder / "flows" / "mine.py").write_text(FLOW)
    return folder


def run(project, *command, **environment):
    inherited = {name: value for name, value in os.environ.items() if name != "PREFECT_API_URL"}
    return subprocess.run(
        [sys.executable, *command],
        cwd=project,
        env={
            **inherited,
            "PREFECT_HOME": str(project / "prefect"),
            "DO_NOT_TRACK": "true",
            "MLFLOW_DISABLE_TELEMETRY": "true",
            **environment,
        },
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )


@pytest.mark.parametrize("command", [["flows/mine.py"], ["-m", "flows.mine"]])
def test_packages_of_equal_names_are_imported_side_by_side(project, command):
    path = {"PYTHONPATH": "."} if command[0] != "-m" else {}
    done = run(project, *command, "--imports", **path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "imported [1.0, 2.0, 3.0]\n"


@pytest.mark.integration
def test_a_flow_of_another_project_runs_our_tasks_and_its_own(project, prefect_url):
    done = run(project, "flows/mine.py", PYTHONPATH=".", PREFECT_API_URL=prefect_url)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "(15, [0, 1, 2], 'own impute', True)\n"
