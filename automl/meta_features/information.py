"""Information-theoretic meta-features: entropies and what columns say of the target (H18, section 2.3.1).

In bits, from observed frequencies. Numeric columns, and a numeric target, are cut into ten bins of
equal frequency; a missing value is a value of its own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from automl.meta_features.feature import Group, MetaFeature, Target, summaries
from automl.meta_features.time_limit import UndefinedError
from automl.meta_features.view import View, binned
from automl.records import FloatArray, IntArray

_SECTION = "H18, section 2.3.1"
_STATLOG = "Michie et al. (1994), StatLog"


def entropy(shares: FloatArray) -> float:
    """Entropy in bits of a distribution; 0 log 0 is 0."""
    positive = shares[shares > 0.0]
    return float(-(positive * np.log2(positive)).sum())


def entropies(codes: IntArray, target: IntArray) -> tuple[float, float]:
    """Entropy of a column in bits, and its mutual information with the target, at least 0.

    Parameters
    ----------
    codes, target : (r,), of any whole numbers
    """
    r = len(codes)
    _, first = np.unique(codes, return_inverse=True)
    _, second = np.unique(target, return_inverse=True)
    width = int(second.max()) + 1
    joint = np.unique(first * width + second, return_counts=True)[1] / r
    own, other = np.bincount(first) / r, np.bincount(second) / r
    information = entropy(own) + entropy(other) - entropy(joint)
    return entropy(own), max(information, 0.0)


class _Columns(NamedTuple):
    """(q + k,) each."""

    entropy: FloatArray
    information: FloatArray


def _of(view: View) -> _Columns:
    def measured() -> _Columns:
        codes = np.concatenate([binned(view.numeric), view.nominal], axis=1)
        target, columns = view.target_codes, []
        for column in codes.T:
            view.deadline.check()
            columns.append(entropies(column, target))
        if not columns:
            raise UndefinedError("there is no column")
        return _Columns(*np.array(columns).T)

    return view.memo("information", measured)


def _target_entropy(view: View) -> float:
    return entropy(view.class_shares)


def _mean_information(view: View) -> float:
    mean = float(_of(view).information.mean())
    if not mean > 1e-12:
        raise UndefinedError("no column is informative about the target")
    return mean


def _entropy_in_bins(view: View) -> float:
    return entropy(np.bincount(view.target_codes) / len(view.rows))


FEATURES: tuple[MetaFeature, ...] = (
    MetaFeature(
        "class_entropy",
        Group.INFORMATION,
        "Entropy of the class in bits.",
        "H18, table 6.3",
        _target_entropy,
        Target.CLASSES,
        "ClassEntropy",
    ),
    MetaFeature(
        "class_evenness",
        Group.INFORMATION,
        "Entropy of the class divided by that of equally many classes of equal size.",
        "Michie et al. (1994), StatLog",
        lambda v: _target_entropy(v) / max(np.log2(len(v.class_shares)), 1e-12),
        Target.CLASSES,
    ),
    *summaries(
        "column_entropy",
        Group.INFORMATION,
        "the columns' entropies in bits",
        _SECTION,
        lambda view: _of(view).entropy,
        of=("mean", "min", "max"),
    ),
    *summaries(
        "information",
        Group.INFORMATION,
        "the columns' mutual information with the target in bits",
        _STATLOG,
        lambda view: _of(view).information,
    ),
    MetaFeature(
        "noise_to_signal",
        Group.INFORMATION,
        "Mean entropy of the columns minus their mean information, divided by the latter.",
        _STATLOG,
        lambda v: (float(_of(v).entropy.mean()) - _mean_information(v)) / _mean_information(v),
    ),
    MetaFeature(
        "equivalent_columns",
        Group.INFORMATION,
        "Entropy of the target divided by the columns' mean information.",
        _STATLOG,
        lambda v: _entropy_in_bins(v) / _mean_information(v),
    ),
)
