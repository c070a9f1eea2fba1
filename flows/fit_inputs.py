"""What `fit` and `predict` are given, as one frame: rows by position, columns with text names."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.exceptions import DataConversionWarning

from automl.errors import AutoMLWarning, DataError, SettingsError
from automl.preprocessing.blocks import as_frame

WEIGHTS = "sample_weight"


def joined(
    X: pd.DataFrame | ArrayLike,
    y: ArrayLike | None,
    target: str | None,
    sample_weight: ArrayLike | None,
) -> tuple[pd.DataFrame, dict[str, str]]:
    """One frame with target and weights as columns, and the names of these two.

    Raises
    ------
    SettingsError
        If not exactly one of `y` and `target` is given.
    DataError
        If something is no column, or has another number of rows than X.
    """
    if y is None and target is None:
        raise SettingsError(
            "fit requires y to be passed, but the target y is None; pass y, or name the column of X "
            "with target",
            setting="target",
        )
    if y is not None and target is not None:
        raise SettingsError("fit needs either y or target; got both", setting="target")
    frame = features(X).reset_index(drop=True)
    names: dict[str, str] = {}
    if y is None:
        names["target"] = str(target).strip()
    else:
        names["target"] = _free_name(str(getattr(y, "name", None) or "").strip() or "target", frame)
        frame[names["target"]] = _column(y, "y", len(frame))
    if sample_weight is not None:
        names["weights"] = _free_name(WEIGHTS, frame)
        frame[names["weights"]] = _column(sample_weight, WEIGHTS, len(frame))
    return frame, names


def features(X: pd.DataFrame | ArrayLike) -> pd.DataFrame:
    """A copy with text names; its values are shared.

    Raises
    ------
    DataError
        If it is no table of at least one column, or holds what no column can.
    """
    if isinstance(X, str | PathLike):
        raise DataError(
            f"X must be a frame or an array; got the text {str(X)!r}: read a file with pandas.read_csv, or "
            "train on it with the command line, `automl train`"
        )
    if hasattr(X, "toarray"):
        raise DataError("X must be a frame or a dense array; got a sparse matrix")
    frame = as_frame(X).copy(deep=False)
    if not frame.shape[1]:
        raise DataError(
            f"X has 0 feature(s) (shape={frame.shape}) while a minimum of 1 is required."
        )
    if any(getattr(dtype, "kind", "") == "c" for dtype in frame.dtypes):
        raise DataError("Complex data not supported: X holds complex numbers")
    frame.columns = pd.Index([str(name) for name in frame.columns], dtype=object)
    return frame


def later_features(
    X: pd.DataFrame | ArrayLike, fitted: Sequence[str], *, has_names: bool, owner: str
) -> pd.DataFrame:
    """Rows to predict: columns of a frame go by name, those of an array in the order of `fit`.

    Parameters
    ----------
    fitted : names of the columns at `fit`
    has_names : whether they are the caller's own
    owner : what the estimator is called

    Raises
    ------
    DataError
        If an array has another number of columns; else as `features`.

    Warns
    -----
    AutoMLWarning
        If `fit` knew the columns by name, and X has no names.
    """
    frame = features(X)
    if isinstance(X, pd.DataFrame):
        return frame
    if frame.shape[1] != len(fitted):
        raise DataError(
            f"X has {frame.shape[1]} features, but {owner} is expecting {len(fitted)} features as input"
        )
    if has_names:
        text = "X has no column names; its columns are taken in the order that they had in fit"
        warnings.warn(text, AutoMLWarning, stacklevel=4)
    frame.columns = pd.Index(fitted, dtype=object)
    return frame


def are_names(X: pd.DataFrame | ArrayLike) -> bool:
    """Whether the columns have names of their own, which are all texts."""
    return isinstance(X, pd.DataFrame) and all(isinstance(name, str) for name in X.columns)


def _column(values: ArrayLike, name: str, n_rows: int) -> Any:
    """Values by position: a Series loses its index, a frame or matrix must have one column."""
    if isinstance(values, pd.Series):
        column: Any = values.array
    elif isinstance(values, pd.DataFrame):
        _check_width(values.shape[1], name)
        column = values.iloc[:, 0].array
    else:
        column = pd.Series(_one_dimension(np.asarray(values), values, name)).array
    if getattr(column.dtype, "kind", "") == "c":
        raise DataError(f"Complex data not supported: {name} holds complex numbers")
    if len(column) != n_rows:
        raise DataError(f"X has {n_rows} rows and {name} has {len(column)}; they must be equal")
    return column


def _one_dimension(array: Any, values: ArrayLike, name: str) -> Any:
    if array.ndim == 1:
        is_mixed = isinstance(values, Sequence | pd.api.extensions.ExtensionArray | pd.Index)
        return values if is_mixed else array  # an array of a list of both makes texts of numbers
    if array.ndim != 2:
        raise DataError(f"{name} must have one dimension; got shape {array.shape}")
    _check_width(array.shape[1], name)
    text = f"A column-vector {name} was passed when a 1d array was expected; it is taken as one"
    warnings.warn(text, DataConversionWarning, stacklevel=5)
    return array[:, 0]


def _check_width(n_columns: int, name: str) -> None:
    if n_columns != 1:
        raise DataError(f"{name} must have one column; got {n_columns}")


def _free_name(name: Any, frame: pd.DataFrame) -> str:
    text = str(name)
    while text in frame.columns:
        text += "_"
    return text
