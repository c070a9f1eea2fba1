"""Frames as one block of numbers and one array of category codes per nominal column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from automl.errors import DataError

Numbers = NDArray[np.float64]

LARGEST = 1e37
"""Greatest magnitude kept: its square still fits float64 and itself fits float32."""


@dataclass(frozen=True)
class Blocks:
    """A frame taken apart.

    Parameters
    ----------
    numbers : (n_rows, n_numeric)
        Numeric and boolean columns; missing is NaN, magnitudes at most `LARGEST`.
    numeric_names : length n_numeric
    codes : length n_nominal, each (n_rows,)
        Category codes; -1 is missing.
    categories : length n_nominal, each (n_categories,)
        Category texts that the codes point into.
    nominal_names : length n_nominal
    """

    numbers: Numbers
    numeric_names: list[str]
    codes: list[NDArray[Any]]
    categories: list[NDArray[np.object_]]
    nominal_names: list[str]


def take_apart(X: pd.DataFrame | ArrayLike) -> Blocks:
    """Blocks of a frame, or of an array (columns ``x0``, ``x1`` and so on)."""
    frame = as_frame(X)
    names = [str(name) for name in frame.columns]
    numeric = [i for i, dtype in enumerate(frame.dtypes) if is_number_type(dtype)]
    chosen = set(numeric)
    nominal = [i for i in range(len(names)) if i not in chosen]
    codes, categories = [], []
    for i in nominal:
        column_codes, column_categories = category_block(frame.iloc[:, i])
        codes.append(column_codes)
        categories.append(column_categories)
    return Blocks(
        numbers_of(frame if not nominal else frame.iloc[:, numeric]),
        [names[i] for i in numeric],
        codes,
        categories,
        [names[i] for i in nominal],
    )


def as_frame(X: pd.DataFrame | ArrayLike) -> pd.DataFrame:
    """The frame itself, or a frame around an array (columns ``x0``, ``x1`` and so on)."""
    if isinstance(X, pd.DataFrame):
        return X
    values = np.asarray(X)
    if values.ndim != 2:
        raise DataError(
            f"a table with two dimensions is expected; got shape {values.shape}. Reshape your data: "
            "X.reshape(-1, 1) is one column, X.reshape(1, -1) is one row"
        )
    frame = pd.DataFrame(values, columns=[f"x{i}" for i in range(values.shape[1])])
    return frame.infer_objects() if values.dtype == object else frame


def is_number_type(dtype: Any) -> bool:
    """Whether a column of this type is a number (booleans are)."""
    if isinstance(dtype, np.dtype):
        return dtype.kind in "fiub"
    return not isinstance(dtype, pd.CategoricalDtype) and pd.api.types.is_numeric_dtype(dtype)


def numbers_of(frame: pd.DataFrame) -> Numbers:
    """(n_rows, n_columns) float64 copy; missing is NaN, magnitudes at most `LARGEST`."""
    if all(isinstance(dtype, np.dtype) for dtype in frame.dtypes):
        values = frame.to_numpy(dtype=np.float64, copy=True)
    else:
        values = frame.to_numpy(dtype=np.float64, na_value=np.nan, copy=True)
    if values.size:
        with np.errstate(invalid="ignore"):
            if np.nanmax(np.abs(values), initial=0.0) > LARGEST:
                np.clip(values, -LARGEST, LARGEST, out=values)
    return values


def category_block(series: pd.Series) -> tuple[NDArray[Any], NDArray[np.object_]]:
    """Category code of each row (-1 is missing) and the category texts."""
    if isinstance(series.dtype, pd.CategoricalDtype):
        texts = series.dtype.categories.to_numpy()
        if series.dtype.categories.dtype != object:
            texts = np.array([str(value) for value in texts], dtype=object)
        return np.asarray(series.array.codes), texts
    codes, distinct = pd.factorize(series, sort=False)
    texts = np.array([str(value) for value in distinct], dtype=object)
    order = np.argsort(texts)
    place = np.empty(len(order) + 1, dtype=np.intp)
    place[order] = np.arange(len(order))
    place[-1] = -1
    return place[codes], texts[order]


def class_codes(y: ArrayLike, target_type: str = "auto") -> tuple[NDArray[np.intp], int] | None:
    """Class code of each row and the number of classes; None if the target is a number.

    Parameters
    ----------
    target_type : ``auto``, ``classes`` or ``number``
        ``auto`` takes floating-point targets for numbers and everything else for classes.
    """
    values = np.asarray(y)
    if target_type == "number" or (target_type == "auto" and values.dtype.kind == "f"):
        return None
    if values.dtype.kind in "iu" and len(values) and values.min() >= 0 and values.max() < 10_000:
        return values.astype(np.intp), int(values.max()) + 1
    distinct, codes = np.unique(values, return_inverse=True)
    return codes, len(distinct)


class BlockTransformer(TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):  # type: ignore[misc, call-arg]
    """Base of the transformers of numbers: a frame in gives a frame, an array gives an array.

    Numeric columns go through the transformer; other columns of a frame pass unchanged.
    Subclasses define `fit_block`, `transform_block` and `block_names`.
    """

    def fit(self, X: pd.DataFrame | ArrayLike, y: ArrayLike | None = None) -> Self:
        """Learn from the numeric columns of X (n_rows, n_columns)."""
        frame = as_frame(X)
        self.feature_names_in_ = np.array([str(name) for name in frame.columns], dtype=object)
        self.n_features_in_ = frame.shape[1]
        numeric = [is_number_type(dtype) for dtype in frame.dtypes]
        self.is_numeric_ = np.array(numeric, dtype=bool)
        self.fit_block(numbers_of(frame.loc[:, self.is_numeric_]), y)
        return self

    def transform(self, X: pd.DataFrame | ArrayLike) -> pd.DataFrame | Numbers:
        """Transformed X, as a frame where X is one."""
        check_is_fitted(self, "is_numeric_")
        frame = as_frame(X)
        if frame.shape[1] != self.n_features_in_:
            raise DataError(
                f"{type(self).__name__} was fitted on {self.n_features_in_} columns; "
                f"got {frame.shape[1]}"
            )
        values = self.transform_block(numbers_of(frame.loc[:, self.is_numeric_]))
        if not isinstance(X, pd.DataFrame):
            return values
        names = self.block_names([str(name) for name in self.feature_names_in_[self.is_numeric_]])
        out = pd.DataFrame(values, columns=names, index=frame.index)
        rest = frame.loc[:, ~self.is_numeric_]
        return self._in_order(pd.concat([out, rest], axis=1)) if rest.shape[1] else out

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Names of the output columns."""
        check_is_fitted(self, "is_numeric_")
        names = self.feature_names_in_ if input_features is None else np.asarray(input_features)
        out = self.block_names([str(name) for name in names[self.is_numeric_]])
        rest = [str(name) for name in names[~self.is_numeric_]]
        return np.array(_ordered([*out, *rest], list(names)), dtype=object)

    def fit_block(self, values: Numbers, y: ArrayLike | None = None) -> Self:
        """Learn from a block of numbers (n_rows, n_columns)."""
        raise NotImplementedError

    def transform_block(self, values: Numbers) -> Numbers:
        """Transformed block; may reuse the memory of `values`."""
        raise NotImplementedError

    def block_names(self, names: list[str]) -> list[str]:
        """Names after the transformation of columns called `names` before."""
        return names

    def _in_order(self, frame: pd.DataFrame) -> pd.DataFrame:
        return frame[_ordered(list(frame.columns), list(self.feature_names_in_))]


def _ordered(names: list[str], before: list[str]) -> list[str]:
    """Names in the order of `before`; new ones come first, in their own order."""
    place = {name: position for position, name in enumerate(before)}
    return sorted(names, key=lambda name: place.get(name, -1))
