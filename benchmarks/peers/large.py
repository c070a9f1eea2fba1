"""Generated large tables, in the form of the data folder: ``large.py OUT [--rows 1430000] [--seed 0]``.

Three tables of 14 numbers, an eighth of one missing, and three nominal columns of 8, 300 and 5,000 categories: `rare`
has two classes, one of them 3 % of the rows; `kinds` has seven classes, the rarest 0.2 %; `amounts` has numbers.
The truth is a smooth function with interactions and steps, an effect of each category, and noise. `peers.py OUT … --tables
rare kinds amounts` takes 70 % of the rows for training: 1,001,000 with the default.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

ROWS = 1_430_000
N_NUMBERS = 14
N_SYMMETRIC = 10
"""Normal; the others are lognormal."""
N_CATEGORIES = {"region": 8, "branch": 300, "item": 5000}
MISSING_SHARE = 0.125
RARE_SHARE = 0.03
KIND_SHARES = (0.4, 0.25, 0.15, 0.1, 0.07, 0.028, 0.002)
DECIMALS = 4
"""Of the numbers in the file: a third of the size, and far finer than the noise."""

Floats = NDArray[np.float64]


class Columns:
    """Numbers and categories of so many rows, and truths of them."""

    def __init__(self, n_rows: int, rng: np.random.Generator) -> None:
        self._rng = rng
        self._normal = rng.normal(size=(n_rows, N_NUMBERS))
        self._codes = {
            name: np.minimum(rng.zipf(1.3, n_rows) - 1, rng.integers(n, size=n_rows)) % n
            for name, n in N_CATEGORIES.items()
        }

    def truth(self) -> Floats:
        """(n,) another function of the columns at each call, of mean 0 and deviation 1."""
        rng, x = self._rng, self._normal
        order = rng.permutation(N_NUMBERS)
        a, b, c, d, e = (x[:, column] for column in order[:5])
        smooth = np.sin(2 * a) + a * b + np.tanh(c) * d
        steps = sum(
            rng.normal() * ((x[:, i] > rng.normal()) & (x[:, j] < rng.normal()))
            for i, j in rng.integers(N_NUMBERS, size=(12, 2))
        )
        effects = sum(rng.normal(size=n)[self._codes[name]] for name, n in N_CATEGORIES.items())
        found = smooth + steps + 0.7 * effects * (1 + 0.3 * (e > 0))
        return np.asarray((found - found.mean()) / found.std())

    def frame(self) -> pd.DataFrame:
        """As a table, with missing numbers in one column."""
        numbers = np.c_[self._normal[:, :N_SYMMETRIC], np.exp(self._normal[:, N_SYMMETRIC:])]
        frame = pd.DataFrame(numbers.round(DECIMALS)).add_prefix("x")
        frame.loc[self._rng.random(len(frame)) < MISSING_SHARE, "x0"] = np.nan
        for name, codes in self._codes.items():
            frame[name] = np.char.add(f"{name}-", codes.astype(str))
        return frame


def rare(columns: Columns, rng: np.random.Generator) -> tuple[str, NDArray[np.str_]]:
    """Two classes; the rare one has the largest noisy truths."""
    truth = columns.truth()
    noisy = truth + 0.5 * rng.logistic(size=len(truth))
    return "binary", np.where(noisy > np.quantile(noisy, 1 - RARE_SHARE), "yes", "no")


def kinds(columns: Columns, rng: np.random.Generator) -> tuple[str, NDArray[np.str_]]:
    """Seven classes, each the greatest of its noisy truth; offsets are learned so that the shares are about right."""
    truths = np.stack([columns.truth() for _ in KIND_SHARES])
    noisy = truths + 0.5 * rng.gumbel(size=truths.shape)
    offsets: Floats = np.zeros(len(KIND_SHARES))
    for _ in range(60):
        shares = np.bincount((noisy + offsets[:, None]).argmax(axis=0), minlength=len(offsets))
        offsets += 0.5 * np.log(np.array(KIND_SHARES) * noisy.shape[1] / np.maximum(shares, 1.0))
    return "multiclass", np.char.add("kind-", (noisy + offsets[:, None]).argmax(0).astype(str))


def amounts(columns: Columns, rng: np.random.Generator) -> tuple[str, Floats]:
    """Numbers with noise that is larger where the truth is."""
    truth = columns.truth()
    return "regression", (truth + 0.4 * np.exp(0.3 * truth) * rng.normal(size=len(truth))).round(5)


TARGETS: dict[
    str, Callable[[Columns, np.random.Generator], tuple[str, NDArray[np.str_] | Floats]]
] = {"rare": rare, "kinds": kinds, "amounts": amounts}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    lines, schema = [], {}
    for name, seed in zip(
        TARGETS, np.random.SeedSequence(options.seed).spawn(len(TARGETS)), strict=True
    ):
        rng = np.random.default_rng(seed)
        columns = Columns(options.rows, rng)
        task, target = TARGETS[name](columns, rng)
        columns.frame().assign(target=target).to_csv(options.out / f"{name}.csv", index=False)
        lines.append({"name": name, "task": task, "target": "target", "file": f"{name}.csv"})
        schema[name] = {"columns": dict.fromkeys(N_CATEGORIES, "nominal")}
    pd.DataFrame(lines).to_csv(options.out / "catalog.csv", index=False)
    (options.out / "schema.json").write_text(json.dumps(schema))


if __name__ == "__main__":
    main()
