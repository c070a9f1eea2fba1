"""How predictions and truth agree: confusion, ROC, precision and recall, calibration, residuals."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from automl.records import FloatArray, IntArray
from automl.reports.judged import JudgedRows

MOST_CELLS = 1_000_000
"""Rows times classes behind curves: sorting them takes a second; more rows move no line that is drawn."""
MOST_POINTS = 120
"""Most points of a curve, which is then a third of a unit from the whole one."""
MOST_CLASSES = 30
"""Most classes of a confusion matrix: cells of more could not be told apart at the width of a phone."""
OTHERS = "all others"
N_BINS = 10
"""Tenths, as reliability diagrams have them."""
NORMAL_QUANTILE = 1.959964
"""Standard normal quantile of 95 %, both sides."""


@dataclass(frozen=True)
class ConfusionTable:
    """Rows by what is true and what was predicted.

    Parameters
    ----------
    classes : K texts
    counts : (K, K), [true, predicted]
    """

    classes: tuple[str, ...]
    counts: IntArray

    @classmethod
    def of(cls, rows: JudgedRows) -> ConfusionTable:
        """Of classes; the rarest of many are counted as one."""
        assert rows.labels is not None
        n = len(rows.classes)
        cells = np.bincount(rows.y.astype(int) * n + rows.labels, minlength=n * n)
        counts = cells.reshape(n, n)
        if n <= MOST_CLASSES:
            return cls(rows.classes, counts)
        often = np.sort(np.argsort(-counts.sum(axis=1), kind="stable")[: MOST_CLASSES - 1])
        groups = np.full(n, len(often))
        groups[often] = np.arange(len(often))
        joined = np.zeros((len(often) + 1,) * 2, dtype=counts.dtype)
        np.add.at(joined, (groups[:, None], groups[None, :]), counts)
        return cls((*(rows.classes[i] for i in often), OTHERS), joined)

    @property
    def recalls(self) -> FloatArray:
        """(K,) share of each class that was found; NaN where it has no rows."""
        sizes = self.counts.sum(axis=1)
        return np.where(sizes > 0, self.counts.diagonal() / np.maximum(sizes, 1), np.nan)

    @property
    def precisions(self) -> FloatArray:
        """(K,) share of the rows with each prediction that are of the class; NaN where there are none."""
        sizes = self.counts.sum(axis=0)
        return np.where(sizes > 0, self.counts.diagonal() / np.maximum(sizes, 1), np.nan)


@dataclass(frozen=True)
class ClassCurve:
    """A curve of one class against all others, and the area below it.

    Parameters
    ----------
    thresholds : (n_points,)
        Least probability that is taken for the class at each point; infinite where nothing is.
    """

    name: str
    xs: FloatArray
    ys: FloatArray
    area: float
    thresholds: FloatArray


@dataclass(frozen=True)
class ClassCurves:
    """ROC and precision-recall curves of the same classes; of two classes those of one."""

    roc: tuple[ClassCurve, ...]
    precision_recall: tuple[ClassCurve, ...]
    shares: tuple[float, ...]


@dataclass(frozen=True)
class CalibrationBin:
    """Rows of similar predicted probability.

    Parameters
    ----------
    predicted : mean
    observed, low, high : share that came true, with its 95 % interval (Wilson)
    """

    predicted: float
    observed: float
    low: float
    high: float
    rows: int


@dataclass(frozen=True)
class Calibration:
    """Predicted probabilities beside what came true.

    Parameters
    ----------
    event : what the probability is of
    error : mean distance of both, weighted by rows (expected calibration error)
    """

    event: str
    bins: tuple[CalibrationBin, ...]
    error: float


@dataclass(frozen=True)
class ResidualBin:
    """Residuals (true - predicted) of rows of similar prediction: their median and middle eighty percent."""

    predicted: float
    low: float
    median: float
    high: float
    rows: int


def class_curves(rows: JudgedRows) -> ClassCurves:
    """Curves of each class that has rows, and rows of others."""
    from sklearn.metrics import (
        average_precision_score,
        precision_recall_curve,
        roc_auc_score,
        roc_curve,
    )

    sample = rows.sample(MOST_CELLS // len(rows.classes))
    codes = [rows.positive] if len(rows.classes) == 2 else range(len(rows.classes))
    roc, precision_recall, shares = [], [], []
    for code in codes:
        truth, scores = sample.y == code, sample.prediction[:, code]
        if not 0 < truth.sum() < len(truth):
            continue
        name = rows.classes[code]
        area = float(roc_auc_score(truth, scores))
        roc.append(_curve(name, *roc_curve(truth, scores), area=area))
        precision, recall, least = precision_recall_curve(truth, scores)
        area = float(average_precision_score(truth, scores))
        turned = recall[::-1], precision[::-1], np.array([np.inf, *least[::-1]])
        precision_recall.append(_curve(name, *turned, area=area))
        shares.append(float(truth.mean()))
    return ClassCurves(tuple(roc), tuple(precision_recall), tuple(shares))


def calibration(rows: JudgedRows) -> Calibration:
    """Calibration of the positive class's probability; with more classes, of the most probable class's."""
    if len(rows.classes) == 2:
        event = f"the class is {rows.classes[rows.positive]}"
        probability, came_true = rows.prediction[:, rows.positive], rows.y == rows.positive
    else:
        event, codes = "the most probable class is the right one", rows.prediction.argmax(axis=1)
        probability, came_true = rows.prediction.max(axis=1), rows.y == codes
    order = np.argsort(probability, kind="stable")
    parts = [part for part in np.array_split(order, N_BINS) if len(part)]
    bins = tuple(_bin(probability[part], came_true[part]) for part in parts)
    error = sum(b.rows * abs(b.predicted - b.observed) for b in bins) / len(rows)
    return Calibration(event, bins, error)


def residual_bins(rows: JudgedRows) -> tuple[ResidualBin, ...]:
    """Tenths of the rows by their prediction."""
    residual, order = rows.y - rows.prediction, np.argsort(rows.prediction, kind="stable")
    found = []
    for part in (part for part in np.array_split(order, N_BINS) if len(part)):
        low, median, high = (float(each) for each in np.percentile(residual[part], [10, 50, 90]))
        found.append(ResidualBin(float(rows.prediction[part].mean()), low, median, high, len(part)))
    return tuple(found)


def _bin(probability: FloatArray, came_true: NDArray[np.bool_]) -> CalibrationBin:
    n, share = len(came_true), float(came_true.mean())
    z2 = NORMAL_QUANTILE**2
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    reach = NORMAL_QUANTILE * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    low, high = min(middle - reach, share), max(middle + reach, share)  # rounding at 0 and 1
    return CalibrationBin(float(probability.mean()), share, low, high, n)


def _curve(
    name: str, xs: FloatArray, ys: FloatArray, thresholds: FloatArray, *, area: float
) -> ClassCurve:
    kept = thinned(xs, ys, MOST_POINTS)
    return ClassCurve(name, xs[kept], ys[kept], area, thresholds[kept])


def thinned(xs: FloatArray, ys: FloatArray, most: int) -> IntArray:
    """Points of a curve at about equal steps along both axes, the first and the last among them."""
    if len(xs) <= most:
        return np.arange(len(xs))
    length = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(xs)) + np.abs(np.diff(ys)))])
    kept = np.unique(np.searchsorted(length, np.linspace(0.0, length[-1], most)))
    return np.unique([0, *np.minimum(kept, len(xs) - 1), len(xs) - 1])
