"""Simple meta-features: sizes and shares (H18, table 6.3)."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from automl.meta_features.feature import Group, MetaFeature, Target, summaries
from automl.meta_features.time_limit import UndefinedError
from automl.meta_features.view import View
from automl.records import FloatArray

_TABLE = "H18, table 6.3"
_AUTO = "auto-sklearn; X20, section VIII"
_APPENDIX = "H18, table B.1"


def _feature(
    name: str,
    definition: str,
    compute: Callable[[View], float],
    source: str = _TABLE,
    *,
    openml: str = "",
    target: Target = Target.ANY,
) -> MetaFeature:
    return MetaFeature(name, Group.SIMPLE, definition, source, compute, target, openml)


def _share_binary(view: View) -> float:
    n_binary = int((view.levels == 2).sum())
    n_binary += sum(len(np.unique(c[~np.isnan(c)])) == 2 for c in view.numeric.T)
    return float(n_binary / max(view.missing.shape[1], 1))


def _levels(view: View) -> FloatArray:
    if not len(view.levels):
        raise UndefinedError("no column is nominal")
    return np.asarray(view.levels, dtype=float)


FEATURES: tuple[MetaFeature, ...] = (
    _feature("n_rows", "Number of rows.", lambda v: float(v.n_rows), openml="NumberOfInstances"),
    _feature("n_columns", "Number of columns, without the target.", lambda v: float(v.n_columns)),
    _feature(
        "n_classes",
        "Number of classes that occur.",
        lambda v: float(len(v.class_shares)),
        openml="NumberOfClasses",
        target=Target.CLASSES,
    ),
    _feature(
        "log_rows", "Natural logarithm of the number of rows.", lambda v: math.log(v.n_rows), _AUTO
    ),
    _feature(
        "log_columns",
        "Natural logarithm of the number of columns plus one.",
        lambda v: math.log1p(v.n_columns),
        _AUTO,
    ),
    _feature(
        "dimensionality",
        "Number of columns divided by number of rows.",
        lambda v: v.n_columns / v.n_rows,
    ),
    _feature(
        "share_numeric",
        "Share of numeric columns; dates count as the numbers they become.",
        lambda v: len(v.numeric_columns) / max(v.n_columns, 1),
    ),
    _feature(
        "share_nominal",
        "Share of nominal columns.",
        lambda v: 1.0 - len(v.numeric_columns) / max(v.n_columns, 1),
    ),
    _feature("share_binary", "Share of columns with two values.", _share_binary),
    _feature(
        "share_missing",
        "Share of missing values.",
        lambda v: float(v.missing.mean()) if v.missing.size else 0.0,
        openml="PercentageOfMissingValues",
    ),
    _feature(
        "share_rows_missing",
        "Share of rows with a missing value.",
        lambda v: float(v.missing.any(axis=1).mean()),
        openml="PercentageOfInstancesWithMissingValues",
    ),
    _feature(
        "share_columns_missing",
        "Share of columns with a missing value.",
        lambda v: float(v.missing.any(axis=0).mean()) if v.missing.size else 0.0,
        _AUTO,
    ),
    _feature(
        "majority_share",
        "Share of rows in the most frequent class.",
        lambda v: float(v.class_shares.max()),
        openml="MajorityClassPercentage",
        target=Target.CLASSES,
    ),
    _feature(
        "minority_share",
        "Share of rows in the least frequent class.",
        lambda v: float(v.class_shares.min()),
        _AUTO,
        openml="MinorityClassPercentage",
        target=Target.CLASSES,
    ),
    _feature(
        "class_shares_std",
        "Standard deviation of the classes' shares of rows.",
        lambda v: float(v.class_shares.std()),
        _AUTO,
        target=Target.CLASSES,
    ),
    *summaries(
        "categories",
        Group.SIMPLE,
        "the number of categories of the nominal columns",
        _APPENDIX,
        _levels,
        openml={
            "mean": "MeanNominalAttDistinctValues",
            "max": "MaxNominalAttDistinctValues",
            "min": "MinNominalAttDistinctValues",
        },
    ),
)
