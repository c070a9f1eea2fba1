"""How probabilities become labels: the one rule that searches, scores and deployed models share.

Two classes have a threshold. It follows from misclassification costs, or is learned from out-of-fold
probabilities. With more classes, the rule takes the most probable one or, with costs, the one with the
least expected cost (Elkan, 2001, The foundations of cost-sensitive learning, section 2.2).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from automl.errors import DataError


@dataclass(frozen=True)
class DecisionRule:
    """Probabilities to class codes.

    Parameters
    ----------
    threshold : in [0, 1]
        Two classes: the second one is predicted where its probability is greater.
    costs : K rows of K, or None
        More classes: cost of predicting class j (column) for a row of class i.
    """

    threshold: float = 0.5
    costs: tuple[tuple[float, ...], ...] | None = None

    @classmethod
    def given(cls, n_classes: int, costs: ArrayLike | None = None) -> Self:
        """Rule that follows from the costs alone.

        Parameters
        ----------
        costs : (K, K), [true, predicted], or None
            Where they are all equal, or None, the most probable class is predicted.

        Raises
        ------
        DataError
            If errors between two classes cost no more than hits.
        """
        if costs is None:
            return cls()
        matrix = np.asarray(costs, dtype=np.float64)
        if n_classes == 2:
            return cls(cost_threshold(matrix))
        return cls(costs=tuple(tuple(map(float, row)) for row in matrix))

    def codes(self, probabilities: NDArray[np.floating[Any]]) -> NDArray[np.intp]:
        """Class code of each row.

        Parameters
        ----------
        probabilities : (…, n_rows, n_classes)

        Returns
        -------
        (…, n_rows)
            The first class at ties.
        """
        if probabilities.shape[-1] == 2:
            # in 64 bits: a threshold between two neighboring probabilities keeps them apart
            return (probabilities[..., 1] > np.float64(self.threshold)).astype(np.intp)
        if self.costs is None:
            return np.asarray(probabilities.argmax(axis=-1))
        return np.asarray((probabilities.astype(np.float64) @ np.array(self.costs)).argmin(axis=-1))

    def to_json(self) -> dict[str, Any]:
        """Plain JSON form."""
        costs = None if self.costs is None else [list(row) for row in self.costs]
        return {"threshold": self.threshold, "costs": costs}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Inverse of `to_json`."""
        costs = data["costs"]
        return cls(data["threshold"], None if costs is None else tuple(map(tuple, costs)))


def cost_threshold(costs: NDArray[np.float64]) -> float:
    """Probability of the second class from which on predicting it costs less.

    Parameters
    ----------
    costs : (2, 2), [true, predicted]

    Raises
    ------
    DataError
        If errors cost no more than hits.
    """
    # predicting the second class costs less where p (c10 - c11 + c01 - c00) >= c01 - c00
    false_alarm, miss = costs[0, 1] - costs[0, 0], costs[1, 0] - costs[1, 1]
    if false_alarm + miss <= 0:
        raise DataError("cost_matrix makes every error free; errors must cost more than hits")
    return float(np.clip(false_alarm / (false_alarm + miss), 0.0, 1.0))
