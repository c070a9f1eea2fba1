"""Learners of document L14 that the project's families lack: see section 6.1.

`BlendedBoostingRegressor` boosts trees for s (y - f)**2 / 2 + (1 - s) |y - f|, a convex
combination of the two losses, with s the share of the squared one.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeRegressor

from automl.records import FloatArray, IntArray


class _Forest(BaseEstimator):
    """A forest of 100 trees of either kind.

    Parameters
    ----------
    trees : `breiman` or `extremely_randomized`
    bootstrap : whether each tree has a bootstrap of the rows
    max_features : in (0, 1], share of the columns that a split looks at; at least one column
    """

    kinds: ClassVar[dict[str, Any]]

    def __init__(
        self,
        *,
        trees: str = "breiman",
        bootstrap: bool = True,
        max_features: float = 1.0,
        random_state: int = 0,
    ) -> None:
        self.trees = trees
        self.bootstrap = bootstrap
        self.max_features = max_features
        self.random_state = random_state

    def fit(self, X: FloatArray, y: Any) -> Self:
        """Grow the trees."""
        self.forest_ = self.kinds[self.trees](
            100,
            bootstrap=self.bootstrap,
            max_features=self.max_features,
            random_state=self.random_state,
        ).fit(X, y)
        return self

    def predict(self, X: FloatArray) -> Any:
        """Classes by mean probability, or mean values (n_rows,)."""
        return self.forest_.predict(X)


class ForestClassifier(ClassifierMixin, _Forest):
    """Forest for classes."""

    kinds: ClassVar = {
        "breiman": RandomForestClassifier,
        "extremely_randomized": ExtraTreesClassifier,
    }


class ForestRegressor(RegressorMixin, _Forest):
    """Forest for numbers."""

    kinds: ClassVar = {
        "breiman": RandomForestRegressor,
        "extremely_randomized": ExtraTreesRegressor,
    }


class BlendedBoostingRegressor(RegressorMixin, BaseEstimator):
    """Gradient boosting for the loss of the module's docstring; expects a target of unit scale.

    Trees are fitted to the negative gradient s (y - f) + (1 - s) sign(y - f); then each leaf
    takes the value that minimizes the loss in it, as Friedman (2001) does for both losses.

    Parameters
    ----------
    squared_share : in [0, 1]
        s; 1 is least squares, 0 least absolute deviation.
    """

    def __init__(
        self,
        *,
        n_estimators: int = 100,
        learning_rate: float = 0.1,
        max_depth: int = 3,
        squared_share: float = 1.0,
        random_state: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_depth = max_depth
        self.squared_share = squared_share
        self.random_state = random_state

    def fit(self, X: FloatArray, y: FloatArray) -> Self:
        """Boost on numbers (n_rows, n_columns) and (n_rows,)."""
        X, y, s = np.asarray(X, np.float32), np.asarray(y, np.float64), self.squared_share
        one_leaf = np.zeros(len(y), dtype=np.intp)
        self.start_ = float(leaf_values(y, one_leaf, s)[0])
        self.trees_: list[tuple[DecisionTreeRegressor, FloatArray]] = []
        f = np.full(len(y), self.start_)
        for stage in range(self.n_estimators):
            r = y - f
            tree = DecisionTreeRegressor(
                max_depth=self.max_depth, random_state=(self.random_state + stage) % 2**31
            ).fit(X, s * r + (1.0 - s) * np.sign(r))
            leaves = tree.apply(X)
            values = np.zeros(tree.tree_.node_count)
            known, codes = np.unique(leaves, return_inverse=True)
            values[known] = self.learning_rate * leaf_values(r, codes, s)
            self.trees_.append((tree, values))
            f += values[leaves]
        return self

    def predict(self, X: FloatArray) -> FloatArray:
        """Predicted numbers (n_rows,)."""
        X = np.asarray(X, np.float32)
        return self.start_ + sum(values[tree.apply(X)] for tree, values in self.trees_)


def leaf_values(r: FloatArray, leaf: IntArray, s: float) -> FloatArray:
    """Value of each leaf that minimizes the sum of s (r - c)**2 / 2 + (1 - s) |r - c|.

    Parameters
    ----------
    r : (n,)
        Residuals.
    leaf : (n,)
        Leaf of each residual, from 0, without gaps.
    s : in [0, 1]

    Returns
    -------
    (n_leaves,)

    Notes
    -----
    With n sorted residuals of mean m the derivative just above c is
    s n (c - m) + (1 - s) (2 #{r <= c} - n), which increases. c is the first residual above which
    it is not negative or, if it is positive below that one as well, where it is zero before it.
    For s = 0 and an even n the middle is taken, the usual median.
    """
    order = np.lexsort((r, leaf))
    r, leaf = r[order], leaf[order]
    n = np.bincount(leaf)
    first = np.concatenate([[0], np.cumsum(n)[:-1]])
    mean = np.add.reduceat(r, first) / n
    rank = np.arange(len(r)) - first[leaf] + 1
    pull = s * n[leaf] * (r - mean[leaf])
    below = pull + (1.0 - s) * (2 * (rank - 1) - n[leaf])
    above = pull + (1.0 - s) * (2 * rank - n[leaf])
    # Rounding must not leave a leaf without a residual: the last one is always taken.
    is_past = (above >= -1e-12) | (rank == n[leaf])
    at = np.minimum.reduceat(np.where(is_past, np.arange(len(r)), len(r)), first)
    values = r[at]
    if s > 0.0:
        inside = mean - (1.0 - s) * (2 * (rank[at] - 1) - n) / (s * n)
        return np.where(below[at] > 0.0, inside, values)
    is_even = (n % 2 == 0) & (rank[at] < n)
    return np.where(is_even, (values + r[np.minimum(at + 1, len(r) - 1)]) / 2.0, values)
