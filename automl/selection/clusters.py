"""Candidates: the best configuration of each k-means cluster of one signature (B14, 3.5.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from automl.records import Configuration, FloatArray


@dataclass(frozen=True)
class Candidate:
    """A configuration that competes in the selection.

    Parameters
    ----------
    trial_id
        Trial that evaluated it.
    configuration
        Its family and path place it in the tree.
    scores : (n folds,), maximized
        Scores on the same folds as all other candidates.
    seconds : non-negative
        Mean runtime of a fold: measured, or expected where nothing may depend on the clock.
    simplicity, interpretability : in [0, 1]
        From the family's text file; greater is preferred.
    """

    trial_id: str
    configuration: Configuration
    scores: tuple[float, ...]
    seconds: float = 0.0
    simplicity: float = 0.0
    interpretability: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "scores", tuple(map(float, self.scores)))

    @property
    def mean_score(self) -> float:
        """Mean over the folds."""
        return float(np.mean(self.scores))

    @property
    def deviation(self) -> float:
        """Standard deviation over the folds; 0 for a single fold."""
        return float(np.std(self.scores, ddof=1)) if len(self.scores) > 1 else 0.0

    def to_json(self) -> dict[str, Any]:
        """Plain JSON form."""
        return {
            **self.__dict__,
            "configuration": self.configuration.to_json(),
            "scores": list(self.scores),
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """Inverse of `to_json`."""
        configuration = Configuration.from_json(data["configuration"])
        return cls(**{**data, "configuration": configuration, "scores": tuple(data["scores"])})


@dataclass(frozen=True)
class Clusters:
    """Trials of one signature in groups of similar configurations.

    Parameters
    ----------
    numbers : (n trials,), from 1
        Cluster of each trial; 1 holds the best trial, 2 the best of the others, and so on.
    leaders
        Position of the best trial of each cluster, best first.
    """

    numbers: tuple[int, ...]
    leaders: tuple[int, ...]


def kmeans_clusters(
    encoded: FloatArray, scores: Sequence[float] | FloatArray, *, k: int = 10, seed: int
) -> Clusters:
    """Clusters of the trials of one signature, and the best trial of each.

    Columns are standardized; equal rows count once, so there are min(k, distinct rows) clusters.
    Every row is nearest to the mean of its own cluster.

    Parameters
    ----------
    encoded : (n trials, n columns), finite
        Encoded configurations of complete trials.
    scores : (n trials,), maximized, finite
    k : positive
    seed
        Of k-means.

    Raises
    ------
    ValueError
        If the shapes do not fit, a value is not finite, or `k` is not positive.

    References
    ----------
    B14, section 3.5.1.
    """
    values = np.asarray(scores, dtype=np.float64)
    matrix = np.asarray(encoded, dtype=np.float64)
    if matrix.ndim != 2 or values.shape != matrix.shape[:1]:
        raise ValueError(f"{matrix.shape} encoded configurations for {values.shape} scores")
    if not (np.isfinite(matrix).all() and np.isfinite(values).all()):
        raise ValueError("encoded configurations and scores must be finite")
    if k < 1:
        raise ValueError(f"k must be positive; got {k}")
    if len(values) == 0:
        return Clusters((), ())
    labels = _labels(standardized(matrix), k, seed)
    numbers: dict[int, int] = {}
    leaders = []
    for position in np.argsort(-values, kind="stable"):
        if labels[position] not in numbers:
            numbers[labels[position]] = len(numbers) + 1
            leaders.append(int(position))
    return Clusters(tuple(numbers[label] for label in labels), tuple(leaders))


def standardized(matrix: FloatArray) -> FloatArray:
    """Columns with mean 0 and deviation 1; constant ones are 0."""
    deviation = matrix.std(axis=0)
    scale = np.where(deviation > 1e-12, deviation, 1.0)
    return np.asarray((matrix - matrix.mean(axis=0)) / scale)


def _labels(points: FloatArray, k: int, seed: int) -> list[int]:
    """(n,) labels of clusters; every distinct point is its own when there are at most k."""
    distinct, labels = np.unique(points.round(9), axis=0, return_inverse=True)
    if len(distinct) > k:
        from sklearn.cluster import KMeans

        labels = KMeans(k, n_init=3, tol=0.0, random_state=seed).fit_predict(points)
    return [int(label) for label in np.ravel(labels)]
