"""What Prefect's page shows of the families while a search goes on."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from beside_a_server import run_beside_server
from command_line import journal_trials

from automl.records import Trial

GAP_SECONDS = 1.0
"""In place of the gap that a page leaves out, so that the run is short."""
SLOW_SECONDS = 1.3
"""Of a trial of the slow family, longer than the gap."""
FAMILY = """
name: slow
title: Takes its time and fails
estimators: {classification: "own_slow_estimators:Slow"}
simplicity: 0.5
interpretability: 0.5
tree: {var_smoothing: {type: loguniform, low: 1.0e-10, high: 1.0, default: 1.0e-9}}
"""
MODULE = f"""
import time
from sklearn.naive_bayes import GaussianNB

class Slow(GaussianNB):
    def fit(self, X, y, sample_weight=None):
        time.sleep({SLOW_SECONDS})
        raise ValueError("too slow")
"""
ONCE = """
name: once
title: Naive Bayes without hyperparameters
estimators: {classification: "sklearn.naive_bayes:GaussianNB"}
simplicity: 0.5
interpretability: 0.5
tree: {}
"""
SCRIPT = """
import json
from prefect import get_client
from automl.search import spells
from automl_flows.training import train_flow
spells.LEAST_GAP_SECONDS = float(sys.argv[2])
form = {"table": "sklearn:iris", "target": "target", "trials": 13, "preset": "fast", "folds": 3,
        "families": ["gaussian_nb", "slow", "once"], "allocator": "uniform", "optimizer": "random",
        "ensemble": "none", "resources": {"workers": 1}}
told = {"run": train_flow(form)["run_id"], "tasks": {}}
drained()
with get_client(sync_client=True) as client:
    for run in client.read_task_runs():
        states = client.read_task_run_states(run.id)
        told["tasks"][run.name.partition(":")[0]] = {
            "name": run.name,
            "seconds": run.total_run_time.total_seconds(),
            "states": [(s.timestamp.timestamp(), s.type.value, s.name) for s in states],
        }
print(json.dumps(told))
"""

Stretch = tuple[float, float, str]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A run of a family that is slow and fails, one that is quick, and one that can be tried once."""
    folder = tmp_path_factory.mktemp("families")
    (folder / "slow.yaml").write_text(FAMILY)
    (folder / "once.yaml").write_text(ONCE)
    (folder / "own_slow_estimators.py").write_text(MODULE)
    home = tmp_path_factory.mktemp("home")
    own = {"AUTOML_FAMILY_FOLDER": str(folder), "PYTHONPATH": str(folder)}
    done = run_beside_server(SCRIPT, str(GAP_SECONDS), home=home, **own)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    trials = journal_trials(home, found["run"])
    return {**found, "trials": [trial for trial in trials if trial.stage == "search"]}


def stretches(task: dict[str, Any]) -> list[Stretch]:
    """Begin, end and name of every state but the last."""
    states = sorted(task["states"])
    return [(begin, end, name) for (begin, _, name), (end, _, _) in pairwise(states)]


def trials_of(told: dict[str, Any], family: str) -> list[Trial]:
    return [trial for trial in told["trials"] if trial.configuration.family == family]


def holds(stretch: Stretch, trial: Trial) -> bool:
    return stretch[0] <= trial.started_at and trial.started_at + trial.seconds <= stretch[1]


@pytest.mark.integration
@pytest.mark.timeout(300)
@pytest.mark.parametrize("family", ["constant", "stump", "gaussian_nb", "slow", "once"])
def test_a_task_is_running_while_trials_of_its_family_are_and_ends_with_them(
    told: dict[str, Any], family: str
) -> None:
    task, trials = told["tasks"][f"search {family}"], trials_of(told, family)
    names = [name for _, _, name in sorted(task["states"])]
    assert names[:2] == ["Pending", "Running"]
    assert names[-1] == ("No complete trial" if family == "slow" else "Completed")
    complete = [trial for trial in trials if trial.is_complete]
    assert task["name"].startswith(
        f"search {family}: {len(complete)} of {len(trials)} trials complete"
    )
    assert ("best score" in task["name"]) == bool(complete)
    assert set(names[2:-1]) <= {"Running", "Waiting for a turn"}
    running = [one for one in stretches(task) if one[2] == "Running"]
    for trial in trials[1:]:
        if trial.started_at < running[0][0]:
            continue  # it had its turn before the task began
        assert sum(holds(stretch, trial) for stretch in running) == 1
    for begin, end, _ in running:
        n_inside = sum(begin <= t.started_at + t.seconds <= end for t in trials)
        assert n_inside > 0
    for begin, end, name in stretches(task):
        if name == "Waiting for a turn":
            assert end - begin >= GAP_SECONDS
            assert not any(begin < t.started_at < end for t in trials)
    ran = sum(end - begin for begin, end, _ in running)
    assert task["seconds"] == pytest.approx(ran, abs=1e-5)  # what is left of a date as a float


@pytest.mark.integration
@pytest.mark.timeout(300)
def test_a_quick_family_waits_for_the_slow_one_and_one_that_is_exhausted_ends_early(
    told: dict[str, Any],
) -> None:
    tasks = told["tasks"]
    waits = [one for one in stretches(tasks["search gaussian_nb"]) if one[2].startswith("Waiting")]
    assert len(waits) >= 2
    last = max(trial.started_at for trial in told["trials"])
    assert max(moment for moment, _, _ in tasks["search once"]["states"]) < last
    assert len(trials_of(told, "once")) == 1
