"""M1: missing numbers get the mean or the median, missing categories an own category or the mode."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from automl.errors import SettingsError
from automl.preprocessing.blocks import BlockTransformer, Numbers, as_frame, category_block

MISSING = "<missing>"


class Imputer(BlockTransformer):
    """Fills missing values.

    Parameters
    ----------
    numeric : ``mean``, ``median`` or ``none``
        What a missing number becomes; a column without any value gets 0; ``none`` keeps NaN.
    nominal : ``category``, ``most_frequent`` or ``null``
        What a missing category becomes when a frame is transformed: the category `MISSING`, the most
        frequent one, or nothing (it stays missing, and a one-hot encoder makes it a null vector).
    """

    def __init__(self, numeric: str = "mean", nominal: str = "category") -> None:
        self.numeric = numeric
        self.nominal = nominal

    def fit(self, X: pd.DataFrame | ArrayLike, y: ArrayLike | None = None) -> Self:
        """Learn the fill values of X (n_rows, n_columns).

        Raises
        ------
        SettingsError
            If a parameter is not one of those named.
        """
        if self.nominal not in ("category", "most_frequent", "null"):
            raise SettingsError(
                f"nominal must be category, most_frequent or null; got {self.nominal!r}"
            )
        super().fit(X, y)
        self.modes_ = [_mode(column) for _, column in as_frame(X).loc[:, ~self.is_numeric_].items()]
        return self

    def transform(self, X: pd.DataFrame | ArrayLike) -> pd.DataFrame | Numbers:
        """X with missing values filled; nominal columns of a frame become categories."""
        out = super().transform(X)
        if self.nominal == "null" or not isinstance(out, pd.DataFrame):
            return out
        names = self.feature_names_in_[~self.is_numeric_]
        filled: dict[str, Any] = {}
        for name, mode in zip(names, self.modes_, strict=True):
            codes, texts = category_block(out[name])
            fill = MISSING if self.nominal == "category" else mode
            kept = texts if fill in texts else np.append(texts, fill)
            place = int(np.flatnonzero(kept == fill)[0])
            filled[name] = pd.Categorical.from_codes(
                np.where(codes < 0, place, codes), categories=pd.Index(kept, dtype=object)
            )
        return out.assign(**filled)

    def fit_block(self, values: Numbers, y: ArrayLike | None = None) -> Self:  # noqa: ARG002
        """Learn the fill value of each column; 0 where a column has no value."""
        if self.numeric not in ("mean", "median", "none"):
            raise SettingsError(f"numeric must be mean, median or none; got {self.numeric!r}")
        self.fills_ = np.full(values.shape[1], np.nan)
        if self.numeric == "none" or not values.size:
            return self
        present = ~np.isnan(values)
        usable = present.any(axis=0)
        average = np.nanmean if self.numeric == "mean" else np.nanmedian
        if present.all():
            average = np.mean if self.numeric == "mean" else np.median
        self.fills_[:] = 0.0
        self.fills_[usable] = average(values[:, usable], axis=0)
        return self

    def transform_block(self, values: Numbers) -> Numbers:
        """Block with the fill values in place of NaN."""
        if self.numeric == "none":
            return values
        missing = np.isnan(values)
        if missing.any():
            rows, columns = np.nonzero(missing)
            values[rows, columns] = self.fills_[columns]
        return values


def _mode(column: pd.Series) -> str:
    codes, texts = category_block(column)
    present = codes[codes >= 0]
    return str(texts[np.bincount(present).argmax()]) if len(present) else MISSING
