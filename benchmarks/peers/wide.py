"""Generated tables with more columns than rows, as splits of `peers.py`: ``wide.py OUT [--seeds 1]``.

The columns are correlated in blocks of twenty, as genes of one pathway are. `few` has 60 training rows and 2,000
columns, `more` has 200 and 10,000; both have two classes that ten of the blocks decide. `every` has 200 rows and
2,000 columns, and a number to which every block adds a little. Each has 1,000 test rows: the 18 rows that a share of 30 %
would leave to `few` tell nothing. Then `peers.py DATA … OUT --tables few more every` runs systems on them.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

BLOCK = 20
"""Columns that share a factor."""
SHARED = 0.6
"""Of a column's variance, by its block's factor."""
TEST_ROWS = 1_000
DECIMALS = 3
"""Of the numbers in the files, for their size."""


@dataclass(frozen=True)
class Shape:
    """Of a table; its target depends on so many blocks."""

    n_rows: int
    n_columns: int
    n_blocks: int
    is_classification: bool


SHAPES = {
    "few": Shape(60, 2_000, 10, is_classification=True),
    "more": Shape(200, 10_000, 10, is_classification=True),
    "every": Shape(200, 2_000, 100, is_classification=False),
}


def table(shape: Shape, rng: np.random.Generator) -> pd.DataFrame:
    """Training rows, then test rows; the noise of the target has a quarter of its variance."""
    n = shape.n_rows + TEST_ROWS
    factors = rng.normal(size=(n, shape.n_columns // BLOCK))
    signs = rng.choice([-1.0, 1.0], size=shape.n_columns)
    own = rng.normal(size=(n, shape.n_columns))
    columns = SHARED**0.5 * np.repeat(factors, BLOCK, axis=1) * signs + (1 - SHARED) ** 0.5 * own
    weights = rng.normal(size=shape.n_blocks)
    truth = factors[:, : shape.n_blocks] @ weights / np.linalg.norm(weights)
    noisy = 0.75**0.5 * truth + 0.25**0.5 * rng.normal(size=n)
    frame = pd.DataFrame(columns.round(DECIMALS)).add_prefix("x")
    if shape.is_classification:
        return frame.assign(target=np.where(noisy > 0, "yes", "no"))
    return frame.assign(target=noisy.round(DECIMALS))


def write(out: Path, name: str, seed: int) -> None:
    """Training rows, test rows and what every system is told of them."""
    shape = SHAPES[name]
    rng = np.random.default_rng([seed, list(SHAPES).index(name)])
    frame = table(shape, rng)
    folder = out / name / f"seed-{seed}"
    folder.mkdir(parents=True, exist_ok=True)
    frame.iloc[: shape.n_rows].to_csv(folder / "train.csv", index=False)
    frame.iloc[shape.n_rows :].to_csv(folder / "test.csv", index=False)
    task = "binary" if shape.is_classification else "regression"
    split = {"name": name, "target": "target", "task": task, "nominal": []}
    (folder / "split.json").write_text(json.dumps(split))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    options = parser.parse_args()
    for name in SHAPES:
        for seed in options.seeds:
            write(options.out, name, seed)


if __name__ == "__main__":
    main()
