"""Whether like neighbours matter: whether rows are predicted worse without the rows around them.

Nearest neighbours predict every row of a sample twice. Once its stretch of rows is left out, once as many
rows at random. Rows whose neighbours give nothing away are predicted equally well.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from automl.data.column_scores import ColumnScores
from automl.records import FloatArray, IntArray

N_RUNS = 40
"""Runs of neighbouring rows in the sample: a thousand rows, for which all distances take 0.08 s
(``benchmarks/preflight``)."""
RUN_ROWS = 25
"""Rows of a run. Runs are at equal distances: both near and far neighbours are among them."""
N_STRETCHES = 5
"""Parts of the rows that are left out one after the other, as folds usually are."""
N_DIVISIONS = 4
"""Into stretches that begin elsewhere; their mean is less noisy than one."""
N_NEIGHBORS = 8
"""By which a row is predicted; chosen on half of the tables of ``benchmarks/preflight``."""
LEAST_RATIO = 1.1
"""A tenth more errors on stretches: less makes no difference to a score (``benchmarks/preflight``)."""
LEAST_DEVIATIONS = 5.0
"""Fewest standard deviations of the paired differences; more than for independent rows, since those of a stretch err alike."""


@dataclass(frozen=True)
class StretchLosses:
    """Squared errors of the same rows, predicted from rows outside of their fold.

    Parameters
    ----------
    at_random, in_stretches : (n_rows,)
        Where the folds are rows at random, and where they are stretches of rows.
    """

    at_random: FloatArray
    in_stretches: FloatArray

    @property
    def is_larger(self) -> bool:
        """Whether the errors on stretches are clearly larger, by more than chance."""
        more = self.in_stretches - self.at_random
        error = float(more.std()) / np.sqrt(len(more))
        return (
            float(self.in_stretches.mean()) >= LEAST_RATIO * float(self.at_random.mean())
            and float(more.mean()) > LEAST_DEVIATIONS * error
        )


def errs_more_on_stretches(frame: pd.DataFrame, scores: FloatArray, strata: IntArray) -> bool:
    """Whether nearest neighbours err clearly more on stretches of rows than on rows at random.

    Parameters
    ----------
    frame : (n_rows, n_columns)
        Numbers and categories, rows in their order.
    scores : (n_rows, n_scores)
        The target: ranks, or an indicator of each class.
    strata : (n_rows,)
        Codes of rows with similar targets; every fold has its share of each, so that rows sorted by the
        target are no stretches without some of its values.
    """
    chosen = _runs(len(frame))
    scores, strata = scores[chosen], strata[chosen]
    nearest = _nearest_first(_positions(frame.iloc[chosen], scores))
    rng = np.random.default_rng(0)
    losses = []
    for start in np.arange(N_DIVISIONS) / N_DIVISIONS:
        stretches = _stretches(strata, start)
        if len(chosen) - np.bincount(stretches).max() < N_NEIGHBORS:
            return False
        shuffled = _shuffled_within(stretches, strata, rng)
        losses.append([_losses(scores, nearest, folds) for folds in (shuffled, stretches)])
    at_random, in_stretches = np.mean(losses, axis=0)
    return StretchLosses(at_random, in_stretches).is_larger


def _runs(n_rows: int) -> IntArray:
    """Positions of the sample, all rows where they are few."""
    if n_rows <= N_RUNS * RUN_ROWS:
        return np.arange(n_rows)
    starts = np.linspace(0, n_rows - RUN_ROWS, N_RUNS).astype(np.int64)
    return (starts[:, None] + np.arange(RUN_ROWS)).ravel()


def _positions(frame: pd.DataFrame, scores: FloatArray) -> FloatArray:
    """Rows as points whose coordinates weigh as much as they go with the target."""
    values = ColumnScores.of(frame).values
    values = (values - values.mean(axis=0)) / values.std(axis=0)
    varying = scores[:, np.ptp(scores, axis=0) > 0]
    targets = (varying - varying.mean(axis=0)) / varying.std(axis=0)
    relevance = np.abs(values.T @ targets / len(values)).max(axis=1, initial=0.0)
    points: FloatArray = values * np.maximum(relevance, 1 / np.sqrt(len(values)))
    return points


def _nearest_first(points: FloatArray) -> IntArray:
    """Of each row, all rows by their distance; itself last."""
    squares = (points**2).sum(axis=1)
    distances = squares[:, None] + squares - 2.0 * points @ points.T
    np.fill_diagonal(distances, np.inf)
    return np.argsort(distances, axis=1)


def _stretches(strata: IntArray, start: float) -> IntArray:
    """Codes of stretches of the rows of each stratum; from `start` of a stretch on, so the ends may be short."""
    places = pd.Series(strata).groupby(strata).cumcount().to_numpy()
    shares = places / np.bincount(strata)[strata]
    return (shares * N_STRETCHES + start).astype(np.int64)


def _shuffled_within(folds: IntArray, strata: IntArray, rng: np.random.Generator) -> IntArray:
    shuffled = folds.copy()
    for stratum in np.unique(strata):
        rows = np.flatnonzero(strata == stratum)
        shuffled[rows] = folds[rng.permutation(rows)]
    return shuffled


def _losses(scores: FloatArray, nearest: IntArray, folds: IntArray) -> FloatArray:
    """Squared error of each row, predicted by its nearest rows in other folds."""
    is_outside = folds[nearest] != folds[:, None]
    is_taken = is_outside & (np.cumsum(is_outside, axis=1) <= N_NEIGHBORS)
    neighbors = nearest[is_taken].reshape(len(scores), N_NEIGHBORS)
    losses: FloatArray = ((scores[neighbors].mean(axis=1) - scores) ** 2).sum(axis=1)
    return losses
