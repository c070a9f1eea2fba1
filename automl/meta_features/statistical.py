"""Statistical meta-features: moments, correlations, and the order of the rows (H18, section 2.3.1)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from automl.meta_features.feature import Group, MetaFeature, Target, summaries
from automl.meta_features.time_limit import UndefinedError
from automl.meta_features.view import (
    MOST_CORRELATED,
    View,
    standardized_columns,
)
from automl.records import FloatArray

_SECTION = "H18, section 2.3.1"
_IMPORTANT = "H18, section 6.3.3"
_STATLOG = "Michie et al. (1994), StatLog"
OUTLIER_RANGES = 1.5
"""Tukey's fences: so many interquartile ranges beyond the quartiles."""
VARIANCE_SHARE = 0.95
"""Share of the principal components, as usual for this feature."""


def skewness(X: FloatArray) -> FloatArray:
    """(q,) sample skewness of the columns, corrected for bias; NaN below three values or without spread."""
    n, (m2, m3, _) = _moments(X)
    with np.errstate(invalid="ignore", divide="ignore"):
        values = np.sqrt(n * (n - 1.0)) / (n - 2.0) * m3 / m2**1.5
    return np.where((n > 2) & (m2 > 0.0), values, np.nan)


def kurtosis(X: FloatArray) -> FloatArray:
    """(q,) sample excess kurtosis, corrected for bias; NaN below four values or without spread."""
    n, (m2, _, m4) = _moments(X)
    with np.errstate(invalid="ignore", divide="ignore"):
        excess = m4 / m2**2 - 3.0
        values = (n - 1.0) / ((n - 2.0) * (n - 3.0)) * ((n + 1.0) * excess + 6.0)
    return np.where((n > 3) & (m2 > 0.0), values, np.nan)


def _moments(X: FloatArray) -> tuple[FloatArray, tuple[FloatArray, ...]]:
    """Number of values of each column and their central moments 2, 3 and 4, after scaling to 1."""
    is_present = ~np.isnan(X)
    n = is_present.sum(axis=0).astype(float)
    Z = standardized_columns(X)
    some = np.maximum(n, 1.0)
    return n, tuple((Z**power).sum(axis=0) / some for power in (2, 3, 4))


def outlier_shares(X: FloatArray) -> FloatArray:
    """(q,) share of the known values of each column outside of Tukey's fences; NaN without any."""
    shares = np.full(X.shape[1], np.nan)
    for column, values in enumerate(X.T):
        present = values[~np.isnan(values)]
        if len(present):
            low, high = np.quantile(present, [0.25, 0.75])
            reach = OUTLIER_RANGES * (high - low)
            shares[column] = np.mean((present < low - reach) | (present > high + reach))
    return shares


def autocorrelation(y: FloatArray, *, has_classes: bool) -> float:
    """How alike the targets of consecutive rows are, in [0, 1] for classes, else in [-1, 1].

    For classes the share of the rows that have the class of the row before; for numbers the
    correlation of the target with itself one row later.

    Raises
    ------
    UndefinedError
        With fewer than two rows, or if all targets but the first or the last are equal.
    """
    if len(y) < 2:
        raise UndefinedError("there are fewer than two rows")
    if has_classes:
        return float(np.mean(y[1:] == y[:-1]))
    before, after = y[:-1] - y[:-1].mean(), y[1:] - y[1:].mean()
    scale = float(np.sqrt((before**2).sum() * (after**2).sum()))
    if not scale > 0.0:
        raise UndefinedError("the target does not vary")
    return float((before * after).sum() / scale)


def association(X: FloatArray, y: FloatArray, *, has_classes: bool) -> FloatArray:
    """(q,) share of the variance of each column that the target explains, in [0, 1].

    The correlation ratio η² for classes, the squared correlation for numbers; missing values count
    as the mean, columns without variance are left out.
    """
    Z = standardized_columns(X)
    Z = Z[:, (Z**2).sum(axis=0) > 0.0]
    total = (Z**2).sum(axis=0)
    if has_classes:
        order = np.argsort(y, kind="stable")
        _, starts, counts = np.unique(y[order], return_index=True, return_counts=True)
        sums = np.add.reduceat(Z[order], starts, axis=0)
        return np.asarray((sums**2 / counts[:, None]).sum(axis=0) / total)
    centered = y - y.mean()
    variance = float((centered**2).sum())
    if not variance > 0.0:
        return np.zeros(Z.shape[1])
    return np.asarray((centered @ Z) ** 2 / (total * variance))


def _correlations(view: View) -> FloatArray:
    """Correlations of the first numeric columns that vary; missing values count as the mean."""

    def matrix() -> FloatArray:
        Z = standardized_columns(view.numeric)
        Z = Z[:, (Z**2).sum(axis=0) > 0.0][:, :MOST_CORRELATED]
        view.deadline.check()
        Z /= np.sqrt((Z**2).sum(axis=0))
        return np.asarray(Z.T @ Z)

    return view.memo("correlations", matrix)


def _pairs(view: View) -> FloatArray:
    matrix = _correlations(view)
    if len(matrix) < 2:
        raise UndefinedError("fewer than two numeric columns vary")
    return np.abs(matrix[np.triu_indices(len(matrix), 1)])


def _components(view: View) -> float:
    matrix = _correlations(view)
    if not len(matrix):
        raise UndefinedError("no numeric column varies")
    variances = np.linalg.eigvalsh(matrix)[::-1]
    needed = int(np.searchsorted(np.cumsum(variances) / variances.sum(), VARIANCE_SHARE)) + 1
    return min(needed, len(matrix)) / len(matrix)


def _of_columns(
    statistic: Callable[[FloatArray], FloatArray],
) -> Callable[[View], FloatArray]:
    """Statistic of the numeric columns where it exists."""

    def values(view: View) -> FloatArray:
        view.deadline.check()
        statistics = statistic(view.numeric)
        return _some(statistics[np.isfinite(statistics)])

    return lambda view: view.memo(statistic.__name__, lambda: values(view))


def _association(view: View) -> FloatArray:
    def values() -> FloatArray:
        view.deadline.check()
        y = view.y[view.rows]
        return _some(association(view.numeric, y, has_classes=view.has_classes))

    return view.memo("association", values)


def _some(values: FloatArray) -> FloatArray:
    if not len(values):
        raise UndefinedError("no numeric column varies")
    return values


def _of_target(statistic: Callable[[FloatArray], FloatArray]) -> Callable[[View], float]:
    return lambda view: float(statistic(view.y[view.rows][:, None])[0])


FEATURES: tuple[MetaFeature, ...] = (
    *summaries(
        "skewness",
        Group.STATISTICAL,
        "the skewness of the numeric columns",
        _SECTION,
        _of_columns(skewness),
        openml={f: f"{f.title()}SkewnessOfNumericAtts" for f in ("mean", "min", "max")},
    ),
    *summaries(
        "kurtosis",
        Group.STATISTICAL,
        "the excess kurtosis of the numeric columns",
        _SECTION,
        _of_columns(kurtosis),
        openml={f: f"{f.title()}KurtosisOfNumericAtts" for f in ("mean", "min", "max")},
    ),
    *summaries(
        "outliers",
        Group.STATISTICAL,
        "the share of values more than 1.5 interquartile ranges beyond the quartiles",
        "Tukey (1977)",
        _of_columns(outlier_shares),
        of=("mean", "max"),
    ),
    *summaries(
        "correlation",
        Group.STATISTICAL,
        "the absolute correlations of pairs of numeric columns",
        _STATLOG,
        _pairs,
        of=("mean", "std", "max"),
    ),
    MetaFeature(
        "components",
        Group.STATISTICAL,
        "Share of principal components (of the standardized numeric columns) needed for 95 % of the variance.",
        "auto-sklearn; X20, section VIII",
        _components,
    ),
    *summaries(
        "association",
        Group.STATISTICAL,
        "the shares of the numeric columns' variance that the target explains",
        _STATLOG,
        _association,
        of=("mean", "max"),
    ),
    MetaFeature(
        "autocorrelation",
        Group.STATISTICAL,
        "Share of rows with the class of the row before; for a numeric target its correlation with the row before.",
        _IMPORTANT,
        lambda view: autocorrelation(view.y, has_classes=view.has_classes),
        openml="AutoCorrelation",
    ),
    MetaFeature(
        "target_skewness",
        Group.STATISTICAL,
        "Skewness of the target.",
        _SECTION,
        _of_target(skewness),
        Target.NUMBERS,
    ),
    MetaFeature(
        "target_kurtosis",
        Group.STATISTICAL,
        "Excess kurtosis of the target.",
        _SECTION,
        _of_target(kurtosis),
        Target.NUMBERS,
    ),
    MetaFeature(
        "target_outliers",
        Group.STATISTICAL,
        "Share of the target's values more than 1.5 interquartile ranges beyond the quartiles.",
        "Tukey (1977)",
        _of_target(outlier_shares),
        Target.NUMBERS,
    ),
    MetaFeature(
        "target_distinct",
        Group.STATISTICAL,
        "Number of distinct target values divided by the rows of the sample.",
        "ours",
        lambda view: len(np.unique(view.y[view.rows])) / len(view.rows),
        Target.NUMBERS,
    ),
)
