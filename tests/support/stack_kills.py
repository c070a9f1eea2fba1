"""Runs on the full stack that a SIGKILL disturbs: whose, when, and how the run comes to its end."""

from __future__ import annotations

import json
import subprocess
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from command_line import decisions, journal_trials
from disturbed import MARKS, assert_gone, complete, strike
from full_stack import FullStack
from platform_views import OPEN, OVER, aliases, flow_runs, parent, tracked, tracked_trials, until

VICTIMS = ("prefect", "slot", "mlflow", "dask worker", "postgres", "flow")
SERVICES = ("prefect", "mlflow", "postgres")
ENGINE = "prefect.engine"
"""What the command line of a deployment's flow run holds."""

TRIALS = 8
"""Of a run: enough for a search that goes on for seconds after a kill in its middle."""
SETTINGS = {
    "target": "target",
    "trials": TRIALS,
    "seed": 7,
    "workers": 2,
    "preset": "fast",
    "families": ["decision_tree", "gaussian_nb", "lda"],
}


@dataclass(frozen=True)
class Undisturbed:
    """A run on the stack, in a home of its own, that ended by itself."""

    result: dict[str, Any]
    seconds: float


@dataclass(frozen=True)
class Kill:
    """Who is killed, when, and where the run is under way.

    Parameters
    ----------
    number : of this kill
    victim : one of `VICTIMS`
    moment : in [0, 1)
        Share of the undisturbed run's seconds.
    on_cluster
        Whether the trials run on the Dask cluster.
    is_deployed
        Whether a deployment runs it, else a command.
    """

    number: int
    victim: str
    moment: float
    on_cluster: bool
    is_deployed: bool

    @classmethod
    def drawn(cls, number: int) -> Kill:
        """The kill of a number: victims in turn, at random moments; every second round is on the cluster."""
        random = np.random.default_rng(np.random.SeedSequence([11, number]))
        victim, is_odd = VICTIMS[number % len(VICTIMS)], bool(number // len(VICTIMS) % 2)
        return cls(
            number,
            victim,
            float(random.uniform(0.05, 0.95)),
            on_cluster=is_odd or victim == "dask worker",
            is_deployed=victim == "flow" and not is_odd,
        )

    @property
    def name(self) -> str:
        """Of the problem."""
        return f"kill-{self.number}"

    def __str__(self) -> str:
        place = "on the cluster" if self.on_cluster else "here"
        whose = " of a deployment" if self.is_deployed else ""
        return f"{self.victim}{whose} at {self.moment:.2f} {place}"


def home_of(stack: FullStack, name: str) -> Path:
    """Home of one run alone, so that no other teaches it anything."""
    return stack.folder / "user" / name


def train_command(stack: FullStack, table: Path, name: str, *, on_cluster: bool) -> list[str]:
    """Arguments that train."""
    file = stack.folder / "user" / f"{name}.json"
    file.write_text(json.dumps(SETTINGS), encoding="utf-8")
    place = ["--dask", stack.cluster] if on_cluster else []
    return ["train", str(table), "--config", str(file), "--name", name, *place]


def disturbed(stack: FullStack, table: Path, kill: Kill, seconds: float) -> dict[str, Any]:
    """Result of a run that a kill disturbs, resumed where it must be.

    Parameters
    ----------
    seconds
        That the run takes undisturbed.
    """
    home = home_of(stack, kill.name)
    if kill.is_deployed:
        return _deployed(stack, table, kill, seconds)
    command = train_command(stack, table, kill.name, on_cluster=kill.on_cluster)
    process = stack.begin(*command, AUTOML_HOME=str(home))
    time.sleep(kill.moment * seconds)
    _strike(stack, kill, process)
    if kill.victim != "flow":
        return dict(stack.end(process))
    out, err = process.communicate()
    if process.returncode == 0:  # it was faster
        return dict(json.loads(out))
    assert process.returncode < 0, err
    return _resumed(stack, home, command)


def _deployed(stack: FullStack, table: Path, kill: Kill, seconds: float) -> dict[str, Any]:
    """Result of a deployment's run whose process is killed, which the work pool does not begin again."""
    home = home_of(stack, kill.name)
    settings = {"table": str(table), "name": kill.name, **SETTINGS}
    stack.run(
        *("-m", "prefect", "deployment", "run", "automl-train/train"),
        *("--params", json.dumps({"settings": settings})),
        *("--job-variable", f"env={json.dumps({'AUTOML_HOME': str(home)})}"),
    )
    flow = until(lambda: _flow(stack))
    time.sleep(kill.moment * seconds)
    with suppress(psutil.NoSuchProcess):
        flow.kill()
    until(lambda: flow_runs(stack, "train")[-1]["state_type"] in ("CRASHED", "COMPLETED"))
    return _resumed(stack, home, train_command(stack, table, kill.name, on_cluster=False))


def _strike(stack: FullStack, kill: Kill, process: subprocess.Popen[str]) -> None:
    """SIGKILL to the victim, as soon as there is one; a service is started again at once."""
    if kill.victim in SERVICES:
        stack.services[kill.victim].kill()
        stack.services[kill.victim].start()
    elif kill.victim == "flow":
        strike(process, "driver")
    elif not kill.on_cluster:
        strike(process, kill.victim)
    else:
        _strike_cluster(stack, kill, process)


def _strike_cluster(stack: FullStack, kill: Kill, process: subprocess.Popen[str]) -> None:
    while process.poll() is None:
        worker = serving(stack)
        if worker is not None:
            with suppress(psutil.NoSuchProcess, IndexError):  # its slots may end at any moment
                victim = worker if kill.victim == "dask worker" else _slots(worker)[-1]
                victim.kill()
                return
        time.sleep(0.02)


def serving(stack: FullStack) -> psutil.Process | None:
    """A worker of the cluster that has slots for a run; the one that was started last."""
    for worker in reversed(stack.services["dask-worker"].family()[0].children()):
        with suppress(psutil.NoSuchProcess):
            if _slots(worker):
                return worker
    return None


def _slots(worker: psutil.Process) -> list[psutil.Process]:
    below = worker.children(recursive=True)
    return [process for process in below if MARKS["slot"] in " ".join(process.cmdline())]


def _flow(stack: FullStack) -> psutil.Process | None:
    """The process of a deployment's flow run."""
    for process in stack.services["worker"].family():
        with suppress(psutil.NoSuchProcess):
            if ENGINE in " ".join(process.cmdline()):
                return process
    return None


def _resumed(stack: FullStack, home: Path, command: list[str]) -> dict[str, Any]:
    """Result of a run whose driver was killed: as it is, continued, or begun if there is none."""
    own = {"AUTOML_HOME": str(home)}
    assert_gone(home)
    runs = stack.automl("runs", **own) if (home / "runs").exists() else []
    if not runs:
        return dict(stack.automl(*command, **own))
    (run,) = runs
    assert run["status"] in ("interrupted", "empty", "finished"), run
    folder = home / "runs" / run["run_id"]
    before = complete(home, run["run_id"]) if (folder / "journal").exists() else set()
    if run["status"] == "finished":
        stack.automl("sync", **own)
        return dict(stack.automl("show", run["run_id"], **own)["result"])
    result = dict(stack.automl("resume", run["run_id"], **own))
    assert before <= complete(home, run["run_id"])
    return result


def assert_ended_as(
    stack: FullStack, home: Path, result: dict[str, Any], name: str, expected: Undisturbed
) -> None:
    """A run has all trials once and the model of the one that nothing disturbed, and every page says so."""
    assert_the_same_model(home, result, expected)
    stack.automl("sync", AUTOML_HOME=str(home))
    assert_told(stack, home, result, name)


def assert_the_same_model(home: Path, result: dict[str, Any], expected: Undisturbed) -> None:
    """All trials once, and the same model."""
    assert result["model"]["members"]
    stages = Counter(stage for stage, _ in trials_once(home, result))
    assert stages["search"] == TRIALS
    assert decisions(result) == decisions(expected.result)
    assert result["score"] == expected.result["score"]


def trials_once(home: Path, result: dict[str, Any]) -> list[tuple[str, int]]:
    """Stage and number of the trials of the journal, none of which is there twice."""
    trials = [(trial.stage, trial.index) for trial in journal_trials(home, result["run_id"])]
    assert len(set(trials)) == len(trials)
    return trials


def assert_told(stack: FullStack, home: Path, result: dict[str, Any], name: str) -> None:
    """MLflow has the model and every trial once, and neither page shows a run that is over as running."""
    run_id = result["run_id"]
    assert aliases(stack, name) == {"champion": "1"}
    assert parent(stack, run_id).info.status == "FINISHED"
    assert [run.info.run_name for run in tracked(stack, "RUNNING")] == []
    assert tracked_trials(stack, run_id) == sorted(t.id for t in journal_trials(home, run_id))
    states = [run["state_type"] for run in flow_runs(stack) if run_id in run["tags"]]
    assert states.count("COMPLETED") == 1
    assert set(states) <= set(OVER)
    until(lambda: flow_runs(stack, states=OPEN) == [])
