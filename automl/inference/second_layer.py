"""What a model of the second layer takes: the predictions of other models, and perhaps the features.

Probabilities become log-odds, so that a linear model weighs evidence as it adds up; trees do not mind. The redundant
one of two classes is left out. Every column is then centered and scaled as the training rows were.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

LEAST_PROBABILITY = 0.001
"""Probabilities are clipped to [this, 1 - this]: a neighbor vote of 0 is no infinite evidence."""

LEAST_SPREAD = 1e-7
"""Columns whose standard deviation is not above this share of their magnitude are only centered."""


@dataclass(frozen=True)
class StackInputs:
    """Columns made of the predictions of several models, learned on training rows.

    Parameters
    ----------
    center, scale : (n_columns,)
        Subtracted from each column, which is then divided.
    least_probability : in (0, ½)
        Where probabilities are clipped; without effect on values.
    """

    center: NDArray[np.float64]
    scale: NDArray[np.float64]
    least_probability: float = LEAST_PROBABILITY

    @classmethod
    def fit(cls, predictions: Sequence[NDArray[Any]]) -> Self:
        """Learn center and scale.

        Parameters
        ----------
        predictions : n_inputs of (n_rows, n_classes) probabilities or (n_rows,) values
            Of training rows, by models that have not seen these rows.
        """
        columns = _columns(predictions, LEAST_PROBABILITY)
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
        columns = _columns(predictions, self.least_probability)
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
        return {
            "center": self.center.tolist(),
            "scale": self.scale.tolist(),
            "least_probability": self.least_probability,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Inverse of `to_json`."""
        return cls(
            np.asarray(data["center"], dtype=np.float64),
            np.asarray(data["scale"], dtype=np.float64),
            float(data["least_probability"]),
        )


def _columns(predictions: Sequence[NDArray[Any]], least: float) -> NDArray[np.float64]:
    """(n_rows, n_columns): values as they are, log-odds of all classes, or of the second of two."""
    return np.column_stack([_inputs(np.asarray(part), least) for part in predictions])


def _inputs(prediction: NDArray[Any], least: float) -> NDArray[np.float64]:
    # one width of numbers whether they come from a file or from a model
    prediction = prediction.astype(np.float32).astype(np.float64)
    if prediction.ndim == 1:
        return prediction
    shares = prediction[:, 1:] if prediction.shape[1] == 2 else prediction
    clipped = np.clip(shares, least, 1.0 - least)
    return np.asarray(np.log(clipped / (1.0 - clipped)))
