"""The test score of `automl train` by its budget: does more time help?

    python benchmarks/time_curve/time_curve.py DATA_FOLDER OUT_FOLDER [--budgets 30,60,120,300,600]
        [--tables credit-g,concrete] [--seeds 3] [--workers 2] [--report]
    python benchmarks/time_curve/time_curve.py DATA_FOLDER OUT_FOLDER --trials 20,60

DATA_FOLDER has a ``catalog.csv`` with the columns name, task, target and file, and a ``schema.json``
with the type of each feature. Each cell is one run of the command as a user calls it, with a home of
its own: one table, one budget (seconds, or trials with ``--trials``) and one seed. The seed also
draws the 30 % of the rows that the run never sees, so the budgets of a table and seed share them.
What is scored on them is the model's bundle, on all of them and on the same 200 draws with
replacement for every budget.

One JSON file per cell is written to OUT_FOLDER/cells; cells that have one are not repeated, and a
cell that failed is. The report (`curve_report.py`) is printed at the end, and with ``--report`` alone.
Seconds mean nothing beside other work: run it on a machine that does nothing else. Every cell holds
the load of the machine when it began, and the report says which cells did not have it alone.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import curve_report
import numpy as np
import pandas as pd

from automl.data.table import Table
from automl.evaluation.plan import EvaluationPlan
from automl.home import RunFolder
from automl.inference.bundle import load_bundle

BUDGETS = (30.0, 60.0, 120.0, 300.0, 600.0)
TABLES = (
    *("credit-g", "vehicle", "qsar-biodeg", "yeast", "phoneme", "satellite", "kc1"),
    *("concrete", "abalone", "wine-quality-red", "cpu_small", "cal_housing"),
)
"""Two, three and more classes and numbers; 846 to 20,640 rows, 4 to 41 columns."""

TEST_SHARE = 0.3
DRAWS = 200


@dataclass(frozen=True)
class Cell:
    """One run.

    Parameters
    ----------
    budget : seconds, or trials where `is_trials`
    """

    table: str
    budget: float
    seed: int
    is_trials: bool = False

    @property
    def name(self) -> str:
        """Stem of its file."""
        return f"{self.table}-{self.budget:g}{'trials' if self.is_trials else 's'}-{self.seed}"

    @property
    def limit(self) -> dict[str, Any]:
        """Setting that limits the run."""
        return {"trials": int(self.budget)} if self.is_trials else {"budget_seconds": self.budget}


def cells_of(options: argparse.Namespace) -> Iterator[Cell]:
    """Every cell, those of a table and seed together."""
    budgets = options.trials or options.budgets
    for table, seed, budget in product(options.tables, range(options.seeds), budgets):
        yield Cell(table, budget, seed, is_trials=bool(options.trials))


def settings_of(data: Path, cell: Cell, workers: int) -> dict[str, Any]:
    """Settings file of a run, the table among them.

    Raises
    ------
    SystemExit
        If the data folder has no such table.
    """
    catalog = pd.read_csv(data / "catalog.csv").set_index("name")
    if cell.table not in catalog.index:
        raise SystemExit(f"{data / 'catalog.csv'} has no table {cell.table!r}")
    facts = catalog.loc[cell.table]
    columns = json.loads((data / "schema.json").read_text())[cell.table]["columns"]
    columns.pop(facts["target"], None)
    return {
        "table": str((data / str(facts["file"])).resolve()),
        "target": str(facts["target"]),
        "task": str(facts["task"]),
        "roles": {name: "nominal" for name, kind in columns.items() if kind == "nominal"},
        "test_share": TEST_SHARE,
        "workers": workers,
        "seed": cell.seed,
        **cell.limit,
    }


def run(data: Path, out: Path, cell: Cell, workers: int) -> dict[str, Any]:
    """Record of a cell, from its file where there is one.

    Raises
    ------
    SystemExit
        If the data folder has no such table.
    """
    file = out / "cells" / f"{cell.name}.json"
    if file.exists():
        return dict(json.loads(file.read_text()))
    settings = settings_of(data, cell, workers)
    load, started = os.getloadavg()[0], time.monotonic()
    home = out / "homes" / cell.name
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    try:
        result = trained(settings, home)
        seconds = time.monotonic() - started
        found = {
            **facts_of(result),
            **scores_of(RunFolder(home / "runs" / result["run_id"]), cell.seed),
        }
    except (subprocess.CalledProcessError, OSError, ValueError) as error:
        reason = getattr(error, "stderr", None) or str(error)
        return {"error": reason.strip().rpartition("\n")[2], **cell.__dict__}
    record = {**cell.__dict__, "load": load, "seconds": seconds, "workers": workers, **found}
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_suffix(".part")
    draft.write_text(json.dumps(record, indent=1))
    draft.rename(file)
    shutil.rmtree(home)
    return record


def trained(settings: dict[str, Any], home: Path) -> dict[str, Any]:
    """Result of the command.

    Raises
    ------
    subprocess.CalledProcessError
        If it fails.
    """
    config = home / "settings.json"
    config.write_text(json.dumps({k: v for k, v in settings.items() if k != "table"}))
    command = [sys.executable, "-m", "automl_flows.commands.cli", "train", settings["table"]]
    command += ["--config", str(config), "--home", str(home), "--json"]
    kept = {key: value for key, value in os.environ.items() if not key.startswith("AUTOML_")}
    finished = subprocess.run(command, capture_output=True, text=True, check=True, env=kept)
    return dict(json.loads(finished.stdout))


def facts_of(result: dict[str, Any]) -> dict[str, Any]:
    """What a curve that falls is explained by."""
    members = result["model"]["members"]
    ledger = result.get("ledger", {})
    return {
        "run_score": result["test"]["score"],
        "metrics": result["test"]["metrics"],
        "validated": result["score"],
        "trials": result["trials"],
        "complete_trials": result["complete_trials"],
        "champion": result["champion"]["family"],
        "members": [[m["family"], round(m["weight"], 4)] for m in members],
        "given_up": result["given_up"],
        "ledger": ledger,
    }


def scores_of(folder: RunFolder, seed: int) -> dict[str, Any]:
    """Score of a run's model on the rows that it never saw, and on draws of them."""
    index, test = EvaluationPlan(folder.path).index, Table.load(folder.test)
    model, y = load_bundle(folder.bundle, trust=True), np.asarray(test.y)
    raw = model.raw_typed(test.frame)
    labels = model.codes(raw)
    rng = np.random.default_rng([seed, len(y)])
    draws = (rng.integers(len(y), size=len(y)) for _ in range(DRAWS))

    def score(rows: Any) -> float:
        return index.score(y[rows], raw[rows], labels=None if labels is None else labels[rows])

    return {
        "rows": len(y),
        "score": score(slice(None)),
        "drawn": [score(rows) for rows in draws],
    }


def numbers(text: str) -> list[float]:
    """Numbers between commas."""
    return [float(part) for part in text.split(",")]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--budgets", type=numbers, default=list(BUDGETS), help="seconds")
    parser.add_argument("--trials", type=numbers, default=[], help="trials in place of seconds")
    parser.add_argument("--tables", type=lambda text: text.split(","), default=list(TABLES))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--report", action="store_true", help="only the report")
    options = parser.parse_args(arguments)
    for cell in () if options.report else cells_of(options):
        found = run(options.data, options.out, cell, options.workers)
        told = found.get("error") or f"{found['score']:.4f}"
        print(f"{cell.name}: {told}", file=sys.stderr, flush=True)
    print(curve_report.text(options.out))


if __name__ == "__main__":
    main()
