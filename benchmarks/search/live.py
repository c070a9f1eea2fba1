"""Real runs of the program with different optimizers and allocators, each on one worker.

    python benchmarks/search/live.py DATA_FOLDER OUT_FOLDER --seconds 300
        --tables adult letter cal_housing
        --entries random hypercube smac tpe gbqr gp_ei bohb cash:smac [--workers 2] [--seeds 1]

DATA_FOLDER as for ``main_job.py``: ``catalog.csv``, ``schema.json`` and the tables; ``--tables
small`` stands for five small ones. An entry is an optimizer, an allocator, or ALLOCATOR:OPTIMIZER;
what it leaves open is the preset's. Everything else is equal for all: the split (30 % test rows
that nothing touches), the folds, the seed, and a search from scratch. The portfolio is off
(``--portfolio`` turns it on for all); what is left before an optimizer's first proposal is the two
floors of every run (the constant predictor and a default LightGBM) and each family's default
configuration on the family's first turn.

Each run is ``automl train`` in a process of its own with a fresh home. Its record, a file below
OUT_FOLDER/runs, holds every trial with the seconds since the command was started; finished
ones are not repeated, interrupted ones are begun again. Prints the report of ``live_report.py``.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import live_report
import pandas as pd
import psutil

from automl.bandits.registry import get_allocator
from automl.errors import AutoMLError
from automl.evaluation.journal import read
from automl.home import Home
from automl.optimizers.registry import OPTIMIZERS, get_optimizer
from automl.records import Trial

SMALL = ("credit-g", "soybean", "segment", "abalone", "concrete")
ENTRIES = (
    *("random", "hypercube", "smac", "tpe", "gbqr", "gp_ei", "gp_sampled"),
    *("bohb", "cash:smac"),
)
TEST_SHARE = 0.3
GRACE_SECONDS = 20.0


@dataclass(frozen=True)
class Run:
    """One run of the program.

    Parameters
    ----------
    settings : of `automl train`, the table among them
    """

    table: str
    entry: str
    seed: int
    settings: dict[str, Any]
    out: Path

    @property
    def name(self) -> str:
        """What tells it apart."""
        options = "-portfolio" if self.settings["portfolio"] else ""
        options += "".join(f"-{family}" for family in self.settings["families"])
        seconds = f"{self.settings['budget_seconds']:g}s"
        entry = self.entry.replace(":", "+")
        return f"{self.table}-{entry}-{self.settings['preset']}{options}-{seconds}-{self.seed}"

    @property
    def record(self) -> Path:
        """File of its trials and result."""
        return self.out / "runs" / f"{self.name}.json"


def choices_of(entry: str) -> dict[str, str]:
    """Settings `optimizer` and `allocator` that an entry stands for.

    Raises
    ------
    SettingsError
        If there is none of this name.
    """
    allocator, _, optimizer = entry.rpartition(":")
    if optimizer not in OPTIMIZERS:
        allocator, optimizer = entry, ""
    if optimizer:
        get_optimizer(optimizer)
    if allocator:
        get_allocator(allocator)
    chosen = {"optimizer": optimizer, "allocator": allocator}
    return {key: value for key, value in chosen.items() if value}


def runs_of(options: argparse.Namespace) -> Iterator[Run]:
    """Every run, those of one table together.

    Raises
    ------
    SystemExit
        If the data folder has no such table, or an entry is unknown.
    """
    catalog = pd.read_csv(options.data / "catalog.csv").set_index("name")
    schema = json.loads((options.data / "schema.json").read_text())
    for table, seed, entry in product(options.tables, range(options.seeds), options.entries):
        if table not in catalog.index:
            raise SystemExit(f"{options.data / 'catalog.csv'} has no table {table!r}")
        facts, columns = catalog.loc[table], schema[table]["columns"]
        settings = {
            "table": str((options.data / facts["file"]).resolve()),
            "target": facts["target"],
            "task": facts["task"],
            "roles": {name: "nominal" for name, kind in columns.items() if kind == "nominal"},
            "test_share": TEST_SHARE,
            "preset": options.preset,
            "portfolio": options.portfolio,
            "budget_seconds": options.seconds,
            "workers": 1,
            "seed": seed,
            "families": options.families,
        }
        try:
            settings |= choices_of(entry)
        except AutoMLError as error:
            raise SystemExit(f"entry {entry!r}: {error}") from None
        yield Run(table, entry, seed, settings, options.out)


class Runner:
    """Starts runs and ends those under way when the command is interrupted."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._processes: set[subprocess.Popen[str]] = set()
        self._is_over = False

    def run(self, run: Run) -> dict[str, Any]:
        """Record of a finished run.

        Raises
        ------
        RuntimeError
            If it fails; with the last line of its error output.
        """
        home = run.out / "homes" / f"{run.name}-{os.getpid()}"
        home.mkdir(parents=True)
        config = home / "settings.json"
        options = {key: value for key, value in run.settings.items() if key != "table"}
        config.write_text(json.dumps(options))
        started_at = time.time()
        process = self._start(
            [
                *(
                    sys.executable,
                    "-m",
                    "automl_flows.commands.cli",
                    "train",
                    run.settings["table"],
                ),
                *("--config", str(config), "--home", str(home), "--json"),
            ]
        )
        output, errors = process.communicate()
        seconds = time.time() - started_at
        with self._lock:
            self._processes.discard(process)
        if process.returncode:
            raise RuntimeError(errors.strip().rpartition("\n")[2])
        record = {
            "table": run.table,
            "entry": run.entry,
            "seed": run.seed,
            "settings": run.settings,
            "process_seconds": seconds,
            **facts_of(home, started_at, json.loads(output)),
        }
        run.record.parent.mkdir(parents=True, exist_ok=True)
        unfinished = run.record.with_suffix(".part")
        unfinished.write_text(json.dumps(record))
        unfinished.rename(run.record)
        shutil.rmtree(home)
        return record

    def _start(self, command: Sequence[str]) -> subprocess.Popen[str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith("AUTOML_")}
        with self._lock:
            if self._is_over:
                raise RuntimeError("interrupted")
            process = subprocess.Popen(
                command,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env={**kept, "OMP_NUM_THREADS": "1"},
                start_new_session=True,
            )
            self._processes.add(process)
        return process

    def end(self) -> None:
        """Stop what is under way, and start nothing more."""
        with self._lock:
            self._is_over = True
            running = list(self._processes)
        for process in running:
            process.terminate()
        for process in running:
            try:
                process.wait(GRACE_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()


def facts_of(home: Path, started_at: float, result: dict[str, Any]) -> dict[str, Any]:
    """Trials with the seconds since `started_at` at which they ended, folds, and the result."""
    folder = Home(home).run(result["run_id"])
    records = read(folder.journal)
    trials = [Trial.from_json(r["trial"]) for r in records if r["type"] == "trial"]
    kept = ("metric", "score", "test", "trials", "complete_trials", "families", "given_up")
    return {
        "folds": folder.read_facts()["data"]["folds"],
        "result": {key: result[key] for key in kept},
        "champion": result["champion"]["family"],
        "trials": [
            {**trial.to_json(), "ended": trial.started_at + trial.spent_seconds - started_at}
            for trial in trials
        ],
    }


def remove_abandoned(out: Path) -> None:
    """Homes of interrupted runs that no process drives any more; their names end in its id."""
    for path in (out / "homes").glob("*"):
        is_owned = psutil.pid_exists(int(path.name.rpartition("-")[2]))
        if not is_owned and not any(f.is_driven() for f in Home(path).run_folders()):
            shutil.rmtree(path)


def work_off(todo: list[Run], n_workers: int) -> None:
    """Make the missing runs; one that fails is told and left out."""
    runner, started = Runner(), time.monotonic()
    with ThreadPoolExecutor(n_workers) as threads:
        try:
            futures = {threads.submit(runner.run, run): run for run in todo}
            for count, future in enumerate(as_completed(futures), 1):
                label = f"{count}/{len(todo)} {futures[future].name}"
                if future.exception() is not None:
                    print(f"{label} failed: {future.exception()}", file=sys.stderr, flush=True)
                    continue
                minutes = (time.monotonic() - started) / 60
                print(f"{label} {summary_of(future.result())} {minutes:.1f} min", flush=True)
        except BaseException:
            threads.shutdown(wait=False, cancel_futures=True)
            runner.end()
            raise


def summary_of(record: dict[str, Any]) -> str:
    """Trials and scores in one line."""
    result = record["result"]
    return (
        f"{result['complete_trials']}/{result['trials']} complete, "
        f"best {live_report.best_within(record):.4f}, test {result['test']['score']:.4f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--tables", nargs="+", default=["small"])
    parser.add_argument("--entries", "--optimizers", nargs="+", default=list(ENTRIES))
    parser.add_argument("--seconds", type=float, default=60.0, help="budget of a run")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--preset", default="balanced")
    parser.add_argument("--portfolio", action="store_true", help="begin with the portfolio")
    parser.add_argument("--families", nargs="+", default=[], help="only these; by default all")
    parser.add_argument("--workers", type=int, default=2, help="runs at a time")
    options = parser.parse_args()
    if options.tables == ["small"]:
        options.tables = list(SMALL)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("interrupted"))
    runs = list(runs_of(options))
    remove_abandoned(options.out)
    work_off([run for run in runs if not run.record.exists()], options.workers)
    live_report.report([run.record for run in runs if run.record.exists()], options.out)


if __name__ == "__main__":
    main()
