"""The gain of a bag of fold models over one of them, estimated before the bag is built.

A cross-validated score is that of single fold models, each trained without a share of the rows. The
final model is often the mean of all fold models. It is better: their errors partly cancel, and
together they have seen every row. Candidates are scored again on fresh folds, so R models that have
not seen a row have predicted it. The score of their mean shows the gain of R models over one.

Extrapolation beyond R: for a squared error the mean of m models gains (1 - 1/m) D, with D half the
mean squared distance of two of them, their variance where they are independent draws (the ambiguity
of [1]_). Two models of different repeats, both without a row, differ in 1/K of their training rows,
two of the same K folds in 1/(K - 1) of them; models whose differences are sums over the rows they do
not share therefore have

    D(same folds) = K / (K - 1) * D(repeats),
    gain of a bag of K = (1 - 1/K) D(same folds) = D(repeats) = R / (R - 1) * gain of R repeats,

whatever K is. It holds to first order, exactly for linear models and squared errors; for other scores
it is an estimate. No constant is fitted.

A measure of classes has a best and a worst value, and the sum can pass the best one: where the mean of two repeats halves the
errors of one, it leaves none. So there the mean of R models leaves a share s of what one of them misses to the ideal value, and
the bag leaves s ** (R / (R - 1)) of what the choice misses on all rows. That agrees to first order and never passes the ideal.

References
----------
.. [1] Krogh, Vedelsby (1995), Neural network ensembles, cross validation, and active learning.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from automl.inference.decision import DecisionRule
from automl.records import FloatArray
from automl.selection.honest import Gain
from automl.selection.scored_rows import Choice, ScoredRows

SCORE_IDEAL = 1.0
"""Best performance index."""


def bag_gain(rows: ScoredRows, repeats: Sequence[Sequence[NDArray[Any]]], choice: Choice) -> Gain:
    """Score and metrics of a bag of fold models less those of one of them; noise can make it negative.

    Parameters
    ----------
    rows
        How predictions are scored; its own are those that the gain is added to.
    repeats : each n members of (n, K) or (n,)
        Out-of-fold predictions by the models of different repeats of the folds. A member that has
        the same prediction in all of them adds nothing.
    choice
        What the bag is made of.

    Returns
    -------
        0 for fewer than two repeats and for what is not defined.
    """
    n_repeats = len(repeats)
    if n_repeats < 2:
        return Gain()
    alone, bag = (
        _values(rows, replace(rows, versions=versions).blends(choice), choice.rule)
        for versions in (repeats, [_means(repeats, choice)])
    )
    factor = n_repeats / (n_repeats - 1)
    gain = factor * (bag - alone)
    if rows.metrics is not None and rows.metrics.index.task.is_classification:
        ideals = np.array([SCORE_IDEAL, *rows.metrics.ideals])
        share = (ideals - bag) / np.where(alone < ideals, ideals - alone, np.nan)
        missing = ideals - _values(rows, rows.blends(choice), choice.rule)
        gain = np.where(share < 1, missing * (1 - share.clip(0) ** factor), gain)
    gain = np.where(np.isfinite(gain), gain, 0.0)
    return Gain(float(gain[0]), tuple(gain[1:].tolist()))


def _values(
    rows: ScoredRows, predictions: Sequence[NDArray[Any]], rule: DecisionRule | None
) -> FloatArray:
    """(1 + M,) score and metrics on all rows, maximized."""
    everything = np.ones((1, len(rows.y)), dtype=np.float32)
    score = rows.score_under(predictions, everything[0], rule)
    return np.array([score, *rows.metrics_under(predictions, everything, rule)[:, 0]])


def _means(repeats: Sequence[Sequence[NDArray[Any]]], choice: Choice) -> list[NDArray[Any]]:
    """Mean over the repeats of each member with weight; the others as they are."""
    means = list(repeats[0])
    for member in map(int, np.flatnonzero(choice.weights)):
        versions = np.stack([repeat[member] for repeat in repeats])
        means[member] = versions.mean(axis=0, dtype=np.float64)
    return means
