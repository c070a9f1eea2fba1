"""Replays allocations of turns to families on published scores of pipelines.

    python benchmarks/search/allocators.py METADATA_FOLDER OUT_FOLDER [--source matrix|flows]
        [--half tuning|reported] [--order prior|random] [--loss acc] [--seeds 10] [--lookback 1]

Every turn takes the next of its family's pipelines in a random order that is the same for all
allocators; a family whose pipelines are used up takes no more turns. The regret is the best
score of any pipeline minus the best found, which starts at the baseline's 0. One replay gives
the regret after a number of turns and, where the source has runtimes, after multiples of the
data set's mean seconds of a pipeline (a turn counts when it has ended). `oracle` is, per data
set and budget, the family that is best for it in the mean when it gets all turns: a bound that
needs the answer, though an allocation that changes families can beat it. `max_ucb` (Balef et al.
2025: best reward + (alpha ln t / n)^2 with alpha 0.5) is an outside reference.

Writes a file per allocator below OUT_FOLDER/parts (finished ones are not repeated), then
``SOURCE-HALF-ORDER-LOSS-SEEDS-LOOKBACK.csv`` with mean regrets, their 95 % bootstrap intervals over data sets, and
the difference to `expected_gain` (in turns) or `expected_gain_seconds` (in seconds) with its
interval, the mean rank (oracle and always-F left out), a plot of the same name, and prints the
table. About a minute of one core.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matrix import PipelineTable, half_of, read_flows, read_matrix

from automl.bandits.protocol import Allocator
from automl.bandits.registry import ALLOCATORS, get_allocator
from automl.bandits.rewards import Pulls, Rewards
from automl.randomness import Purpose, stream
from automl.records import Configuration, FloatArray, IntArray, Trial, TrialStatus

TURNS = {
    "matrix": (1, 2, 3, 5, 7, 10, 15, 20, 25, 35, 50, 75, 100),
    "flows": (1, 2, 3, 5, 7, 10, 15, 20, 25, 35, 50, 75, 100, 150, 200),
}
MULTIPLES = (0.5, 1, 2, 3, 5, 7, 10, 15, 20, 25, 35, 50)
SHOWN = {"turns": (5, 10, 25, 50, 75, 100, 200), "seconds": (1, 2, 5, 10, 25, 50)}
REFERENCE = {"turns": "expected_gain", "seconds": "expected_gain_seconds"}
ALWAYS = {
    "matrix": ["random_forest", "gradient_boosting"],
    "flows": ["random_forest", "adaboost", "svm"],
}
RESAMPLES = 2000
ORACLE, MAX_UCB = "oracle", "max_ucb"


class MaxUcb:
    """Best reward plus (alpha ln t / n)^2: Balef, Vernade and Eggensperger (2025), equation 1."""

    def __init__(self, alpha: float = 0.5) -> None:
        self._alpha = alpha
        self._rewards = Rewards()

    def choose(
        self, arms: Sequence[str], *, pending: Sequence[str], rng: np.random.Generator
    ) -> str:
        pulls = Pulls(self._rewards, arms, pending)
        new = pulls.wanting()

        def bound(arm: str) -> float:
            padding = self._alpha * log(pulls.total) / pulls.of(arm)
            return self._rewards.of(arm).best + padding**2

        return max(arms, key=bound) if new is None else new

    def update(self, trial: Trial) -> None:
        self._rewards.add(trial)


class Replay:
    """One data set with one order of its pipelines."""

    def __init__(self, table: PipelineTable, *, seed: int, order: str, n_turns: int) -> None:
        rng = stream(seed, Purpose.SAMPLE, table.number)
        self._table, self._seed = table, seed
        arms = list(table.scores)
        self._arms = [arms[i] for i in rng.permutation(len(arms))] if order == "random" else arms
        self._order = {arm: rng.permutation(len(scores)) for arm, scores in table.scores.items()}
        self._n_turns = min(n_turns, sum(len(o) for o in self._order.values()))
        self._configurations = {arm: Configuration(arm) for arm in arms}

    def run(self, allocator: Allocator, lookback: int) -> tuple[FloatArray, FloatArray]:
        """Best score and seconds used after each turn."""
        taken = dict.fromkeys(self._arms, 0)
        untold: list[Trial] = []
        trials: list[Trial] = []
        for index in range(self._n_turns):
            arms = [arm for arm in self._arms if taken[arm] < len(self._order[arm])]
            rng = stream(self._seed, Purpose.ALLOCATOR, self._table.number, index)
            pending = [trial.configuration.family for trial in untold]
            arm = allocator.choose(arms, pending=pending, rng=rng)
            trial = self._trial(index, arm, taken[arm])
            taken[arm] += 1
            trials.append(trial)
            untold.append(trial)
            if len(untold) >= lookback:
                allocator.update(untold.pop(0))
        scores = np.array([trial.score for trial in trials])
        seconds = np.array([trial.seconds for trial in trials])
        return np.maximum.accumulate(np.maximum(scores, 0.0)), np.cumsum(seconds)

    def _trial(self, index: int, arm: str, position: int) -> Trial:
        pipeline = self._order[arm][position]
        return Trial(
            "replay",
            index,
            self._configurations[arm],
            TrialStatus.COMPLETE,
            float(self._table.scores[arm][pipeline]),
            seconds=float(self._table.seconds[arm][pipeline]),
        )


def regrets(
    table: PipelineTable, best: FloatArray, seconds: FloatArray, turns: Sequence[int]
) -> list[tuple[str, float, float]]:
    """Budget's unit, budget, and regret."""
    found = [("turns", float(n), table.best - best[min(n, len(best)) - 1]) for n in turns]
    if not table.has_seconds:
        return found
    for multiple in MULTIPLES:
        n = int(np.searchsorted(seconds, multiple * table.mean_seconds, side="right"))
        found.append(("seconds", float(multiple), table.best - (best[n - 1] if n else 0.0)))
    return found


def replay_all(name: str, tables: list[PipelineTable], options: argparse.Namespace) -> pd.DataFrame:
    """Regrets of one allocator on every table and seed."""
    turns = TURNS[options.source]
    make = MaxUcb if name == MAX_UCB else get_allocator(name).make
    rows = []
    for table in tables:
        for seed in range(options.seeds):
            replay = Replay(
                table,
                seed=seed,
                order=options.order,
                n_turns=turns[-1] if options.source == "flows" else sys.maxsize,
            )
            path = replay.run(make(), options.lookback)
            rows += [(name, table.number, seed, *row) for row in regrets(table, *path, turns)]
    return pd.DataFrame(rows, columns=["allocator", "table", "seed", "unit", "budget", "regret"])


def stem_of(options: argparse.Namespace) -> str:
    """What tells files of other options apart."""
    labels = (options.source, options.half, options.order, options.loss)
    return "-".join([*labels, str(options.seeds), str(options.lookback)])


def part(name: str, tables: list[PipelineTable], options: argparse.Namespace) -> pd.DataFrame:
    """Regrets of one allocator, from its file where it exists."""
    path = options.out / "parts" / f"{stem_of(options)}-{name.replace(':', '_')}.csv"
    if not path.exists():
        started = time.process_time()
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".part")
        replay_all(name, tables, options).to_csv(unfinished, index=False)
        unfinished.rename(path)
        print(f"{name}: {time.process_time() - started:.0f} s", flush=True)
    return pd.read_csv(path)


def collect(tables: list[PipelineTable], options: argparse.Namespace) -> pd.DataFrame:
    """Mean regret over seeds by allocator, unit, budget and table."""
    named = [
        name
        for name, entry in ALLOCATORS.items()
        if not entry.joins_families and (tables[0].has_seconds or not entry.reads_clock)
    ]
    named += [f"only:{family}" for family in ALWAYS[options.source]] + [MAX_UCB]
    keys = ["unit", "budget", "table"]
    means = [
        part(name, tables, options).groupby(["allocator", *keys])["regret"].mean().reset_index()
        for name in named
    ]
    arms = sorted({family for table in tables for family in table.scores})
    always = pd.concat([part(f"only:{family}", tables, options) for family in arms])
    oracle = always.groupby(["allocator", *keys])["regret"].mean().groupby(keys).min()
    return pd.concat([*means, oracle.reset_index().assign(allocator=ORACLE)], ignore_index=True)


def summarize(collected: pd.DataFrame) -> pd.DataFrame:
    """Mean over tables, and its difference to ours, with intervals; budget 0 is the mean of all."""
    overall = collected.groupby(["allocator", "unit", "table"])["regret"].mean().reset_index()
    everything = pd.concat([overall.assign(budget=0.0), collected], ignore_index=True)
    rng = np.random.default_rng(0)
    rows = []
    for (unit, budget), group in everything.groupby(["unit", "budget"]):
        wide = group.pivot_table("regret", "table", "allocator")
        rivals = [name for name in wide.columns if name != ORACLE and not name.startswith("only")]
        ranks = wide[rivals].round(9).rank(axis=1).mean()
        drawn = rng.integers(len(wide), size=(RESAMPLES, len(wide)))
        for name in wide.columns:
            values = wide[name].to_numpy()
            behind = values - wide[REFERENCE[str(unit)]].to_numpy()
            intervals = (*_interval(values, drawn), *_interval(behind, drawn))
            rows.append((unit, budget, name, ranks.get(name), *intervals))
    labels = ["regret", "low", "high", "minus_ours", "minus_ours_low", "minus_ours_high"]
    return pd.DataFrame(rows, columns=["unit", "budget", "allocator", "rank", *labels])


def _interval(values: FloatArray, drawn: IntArray) -> tuple[float, float, float]:
    means = values[drawn].mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return float(values.mean()), float(low), float(high)


def show(summary: pd.DataFrame) -> None:
    """Print mean regrets in thousandths with their intervals.

    A star: the interval of the difference to ours excludes 0.
    """
    for unit, group in summary.groupby("unit"):
        chosen = group[group["budget"].isin([0.0, *SHOWN[str(unit)]])]
        cells = chosen.assign(cell=chosen.apply(_cell, axis=1))
        wide = cells.pivot_table("cell", "allocator", "budget", aggfunc="first")
        overall = group[group["budget"] == 0].set_index("allocator").sort_values("regret")
        wide.insert(0, "rank", overall["rank"].round(2))
        print(f"\nregret x 1000 by {unit} (0: mean over all budgets, as is the rank)")
        print(wide.loc[overall.index].to_string())


def _cell(row: pd.Series[float]) -> str:
    star = "*" if row["minus_ours_low"] > 0 or row["minus_ours_high"] < 0 else ""
    return f"{1000 * row['regret']:.2f} [{1000 * row['low']:.1f}, {1000 * row['high']:.1f}]{star}"


def plot(summary: pd.DataFrame, path: Path) -> None:
    """Regret over turns and seconds; ours with its interval."""
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt

    units = sorted(summary["unit"].unique(), reverse=True)
    figure, axes = plt.subplots(
        1, len(units), figsize=(7 * len(units), 6), squeeze=False, layout="constrained"
    )
    for ax, unit in zip(axes[0], units, strict=True):
        curves = summary[(summary["unit"] == unit) & (summary["budget"] > 0)]
        for number, (name, curve) in enumerate(curves.groupby("allocator")):
            is_ours = name == REFERENCE[unit]
            style: dict[str, Any] = {"lw": 1.1}
            if is_ours:
                style = {"color": "black", "lw": 2.5, "zorder": 9}
            if name == ORACLE:
                style |= {"color": "gray", "ls": ":"}
            elif not is_ours:
                style |= {"color": f"C{number % 10}", "ls": ("-", "--")[number // 10 % 2]}
            ax.plot(curve["budget"], curve["regret"], label=name, **style)
            if is_ours:
                ax.fill_between(
                    curve["budget"], curve["low"], curve["high"], color="black", alpha=0.12, lw=0
                )
        ax.set(xscale="log", yscale="log", ylabel="mean regret")
        ax.set_xlabel("turns" if unit == "turns" else "seconds / mean seconds of a pipeline")
    axes[0][-1].legend(loc="center left", bbox_to_anchor=(1, 0.5), fontsize=8)
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("metadata", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--source", choices=["matrix", "flows"], default="matrix")
    parser.add_argument("--half", choices=["tuning", "reported"], default="reported")
    parser.add_argument("--order", choices=["prior", "random"], default="prior")
    parser.add_argument("--loss", choices=["acc", "auc", "bac", "f1", "pac"], default="acc")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--lookback", type=int, default=1)
    options = parser.parse_args()
    if options.source == "flows" and options.loss != "acc":
        parser.error(f"--loss {options.loss}: the flows have the accuracy alone")
    tables = (
        read_matrix(options.metadata, loss=options.loss)
        if options.source == "matrix"
        else read_flows(options.metadata)
    )
    summary = summarize(collect(half_of(tables, options.half), options))
    summary.to_csv(options.out / f"{stem_of(options)}.csv", index=False)
    plot(summary, options.out / f"{stem_of(options)}.png")
    show(summary)


if __name__ == "__main__":
    main()
