"""Columns as scores from 0 to 1 whose means can be compared between sets of rows.

A numeric column has its ranks and their distances from the middle, a nominal one an indicator for each
frequent category, either an indicator of missing values. So scores depend neither on units nor on the order of
columns, and no single value weighs much.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from automl.records import BoolArray, FloatArray, IntArray

MOST_CATEGORIES = 12
"""Most categories of a column, the most frequent: each is one more column, and rare ones say little of a mean."""
LEAST_ROWS = 10
"""Rows of a category whose share can be compared: of fewer, chance decides."""
N_BINS = 10
"""Strata of a regression target: tenths, so that a change of the target alone explains a column's (by
judgement)."""
N_NEIGHBORS = 10
"""Rows on either side: more make the mean steadier, fewer keep it of one time (by judgement)."""


@dataclass(frozen=True)
class ColumnScores:
    """Scores of the columns of a frame.

    Parameters
    ----------
    values : (n_rows, n_scores)
        No score is constant.
    columns : (n_scores,)
        Position of the column of each score.
    """

    values: FloatArray
    columns: IntArray

    @classmethod
    def of(cls, frame: pd.DataFrame) -> ColumnScores:
        """Scores of a typed frame, or of any frame of numbers and categories."""
        parts: list[tuple[FloatArray, IntArray]] = []
        dtypes = [frame.iloc[:, place].dtype for place in range(frame.shape[1])]
        is_numeric = np.array(
            [pd.api.types.is_numeric_dtype(dtype) for dtype in dtypes], dtype=bool
        )
        places = np.flatnonzero(is_numeric)
        ranks = frame.iloc[:, places].rank(pct=True).to_numpy(dtype=np.float64)
        missing = np.isnan(ranks)
        ranks = np.where(missing, 0.5, ranks)
        parts.append((ranks, places))
        parts.append((np.where(missing, 0.5, 2.0 * np.abs(ranks - 0.5)), places))
        parts.append((missing.astype(np.float64), places))
        for place in np.flatnonzero(~is_numeric).tolist():
            indicators = _indicators(frame.iloc[:, place])
            parts.append((indicators, np.full(indicators.shape[1], place)))
        values = np.hstack([part for part, _ in parts])
        columns = np.concatenate([owners for _, owners in parts]).astype(np.int64)
        varies = np.ptp(values, axis=0) > 0 if len(values) else np.zeros(len(columns), dtype=bool)
        return cls(values[:, varies], columns[varies])

    def within(self, strata: IntArray) -> ColumnScores:
        """What is left of the scores when each stratum's mean is taken off.

        Parameters
        ----------
        strata : (n_rows,), codes from 0
        """
        counts = np.bincount(strata)
        sums = np.zeros((len(counts), self.values.shape[1]))
        np.add.at(sums, strata, self.values)
        return replace(self, values=self.values - (sums / np.maximum(counts, 1)[:, None])[strata])

    def strongest(self, strength: FloatArray) -> dict[int, int]:
        """The score of greatest strength of each column that has one above 0, strongest column first."""
        order = np.argsort(-strength, kind="stable")
        first: dict[int, int] = {}
        for score in order[strength[order] > 0]:
            first.setdefault(int(self.columns[score]), int(score))
        return first


def _indicators(series: pd.Series) -> FloatArray:
    codes, _ = pd.factorize(series, use_na_sentinel=False)
    counts = np.bincount(codes)
    frequent = np.argsort(-counts, kind="stable")[:MOST_CATEGORIES]
    frequent = frequent[counts[frequent] >= LEAST_ROWS]
    is_one: BoolArray = codes[:, None] == frequent
    return is_one.astype(np.float64)


def target_strata(y: FloatArray | IntArray, *, is_classification: bool) -> IntArray:
    """Codes of rows with similar targets: classes, or tenths of the rows by their value."""
    if is_classification:
        return np.asarray(y, dtype=np.int64)
    ranks = pd.Series(y).rank(method="average", pct=True).to_numpy()
    return np.minimum((ranks * N_BINS).astype(np.int64), N_BINS - 1)


def neighbor_likeness(values: FloatArray) -> FloatArray:
    """Correlation of each row's score with the mean of the `N_NEIGHBORS` rows before and after it.

    Parameters
    ----------
    values : (n_rows, n_scores)

    Returns
    -------
    (n_scores,), in [-1, 1]
        About 0 in a random order, where its standard deviation is about ``1 / sqrt(n_rows)``.
    """
    centered = values - values.mean(axis=0)
    means = _neighbor_means(centered)
    norms = np.sqrt((centered**2).sum(axis=0) * (means**2).sum(axis=0))
    products: FloatArray = (centered * means).sum(axis=0)
    return np.where(norms > 0, products / np.where(norms > 0, norms, 1.0), 0.0)


def _neighbor_means(centered: FloatArray) -> FloatArray:
    n_rows = len(centered)
    sums = np.vstack([np.zeros((1, centered.shape[1])), np.cumsum(centered, axis=0)])
    rows = np.arange(n_rows)
    first = np.maximum(rows - N_NEIGHBORS, 0)
    last = np.minimum(rows + N_NEIGHBORS + 1, n_rows)
    means: FloatArray = (sums[last] - sums[first] - centered) / (last - first - 1)[:, None]
    return means
