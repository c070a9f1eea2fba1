"""Ours beside AutoGluon on every table, one after the other, three rounds; the medians as a table.

``python compare.py OUR_HOME AUTOGLUON_FOLDER AUTOGLUON_PYTHON [TABLE …]``
"""

import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

import tables

ROUNDS = 3
MEASURE = Path(__file__).with_name("measure.py")


def bundle_of(home: Path, name: str) -> Path:
    """Bundle of the last run of a problem."""
    for run in sorted((home / "runs").iterdir(), reverse=True):
        facts = json.loads((run / "run.json").read_text())
        if facts["settings"]["name"] == name:
            return run / "bundle"
    raise SystemExit(f"no run of {name} in {home}")


def measured(python: str, *arguments: object) -> dict[str, float]:
    environment = {**os.environ, "OMP_NUM_THREADS": "2"}
    done = subprocess.run(
        [python, str(MEASURE), *map(str, arguments)],
        capture_output=True, text=True, check=True, env=environment,
    )  # fmt: skip
    return json.loads(done.stdout.splitlines()[-1])


home, rival, rival_python = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
print("| table | library | first prediction s | p50 ms | p99 ms | rows / s | load |")
print("|---|---|---:|---:|---:|---:|---:|")
for name in sys.argv[4:] or tables.TABLES:
    jobs = {
        "ours": (sys.executable, "ours", bundle_of(home, name), name),
        "AutoGluon": (rival_python, "autogluon", rival / name, name),
    }
    found: dict[str, list[dict[str, float]]] = {library: [] for library in jobs}
    for _ in range(ROUNDS):
        for library, job in jobs.items():
            found[library].append(measured(*job))
    for library, each in found.items():
        middle = {key: statistics.median(one[key] for one in each) for key in each[0]}
        print(
            f"| {name} | {library} | {middle['ready']:.2f} | {middle['p50']:.1f} | {middle['p99']:.1f} "
            f"| {middle['rows_per_second']:,.0f} | {os.getloadavg()[0]:.1f} |",
            flush=True,
        )
