"""A service is killed in the middle of a run and comes back: the run ends with its model, and every page says so.

The short profile kills each service once; ``.ci/stack --stack-kills 50`` kills fifty times.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import decisions, journal_trials
from full_stack import FullStack
from platform_views import aliases, flow_runs, parent, tracked

pytestmark = [
    pytest.mark.integration,
    pytest.mark.timeout(1200),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of libraries below MLflow
]
VICTIMS = ("prefect", "mlflow", "postgres")
TRAIN = [
    *("--target", "target", "--trials", "8", "--seed", "7", "--workers", "2", "--preset", "fast"),
    *("--families", "decision_tree,gaussian_nb,lda"),
]


@dataclass(frozen=True)
class Undisturbed:
    """A run on the stack, in a home of its own, that ended by itself."""

    result: dict[str, Any]
    seconds: float


@pytest.fixture(scope="module")
def undisturbed(stack: FullStack, tables: dict[str, Path]) -> Undisturbed:
    started = time.monotonic()
    home = str(stack.folder / "user" / "undisturbed")
    result = stack.automl(
        "train", str(tables["300"]), *TRAIN, "--name", "undisturbed", AUTOML_HOME=home
    )
    return Undisturbed(result, time.monotonic() - started)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "number" in metafunc.fixturenames:
        count = int(metafunc.config.getoption("--stack-kills"))
        names = [f"{number}: {VICTIMS[number % len(VICTIMS)]}" for number in range(count)]
        metafunc.parametrize("number", range(count), ids=names)


def test_a_service_that_is_killed_costs_no_model_and_no_trial(
    stack: FullStack, tables: dict[str, Path], undisturbed: Undisturbed, number: int
) -> None:
    name, victim = f"kill-{number}", stack.services[VICTIMS[number % len(VICTIMS)]]
    moment = np.random.default_rng(np.random.SeedSequence([11, number])).uniform(0.1, 0.95)
    home = stack.folder / "user" / name
    process = stack.begin(
        "train", str(tables["300"]), *TRAIN, "--name", name, AUTOML_HOME=str(home)
    )
    time.sleep(moment * undisturbed.seconds)
    victim.kill()
    victim.start()
    result = stack.end(process)
    victim.wait_ready()
    assert_the_same_model(home, result, undisturbed)
    stack.automl("sync", AUTOML_HOME=str(home))
    assert_told(stack, result, name)


def assert_the_same_model(home: Path, result: dict[str, Any], expected: Undisturbed) -> None:
    """All trials once, and the model of the run that nothing disturbed."""
    assert result["model"]["members"]
    trials = journal_trials(home, result["run_id"])
    assert max(Counter((trial.stage, trial.index) for trial in trials).values()) == 1
    assert decisions(result) == decisions(expected.result)
    assert result["score"] == expected.result["score"]


def assert_told(stack: FullStack, result: dict[str, Any], name: str) -> None:
    """MLflow has the model, and neither page shows a run that is over as running."""
    assert aliases(stack, name) == {"champion": "1"}
    assert parent(stack, result["run_id"]).info.status == "FINISHED"
    assert [run.info.run_name for run in tracked(stack, "RUNNING")] == []
    mine = [run for run in flow_runs(stack) if result["run_id"] in run["tags"]]
    assert [run["state_type"] for run in mine] == ["COMPLETED"]
