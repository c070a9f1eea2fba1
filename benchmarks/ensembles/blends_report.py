"""Ways to blend beside greedy selection, paired over tables.

    python benchmarks/ensembles/blends_report.py OUT_FOLDER [--metric index] [--beside greedy] [--classes]

Difference of the homogenized score times 1,000, positive is better: mean over tables, 95 % interval of the mean
by t, and tables on which a way is better : worse. Seeds of a table are averaged first. With ``--classes`` only tables of
classes.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import t
from searches import NUMBERS

LEAST_TABLES = 2
"""An interval needs two."""
SAME = 1e-6
"""Differences up to which two ways are the same one."""


def text(lines: pd.DataFrame, beside: str) -> str:
    """The comparison as a table of Markdown, one column for each number of trials."""
    wide = lines.pivot_table(index=["trials", "table", "seed"], columns="way", values="score")
    differences = wide.sub(wide[beside], axis=0) * 1000.0
    by_table = differences.groupby(["trials", "table"]).mean()
    counts = sorted(lines["trials"].unique())
    parts = [f"| beside {beside} | " + " | ".join(f"{n} trials" for n in counts) + " | all |"]
    parts.append("|---|" + "---|" * (len(counts) + 1))
    together = by_table.groupby("table").mean()
    for way in lines["way"].unique():
        cells = [
            _cell(each[way].dropna()) for each in (*(by_table.loc[n] for n in counts), together)
        ]
        parts.append(f"| {way.replace('|', 'or')} | " + " | ".join(cells) + " |")
    return "\n".join(parts)


def _cell(values: pd.Series[float]) -> str:
    if len(values) < LEAST_TABLES:
        return "-"
    half = t.ppf(0.975, len(values) - 1) * values.std() / np.sqrt(len(values))
    better, worse = int((values > SAME).sum()), int((values < -SAME).sum())
    return f"{values.mean():+.1f} ± {half:.1f} ({better}:{worse})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--metric", default=None)
    parser.add_argument("--beside", default="greedy")
    parser.add_argument("--classes", action="store_true")
    options = parser.parse_args()
    lines = pd.read_json(options.out / f"blends-{options.metric or 'loss'}.jsonl", lines=True)
    if options.classes:
        lines = lines[~lines["table"].isin(NUMBERS)]
    print(text(lines, options.beside))


if __name__ == "__main__":
    main()
