"""Five retrainings on a growing table: how soon the fifth is as good as what is in production.

    python benchmarks/knowledge/retraining.py DATA_FOLDER OUT_FOLDER [--tables a b c] [--trials 100]

For each table, runs follow each other on the first 50, 60, 70, 80 and 90 % of its rows, shuffled once, under
one name in one home, each with what the runs before it have left. Knowledge of other data sets
is left out, so that what is seen is the table's own past. Beside the fifth stands a run on the same rows with
``experience`` off. The goal is the score on the rows of the fifth run of the configuration that was the best of the
fourth. Nothing else differs. One core.

Prints, for each table, the trials after which both runs have reached the goal, and the first number
as a share of the trials of the cold run. Every run is one file in OUT_FOLDER/runs; finished ones are
not repeated, while the home with the past of the table is there.
"""

from __future__ import annotations

import argparse
import json
import shutil
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from live import best_so_far, in_turn, search

from automl.data.collections import find_data_sets
from automl.data.readers import read_table
from automl.errors import AutoMLWarning
from automl.experience.harvest import remember
from automl.home import Home
from automl.randomness import Purpose, stream
from automl.table_studies.facts import target_for

SHARES = (0.5, 0.6, 0.7, 0.8, 0.9)
ROWS = (400, 5_000)
"""Tables of fewer rows have noise for scores, larger ones take long."""


def chosen(data: Path, names: list[str]) -> dict[str, dict[str, Any]]:
    """The named tables, or three of a fitting size."""
    found = find_data_sets([str(data)])
    if names:
        return {name: found[name] for name in names}
    usable: dict[str, dict[str, Any]] = {}
    for name in in_turn(list(found)):
        if len(usable) < 3 and ROWS[0] <= len(read_table(str(found[name]["table"]))) <= ROWS[1]:
            usable[name] = found[name]
    return usable


def grown(frame: pd.DataFrame, share: float, path: Path) -> Path:
    """The first rows of a table, in an order drawn once, as a file."""
    order = stream(0, Purpose.SAMPLE).permutation(len(frame))[: round(share * len(frame))]
    path.parent.mkdir(parents=True, exist_ok=True)
    frame.iloc[order].to_parquet(path)
    return path


def run(out: Path, name: str, data: dict[str, Any], n_trials: int) -> None:
    """All runs of a table that are missing."""
    frame = read_table(str(data["table"]))
    given = {**data, "target": target_for(data, frame), "name": name}
    home = Home((out / "homes" / name).resolve())
    home.prepare()
    for number, share in enumerate(SHARES, start=1):
        table = grown(frame, share, out / "tables" / f"{name}-{number}.parquet")
        settings = {"trials": n_trials, "exclude_experience": ("shipped",)}
        record(
            out / "runs" / f"{name}-{number}.json", home, {**given, "table": str(table)}, settings
        )
    cold = Home((out / "homes" / f"{name}-cold").resolve())
    cold.prepare()
    settings = {"trials": n_trials, "experience": False}
    record(out / "runs" / f"{name}-cold.json", cold, {**given, "table": str(table)}, settings)
    shutil.rmtree(cold.path)


def record(path: Path, home: Home, data: dict[str, Any], settings: dict[str, Any]) -> None:
    """One run, unless its record is there."""
    if path.exists():
        return
    trials = search(home, data, settings, at_end=remember)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".tmp")
    temporary.write_text(json.dumps(trials))
    temporary.replace(path)


def first_at(trials: list[dict[str, Any]], goal: float) -> float:
    """Trials after which a goal is reached; infinite where it never is."""
    reached = np.flatnonzero(best_so_far(trials) >= goal - 1e-12)
    return float(reached[0] + 1) if len(reached) else np.inf


def report(out: Path, names: list[str]) -> None:
    """Table of the trials that were needed."""
    print("| table | goal | fifth run | cold run | cold run's best | share of its trials |")
    print("|---|---|---|---|---|---|")
    for name in names:
        fourth, fifth, cold = (
            json.loads((out / "runs" / f"{name}-{which}.json").read_text())
            for which in ("4", "5", "cold")
        )
        champion = max(fourth, key=lambda t: -np.inf if t["score"] is None else t["score"])
        again = [t for t in (*fifth, *cold) if t["configuration"] == champion["configuration"]]
        goal = next(t["score"] for t in again if t["score"] is not None)
        needed = first_at(fifth, goal)
        print(
            f"| {name} | {goal:.4f} | {needed:.0f} | {first_at(cold, goal):.0f} "
            f"| {best_so_far(cold)[-1]:.4f} | {needed / len(cold):.2f} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--tables", nargs="*", default=[])
    parser.add_argument("--trials", type=int, default=100)
    options = parser.parse_args()
    warnings.simplefilter("ignore", AutoMLWarning)
    found = chosen(options.data, options.tables)
    for name, data in found.items():
        run(options.out, name, data, options.trials)
        print(f"{name} done", flush=True)
    report(options.out, list(found))


if __name__ == "__main__":
    main()
