"""Two models on the same new rows, by blocks of rows that belong together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from automl.data.table import Table
from automl.metrics.index import PerformanceIndex
from automl.records import FloatArray, IntArray
from automl.statistics.block_jackknife import (
    LEAST_BLOCKS,
    BlockComparison,
    blocks_of,
    contributions,
)


@dataclass(frozen=True)
class Answers:
    """What a model says of some rows.

    Parameters
    ----------
    prediction : (n, K) probabilities, or (n,) values
    codes : (n,) classes that it decides on; None for regression
    """

    prediction: NDArray[np.float32]
    codes: IntArray | None = None


@dataclass(frozen=True)
class Comparison:
    """Scores of two models on the same rows.

    Parameters
    ----------
    evidence : None where there is none, see `obstacle`
    obstacle : why the scores cannot be compared; empty if they can
    """

    new: float = float("nan")
    old: float = float("nan")
    evidence: BlockComparison | None = None
    obstacle: str = ""


def compare_models(
    index: PerformanceIndex, rows: Table, new: Answers, old: Answers, *, rng: np.random.Generator
) -> Comparison:
    """Difference of the scores of two models, and what each block of rows contributes to it.

    A block holds whole groups, or neighbours in time, or else equal rows; see
    `automl.statistics.block_jackknife.blocks_of`.
    """
    units: NDArray[Any] = rows.row_digests if rows.groups is None else np.asarray(rows.groups)
    blocks = blocks_of(units, rows.time, rng=rng)
    n_blocks = int(blocks.max()) + 1
    if n_blocks < LEAST_BLOCKS:
        what = "different rows" if rows.groups is None else "groups"
        return Comparison(
            obstacle=f"the {len(rows)} rows new to both are {n_blocks} {what}, of which at least "
            f"{LEAST_BLOCKS} are needed"
        )
    kept = [np.arange(len(rows)), *(np.flatnonzero(blocks != j) for j in range(n_blocks))]
    models = (new, old)
    scores = np.array([[_score(index, rows, each, model) for each in kept] for model in models])
    if not np.isfinite(scores).all():
        return Comparison(obstacle=f"the score is not defined on the {len(rows)} rows new to both")
    differences = scores[0] - scores[1]
    shares = _shares(index, rows, blocks)
    parts = contributions(differences[0], differences[1:], shares)
    return Comparison(
        float(scores[0, 0]), float(scores[1, 0]), BlockComparison(parts[None], shares)
    )


def _shares(index: PerformanceIndex, rows: Table, blocks: IntArray) -> FloatArray:
    """(b,) share of each block in the weight of the rows."""
    is_weighted = index.takes_weights and rows.weights is not None
    counts = np.bincount(blocks, weights=rows.weights if is_weighted else None).astype(float)
    return np.asarray(counts / counts.sum())


def _score(index: PerformanceIndex, rows: Table, kept: IntArray, model: Answers) -> float:
    """Performance index of some rows; NaN where it is not defined, as without any positive row."""
    is_weighted = index.takes_weights and rows.weights is not None
    try:
        return index.score(
            np.asarray(rows.y)[kept],
            model.prediction[kept],
            np.asarray(rows.weights)[kept] if is_weighted else None,
            labels=None if model.codes is None else model.codes[kept],
        )
    except ValueError:
        return float("nan")
