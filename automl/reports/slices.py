"""Parts of the table where the model errs more than elsewhere."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import norm

from automl.inference.column_schema import ColumnSchema
from automl.inference.schema import TableSchema
from automl.records import FloatArray
from automl.reports.column_values import value_words
from automl.reports.judged import JudgedRows

MOST_ROWS = 100_000
"""That are looked at: an error rate is then known to a three hundredth in a slice of a tenth."""
LEAST_ROWS = 30
"""Fewest rows of a slice, from which on a mean error is near normal (the usual rule)."""
LEAST_SHARE = 0.02
"""Share of the rows: smaller slices matter to few (by judgement)."""
MOST_CATEGORIES = 20
"""Most categories of a column that are looked at, the most frequent ones (by judgement)."""
N_QUANTILES = 4
"""Slices of a number, which then have a quarter of the rows each."""
LEVEL = 0.05
"""Level of the whole look: each slice is tested at this divided by their number (Bonferroni)."""


@dataclass(frozen=True)
class Slice:
    """Rows with something in common.

    Parameters
    ----------
    column, words : such as ``age`` and ``61 to 90``
    error : mean of the rows: share of wrong labels, or absolute error
    elsewhere : the same of all other rows
    pvalue : one-sided, that it is no greater than elsewhere (Welch)
    """

    column: str
    words: str
    rows: int
    error: float
    elsewhere: float
    pvalue: float


@dataclass(frozen=True)
class WeakSlices:
    """Slices that are worse than the rest beyond chance, worst first, and how many were looked at."""

    found: tuple[Slice, ...]
    looked_at: int
    rows: int

    @property
    def level(self) -> float:
        """Level of one test."""
        return LEVEL / max(self.looked_at, 1)


def weak_slices(rows: JudgedRows, schema: TableSchema) -> WeakSlices:
    """Where the error is greater than elsewhere, one column at a time."""
    sample = rows.sample(MOST_ROWS)
    if sample.labels is None:
        errors = np.abs(sample.y - sample.prediction).astype(np.float64)
    else:
        errors = (sample.labels != sample.y).astype(np.float64)
    least = max(LEAST_ROWS, math.ceil(LEAST_SHARE * len(sample)))
    slices = [
        _slice(column.name, words, inside, errors)
        for column in schema.columns
        for words, inside in _parts(column, sample.frame)
        if least <= inside.sum() <= len(sample) - least
    ]
    level = LEVEL / max(len(slices), 1)
    worse = [each for each in slices if each.pvalue < level]
    worse.sort(key=lambda each: each.elsewhere - each.error)
    return WeakSlices(tuple(worse), len(slices), len(sample))


def _parts(column: ColumnSchema, frame: pd.DataFrame) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """Slices of a column: categories, quarters of numbers and dates, missing values."""
    if column.role == "text":
        return
    values = frame[column.elapsed_output if column.role == "date" else column.outputs[0]]
    missing = np.asarray(pd.isna(values))
    if missing.any():
        yield "missing", missing
    if column.role == "nominal":
        for label in values.value_counts().index[:MOST_CATEGORIES]:
            yield value_words(column, str(label)), np.asarray(values == label)
        return
    numbers = np.asarray(values, dtype=np.float64)
    seen = numbers[~missing]
    if not len(seen):
        return
    cuts = np.unique(np.quantile(seen, np.linspace(0, 1, N_QUANTILES + 1)))
    for i, (low, high) in enumerate(pairwise(cuts)):
        is_last = i == len(cuts) - 2
        inside = (numbers >= low) & ((numbers <= high) if is_last else (numbers < high))
        until = "to" if is_last else "to below"
        yield f"{value_words(column, low)} {until} {value_words(column, high)}", inside


def _slice(column: str, words: str, inside: NDArray[np.bool_], errors: FloatArray) -> Slice:
    own, other = errors[inside], errors[~inside]
    spread = math.sqrt(own.var(ddof=1) / len(own) + other.var(ddof=1) / len(other))
    difference = float(own.mean() - other.mean())
    if not spread:
        return Slice(column, words, len(own), own[0], other[0], float(difference <= 0))
    pvalue = float(norm.sf(difference / spread))
    return Slice(column, words, len(own), float(own.mean()), float(other.mean()), pvalue)
