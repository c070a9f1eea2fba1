"""What `time_curve.py` has found: ``python benchmarks/time_curve/curve_report.py OUT_FOLDER``.

Printed as Markdown. Budgets are compared in pairs, on the same table, seed and rows. The noise of a
table's difference is the greater of two standard errors: that over the seeds, and that over the draws
of the rows (the mean over the seeds, whose rows differ); of three seeds the first alone may be small
by chance. Differences of the mean over tables have the standard error over tables.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

FALL = 2.0
"""Standard errors by which a table must fall to be named."""

BUSY = 0.5
"""Load of the machine at which a run of seconds did not have it alone."""


def read(out: Path) -> list[dict[str, Any]]:
    """Records of all cells."""
    return [json.loads(file.read_text()) for file in sorted((out / "cells").glob("*.json"))]


def text(out: Path) -> str:
    """The whole report."""
    cells = read(out)
    if not cells:
        return "no cells"
    parts = []
    for is_trials, unit in ((False, "s"), (True, " trials")):
        own = [cell for cell in cells if cell["is_trials"] is is_trials]
        if own:
            parts += [means(own, unit), by_table(own, unit), falls(own, unit)]
    return "\n\n".join([*parts, *busy(cells)])


def scores(cells: list[dict[str, Any]]) -> pd.DataFrame:
    """(table, seed) x budget; cells that are not there are missing."""
    return pd.DataFrame(cells).pivot_table(
        index=["table", "seed"], columns="budget", values="score", aggfunc="first"
    )


def means(cells: list[dict[str, Any]], unit: str) -> str:
    """Mean over tables of each budget beside the one before it, where both have the same cells."""
    found = scores(cells)
    by_budget = found.groupby("table").mean()
    lines = [
        "| budget | tables | mean score | gain over the budget before ± standard error |",
        "|---|---|---|---|",
    ]
    before = None
    for budget in found.columns:
        column, gain = by_budget[budget].dropna(), ""
        if before is not None:
            differences = (found[budget] - found[before]).groupby("table").mean().dropna()
            gain = _with_error(differences.to_numpy())
        lines.append(f"| {budget:g}{unit} | {len(column)} | {column.mean():.4f} | {gain} |")
        before = budget
    return "\n".join(lines)


def _with_error(differences: np.ndarray) -> str:
    if not len(differences):
        return ""
    error = f" ± {_error(differences):.4f}" if len(differences) > 1 else ""
    return f"{differences.mean():+.4f}{error} ({len(differences)} tables)"


def by_table(cells: list[dict[str, Any]], unit: str) -> str:
    """Mean score over the seeds."""
    table = scores(cells).groupby("table").mean()
    lines = [
        "| table | " + " | ".join(f"{budget:g}{unit}" for budget in table.columns) + " |",
        "|---|" + "---|" * len(table.columns),
    ]
    for name, row in table.iterrows():
        shown = ["" if np.isnan(value) else f"{value:.4f}" for value in row]
        lines.append(f"| {name} | {' | '.join(shown)} |")
    return "\n".join(lines)


def falls(cells: list[dict[str, Any]], unit: str) -> str:
    """Tables whose score falls by more than its noise from any budget to a later one."""
    told = [
        f"- {name}: {difference:+.4f} ± {noise:.4f} from {first:g}{unit} to {second:g}{unit}"
        for name, first, second, difference, noise in compared(cells)
        if difference < -FALL * noise
    ]
    pairs = sum(1 for _ in compared(cells))
    head = f"{len(told)} of {pairs} pairs of budgets of a table fall by more than {FALL:g} standard errors"
    return "\n".join([head + (":" if told else "."), *told])


def compared(
    cells: list[dict[str, Any]],
) -> Iterator[tuple[str, float, float, float, float]]:
    """(table, budget, later budget, mean difference, its standard error) of what seeds both have."""
    known = {(c["table"], c["seed"], c["budget"]): c for c in cells}
    budgets = sorted({cell["budget"] for cell in cells})
    for name in sorted({cell["table"] for cell in cells}):
        seeds = sorted({cell["seed"] for cell in cells if cell["table"] == name})
        for first, second in (
            *pairwise(budgets),
            *([(budgets[0], budgets[-1])] if len(budgets) > 2 else []),
        ):
            both = [
                (known[name, seed, first], known[name, seed, second])
                for seed in seeds
                if {(name, seed, first), (name, seed, second)} <= known.keys()
            ]
            if both:
                yield name, first, second, *difference_of(both)


def difference_of(pairs: list[tuple[dict[str, Any], dict[str, Any]]]) -> tuple[float, float]:
    """Mean difference over seeds, and the greater of its two standard errors."""
    differences = np.array([later["score"] - earlier["score"] for earlier, later in pairs])
    drawn = [np.subtract(later["drawn"], earlier["drawn"]).var(ddof=1) for earlier, later in pairs]
    of_rows = float(np.sqrt(np.sum(drawn)) / len(pairs))
    of_seeds = _error(differences) if len(differences) > 1 else 0.0
    return float(differences.mean()), max(of_rows, of_seeds)


def _error(values: np.ndarray) -> float:
    """Standard error of the mean."""
    return float(values.std(ddof=1) / np.sqrt(len(values)))


def busy(cells: list[dict[str, Any]]) -> list[str]:
    """Cells of seconds that did not have the machine alone."""
    names = [
        f"{cell['table']} {cell['budget']:g} s seed {cell['seed']} (load {cell['load']:.1f})"
        for cell in cells
        if not cell["is_trials"] and cell["load"] > BUSY
    ]
    if not names:
        return []
    return [
        f"{len(names)} cells began beside other work, their seconds mean little: {', '.join(names)}"
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    print(text(parser.parse_args().out))


if __name__ == "__main__":
    main()
