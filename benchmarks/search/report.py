"""Tables and plots of replays: ``report.py OUT_FOLDER [--half tuning|reported|both]``.

Reads what ``optimizers.py`` wrote and writes into OUT_FOLDER:

- ``results.csv``: by source (`all`: every table counts the same), optimizer and 10, 25, 50 and 60
  trials: regret (accuracy), scaled regret (1: a configuration of median score), share of the
  tables' optima found, average rank among the optimizers, average hyperparameter rank (Schilling
  et al. 2015, figures 3 and 4), each with its 95 % bootstrap interval over tables;
- ``curves.png``: the same after every trial; ``optima.png``: share of optima by source;
- ``asks.csv``: median seconds of a tell and the following ask at 50, 200 and 1,000 observations.

Only (table, seed) that all optimizers have are compared; an optimizer that was run on fewer tables
restricts them, unless it is left out with ``--without``.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from optimizers import read_lines
from scipy.stats import rankdata

from automl.records import FloatArray

SHOWN = (10, 25, 50, 60)
RESAMPLES = 2000
MEASURES = {
    "regret": "regret",
    "scaled_regret": "regret / (best - median)",
    "optima": "share of optima found",
    "rank": "average rank",
    "hyperparameter_rank": "average hyperparameter rank",
}


def measure(rows: list[dict[str, Any]]) -> tuple[list[str], pd.Index, dict[str, FloatArray]]:
    """Optimizers (k), tables (t), and each measure as (k, t, trials), the mean over seeds.

    Raises
    ------
    SystemExit
        If there is no table and seed that all optimizers have.
    """
    names = list(dict.fromkeys(row["optimizer"] for row in rows))
    cells = {(r["optimizer"], r["source"], r["table"], r["seed"]): r for r in rows}
    places = list(dict.fromkeys(key[1:] for key in cells))
    places = [p for p in places if all((name, *p) in cells for name in names)]
    if not places:
        raise SystemExit("no table and seed that all optimizers have; leave one out (--without)")
    found: dict[str, list[FloatArray]] = {name: [] for name in MEASURES}
    for place in places:
        group = [cells[name, *place] for name in names]
        length = min(len(row["scores"]) for row in group)
        best = np.array([np.maximum.accumulate(row["scores"][:length]) for row in group])
        ranks = np.array([np.minimum.accumulate(row["ranks"][:length]) for row in group])
        regret = group[0]["best"] - best
        found["regret"].append(regret)
        found["scaled_regret"].append(regret / group[0]["scale"])
        found["optima"].append((regret <= 0.0).astype(float))
        found["rank"].append(rankdata(-best, axis=0))
        found["hyperparameter_rank"].append(ranks)
    tables = pd.Index([f"{source}/{table}" for source, table, _ in places])
    distinct = tables.unique()
    shortest = min(a.shape[1] for a in found["regret"])
    measures = {}
    for name, arrays in found.items():
        every = np.stack([a[:, :shortest] for a in arrays], axis=1)
        measures[name] = np.stack([every[:, tables == t].mean(axis=1) for t in distinct], axis=1)
    return names, distinct, measures


def interval(values: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mean (k, trials) over tables of (k, t, trials), and its 95 % bootstrap interval."""
    rng = np.random.default_rng(0)
    n = values.shape[1]
    weights = rng.multinomial(n, np.full(n, 1 / n), size=RESAMPLES) / n
    drawn = np.einsum("bt,ktm->bkm", weights, values, optimize=True)
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
    return values.mean(axis=1), low, high


def results(names: list[str], tables: pd.Index, measures: dict[str, FloatArray]) -> pd.DataFrame:
    """One row per source, number of trials and optimizer."""
    sources = np.array([table.split("/")[0] for table in tables])
    lines = []
    for source in ["all", *dict.fromkeys(sources)]:
        is_here = np.full(len(tables), True) if source == "all" else sources == source
        stated = {key: interval(values[:, is_here]) for key, values in measures.items()}
        n_trials = measures["regret"].shape[2]
        for trials in (t for t in SHOWN if t <= n_trials):
            for k, name in enumerate(names):
                line: dict[str, Any] = {
                    "source": source,
                    "n_tables": int(is_here.sum()),
                    "trials": trials,
                    "optimizer": name,
                }
                for key, (mean, low, high) in stated.items():
                    line[key] = mean[k, trials - 1]
                    line[f"{key}_low"] = low[k, trials - 1]
                    line[f"{key}_high"] = high[k, trials - 1]
                lines.append(line)
    return pd.DataFrame(lines)


def _pyplot() -> Any:
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt

    return plt


def plot_curves(names: list[str], measures: dict[str, FloatArray], path: Path) -> None:
    """Every measure over trials with bands."""
    figure, axes = _pyplot().subplots(1, len(MEASURES), figsize=(26, 5), layout="constrained")
    for ax, (key, label) in zip(axes, MEASURES.items(), strict=True):
        mean, low, high = interval(measures[key])
        trials = np.arange(1, mean.shape[1] + 1)
        for k, name in enumerate(names):
            style = {"color": f"C{k % 10}", "ls": ("-", "--")[k // 10 % 2]}
            ax.plot(trials, mean[k], label=name, **style)
            ax.fill_between(trials, low[k], high[k], color=f"C{k % 10}", alpha=0.08, lw=0)
        ax.set(xlabel="trials", ylabel=label)
        if key in {"regret", "scaled_regret", "hyperparameter_rank"}:
            ax.set_yscale("log")
    axes[-1].legend(fontsize=8)
    figure.savefig(path, dpi=120)


def plot_optima(names: list[str], tables: pd.Index, optima: FloatArray, path: Path) -> None:
    """Share of tables whose optimum is found over trials, by source (as H18, figure 5.4)."""
    sources = np.array([table.split("/")[0] for table in tables])
    shown = list(dict.fromkeys(sources))
    figure, axes = _pyplot().subplots(
        1,
        len(shown),
        figsize=(5 * len(shown), 4.5),
        squeeze=False,
        sharey=True,
        layout="constrained",
    )
    for ax, source in zip(axes[0], shown, strict=True):
        for k, name in enumerate(names):
            mean = optima[k, sources == source].mean(axis=0)
            ax.plot(np.arange(1, len(mean) + 1), mean, label=name, color=f"C{k % 10}")
        ax.set(title=source, xlabel="trials", ylabel="share of optima found")
    axes[0][-1].legend(fontsize=8)
    figure.savefig(path, dpi=120)


def asks(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Median seconds by optimizer and number of observations."""
    frame = pd.DataFrame(
        [(r["optimizer"], r["n"], float(np.median(r["seconds"]))) for r in rows],
        columns=["optimizer", "observations", "seconds"],
    )
    return frame.pivot_table("seconds", "optimizer", "observations")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("--half", choices=["tuning", "reported", "both"], default="reported")
    parser.add_argument("--without", nargs="*", default=[], help="optimizers that are left out")
    options = parser.parse_args()
    rows = [
        row
        for row in read_lines(options.out / "cells.jsonl")
        if options.half in {"both", row["half"]} and row["optimizer"] not in options.without
    ]
    names, tables, measures = measure(rows)
    found = results(names, tables, measures)
    found.to_csv(options.out / "results.csv", index=False)
    plot_curves(names, measures, options.out / "curves.png")
    plot_optima(names, tables, measures["optima"], options.out / "optima.png")
    columns = ["optimizer", *MEASURES]
    for trials, group in found[found["source"] == "all"].groupby("trials"):
        print(f"\nafter {trials} trials, {group['n_tables'].iloc[0]} tables")
        print(group[columns].sort_values("scaled_regret").round(4).to_string(index=False))
    timed = read_lines(options.out / "asks.jsonl")
    if timed:
        asks(timed).to_csv(options.out / "asks.csv")
        print(f"\nseconds per ask\n{asks(timed).round(4)}")


if __name__ == "__main__":
    main()
