"""Processor seconds of a short run by process: until its first trial, until its model, until its end.

    python benchmarks/busy_machine/processor_seconds.py OUT_FOLDER [--late 0] [--budget 20] [--repeats 3]

With ``--late 25`` the command believes that it began 25 s ago, so that a run of 20 s has no time for a search, on any
machine. The table has 500 rows. Prints one line a run, then the medians.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import psutil

LOOK_SECONDS = 0.02
MARKS = {
    "server": "automl_flows.services.server_process",
    "mirror": "automl.tracking.mirror",
    "workers": "automl.evaluation.supervisor",
}
"""What the command line of a process holds; the mirror's children are counted as the mirror."""

PROGRAM = """
import sys
from automl_flows.commands import process
process.BEGAN -= float(sys.argv.pop(1))
from automl_flows.commands import cli
cli.main()
"""


def write_table(path: Path) -> None:
    """500 rows of six numbers and a category, two classes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 6))
    frame = pd.DataFrame(X, columns=list("abcdef"))
    frame["kind"] = rng.choice(["x", "y", "z"], 500)
    frame["y"] = np.where(X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=500) > 0, "yes", "no")
    frame.to_csv(path, index=False)


class Counted:
    """Processor seconds of a process and all below it, as last seen alive."""

    def __init__(self, pid: int) -> None:
        self._root = psutil.Process(pid)
        self._seconds: dict[int, float] = {}
        self._names: dict[int, str] = {pid: "driver"}

    def look(self) -> None:
        """Count again."""
        try:
            for process in (self._root, *self._root.children(recursive=True)):
                self._count(process)
        except psutil.Error:
            return

    def _count(self, process: psutil.Process) -> None:
        times = process.cpu_times()
        self._seconds[process.pid] = times.user + times.system
        if process.pid in self._names:
            return
        text = " ".join(process.cmdline())
        above = self._names.get(process.ppid(), "")
        found = next((name for name, mark in MARKS.items() if mark in text), "")
        if found or above not in ("", "driver"):
            self._names[process.pid] = found or above

    def seconds(self) -> dict[str, float]:
        """By what the processes are to the run; what has no name yet is ``other``."""
        sums: Counter[str] = Counter()
        for pid, seconds in self._seconds.items():
            sums[self._names.get(pid, "other")] += seconds
        return {name: round(seconds, 2) for name, seconds in sums.items()}


def measured(table: Path, home: Path, budget: float, late: float) -> dict[str, dict[str, float]]:
    """Processor seconds by moment and process of one run."""
    arguments = ["train", str(table), "--target", "y", "--budget", f"{budget:g}s"]
    command = [sys.executable, "-c", PROGRAM, f"{late:g}", *arguments, "--home", str(home)]
    moments = {"trial": "runs/2*/predictions/*", "model": "runs/2*/bundle/manifest.json"}
    found: dict[str, dict[str, float]] = {}
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    counted = Counted(process.pid)
    while process.poll() is None:
        counted.look()
        for name, pattern in moments.items():
            if name not in found and next(home.glob(pattern), None):
                found[name] = counted.seconds()
        time.sleep(LOOK_SECONDS)
    return {**found, "end": counted.seconds()}


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--late", type=float, default=0.0)
    parser.add_argument("--budget", type=float, default=20.0)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    table = options.out / "table.csv"
    write_table(table)
    runs = []
    for number in range(options.repeats):
        home = options.out / f"home-{options.late:g}-{number}"
        runs.append(measured(table, home, options.budget, options.late))
        print(json.dumps(runs[-1]), flush=True)
    for moment in runs[0]:
        names = {name for run in runs for name in run.get(moment, {})}
        medians = {n: statistics.median(r.get(moment, {}).get(n, 0.0) for r in runs) for n in names}
        print(moment, json.dumps(dict(sorted(medians.items()))))


if __name__ == "__main__":
    main()
