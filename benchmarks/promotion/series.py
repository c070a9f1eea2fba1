"""Series of retrainings: false promotions of models of equal truth, and power at true gains.

    python benchmarks/promotion/series.py

Prints the tables of README.md; 1,000 series of 12 retrainings for each cell.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from rows import KINDS, Kind
from scipy.optimize import brentq

from automl.records import FloatArray
from automl.statistics.block_jackknife import BlockComparison, blocks_of
from automl.statistics.spending import level_of_look

SERIES, RETRAININGS = 1000, 12
SIZES = (30, 100, 1000, 10_000)
ALPHA = 0.05
CELLS = 4_000_000
SEED = 20


def compared(
    kind: Kind, rng: np.random.Generator, count: int, n_rows: int, better: float
) -> BlockComparison:
    """`count` comparisons of two models on `n_rows` rows each, by the blocks that the promotion makes."""
    units = np.arange(n_rows) // kind.unit
    order = np.arange(n_rows) if kind.is_ordered else None
    blocks = blocks_of(units, order, rng=np.random.default_rng(SEED))
    sorting = np.argsort(blocks, kind="stable")
    starts = np.searchsorted(blocks[sorting], np.arange(blocks.max() + 1))
    parts = [
        np.add.reduceat(kind.gains(rng, (size, n_rows), better)[:, sorting], starts, axis=1)
        for size in _chunks(count, n_rows)
    ]
    return BlockComparison(np.concatenate(parts) / n_rows, np.bincount(blocks) / n_rows)


def _chunks(count: int, n_rows: int) -> Iterator[int]:
    most = max(1, CELLS // n_rows)
    yield from (min(most, count - start) for start in range(0, count, most))


def spent(exponent: float) -> FloatArray:
    """Level of each look."""
    looks = range(1, RETRAININGS + 1)
    return np.array([level_of_look(ALPHA, look, exponent) for look in looks])


def false_promotions() -> None:
    """Share of series with a promotion, by kind and rows, under several rules."""
    print("| rows | fresh rows | better score | each at 5 % | s=1.1 | s=1.5 | s=2 |")
    print("|---|---|---|---|---|---|---|")
    for place, kind in enumerate(KINDS):
        for n_rows in SIZES:
            if n_rows < 5 * kind.unit:
                continue
            rng = np.random.default_rng([SEED, place, n_rows])
            found = compared(kind, rng, SERIES * RETRAININGS, n_rows, 0.0)
            pvalues = found.pvalues().reshape(SERIES, RETRAININGS)
            rules = [found.differences.reshape(SERIES, RETRAININGS) > 0, pvalues <= ALPHA]
            rules += [pvalues <= spent(s) for s in (1.1, 1.5, 2.0)]
            shares = " | ".join(f"{100 * rule.any(axis=1).mean():.1f} %" for rule in rules)
            print(f"| {kind.name} | {n_rows:,} | {shares} |")


def better_for(kind: Kind, gain: float) -> float:
    """Share of error to leave out for a true gain of this many units of the index."""

    def lacking(better: float) -> float:
        rng = np.random.default_rng(SEED)
        return float(kind.gains(rng, (200, 5000), better).mean()) - gain

    return float(brentq(lacking, 0.0, 0.99, xtol=1e-3))


def power() -> None:
    """Chance of a promotion at a true gain, at the 1st, 4th and 12th look, and within 12 looks."""
    print("| rows | gain | fresh rows | s | look 1 | look 4 | look 12 | within 12 |")
    print("|---|---|---|---|---|---|---|---|")
    for place, kind in enumerate(KINDS[:3]):
        for gain in (0.01, 0.02, 0.05):
            better = better_for(kind, gain)
            for n_rows in SIZES[1:]:
                rng = np.random.default_rng([SEED, place, n_rows, round(1000 * gain)])
                found = compared(kind, rng, 200 * RETRAININGS, n_rows, better).pvalues()
                for s in (1.1, 1.5, 2.0):
                    _power_row(kind, gain, n_rows, s, found.reshape(-1, RETRAININGS))


def _power_row(kind: Kind, gain: float, n_rows: int, s: float, pvalues: FloatArray) -> None:
    level = spent(s)
    each = [(pvalues <= level[look - 1]).mean() for look in (1, 4, 12)]
    cells = [*each, (pvalues <= level).any(axis=1).mean()]
    shown = " | ".join(f"{100 * cell:.0f} %" for cell in cells)
    print(f"| {kind.name} | {100 * gain:.0f} % | {n_rows:,} | {s} | {shown} |")


if __name__ == "__main__":
    false_promotions()
    print()
    power()
