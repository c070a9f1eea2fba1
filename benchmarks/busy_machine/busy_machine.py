"""Short runs on a core that many other programs want: each must end in time with a model.

    python benchmarks/busy_machine/busy_machine.py OUT_FOLDER [--busy 15] [--core 0]
        [--budgets 20,30,45] [--repeats 1] [--table sklearn:breast_cancer --target target] [--fresh]

Pins itself, its busy loops and the runs to one core. The runs share one home, so that a later one
knows how long the registrations of the earlier ones took; with ``--fresh`` each has its own. Prints
one line a run as it ends, and writes ``runs.csv`` into OUT_FOLDER.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

BUSY = "while True: pass"
MOST_SECONDS = 300.0


@contextmanager
def busy_loops(n: int) -> Iterator[None]:
    """So many processes that compute, at the usual niceness, each in a session of its own."""
    command = [sys.executable, "-S", "-c", BUSY]
    loops = [subprocess.Popen(command, start_new_session=True) for _ in range(n)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def train(table: str, target: str, home: Path, seconds: float) -> dict[str, Any]:
    """Facts of one run of the command."""
    command = [
        sys.executable,
        "-m",
        "automl_flows.commands.cli",
        "train",
        table,
        "--target",
        target,
    ]
    command += ["--budget", f"{seconds:g}s", "--home", str(home), "--json"]
    before = set(home.glob("runs/2*"))
    with (home / "stderr.log").open("a") as log:
        began = time.monotonic()
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log)
        try:
            output = process.communicate(timeout=MOST_SECONDS)[0]
        except subprocess.TimeoutExpired:
            process.kill()
            output = process.communicate()[0]
        took = time.monotonic() - began
    runs = sorted(set(home.glob("runs/2*")) - before)
    return {
        "budget": seconds,
        "exit": process.returncode,
        "late": round(took - seconds, 1),
        **facts_of(json.loads(output) if output.strip() else {}),
        "run": runs[-1].name if runs else "",
    }


def facts_of(result: dict[str, Any]) -> dict[str, Any]:
    """What the result of a run says of its model, its registration and its seconds."""
    model = result.get("model") or {}
    ledger = result.get("ledger") or {}
    used = {name: stage["used"] for name, stage in ledger.items() if stage["used"]}
    members = {row["family"] for row in result.get("members") or ()}
    return {
        "model": model.get("kind", "none"),
        "families": " ".join(sorted(members)),
        "trials": len(result.get("leaderboard") or ()),
        "score": result.get("score"),
        "registration": model.get("registration", ""),
        "used": " ".join(f"{name}={seconds:.1f}" for name, seconds in used.items()),
    }


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--busy", type=int, default=15)
    parser.add_argument("--core", type=int, default=0)
    parser.add_argument("--budgets", default="20,30,45")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--table", default="sklearn:breast_cancer")
    parser.add_argument("--target", default="target")
    parser.add_argument("--fresh", action="store_true")
    options = parser.parse_args()
    os.sched_setaffinity(0, {options.core})
    budgets = [float(text) for text in options.budgets.split(",")] * options.repeats
    rows = []
    with busy_loops(options.busy):
        for number, seconds in enumerate(budgets):
            home = options.out / (f"home-{number}" if options.fresh else "home")
            home.mkdir(parents=True, exist_ok=True)
            rows.append(train(options.table, options.target, home, seconds))
            print(json.dumps(rows[-1]), flush=True)
    with (options.out / "runs.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
