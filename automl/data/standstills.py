"""Columns that never change after a row, or before one, though chance would have changed them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from automl.inference.columns import short
from automl.records import FloatArray, IntArray

MIN_ROWS = 10
"""The shortest run that is looked at: shorter ones are nothing to act on (by judgement)."""
LOG_CHANCE = np.log(1e-9)
"""Logarithm of the probability of the last run in a random order: small beside all columns and both ends."""
TIMES_LONGEST = 3
"""Multiple of the longest other run: values that come in runs have a long one last, too."""


@dataclass(frozen=True)
class Standstill:
    """The rows at the end, or at the beginning, in which a column has one value.

    Parameters
    ----------
    n_rows
        How many they are.
    value
        None if it is missing.
    """

    column: str
    n_rows: int
    is_end: bool
    value: object

    def sentence(self, n_all: int, where: str = "") -> str:
        """What to tell the user of a table of `n_all` rows."""
        last = f"row {n_all - self.n_rows}" if self.is_end else f"row {self.n_rows + 1}"
        when = f"after {last}" if self.is_end else f"before {last}"
        what = "it is empty" if self.value is None else f"it is {short(self.value)}"
        return (
            f"column {self.column!r} never changes {when}{where}: {what} in {self.n_rows} of {n_all} rows; "
            "make sure that it is still recorded when the model is used"
        )


def standstills(frame: pd.DataFrame, strata: IntArray, order: IntArray) -> list[Standstill]:
    """Every column's standstill, at most one for a column.

    Parameters
    ----------
    frame : (n_rows, n_columns)
        Typed numbers and categories.
    strata : (n_rows,)
        Codes of rows with similar targets: a column may have one value in all rows of a class.
    order : (n_rows,)
        Positions of the rows in their order.
    """
    runs = []
    log_factorials = _log_factorials(len(frame))
    for place, name in enumerate(frame.columns):
        codes = _codes(frame.iloc[:, place])
        for is_end in (True, False):
            towards_end = order if is_end else order[::-1]
            n_rows = _standstill(codes, strata, towards_end, log_factorials)
            if n_rows:
                value = frame.iloc[order[-1 if is_end else 0], place]
                runs.append(
                    Standstill(str(name), n_rows, is_end, None if pd.isna(value) else value)
                )
                break
    return runs


def _codes(series: pd.Series) -> NDArray[Any]:
    """Numbers that are equal where the values are, missing ones among them."""
    if isinstance(series.dtype, pd.CategoricalDtype):
        return series.cat.codes.to_numpy()
    values = series.to_numpy(dtype=np.float64)
    return np.where(np.isnan(values), np.inf, values)  # a typed column has no infinite values


def _standstill(
    codes: NDArray[Any], strata: IntArray, order: IntArray, log_factorials: FloatArray
) -> int:
    """Length of the last run in an order, 0 where it is short or may be chance."""
    last = codes[order[-MIN_ROWS:]]
    if len(last) < MIN_ROWS or (last != last[-1]).any():
        return 0
    codes, strata, n_rows = codes[order], strata[order], len(codes)
    differs = np.flatnonzero(codes != codes[-1])
    if not len(differs):
        return 0
    length = n_rows - 1 - int(differs[-1])
    if length < TIMES_LONGEST * _longest_run(codes[: n_rows - length]):
        return 0
    return (
        length
        if _log_chance(codes == codes[-1], strata, length, log_factorials) < LOG_CHANCE
        else 0
    )


def _longest_run(codes: NDArray[Any]) -> int:
    borders = np.flatnonzero(codes[1:] != codes[:-1]) + 1
    return int(np.diff(np.concatenate([[0], borders, [len(codes)]])).max())


def _log_chance(
    is_value: np.ndarray, strata: IntArray, length: int, log_factorials: FloatArray
) -> float:
    """Chance of `length` last rows that all have the value, if the rows of each stratum were in random order."""
    n = np.bincount(strata)
    with_value = np.bincount(strata[is_value], minlength=len(n))
    last = np.bincount(strata[-length:], minlength=len(n))
    ways = _log_choices(n - last, with_value - last, log_factorials)
    return float((ways - _log_choices(n, with_value, log_factorials)).sum())


def _log_choices(n: IntArray, k: IntArray, log_factorials: FloatArray) -> FloatArray:
    choices: FloatArray = log_factorials[n] - log_factorials[k] - log_factorials[n - k]
    return choices


def _log_factorials(n: int) -> FloatArray:
    return np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, n + 1)))])
