"""Tables and plots of replays: ``report.py OUT_FOLDER [--half tuning|reported|both]``.

Reads what ``optimizers.py`` wrote, prints the main figures and writes into OUT_FOLDER:

- ``results.csv``: by source (`all`: every table counts the same), optimizer and 10, 25, 50 and 60
  trials, each measure of `MEASURES` with its 95 % interval;
- ``ahead.csv``: `--default` after 25 trials minus every outside optimizer after 50, in scaled
  regret (1: a configuration of median score), over the tables and seeds that both have;
- ``gbqr.csv``: `gbqr` minus `smac` after as many trials;
- ``curves.png``: every measure over trials; ``sources.png``: the same by source;
- ``gbqr.png``: `gbqr` against forests (van Hoof 2019, figures 5.4 and 5.8: best score so far as a
  share of the optimum, mean and standard deviation over tables; the tables have no run times);
- ``asks.csv``: median seconds of a tell and the following ask at 50, 200 and 1,000 observations.

Average ranks are those of Schilling et al. (2015), figures 3 and 4. Intervals are of the bootstrap
over data sets: the tables of several algorithms on one data set stay together. Only tables and
seeds that all optimizers have are compared; what that leaves out is printed. An optimizer that has
few tables can be left out with ``--without``.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from optimizers import read_lines
from replay import N_INITIAL, RANDOM, REFERENCES

from automl.comparison.curves import Bands, bands
from automl.comparison.ranks import method_ranks
from automl.records import BoolArray, FloatArray
from automl.settings.sources import resolve_settings

SHOWN = (10, 25, 50, 60)
OURS_AT, THEIRS_AT = 25, 50
RESAMPLES = 2000
FORESTS = ("smac", "smac3")
MEASURES = {
    "regret": "regret",
    "scaled_regret": "regret / (best - median)",
    "share_of_optimum": "best so far / optimum",
    "optima": "share of optima found",
    "rank": "average rank",
    "hyperparameter_rank": "average hyperparameter rank",
}
LOGARITHMIC = frozenset({"regret", "scaled_regret", "hyperparameter_rank"})
Place = tuple[str, str, int]
Cells = dict[str, dict[Place, dict[str, Any]]]


@dataclass(frozen=True)
class Comparison:
    """Optimizers on the tables and seeds that all of them have.

    Parameters
    ----------
    names : k optimizers
    sources, data_sets : (t,) of each table
    values : by measure (k, t, trials), means over seeds
    n_seeds : that all tables have at least
    """

    names: list[str]
    sources: pd.Index
    data_sets: pd.Index
    values: dict[str, FloatArray]
    n_seeds: int

    def interval(self, key: str, is_shown: BoolArray | None = None) -> Bands:
        """Of a measure over some of the tables, (k, trials)."""
        shown = np.full(len(self.data_sets), fill_value=True) if is_shown is None else is_shown
        return interval(self.values[key][:, shown], self.data_sets[shown])


def cells_of(rows: Sequence[dict[str, Any]]) -> Cells:
    """Replays by optimizer and place (source, table, seed), in the order of the rows.

    Raises
    ------
    SystemExit
        If a name stands for two definitions.
    """
    cells: Cells = {}
    definitions: dict[str, Any] = {}
    for row in rows:
        name = row["optimizer"]
        if definitions.setdefault(name, row["definition"]) != row["definition"]:
            raise SystemExit(f"{name} stands for two compositions; use a folder for each")
        cells.setdefault(name, {})[row["source"], row["table"], row["seed"]] = row
    return cells


def shared_places(cells: Cells) -> list[Place]:
    """Places that all optimizers have."""
    first, *others = cells.values()
    return [place for place in first if all(place in other for other in others)]


def compare(cells: Cells) -> Comparison:
    """Every measure of every optimizer.

    Raises
    ------
    SystemExit
        If there is no table and seed that all optimizers have.
    """
    places = shared_places(cells) if cells else []
    if not places:
        raise SystemExit("no table and seed that all optimizers have; leave one out (--without)")
    found = [measure([own[place] for own in cells.values()]) for place in places]
    shortest = min(one["regret"].shape[1] for one in found)
    tables = pd.MultiIndex.from_tuples([place[:2] for place in places])
    distinct = tables.unique()
    values = {}
    for key in MEASURES:
        every = np.stack([one[key][:, :shortest] for one in found], axis=1)
        values[key] = np.stack([every[:, tables == t].mean(axis=1) for t in distinct], axis=1)
    n_seeds = int(tables.value_counts().min())
    return Comparison(
        list(cells), distinct.get_level_values(0), distinct.get_level_values(1), values, n_seeds
    )


def measure(group: Sequence[dict[str, Any]]) -> dict[str, FloatArray]:
    """Every measure (k, trials) of k optimizers in one place."""
    length = min(len(row["scores"]) for row in group)
    best = np.array([np.maximum.accumulate(row["scores"][:length]) for row in group])
    regret = group[0]["best"] - best
    return {
        "regret": regret,
        "scaled_regret": regret / group[0]["scale"],
        "share_of_optimum": best / group[0]["best"],
        "optima": (regret <= 0.0).astype(float),
        "rank": method_ranks(-best),
        "hyperparameter_rank": np.array(
            [np.minimum.accumulate(row["ranks"][:length]) for row in group]
        ),
    }


def interval(values: FloatArray, data_sets: pd.Index) -> Bands:
    """Of (k, t, trials) over the t tables; tables of one data set are drawn together."""
    return bands(values, data_sets.to_numpy(), rng=np.random.default_rng(0), n_resamples=RESAMPLES)


def results(found: Comparison) -> pd.DataFrame:
    """One row per source, number of trials and optimizer."""
    lines = []
    n_trials = found.values["regret"].shape[2]
    for source in ["all", *found.sources.unique()]:
        is_here = np.asarray((found.sources == source) | (source == "all"))
        stated = {key: found.interval(key, is_here) for key in MEASURES}
        for trials in (t for t in SHOWN if t <= n_trials):
            for k, name in enumerate(found.names):
                line: dict[str, Any] = {
                    "source": source,
                    "n_tables": int(is_here.sum()),
                    "trials": trials,
                    "optimizer": name,
                }
                for key, of in stated.items():
                    line[key] = of.mean[k, trials - 1]
                    line[f"{key}_low"] = of.low[k, trials - 1]
                    line[f"{key}_high"] = of.high[k, trials - 1]
                lines.append(line)
    return pd.DataFrame(lines)


def difference(cells: Cells, ours: str, theirs: str, *, at: tuple[int, int]) -> dict[str, Any]:
    """Scaled regret of one optimizer minus that of another, each after its number of trials."""
    pair = compare({name: cells[name] for name in (ours, theirs)})
    regret = pair.values["scaled_regret"]
    behind = regret[0, :, at[0] - 1] - regret[1, :, at[1] - 1]
    stated = interval(behind[np.newaxis, :, np.newaxis], pair.data_sets)
    return {
        "ours": ours,
        "trials": at[0],
        "theirs": theirs,
        "their_trials": at[1],
        "n_tables": len(behind),
        "n_seeds": pair.n_seeds,
        "our_regret": regret[0, :, at[0] - 1].mean(),
        "their_regret": regret[1, :, at[1] - 1].mean(),
        "difference": stated.mean.item(),
        "low": stated.low.item(),
        "high": stated.high.item(),
    }


def ahead(cells: Cells, default: str) -> pd.DataFrame:
    """The default after 25 trials minus each outside optimizer after 50."""
    rivals = [name for name in cells if name in REFERENCES]
    at = (OURS_AT, THEIRS_AT)
    return pd.DataFrame([difference(cells, default, rival, at=at) for rival in rivals])


def order_of_gbqr(cells: Cells) -> pd.DataFrame:
    """GBQR minus each forest after as many trials."""
    rivals = [name for name in FORESTS if name in cells and "gbqr" in cells]
    return pd.DataFrame(
        [difference(cells, "gbqr", rival, at=(n, n)) for rival in rivals for n in SHOWN]
    )


def default_of(cells: Cells, named: str | None) -> str | None:
    """Ours in the paired statement: as named, else the preset's, else the first of ours.

    Raises
    ------
    SystemExit
        If the named one was not replayed.
    """
    if named is not None and named not in cells:
        raise SystemExit(f"--default {named} was not replayed; there are {', '.join(cells)}")
    preset = resolve_settings({"table": "none", "target": "none"}, environment={}).optimizer
    ours = [name for name in cells if name not in {RANDOM, *REFERENCES}]
    return named or next((n for n in (preset, *ours) if n in ours), None)


def what_is_left_out(cells: Cells) -> str:
    """One line about the tables and seeds that not all optimizers have, and who lacks them."""
    every = dict.fromkeys(place for own in cells.values() for place in own)
    shared = set(shared_places(cells))
    tables, kept = {p[:2] for p in every}, {p[:2] for p in shared}
    lacking = {name: len(every) - len(own) for name, own in cells.items() if len(own) < len(every)}
    told = ", ".join(f"{name} lacks {n}" for name, n in lacking.items()) or "nothing is lacking"
    return (
        f"compared on {len(kept)} of {len(tables)} tables, {len(shared)} of {len(every)} "
        f"(table, seed): {told}"
    )


def _pyplot() -> Any:
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt

    return plt


def _style(k: int) -> dict[str, Any]:
    return {"color": f"C{k % 10}", "ls": ("-", "--", ":")[k // 10 % 3], "lw": 1.4}


def _draw(ax: Any, found: Comparison, key: str, is_shown: BoolArray) -> None:
    means = found.values[key][:, is_shown].mean(axis=1)
    trials = np.arange(1, means.shape[1] + 1)
    for k, name in enumerate(found.names):
        ax.plot(trials, means[k], label=name, **_style(k))
    ax.set(xlabel="trials", ylabel=MEASURES[key])
    if key in LOGARITHMIC:
        ax.set_yscale("log")
    if key == "share_of_optimum":
        ax.set_ylim(bottom=float(means[:, N_INITIAL:].min()), top=1.0)


def _band(ax: Any, found: Comparison, key: str) -> None:
    stated = found.interval(key)
    trials = np.arange(1, stated.mean.shape[1] + 1)
    for k in range(len(found.names)):
        color = _style(k)["color"]
        ax.fill_between(trials, stated.low[k], stated.high[k], color=color, alpha=0.07, lw=0)


def plot_curves(found: Comparison, path: Path) -> None:
    """Every measure over trials with bands."""
    figure, axes = _pyplot().subplots(2, 3, figsize=(18, 10), layout="constrained")
    for ax, key in zip(axes.flat, MEASURES, strict=True):
        _draw(ax, found, key, np.full(len(found.sources), fill_value=True))
        _band(ax, found, key)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside right center")
    figure.savefig(path, dpi=100)


def plot_sources(found: Comparison, path: Path) -> None:
    """Scaled regret, share of optima and the two ranks by source; intervals are in the table."""
    keys = ("scaled_regret", "optima", "rank", "hyperparameter_rank")
    sources = list(found.sources.unique())
    figure, axes = _pyplot().subplots(
        len(keys),
        len(sources),
        figsize=(4.5 * len(sources) + 2, 4 * len(keys)),
        squeeze=False,
        layout="constrained",
    )
    for row, key in zip(axes, keys, strict=True):
        for ax, source in zip(row, sources, strict=True):
            is_here = np.asarray(found.sources == source)
            _draw(ax, found, key, is_here)
            ax.set_title(f"{source}, {is_here.sum()} tables")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside right center")
    figure.savefig(path, dpi=80)


def plot_gbqr(found: Comparison, path: Path) -> None:
    """Best so far as a share of the optimum with its standard deviation; share of optima."""
    shown = [n for n in ("gbqr", *FORESTS, "random") if n in found.names]
    figure, (left, right) = _pyplot().subplots(1, 2, figsize=(13, 5), layout="constrained")
    lowest = 0.999
    for k, name in enumerate(shown):
        share = found.values["share_of_optimum"][found.names.index(name)]
        trials = np.arange(1, share.shape[1] + 1)
        mean, deviation = share.mean(axis=0), share.std(axis=0)
        left.plot(trials, mean, label=name, **_style(k))
        left.fill_between(
            trials, mean - deviation, mean + deviation, color=f"C{k}", alpha=0.12, lw=0
        )
        lowest = min(lowest, float((mean - deviation)[N_INITIAL:].min()))
        optima = found.values["optima"][found.names.index(name)].mean(axis=0)
        right.plot(trials, optima, label=name, **_style(k))
    left.set(xlabel="trials", ylabel=f"{MEASURES['share_of_optimum']} (area: SD over tables)")
    left.set_ylim(lowest, 1.0)
    right.set(xlabel="trials", ylabel=MEASURES["optima"])
    right.legend()
    figure.savefig(path, dpi=100)


def asks(rows: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """Median wall and processor seconds by optimizer and number of observations."""
    columns = ["optimizer", "observations", "seconds", "cpu_seconds"]
    frame = pd.DataFrame(
        [
            (r["optimizer"], r["n"], np.median(r["seconds"]), np.median(r["cpu_seconds"]))
            for r in rows
        ],
        columns=columns,
    )
    return frame.pivot_table(["seconds", "cpu_seconds"], "optimizer", "observations")


def _show(title: str, frame: pd.DataFrame) -> None:
    if len(frame):
        print(f"\n{title}\n{frame.round(4).to_string(index=False)}")


def report(out: Path, rows: Sequence[dict[str, Any]], named: str | None) -> None:
    """Write and print everything."""
    cells = cells_of(rows)
    found = compare(cells)
    print(what_is_left_out(cells))
    table = results(found)
    table.to_csv(out / "results.csv", index=False)
    shown = ["optimizer", "scaled_regret", "scaled_regret_low", "scaled_regret_high"]
    shown += [key for key in MEASURES if key not in shown]
    for trials, group in table[table["source"] == "all"].groupby("trials"):
        _show(f"after {trials} trials", group[shown].sort_values("scaled_regret"))
    n_trials = found.values["regret"].shape[2]
    default = default_of(cells, named)
    if default is not None and n_trials >= THEIRS_AT:
        pairs = ahead(cells, default)
        pairs.to_csv(out / "ahead.csv", index=False)
        _show("scaled regret, ours earlier minus theirs (below 0: ours is better)", pairs)
    if n_trials >= SHOWN[-1]:
        pairs = order_of_gbqr(cells)
        pairs.to_csv(out / "gbqr.csv", index=False)
        _show("scaled regret, GBQR minus forests", pairs)
    plot_curves(found, out / "curves.png")
    plot_sources(found, out / "sources.png")
    plot_gbqr(found, out / "gbqr.png")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("--half", choices=["tuning", "reported", "both"], default="reported")
    parser.add_argument("--default", help="ours in the paired statement; else the preset's")
    parser.add_argument("--without", nargs="*", default=[], help="optimizers that are left out")
    options = parser.parse_args()
    rows = [
        row
        for row in read_lines(options.out / "cells.jsonl")
        if options.half in {"both", row["half"]} and row["optimizer"] not in options.without
    ]
    report(options.out, rows, options.default)
    timed = read_lines(options.out / "asks.jsonl")
    if timed:
        found = asks(timed)
        found.to_csv(options.out / "asks.csv")
        print(f"\nseconds of a tell and an ask\n{found.round(4).to_string()}")


if __name__ == "__main__":
    main()
