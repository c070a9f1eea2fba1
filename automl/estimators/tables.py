"""Typed frames with category columns as the plain arrays that boosting libraries read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray


class CategoryCodes:
    """Turns a frame into one float array in which categories are integer codes.

    Attributes
    ----------
    categories_ : by column position
        Categories in code order, of the category columns only.

    Notes
    -----
    Missing values and categories unseen in `fit` become NaN. Arrays pass unchanged.
    """

    def __init__(self) -> None:
        self.categories_: dict[int, pd.Index] = {}

    def fit(self, X: Any) -> CategoryCodes:
        """Learn the categories of a frame; an array has none."""
        self.categories_ = {}
        if isinstance(X, pd.DataFrame):
            for position, dtype in enumerate(X.dtypes):
                if isinstance(dtype, pd.CategoricalDtype):
                    self.categories_[position] = dtype.categories
        return self

    @property
    def positions(self) -> Sequence[int]:
        """Positions of the category columns."""
        return list(self.categories_)

    def transform(self, X: Any) -> NDArray[Any]:
        """Array of shape (n_rows, n_columns), float32 or float64, rows contiguous."""
        if not isinstance(X, pd.DataFrame):
            array = np.asarray(X)
            if array.dtype not in (np.float32, np.float64):
                array = array.astype(np.float64)
            return np.ascontiguousarray(array)
        if not self.categories_:
            return np.ascontiguousarray(X.to_numpy(dtype=np.float64))
        result = np.empty(X.shape, dtype=np.float64)
        for position in range(X.shape[1]):
            column = X.iloc[:, position]
            categories = self.categories_.get(position)
            result[:, position] = column if categories is None else _codes(column, categories)
        return result


def _codes(column: pd.Series[Any], categories: pd.Index) -> NDArray[np.float64]:
    if isinstance(column.dtype, pd.CategoricalDtype) and column.cat.categories.equals(categories):
        codes = column.cat.codes.to_numpy()
    else:
        codes = categories.get_indexer(pd.Index(column))
    return np.where(codes < 0, np.nan, codes)
