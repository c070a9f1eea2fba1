"""The random forest of SMAC (H18, section 2.5.2; X20, section VI).

Notation
--------
b : a tree; mu_b, var_b : mean and variance of the training targets in the leaf of tree b
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from automl.errors import SettingsError
from automl.records import FloatArray

_SEEDS = 2**31 - 1


@dataclass
class RandomForest:
    """Regression trees on bootstraps; uncertainty between the trees and inside their leaves.

    ``mean = mean_b mu_b`` and ``var = mean_b (var_b + mu_b**2) - mean**2``, where var_b is at
    least `variance_floor`: a leaf of one observation is not certain.

    Parameters
    ----------
    n_trees : at least 1
    feature_share : in (0, 1]
        Share of the columns that a split chooses from.
    min_split : at least 2
        Rows of the bootstrap in a node from which it may be split; a row that was drawn twice counts twice.
    min_leaf : at least 1
        Rows of the bootstrap in each leaf.
    variance_floor : at least 0, finite
        In the (standardized) units of y, squared.

    Raises
    ------
    SettingsError
        If an option is out of its range.

    References
    ----------
    .. [1] van Hoof (2018), section 3.2; Xiang (2020), section VI; Hutter et al. (2014),
       Algorithm runtime prediction, section 4.3.
    """

    n_trees: int = 10
    feature_share: float = 5 / 6
    min_split: int = 10
    min_leaf: int = 1
    variance_floor: float = 0.01
    _trees: list[Any] = field(default_factory=list, init=False, repr=False)
    _means: list[FloatArray] = field(default_factory=list, init=False, repr=False)
    _moments: list[FloatArray] = field(default_factory=list, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.n_trees < 1 or self.min_split < 2 or self.min_leaf < 1:
            raise SettingsError(
                "a forest needs n_trees >= 1, min_split >= 2 and min_leaf >= 1; got"
                f" {self.n_trees}, {self.min_split} and {self.min_leaf}"
            )
        if not (0.0 < self.feature_share <= 1.0 and 0.0 <= self.variance_floor < math.inf):
            raise SettingsError(
                "a forest needs feature_share in (0, 1] and a finite variance_floor >= 0; got"
                f" {self.feature_share:g} and {self.variance_floor:g}"
            )

    def fit(self, X: FloatArray, y: FloatArray, *, rng: np.random.Generator) -> None:
        """Grow the trees, each on its own n of n bootstrap; O(n_trees d n log(n)**2)."""
        from sklearn.tree import DecisionTreeRegressor

        columns = np.ascontiguousarray(X, dtype=np.float32)
        self._trees, self._means, self._moments = [], [], []
        for _ in range(self.n_trees):
            drawn = rng.integers(len(y), size=len(y))
            tree = DecisionTreeRegressor(
                max_features=self.feature_share,
                min_samples_split=self.min_split,
                min_samples_leaf=self.min_leaf,
                random_state=int(rng.integers(_SEEDS)),
            )
            grown = tree.fit(columns[drawn], y[drawn], check_input=False).tree_
            means = grown.value[:, 0, 0].copy()
            variances = np.maximum(grown.impurity, self.variance_floor)
            self._trees.append(grown)
            self._means.append(means)
            self._moments.append(variances + means**2)

    def predict(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation (m,); one look-up of leaf tables per tree."""
        columns = np.ascontiguousarray(X, dtype=np.float32)
        mean, moment = np.zeros(len(X)), np.zeros(len(X))
        for tree, means, moments in zip(self._trees, self._means, self._moments, strict=True):
            leaves = tree.apply(columns)
            mean += means[leaves]
            moment += moments[leaves]
        mean /= self.n_trees
        moment /= self.n_trees
        return mean, np.sqrt(np.maximum(moment - mean**2, 0.0))
