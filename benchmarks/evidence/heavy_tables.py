"""Made-up regression tables whose errors, targets or columns have heavy tails.

Each has as many rows to learn from as asked and eight times as many that nothing touches: a heavy
tail leaves little to be seen in a few hundred untouched rows.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from automl.records import FloatArray

UNTOUCHED = 8
"""Untouched rows for each one to learn from."""

N_COLUMNS = 11
LEARNED_ROWS = (600, 4_500)
TARGET = "y"


def _signal(x: FloatArray) -> FloatArray:
    """A smooth function with interactions, standard deviation about 1, (n,) from (n, columns)."""
    found = 0.6 * x[:, 0] + 0.5 * np.tanh(2 * x[:, 1] * x[:, 2]) + 0.4 * np.maximum(x[:, 3], 0)
    return np.asarray(found + 0.3 * x[:, 4] * (x[:, 5] > 0))


def _gaussian(rng: np.random.Generator, n: int) -> tuple[FloatArray, FloatArray]:
    x = rng.normal(size=(n, N_COLUMNS))
    return x, _signal(x)


def lognormal(rng: np.random.Generator, n: int) -> tuple[FloatArray, FloatArray]:
    """A price: the logarithm has normal errors, so the squared errors have a long tail."""
    x, signal = _gaussian(rng, n)
    return x, np.exp(signal + 0.5 * rng.normal(size=n))


def pareto(rng: np.random.Generator, n: int) -> tuple[FloatArray, FloatArray]:
    """A claim: a factor with tail index 3, so that squared errors have no variance."""
    x, signal = _gaussian(rng, n)
    return x, np.exp(0.7 * signal) * (1 + rng.pareto(3.0, n))


def student(rng: np.random.Generator, n: int) -> tuple[FloatArray, FloatArray]:
    """Additive errors of Student's t with three degrees of freedom."""
    x, signal = _gaussian(rng, n)
    return x, signal + 0.4 * rng.standard_t(3, n)


def spikes(rng: np.random.Generator, n: int) -> tuple[FloatArray, FloatArray]:
    """One row in 500 is forty standard deviations away, whatever its columns say."""
    x, signal = _gaussian(rng, n)
    return x, signal + 0.3 * rng.normal(size=n) + 40 * (rng.random(n) < 0.002)


def columns(rng: np.random.Generator, n: int) -> tuple[FloatArray, FloatArray]:
    """Three columns with tails of index 2.5; the target follows them, but only up to a point.

    A model that extrapolates is very wrong on a few rows.
    """
    x = rng.normal(size=(n, N_COLUMNS))
    x[:, 6:9] = rng.pareto(2.5, size=(n, 3)) * rng.choice([-1, 1], size=(n, 3))
    bend = np.tanh(x[:, 6]) + 0.5 * np.log1p(np.abs(x[:, 7])) * np.sign(x[:, 7])
    return x, _signal(x) + bend + 0.3 * rng.normal(size=n)


def product_columns(rng: np.random.Generator, n: int) -> tuple[FloatArray, FloatArray]:
    """A quantity times a price, both with long tails: few rows carry most of the target's variance."""
    x = rng.normal(size=(n, N_COLUMNS))
    x[:, :2] = np.exp(0.8 * x[:, :2])
    return x, x[:, 0] * x[:, 1] * np.exp(0.3 * x[:, 2] + 0.2 * rng.normal(size=n))


Maker = Callable[[np.random.Generator, int], tuple[FloatArray, FloatArray]]
MAKERS: dict[str, Maker] = {
    maker.__name__: maker
    for maker in (lognormal, pareto, student, spikes, columns, product_columns)
}


def names() -> list[str]:
    """``lognormal-600`` and so on: the maker and the rows to learn from."""
    return [f"{maker}-{n_rows}" for n_rows, maker in product(LEARNED_ROWS, MAKERS)]


def table_settings(folder: Path, name: str, seed: int) -> dict[str, Any]:
    """Settings of a run on a table, which is written to `folder` if it is not there yet."""
    maker, learned = name.rsplit("-", 1)
    path = folder / f"{name}-{seed}.csv"
    if not path.exists():
        write(path, maker, (1 + UNTOUCHED) * int(learned), seed)
    return {
        "table": str(path.resolve()),
        "target": TARGET,
        "task": "regression",
        "test_share": UNTOUCHED / (1 + UNTOUCHED),
    }


def write(path: Path, maker: str, n_rows: int, seed: int) -> None:
    """One table as CSV."""
    rng = np.random.default_rng([seed, list(MAKERS).index(maker)])
    x, y = MAKERS[maker](rng, n_rows)
    frame = pd.DataFrame(x, columns=[f"x{i}" for i in range(x.shape[1])]).assign(**{TARGET: y})
    path.parent.mkdir(parents=True, exist_ok=True)
    frame.to_csv(path, index=False, float_format="%.6g")
