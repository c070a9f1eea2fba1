"""Digests of a table's content, the same whatever file format held it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from automl.content_digests import new_digest
from automl.errors import DataError
from automl.inference.column_schema import ColumnSchema
from automl.inference.columns import are_whole, category_text, values_of
from automl.inference.forms import FloatArray
from automl.inference.raw_table import Column, RawTable
from automl.inference.schema import TableSchema

_MISSING = np.uint64(0x9E3779B97F4A7C15)
_MULTIPLIER = np.uint64(0xFF51AFD7ED558CCD)
DIGITS = 5
"""Fewer take different rows for copies, more miss rounded ones; with five all 34 of
``benchmarks/preflight`` are found."""
BLOCK = 2**15
"""Rows."""
FEW_COLUMNS = 8
"""Columns that distinguish rows in nearly every table of numbers."""
Hashes = NDArray[np.uint64]


def digest_frame(frame: pd.DataFrame | RawTable) -> str:
    """32 hexadecimal digits over column names and values, in order.

    Numbers and booleans are digested as float64, everything else as text; missing values of all kinds are
    equal. So a table gives the same digest from csv, parquet and feather, as long as the columns
    are read as the same kind.
    """
    digest = new_digest()
    for name, column in RawTable.of(frame).items():
        digest.update(name.encode() + b"\0")
        digest.update(value_hashes(column).data)
    return digest.hexdigest()


def row_digests(frame: pd.DataFrame) -> Hashes:
    """64 bits per row over the values of all columns, in order; names do not count.

    Returns
    -------
    (n_rows,)
        Equal for equal rows; two of n unequal rows agree with probability about n**2 / 2**65.
    """
    columns = (Column(frame.iloc[:, position]) for position in range(frame.shape[1]))
    return _combined(np.full(len(frame), _MISSING), map(value_hashes, columns))


def _combined(digests: Hashes, columns: Iterable[Hashes]) -> Hashes:
    """Digests with the hashes of further columns, each of which is made and let go in turn."""
    for hashes in columns:
        for block in _blocks(len(digests)):
            part = digests[block]
            part ^= hashes[block]
            part *= _MULTIPLIER
            part ^= part >> np.uint64(32)
    return digests


def _blocks(n_rows: int) -> Iterator[slice]:
    """Rows whose numbers stay in the processor's cache while they are worked on."""
    return (slice(start, start + BLOCK) for start in range(0, n_rows, BLOCK))


def used_row_digests(
    raw: pd.DataFrame | RawTable, schema: TableSchema, target: NDArray[Any]
) -> Hashes:
    """Row digests over the used columns, read as the schema reads them, and the target.

    So a number and the text of this number, or two ways to write a day, give equal digests.

    Parameters
    ----------
    raw : (n_rows, n_columns)
        Has all columns of the schema.
    target : (n_rows,)
        Labels as texts, or numbers.
    """
    raw = RawTable.of(raw)
    features = (_canonical_hashes(column, raw[column.name]) for column in schema.columns)
    last = Column(pd.Series(target, dtype=target.dtype))
    hashes = chain(features, map(value_hashes, [last]))
    return _combined(np.full(raw.n_rows, _MISSING), hashes)


def close_digests(typed: pd.DataFrame, whole: Collection[str] | None = None) -> Hashes:
    """Digests of the features that are equal for rows which differ by rounding only.

    Numbers count to `DIGITS` digits, those of columns of whole numbers in full.

    Parameters
    ----------
    typed : (n_rows, n_features)
    whole
        Columns of whole numbers; default: those of `typed` itself.
    """
    whole = whole_columns(typed) if whole is None else whole
    return _combined(np.full(len(typed), _MISSING), _close_hashes(typed, whole))


def n_close_repeats(typed: pd.DataFrame) -> int:
    """Number of rows with the close digest of an earlier one.

    Columns are looked at until no two rows are left that are close in all before.
    """
    rows, digests = np.arange(len(typed)), np.full(len(typed), _MISSING)
    for first in range(0, typed.shape[1], FEW_COLUMNS):
        columns = typed.iloc[:, first : first + FEW_COLUMNS]
        whole = whole_columns(columns)
        some = columns if len(rows) == len(typed) else columns.iloc[rows]
        digests = _combined(digests, _close_hashes(some, whole))
        is_repeated = pd.Series(digests).duplicated(keep=False).to_numpy()
        rows, digests = rows[is_repeated], digests[is_repeated]
        if not len(rows):
            break
    return int(pd.Series(digests).duplicated().sum())


def _close_hashes(typed: pd.DataFrame, whole: Collection[str]) -> Iterator[Hashes]:
    for name, series in typed.items():
        if str(name) in whole or series.dtype != np.float64:
            yield value_hashes(Column(series))
        else:
            yield _number_hashes(series.to_numpy(), _rounded)


def whole_columns(typed: pd.DataFrame) -> frozenset[str]:
    """Columns without a fraction."""
    numbers = typed.select_dtypes("number")
    return frozenset(
        str(name) for name, column in numbers.items() if are_whole(column.dropna().to_numpy())
    )


def _rounded(values: FloatArray) -> FloatArray:
    sizes = np.abs(values)
    with np.errstate(divide="ignore", invalid="ignore"):
        unit = 10.0 ** (np.floor(np.log10(sizes)) - (DIGITS - 1))
        steps = np.rint(values / unit)
    rounded = np.where(sizes > 0, steps * unit, values)
    mantissas, exponents = np.frexp(rounded)
    return np.ldexp(mantissas.astype(np.float32).astype(np.float64), exponents)


def _canonical_hashes(column: ColumnSchema, raw: Column) -> Hashes:
    if column.role != "nominal" and column.read_by is not None:
        return _number_hashes(raw.read(column.read_by).values)
    codes, values = raw.distinct
    return _text_hashes([category_text(v, column.stored, column.aliases) for v in values])[codes]


def value_hashes(column: Column) -> Hashes:
    """64 bits per value, (n_rows,); numbers and booleans as float64, all else as text."""
    dtype = column.series.dtype
    is_other = isinstance(dtype, pd.CategoricalDtype) or pd.api.types.is_complex_dtype(dtype)
    if not is_other and column.kind in ("number", "boolean"):
        return _number_hashes(column.read().values)
    try:
        codes, distinct = column.distinct
    except DataError:  # lists and mappings, which only unused columns may hold
        codes, distinct = values_of(column.series.map(repr, na_action="ignore"))
    return _text_hashes([str(value) for value in distinct])[codes]


def _text_hashes(texts: list[str | None]) -> Hashes:
    """Hash of each text, None is missing; last that of a missing value."""
    hashes = pd.util.hash_array(
        np.array([text or "" for text in texts], dtype=object), categorize=False
    )
    hashes[[text is None for text in texts]] = _MISSING
    return np.append(hashes, _MISSING)


def _number_hashes(
    values: FloatArray, change: Callable[[FloatArray], FloatArray] | None = None
) -> Hashes:
    """Hashes of numbers, or of what a change makes of them."""
    hashes = np.empty(len(values), dtype=np.uint64)
    for block in _blocks(len(values)):
        numbers = (values[block] if change is None else change(values[block])) + 0.0  # no -0.0
        hashed = pd.util.hash_array(numbers)
        hashed[np.isnan(numbers)] = _MISSING
        hashes[block] = hashed
    return hashes
