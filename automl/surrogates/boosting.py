"""Boosted trees as surrogates: an upper quantile of the score, and the logarithm of seconds."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from automl.errors import SettingsError
from automl.records import FloatArray

SMALL = 100
"""Observations below which LightGBM's own 20 rows a leaf would leave a constant."""
_SEEDS = 2**31 - 1


@dataclass
class QuantileBoosting:
    """GBQR: LightGBM with the quantile loss; its prediction is an upper bound of the score.

    Parameters
    ----------
    quantile : in (0, 1)
    n_trees, n_leaves : at least 1; at least 2
    learning_rate : positive, finite
    small_leaf : at least 1
        Observations a leaf below 100 observations; above, `large_leaf`.
    large_leaf : at least 1

    Raises
    ------
    SettingsError
        If an option is out of its range.

    References
    ----------
    .. [1] van Hoof (2018), section 5.3.
    """

    quantile: float = 0.9
    n_trees: int = 100
    n_leaves: int = 8
    learning_rate: float = 0.1
    small_leaf: int = 2
    large_leaf: int = 20
    _model: Any = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        if not 0.0 < self.quantile < 1.0:
            raise SettingsError(f"quantile must be between 0 and 1; got {self.quantile:g}")
        _check_trees(self)

    def fit(self, X: FloatArray, y: FloatArray, *, rng: np.random.Generator) -> None:
        """Boost `n_trees` trees."""
        parameters = {
            "objective": "quantile",
            "alpha": self.quantile,
            "num_leaves": self.n_leaves,
            "learning_rate": self.learning_rate,
            **_leaf_sizes(len(y), self.small_leaf, self.large_leaf),
        }
        self._model = _train(parameters, X, y, self.n_trees, rng)

    def predict(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Upper bound and zeros, (m,)."""
        bound = np.asarray(self._model.predict(X, num_threads=1))
        return bound, np.zeros(len(X))


@dataclass
class LogSecondsBoosting:
    """The runtime model F1: LightGBM on the logarithm of seconds, which `fit` is given.

    Parameters
    ----------
    n_trees, n_leaves : at least 1; at least 2
    learning_rate : positive, finite
    l1_weight : at least 0, finite
        LightGBM's `reg_alpha`.
    small_leaf, large_leaf : at least 1
        Observations a leaf below 100 observations, and above.

    Raises
    ------
    SettingsError
        If an option is out of its range.

    References
    ----------
    .. [1] van Hoof (2018), section 5.2.
    """

    n_trees: int = 100
    n_leaves: int = 4
    learning_rate: float = 0.15
    l1_weight: float = 0.2
    small_leaf: int = 2
    large_leaf: int = 20
    _model: Any = field(default=None, init=False, repr=False)
    _spread: float = field(default=0.0, init=False, repr=False)

    def __post_init__(self) -> None:
        _check_trees(self)
        if not 0.0 <= self.l1_weight < math.inf:
            raise SettingsError(
                f"l1_weight must be finite and not negative; got {self.l1_weight:g}"
            )

    def fit(self, X: FloatArray, y: FloatArray, *, rng: np.random.Generator) -> None:
        """Boost `n_trees` trees with the squared loss."""
        parameters = {
            "objective": "regression",
            "num_leaves": self.n_leaves,
            "learning_rate": self.learning_rate,
            "lambda_l1": self.l1_weight,
            **_leaf_sizes(len(y), self.small_leaf, self.large_leaf),
        }
        self._model = _train(parameters, X, y, self.n_trees, rng)
        self._spread = float(np.std(y - self._model.predict(X, num_threads=1)))

    def predict(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Expected log seconds and the standard deviation of the residuals, (m,)."""
        mean = np.asarray(self._model.predict(X, num_threads=1))
        return mean, np.full(len(X), self._spread)


def _check_trees(given: QuantileBoosting | LogSecondsBoosting) -> None:
    for name, least in (("n_trees", 1), ("n_leaves", 2), ("small_leaf", 1), ("large_leaf", 1)):
        if getattr(given, name) < least:
            raise SettingsError(f"{name} must be at least {least}; got {getattr(given, name)}")
    if not 0.0 < given.learning_rate < math.inf:
        raise SettingsError(
            f"learning_rate must be finite and positive; got {given.learning_rate:g}"
        )


def _leaf_sizes(n: int, small: int, large: int) -> dict[str, int]:
    if n < SMALL:
        return {"min_data_in_leaf": small, "min_data_in_bin": 1}
    return {"min_data_in_leaf": large, "min_data_in_bin": 3}


def _train(
    parameters: dict[str, Any],
    X: FloatArray,
    y: FloatArray,
    n_trees: int,
    rng: np.random.Generator,
) -> Any:
    import lightgbm

    fixed = {
        "verbosity": -1,
        "num_threads": 1,
        "deterministic": True,
        "force_col_wise": True,
        "seed": int(rng.integers(_SEEDS)),
    }
    given = {**fixed, **parameters}
    data = lightgbm.Dataset(X, y, params=given, free_raw_data=True)
    return lightgbm.train(given, data, num_boost_round=n_trees)
