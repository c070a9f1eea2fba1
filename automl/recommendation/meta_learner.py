"""The meta-learner: what configurations score on a new data set, learned from other data sets.

Notation
--------
n : known trials; t : known data sets; d : columns of the encoding; p : meta-features; m : points
X : (n, d) encoded configurations (λ); meta : (t, p) meta-features, NaN where unknown
y : (n,) scores, standardized per data set, so that they say better or worse than usual there
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from automl.errors import SettingsError
from automl.experience.cleaning import LARGEST
from automl.experience.data_set import DataSetFacts, Experience
from automl.records import Configuration, FloatArray, IntArray
from automl.spaces.configuration_encoder import ConfigurationEncoder
from automl.surrogates.score_targets import winsorized

LEAVES = 16
"""Leaves of a tree: H18's complex form (section 6.3.2). It ranks better than the simple one of 4 where meta-features are
given, by .01 to .04 in Kendall's tau (``benchmarks/metalearning``)."""
_SEEDS = 2**31 - 1


def common_scores(scores: FloatArray, task: IntArray) -> FloatArray:
    """(n,) scores standardized per data set, where those far below the rest are raised first.

    An index has no lower end: a single regression at -1000 would leave no spread to all others.

    Parameters
    ----------
    scores : (n,), finite
    task : (n,)
        Which data set each belongs to; where all scores are equal, the result is 0.

    References
    ----------
    .. [1] van Hoof (2018), section 6.2.1, without the limit.
    """
    common = np.empty(len(scores))
    for one in np.unique(task):
        rows = task == one
        common[rows] = winsorized(scores[rows])
    return common


@dataclass
class ScoreBoosting:
    """LightGBM for the score of a configuration on a data set.

    Parameters
    ----------
    n_trees, n_leaves : at least 1; at least 2
    learning_rate : positive, finite
    leaf_rows : at least 1
        Trials a leaf.

    Raises
    ------
    SettingsError
        If an option is out of its range.

    References
    ----------
    .. [1] van Hoof (2018), section 6.2.1.
    """

    n_trees: int = 500
    n_leaves: int = LEAVES
    learning_rate: float = 0.05
    leaf_rows: int = 20
    _model: Any = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        for name, least in (("n_trees", 1), ("n_leaves", 2), ("leaf_rows", 1)):
            if getattr(self, name) < least:
                raise SettingsError(f"{name} must be at least {least}; got {getattr(self, name)}")
        if not 0.0 < self.learning_rate < math.inf:
            raise SettingsError(
                f"learning_rate must be finite and positive; got {self.learning_rate:g}"
            )

    def fit(
        self,
        Z: FloatArray,
        y: FloatArray,
        *,
        rng: np.random.Generator,
        weights: FloatArray | None = None,
    ) -> Self:
        """Boost `n_trees` trees with the squared loss; deterministic for an equal stream.

        Parameters
        ----------
        Z : (n, d + p)
            Encodings beside the meta-features of their data set; NaN where unknown.
        weights : (n,), positive
        """
        import lightgbm

        parameters = {
            "objective": "regression",
            "num_leaves": self.n_leaves,
            "learning_rate": self.learning_rate,
            "min_data_in_leaf": self.leaf_rows,
            "min_data_in_bin": min(3, self.leaf_rows),
            "verbosity": -1,
            "num_threads": 1,
            "deterministic": True,
            "force_row_wise": True,  # a third of the time of column by column, with small trees
            "seed": int(rng.integers(_SEEDS)),
        }
        data = lightgbm.Dataset(Z, y, weight=weights, params=parameters, free_raw_data=True)
        self._model = lightgbm.train(parameters, data, num_boost_round=self.n_trees)
        return self

    def predict(self, Z: FloatArray) -> FloatArray:
        """Expected scores (m,) in the units of y."""
        return np.asarray(self._model.predict(Z, num_threads=1))

    @property
    def importances(self) -> FloatArray:
        """(d + p,), non-negative: what the splits by each feature took from the squared loss."""
        return np.asarray(self._model.feature_importance("gain"), dtype=float)


class MetaLearner:
    """Scores of configurations on a data set, from their encoding and its meta-features.

    One for a family, or for all families of an encoder. Only complete trials count.

    Parameters
    ----------
    encoder
        Fitted; trials of other families than its own are left out.
    boosting
        The regression; by default of the simple form.

    References
    ----------
    .. [1] van Hoof (2018), chapter 6.
    """

    def __init__(
        self, encoder: ConfigurationEncoder, boosting: ScoreBoosting | None = None
    ) -> None:
        self._encoder = encoder
        self._families = frozenset(space.family for space in encoder.spaces)
        self._boosting = boosting or ScoreBoosting()
        self._names: tuple[str, ...] = ()
        self.n_trials = 0

    def fit(self, experiences: Sequence[Experience], *, rng: np.random.Generator) -> Self:
        """Learn from other data sets.

        Raises
        ------
        SettingsError
            If there is no complete trial of the encoder's families.
        """
        self._names = meta_feature_names([one.data for one in experiences])
        rows, scores, task = [], [], []
        for number, one in enumerate(experiences):
            scored = one.scored(self._families)
            if scored:
                rows.append(self._inputs([configuration for configuration, _ in scored], one.data))
                scores += [score for _, score in scored]
                task += [number] * len(scored)
        if not rows:
            families = ", ".join(sorted(self._families))
            raise SettingsError(f"the meta-learner needs a complete trial of {families}; got none")
        self.n_trials = len(scores)
        y = common_scores(np.array(scores), np.array(task))
        self._boosting.fit(np.concatenate(rows), y, rng=rng)
        return self

    def predict(self, configurations: Sequence[Configuration], data: DataSetFacts) -> FloatArray:
        """Standardized scores (m,) that configurations are expected to have on a data set.

        Raises
        ------
        SettingsError
            If it was not fitted.
        """
        return self.predict_encoded(
            self._encoder.transform(configurations, encoding_facts(data)), data
        )

    def predict_encoded(self, X: FloatArray, data: DataSetFacts) -> FloatArray:
        """As `predict`, of encoded configurations (m, d).

        Raises
        ------
        SettingsError
            If it was not fitted.
        """
        if not self.n_trials:
            raise SettingsError("the meta-learner must be fitted before it predicts")
        return self._boosting.predict(self._beside_meta_features(X, data))

    def _inputs(self, configurations: Sequence[Configuration], data: DataSetFacts) -> FloatArray:
        X = self._encoder.transform(configurations, encoding_facts(data))
        return self._beside_meta_features(X, data)

    def _beside_meta_features(self, X: FloatArray, data: DataSetFacts) -> FloatArray:
        meta = meta_matrix([data.meta_features], self._names)
        return np.concatenate([X, np.repeat(meta, len(X), axis=0)], axis=1)


def encoding_facts(data: DataSetFacts) -> dict[str, float]:
    """What `encode:` expressions of spaces read of a data set."""
    return {
        "n_rows": float(data.rows),
        "n_columns": float(data.columns),
        "n_classes": float(data.classes),
        "n_encoded": float(data.columns),
        **data.matrix,
    }


def meta_feature_names(data_sets: Sequence[DataSetFacts]) -> tuple[str, ...]:
    """Names of the meta-features that any of the data sets has, sorted."""
    return tuple(sorted({name for data in data_sets for name in data.meta_features}))


def meta_matrix(values: Sequence[Mapping[str, float]], names: Sequence[str]) -> FloatArray:
    """(t, p) array of meta-features by name; NaN where a data set lacks one, or it cannot be right."""
    rows = [[float(one.get(name, math.nan)) for name in names] for one in values]
    matrix = np.array(rows, dtype=float).reshape(len(values), len(names))
    return np.where(np.abs(matrix) <= LARGEST, matrix, np.nan)
