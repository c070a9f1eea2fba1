"""Tables and plots of live runs: ``live_report.py OUT_FOLDER``, also printed by ``live.py``.

Writes into OUT_FOLDER:

- ``live.csv``: by table and entry, means over seeds: best validation score (complete trials only,
  mean over the folds of the search) 30, 60, 120 and 300 s after the command was started, test score
  of the final model, trials, complete ones, and seconds of the whole command;
- ``live.png``: best validation score over time by table.

All entries of a table have the same folds and test rows, so that their scores can be compared. All
records of OUT_FOLDER are reported. Runs of one table that differ in more than optimizer, allocator
and seed are refused: other budgets, presets, families or portfolios belong into another folder.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from automl.records import FloatArray

SHOWN = (30.0, 60.0, 120.0, 300.0)
N_POINTS = 400
LEFT_OUT = 0.25
"""Share of the time whose scores need not be inside the plot: the first ones are far below."""
VARIED = frozenset({"optimizer", "allocator", "seed", "table"})
"""Settings in which runs that are compared may differ; the table's path may have changed."""
Record = dict[str, Any]


def improvements(record: Record) -> tuple[FloatArray, FloatArray]:
    """Seconds at which complete trials of the search ended, in order, and the best score by then."""
    found = sorted(
        (trial["ended"], trial["score"])
        for trial in record["trials"]
        if trial["status"] == "complete" and trial["stage"] == "search"
    )
    seconds = np.array([ended for ended, _ in found])
    return seconds, np.maximum.accumulate([score for _, score in found])


def best_within(record: Record, seconds: float = math.inf) -> float:
    """Best validation score found in time; NaN if no trial was complete."""
    ended, best = improvements(record)
    n = int(np.searchsorted(ended, seconds, side="right"))
    return float(best[n - 1]) if n else math.nan


def lines(records: Sequence[Record]) -> pd.DataFrame:
    """One row per run."""
    budget = max(record["settings"]["budget_seconds"] for record in records)
    times = [t for t in SHOWN if t < budget] + [budget]
    return pd.DataFrame(
        [
            {
                "table": record["table"],
                "entry": record["entry"],
                **{f"at {t:g} s": best_within(record, t) for t in times},
                "test": record["result"]["test"]["score"],
                "trials": record["result"]["trials"],
                "complete": record["result"]["complete_trials"],
                "folds": record["folds"],
                "seconds": record["process_seconds"],
            }
            for record in records
        ]
    )


def summarize(found: pd.DataFrame) -> pd.DataFrame:
    """Means over seeds, best last validation score first; NaN until every seed has a score."""
    means = found.groupby(["table", "entry"], sort=False).mean(skipna=False).reset_index()
    last = _scored(means)[-2]
    means.insert(2, "seeds", found.groupby(["table", "entry"], sort=False).size().to_numpy())
    return means.sort_values(["table", last], ascending=[True, False], ignore_index=True)


def mean_ranks(means: pd.DataFrame) -> pd.DataFrame:
    """Mean rank over the tables that all entries have, by scored column; 1 is best."""
    scored = _scored(means)
    n_entries = means["entry"].nunique()
    counted = means.groupby("table")["entry"].transform("nunique") == n_entries
    shared = means[counted]
    ranks = shared.groupby("table")[scored].rank(ascending=False, na_option="bottom")
    by_entry: pd.DataFrame = ranks.assign(entry=shared["entry"]).groupby("entry").mean()
    by_entry.insert(0, "tables", shared.groupby("entry")["table"].nunique())
    return by_entry.sort_values(scored[-2])


def _scored(means: pd.DataFrame) -> list[str]:
    """Columns of scores: by time, then `test`."""
    return [c for c in means.columns if c.startswith("at ") or c == "test"]


def plot(records: Sequence[Record], path: Path) -> None:
    """Best score over time, the mean over seeds, one picture per table."""
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt

    tables = list(dict.fromkeys(record["table"] for record in records))
    entries = list(dict.fromkeys(record["entry"] for record in records))
    figure, axes = plt.subplots(
        1, len(tables), figsize=(6.5 * len(tables), 5), squeeze=False, layout="constrained"
    )
    for ax, table in zip(axes[0], tables, strict=True):
        here = [record for record in records if record["table"] == table]
        budget = max(record["settings"]["budget_seconds"] for record in here)
        grid = np.linspace(0.0, budget, N_POINTS)
        seen: list[float] = []
        for number, entry in enumerate(entries):
            curves = [
                [best_within(r, second) for second in grid] for r in here if r["entry"] == entry
            ]
            if not curves:
                continue
            mean = np.mean(curves, axis=0)
            seen += list(mean[int(LEFT_OUT * N_POINTS) :])
            style = {"color": f"C{number % 10}", "ls": ("-", "--")[number // 10 % 2]}
            ax.step(grid, mean, where="post", label=entry, lw=1.4, **style)
        finite = np.array(seen)[np.isfinite(seen)]
        if len(finite):
            margin = 0.03 * float(np.ptp(finite)) or 0.01
            ax.set_ylim(float(finite.min()) - margin, float(finite.max()) + margin)
        ax.set(title=table, xlabel="seconds since the start", ylabel="best validation score")
    axes[0][0].legend(fontsize=8, loc="lower right")
    figure.savefig(path, dpi=120)


def check_comparable(records: Sequence[Record]) -> None:
    """Refuse to compare runs of one table with different budgets, presets and the like.

    Raises
    ------
    SystemExit
        If settings other than `VARIED` differ.
    """
    first: dict[str, Record] = {}
    for record in records:
        settings = record["settings"]
        expected = first.setdefault(record["table"], settings)
        names = (expected.keys() | settings.keys()) - VARIED
        differing = sorted(n for n in names if expected.get(n) != settings.get(n))
        if differing:
            raise SystemExit(
                f"runs of {record['table']} differ in {', '.join(differing)}; use a folder for each"
            )


def report(paths: Sequence[Path], out: Path) -> None:
    """Write and print tables and plot.

    Raises
    ------
    SystemExit
        If there is no record, or there are some that cannot be compared.
    """
    records = [json.loads(path.read_text()) for path in paths]
    if not records:
        raise SystemExit(f"{out} has no finished run")
    check_comparable(records)
    means = summarize(lines(records))
    means.to_csv(out / "live.csv", index=False)
    plot(records, out / "live.png")
    print(f"\n{means.round(4).to_string(index=False)}")
    print(f"\nmean rank over shared tables\n{mean_ranks(means).round(2).to_string()}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    report(sorted((options.out / "runs").glob("*.json")), options.out)


if __name__ == "__main__":
    main()
