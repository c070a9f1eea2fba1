"""Digests of a table's content, the same whatever file format held it."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from automl.inference.columns import (
    category_text,
    stored_kind,
    values_of,
)
from automl.inference.readings import read_values
from automl.inference.schema import ColumnSchema, TableSchema

_MISSING = np.uint64(0x9E3779B97F4A7C15)
_MULTIPLIER = np.uint64(0xFF51AFD7ED558CCD)
DIGITS = 5


def digest_frame(frame: pd.DataFrame) -> str:
    """32 hexadecimal digits over column names and values, in order.

    Numbers and booleans are digested as float64, everything else as text; missing values of all kinds are
    equal. So a table gives the same digest from csv, parquet and feather, as long as the columns
    are read as the same kind.
    """
    digest = hashlib.blake2b(digest_size=16)
    for position, name in enumerate(frame.columns):
        digest.update(str(name).encode() + b"\0")
        digest.update(value_hashes(frame.iloc[:, position]).tobytes())
    return digest.hexdigest()


def row_digests(frame: pd.DataFrame) -> NDArray[np.uint64]:
    """64 bits per row over the values of all columns, in order; names do not count.

    Returns
    -------
    (n_rows,)
        Equal for equal rows; two of n unequal rows agree with probability about n**2 / 2**65.
    """
    combined = np.full(len(frame), _MISSING)
    for position in range(frame.shape[1]):
        combined ^= value_hashes(frame.iloc[:, position])
        combined *= _MULTIPLIER
        combined ^= combined >> np.uint64(32)
    return combined


def used_row_digests(
    raw: pd.DataFrame, schema: TableSchema, target: NDArray[Any]
) -> NDArray[np.uint64]:
    """Row digests over the used columns, read as the schema reads them, and the target.

    So a number and the text of this number, or two ways to write a day, give equal digests.

    Parameters
    ----------
    raw : (n_rows, n_columns)
        Has all columns of the schema.
    target : (n_rows,)
        Labels as texts, or numbers.
    """
    canonical = {
        position: _canonical(column, raw[column.name])
        for position, column in enumerate(schema.columns)
    }
    canonical[len(canonical)] = pd.Series(target)
    return row_digests(pd.DataFrame(canonical, copy=False))


def close_digests(typed: pd.DataFrame, whole: Collection[str] | None = None) -> NDArray[np.uint64]:
    """Digests of the features that are equal for rows which differ by rounding only.

    Numbers count to `DIGITS` digits, those of columns of whole numbers in full.

    Parameters
    ----------
    typed : (n_rows, n_features)
    whole
        Columns of whole numbers; default: those of `typed` itself.
    """
    whole = whole_columns(typed) if whole is None else whole
    close = {
        place: _rounded(column) if str(name) not in whole and column.dtype == np.float64 else column
        for place, (name, column) in enumerate(typed.items())
    }
    return row_digests(pd.DataFrame(close, copy=False))


def whole_columns(typed: pd.DataFrame) -> frozenset[str]:
    """Columns without a fraction."""
    numbers = typed.select_dtypes("number")
    is_whole = (np.floor(numbers) == numbers) | numbers.isna()
    return frozenset(str(name) for name in numbers.columns[is_whole.all(axis=0)])


def _rounded(series: pd.Series) -> pd.Series:
    values = series.to_numpy(dtype=np.float64)
    sizes = np.abs(values)
    with np.errstate(divide="ignore", invalid="ignore"):
        unit = 10.0 ** (np.floor(np.log10(sizes)) - (DIGITS - 1))
        steps = np.rint(values / unit)
    return pd.Series(np.where(sizes > 0, steps * unit, values)).astype(np.float32)


def _canonical(column: ColumnSchema, series: pd.Series) -> pd.Series:
    if column.role != "nominal" and column.read_by is not None:
        return pd.Series(read_values(series, column.read_by, name=column.name).values)
    codes, values = values_of(series)
    texts = [category_text(value, column.stored, column.aliases) for value in values]
    # equal texts of different values become one category, missing markers none
    text_codes, distinct = pd.factorize(np.array(texts, dtype=object))
    table = np.append(text_codes, -1)
    return pd.Series(pd.Categorical.from_codes(table[codes], categories=pd.Index(distinct)))


def value_hashes(series: pd.Series) -> NDArray[np.uint64]:
    """64 bits per value, (n_rows,); numbers and booleans as float64, all else as text."""
    is_category = isinstance(series.dtype, pd.CategoricalDtype)
    is_complex = pd.api.types.is_complex_dtype(series.dtype)
    if not (is_category or is_complex) and stored_kind(series) in ("number", "boolean"):
        values = series.to_numpy(dtype=np.float64, na_value=np.nan) + 0.0  # -0.0 becomes 0.0
        return np.where(np.isnan(values), _MISSING, pd.util.hash_array(values))
    try:
        codes, distinct = pd.factorize(series)
    except TypeError:  # lists and mappings, which only unused columns may hold
        codes, distinct = pd.factorize(series.map(repr, na_action="ignore"))
    texts = np.array([str(value) for value in distinct], dtype=object)
    table = np.append(pd.util.hash_array(texts, categorize=False), _MISSING)
    return table[codes]
