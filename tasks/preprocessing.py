"""Tasks that prepare the columns of a frame for a learner. Each also works as ``name.fn(...)``.

``impute(frame)`` and its like fit on the frame they transform. To fit on training rows and treat
other rows alike, take ``fit_imputer(training)`` and then ``apply(imputer, other)``. Only the
columns for features belong in the frame, not the target. Nothing is cached or persisted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from prefect import task
from prefect.cache_policies import NO_CACHE

from automl.data.untyped import warn_of_dates
from automl.preprocessing import (
    Encoder,
    Imputer,
    Reducer,
    Scaler,
    TablePreprocessor,
    ValueCounts,
    VarianceFilter,
    build_preprocessor,
)

Transformer = Imputer | Encoder | VarianceFilter | ValueCounts | Scaler | Reducer


@task(cache_policy=NO_CACHE, persist_result=False)
def impute(frame: pd.DataFrame, method: str = "mean", nominal: str = "category") -> pd.DataFrame:
    """Frame without missing values.

    Parameters
    ----------
    method : ``mean``, ``median`` or ``none``
        What a missing number becomes.
    nominal : ``category``, ``most_frequent`` or ``null``
        What a missing category becomes.
    """
    return _frame(Imputer(method, nominal).fit_transform(frame))


@task(cache_policy=NO_CACHE, persist_result=False)
def fit_imputer(frame: pd.DataFrame, method: str = "mean", nominal: str = "category") -> Imputer:
    """Imputer with the fill values of a training frame; see `impute`."""
    return Imputer(method, nominal).fit(frame)


@task(cache_policy=NO_CACHE, persist_result=False)
def encode(
    frame: pd.DataFrame, y: ArrayLike | None = None, method: str = "onehot", **options: Any
) -> pd.DataFrame:
    """Frame of numbers: nominal columns encoded, the target encoding out of fold.

    Parameters
    ----------
    y : (n_rows,)
        Target, for the method ``target`` only.
    method : ``onehot``, ``ordinal``, ``target`` or ``native``
    options
        Of `automl.preprocessing.Encoder`, such as `max_categories`.
    """
    warn_of_dates(frame)
    return Encoder(method, **options).fit_transform(frame, y)


@task(cache_policy=NO_CACHE, persist_result=False)
def fit_encoder(
    frame: pd.DataFrame, y: ArrayLike | None = None, method: str = "onehot", **options: Any
) -> Encoder:
    """Encoder with the categories of a training frame; see `encode`."""
    warn_of_dates(frame)
    return Encoder(method, **options).fit(frame, y)


@task(cache_policy=NO_CACHE, persist_result=False)
def filter_variance(
    frame: pd.DataFrame, threshold: float = 0.0, *, raw: bool = False
) -> pd.DataFrame:
    """Frame without numeric columns whose variance is at most a threshold.

    Parameters
    ----------
    threshold : >= 0
        0 drops constant columns only.
    raw
        Compare the variance as it is, instead of that of the column scaled to [0, 1].
    """
    return _frame(VarianceFilter(threshold, raw=raw).fit_transform(frame))


@task(cache_policy=NO_CACHE, persist_result=False)
def fit_variance_filter(
    frame: pd.DataFrame, threshold: float = 0.0, *, raw: bool = False
) -> VarianceFilter:
    """Filter that keeps the varying columns of a training frame; see `filter_variance`."""
    return VarianceFilter(threshold, raw=raw).fit(frame)


@task(cache_policy=NO_CACHE, persist_result=False)
def count_values(frame: pd.DataFrame) -> pd.DataFrame:
    """Frame with a further column for each column of numbers that repeat: how many rows have the number."""
    return _frame(ValueCounts().fit_transform(frame))


@task(cache_policy=NO_CACHE, persist_result=False)
def fit_value_counts(frame: pd.DataFrame) -> ValueCounts:
    """Counts of the numbers of a training frame; see `count_values`."""
    return ValueCounts().fit(frame)


@task(cache_policy=NO_CACHE, persist_result=False)
def scale(frame: pd.DataFrame, method: str = "standard") -> pd.DataFrame:
    """Frame with scaled numbers.

    Parameters
    ----------
    method : ``minmax``, ``standard``, ``robust``, ``quantile_normal`` or ``none``
    """
    return _frame(Scaler(method).fit_transform(frame))


@task(cache_policy=NO_CACHE, persist_result=False)
def fit_scaler(frame: pd.DataFrame, method: str = "standard") -> Scaler:
    """Scaler with the centers and scales of a training frame; see `scale`."""
    return Scaler(method).fit(frame)


@task(cache_policy=NO_CACHE, persist_result=False)
def reduce(
    frame: pd.DataFrame,
    y: ArrayLike | None = None,
    method: str = "pca",
    share: float | None = None,
) -> pd.DataFrame:
    """Frame with fewer numeric columns, which must be complete.

    Parameters
    ----------
    y : (n_rows,)
        Target, for the methods ``select_k`` and ``select_few`` only.
    method : ``pca``, ``select_k`` or ``select_few``
    share : in (0, 1]
        Of the variance to be explained (default 0.95), or of the columns to be kept (0.5).
    """
    return _frame(Reducer(method, share).fit_transform(frame, y))


@task(cache_policy=NO_CACHE, persist_result=False)
def fit_reducer(
    frame: pd.DataFrame,
    y: ArrayLike | None = None,
    method: str = "pca",
    share: float | None = None,
) -> Reducer:
    """Reducer with the components or columns of a training frame; see `reduce`."""
    return Reducer(method, share).fit(frame, y)


@task(cache_policy=NO_CACHE, persist_result=False)
def apply(transformer: Transformer, frame: pd.DataFrame) -> pd.DataFrame:
    """Frame of other rows, transformed as the training frame was.

    Raises
    ------
    DataError
        If the columns are not those of the training frame.
    """
    return _frame(transformer.transform(frame))


@task(cache_policy=NO_CACHE, persist_result=False)
def fit_preprocessor(
    frame: pd.DataFrame,
    y: ArrayLike | None = None,
    choices: Mapping[str, Any] | None = None,
    seed: int = 0,
) -> TablePreprocessor:
    """All steps in one, as the search uses them: encode, impute, filter, scale, reduce.

    Parameters
    ----------
    frame
        Typed, see `automl_tasks.data.type_columns`.
    choices
        ``prep.*`` values such as ``{"prep.encoder": "ordinal", "prep.scaler": "standard"}``; see
        `automl.preprocessing.build_preprocessor`.

    Raises
    ------
    SettingsError
        If a choice is unknown or not allowed.
    """
    warn_of_dates(frame)
    return build_preprocessor(choices or {}, seed=seed).fit(frame, y)


@task(cache_policy=NO_CACHE, persist_result=False)
def apply_preprocessor(
    preprocessor: TablePreprocessor, frame: pd.DataFrame
) -> NDArray[np.float32] | pd.DataFrame:
    """Matrix of a typed frame, (n_rows, n_outputs) float32; a frame with the ``native`` encoder.

    The names of its columns are ``preprocessor.get_feature_names_out()``.

    Raises
    ------
    DataError
        If the columns are not those of the training frame.
    """
    return preprocessor.transform(frame)


def _frame(transformed: Any) -> pd.DataFrame:
    """A frame in gives a frame out; says so to the type checker."""
    assert isinstance(transformed, pd.DataFrame)
    return transformed
