"""Runs that something disturbs: who is killed, when, and what must be true afterwards."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from command_line import Command, decisions, journal_trials, processes_with

from automl.records import TrialStatus

TABLE = "sklearn:breast_cancer"
NAME = "faults"
TRAIN = [
    *("train", TABLE, "--target", "target", "--trials", "8", "--seed", "7", "--workers", "2"),
    *("--name", NAME, "--families", "decision_tree,gaussian_nb,lda", "--preset", "fast"),
]
MARKS = {
    "server": "automl_flows.services.server_process",
    "mirror": "automl.tracking.mirror",
    "slot": "automl.evaluation.supervisor",
}
"""What the command line of a process holds, by what it is to the run."""

VICTIMS = ("slot", "mirror", "driver", "server")
GRACE = 60.0
"""Seconds after a kill in which every process of a run must be gone."""


@dataclass(frozen=True)
class Undisturbed:
    """A run that ended by itself.

    Parameters
    ----------
    command
        The command line with its home.
    result
        What ``--json`` printed.
    seconds
        From its start to its end.
    predictions
        File of its predictions.
    """

    command: Command
    result: dict[str, Any]
    seconds: float
    predictions: bytes


@dataclass(frozen=True)
class Kill:
    """Who is killed, and when.

    Parameters
    ----------
    victim : one of `VICTIMS`
    moment : in [0, 1)
        Share of the undisturbed run's seconds.
    """

    victim: str
    moment: float

    @classmethod
    def drawn(cls, number: int) -> Kill:
        """The kill of a number: victims in turn, at random moments."""
        moment = np.random.default_rng(np.random.SeedSequence([7, number])).uniform(0.05, 0.9)
        return cls(VICTIMS[number % len(VICTIMS)], float(moment))

    def __str__(self) -> str:
        return f"{self.victim} at {self.moment:.2f}"


def predictions(command: Command, model: str, folder: Path) -> bytes:
    """File that ``predict`` writes."""
    out = folder / "predictions.csv"
    process = command.start("predict", model, TABLE, "-o", str(out))
    _, err = process.communicate(timeout=170)
    assert process.returncode == 0, err
    return out.read_bytes()


def disturbed(command: Command, kill: Kill, seconds: float) -> dict[str, Any]:
    """Result of a run that a kill disturbs, resumed where it must be."""
    process = command.start(*TRAIN, "--json")
    time.sleep(kill.moment * seconds)
    strike(process, kill.victim)
    out, err = process.communicate(timeout=300)
    if kill.victim != "driver" or process.returncode == 0:
        assert process.returncode == 0, err
        return dict(json.loads(out))
    assert_gone(command.home)
    runs = command.json("runs") if (command.home / "runs").exists() else []
    if not runs:  # killed before there was a run
        return dict(command.json(*TRAIN))
    (run,) = runs
    assert run["status"] in ("interrupted", "finished"), run
    before = complete(command.home, run["run_id"])
    result = dict(command.json("resume", run["run_id"]))
    assert before <= complete(command.home, run["run_id"])
    return result


def strike(process: subprocess.Popen[str], victim: str) -> None:
    """Kill the victim with SIGKILL, as soon as there is one; nobody if the run ends before."""
    while process.poll() is None:
        found = target(psutil.Process(process.pid), victim)
        if found is not None:
            found.send_signal(signal.SIGKILL)
            return
        time.sleep(0.02)


def target(driver: psutil.Process, victim: str) -> psutil.Process | None:
    """A live process of the run; of a slot the one that works, where there is one."""
    if victim == "driver":
        return driver
    try:
        children = driver.children(recursive=True)
        marked = [child for child in children if MARKS[victim] in " ".join(child.cmdline())]
    except psutil.Error:
        return None
    return max(marked, key=lambda child: child.pid, default=None)


def complete(home: Path, run_id: str) -> set[tuple[str, int]]:
    """Trials of the journal that are complete; none is there twice."""
    trials = journal_trials(home, run_id)
    counts = Counter((trial.stage, trial.index) for trial in trials)
    assert max(counts.values(), default=1) == 1, counts
    return {(t.stage, t.index) for t in trials if t.status is TrialStatus.COMPLETE}


def assert_gone(home: Path) -> None:
    """No process of the home is left."""
    deadline = time.monotonic() + GRACE
    while processes_with(str(home)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert processes_with(str(home)) == []


def assert_same_or_said(command: Command, result: dict[str, Any], expected: Undisturbed) -> bytes:
    """The same answer as without the disturbance, or a result that calls itself not reproducible.

    Returns
    -------
        File of the run's predictions.
    """
    complete(command.home, result["run_id"])
    found = predictions(command, result["run_id"], command.home)
    if result["reproducible"]:
        assert decisions(result) == decisions(expected.result)
        assert result["score"] == expected.result["score"]
        assert found == expected.predictions
    return found
