"""Two models on the same new rows, by blocks of rows that belong together."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
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
    scores_without,
    shares_of,
)


@dataclass(frozen=True)
class Answers:
    """Predictions of a model for some rows.

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
    evidence : None if there is none, see `obstacle`
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
    weights = rows.weights if index.takes_weights else None
    scores = np.array(
        [scores_without(partial(_score, index, rows.y, weights, m), blocks) for m in (new, old)]
    )
    if not np.isfinite(scores).all():
        return Comparison(obstacle=f"the score is not defined on the {len(rows)} rows new to both")
    differences = scores[0] - scores[1]
    shares = shares_of(blocks, weights)
    parts = contributions(differences[0], differences[1:], shares)
    return Comparison(
        float(scores[0, 0]), float(scores[1, 0]), BlockComparison(parts[None], shares)
    )


def _score(
    index: PerformanceIndex,
    y: NDArray[Any],
    weights: FloatArray | None,
    model: Answers,
    rows: IntArray,
) -> float:
    return index.score(
        y[rows],
        model.prediction[rows],
        None if weights is None else weights[rows],
        labels=None if model.codes is None else model.codes[rows],
    )
