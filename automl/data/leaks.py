"""Columns that give the target away.

A table is refused if a column equals the target, or is the target under other names. A note names a column that
alone leaves less than 1 % of the errors of the most frequent class, or 0.1 % of the variance of a regression target's
ranks. It also names one that leaves up to a quarter if every other column alone leaves four times as much.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from automl.data.findings import Findings
from automl.data.roles import ColumnRole, Role
from automl.data.target import EncodedTarget
from automl.errors import DataError
from automl.inference.labels import label_text
from automl.inference.raw_table import Column, RawTable
from automl.inference.readings import Reading
from automl.records import FloatArray, IntArray

MAX_ROWS = 20_000
"""Rows at equal distances that are looked at: enough to count 1 % of the errors, and quick on any table."""
MIN_ROWS = 50
"""With fewer, a column may determine the target by chance."""
MIN_ERRORS = 10
"""Errors of the most frequent class: of fewer no share of 1 % can be told."""
ROWS_PER_VALUE = 10
"""Rows of a bin at least: a bin of few would know its rows by heart."""
MAX_BINS = 64
"""Most bins of a numeric column; bounds the table of bins by classes (by judgement)."""
REMAINING_ERRORS = 0.01
"""What a leak may leave of the errors: ``benchmarks/preflight`` finds 39 of 40 leaks, and calls one in 60
tables wrongly."""
REMAINING_VARIANCE = 0.001
"""The same of the variance of a regression target's ranks, of which honest columns leave less than of
errors."""
REMAINING_OF_STANDOUT = 0.25
"""Most that a column may leave and still differ from the others; developed with ``benchmarks/preflight``."""
TIMES_NEXT = 4
"""A column that predicts well has others like it; one that leaks is alone."""


def check_leaks(
    raw: RawTable,
    roles: Mapping[str, ColumnRole],
    target: EncodedTarget,
    findings: Findings,
) -> None:
    """Find columns that equal or almost determine the target, among all that are not left out by hand."""
    remaining: dict[str, float] = {}
    for name, role in roles.items():
        if role.role is Role.IGNORED or (role.is_given and not role.role.is_used):
            continue
        relation = _relation(raw[name], role, target)
        if relation == "equals":
            findings.problems.append(
                f"column {name!r} equals the target; remove it or give it the role ignored"
            )
        elif relation == "renames" and not role.is_given:
            findings.problems.append(
                f"column {name!r} is the target under other names (one value for each class); give it the "
                f"role ignored, or {role.role} to keep it"
            )
        elif role.role.is_used:
            remaining[name] = 0.0 if relation else _remaining(raw[name], role, target)
    findings.notes.extend(_notes_on(remaining, target))


def _notes_on(remaining: Mapping[str, float], target: EncodedTarget) -> list[str]:
    advice = "make sure that it is known before the target is, else give it the role ignored"
    enough = REMAINING_VARIANCE if target.class_labels is None else REMAINING_ERRORS
    lowest = sorted(remaining.values())[:2]
    notes = []
    for name, left in remaining.items():
        next_lowest = lowest[-1] if len(lowest) > 1 and left == lowest[0] else 1.0
        if left <= enough:
            notes.append(f"column {name!r} alone almost determines the target; {advice}")
        elif left == lowest[0] and left <= min(REMAINING_OF_STANDOUT, next_lowest / TIMES_NEXT):
            notes.append(
                f"column {name!r} alone leaves {left:.1%} of the target unexplained, no other less than "
                f"{next_lowest:.0%}; {advice}"
            )
    return notes


def _relation(column: Column, role: ColumnRole, target: EncodedTarget) -> str:
    """``equals``, ``renames`` or nothing."""
    if target.class_labels is None:
        return "equals" if _equal_numbers(column, role.reading, target.y) else ""
    n_classes = len(target.class_labels)
    if len(column.series.iloc[:200].unique()) > n_classes + 1:
        return ""
    codes, values = column.distinct
    if (codes < 0).any() or np.count_nonzero(np.bincount(codes)) != n_classes:
        return ""
    pairs = np.unique(codes * n_classes + target.y)
    if len(pairs) != n_classes:
        return ""
    same = all(
        label_text(values[pair // n_classes]) == label_text(target.class_labels[pair % n_classes])
        for pair in pairs
    )
    return "equals" if same else "renames"


def _equal_numbers(column: Column, reading: Reading | None, y: NDArray[Any]) -> bool:
    try:
        first = column.head(50) if column.kind == "text" else column
        if not np.allclose(first.read(reading).values[:50], y[:50], rtol=1e-12, atol=0.0):
            return False
        return bool(np.allclose(column.read(reading).values, y, rtol=1e-12, atol=0.0))
    except DataError:
        return False


def _remaining(column: Column, role: ColumnRole, target: EncodedTarget) -> float:
    """Share of the target that the column alone leaves unexplained, in [0, 1]; 1 where that is unknown.

    Errors beside those of the most frequent class, or the variance of the target's ranks.
    """
    step = len(column) // MAX_ROWS + 1
    y = target.y[::step]
    if len(y) < MIN_ROWS or role.role is Role.DATE:
        return 1.0
    values = None
    if role.role is Role.NUMERIC:
        values = column.read(role.reading).values[::step]
        values = np.where(np.isinf(values), np.nan, values)
    codes = _dense(column.distinct[0][::step]) if values is None else _bins(values)
    if target.class_labels is not None:
        return _remaining_errors(codes, y)
    ranks = pd.Series(y).rank().to_numpy()
    by_cells = _remaining_variance(codes, ranks)
    return by_cells if values is None else min(by_cells, 1.0 - _rank_correlation(values, y) ** 2)


def _dense(codes: IntArray) -> IntArray:
    """Codes of a sample from 1, at most as many as it has rows; 0 is missing."""
    dense: IntArray = pd.factorize(codes)[0] + 1
    return np.where(codes < 0, 0, dense)


def _bins(values: FloatArray) -> IntArray:
    """Quantile bins of at least `ROWS_PER_VALUE` rows from 1; 0 is missing."""
    present = np.sort(values[~np.isnan(values)])
    n_bins = int(np.clip(len(present) // ROWS_PER_VALUE, 1, MAX_BINS))
    edges = np.unique(present[np.arange(1, n_bins) * len(present) // n_bins])
    return np.where(np.isnan(values), 0, np.searchsorted(edges, values, side="left") + 1)


def _remaining_errors(codes: IntArray, y: IntArray) -> float:
    """Errors of each row's most frequent class among the other rows with its code."""
    n_classes = int(y.max()) + 1
    counts = np.bincount(codes * n_classes + y, minlength=(int(codes.max()) + 1) * n_classes)
    table = counts.reshape(-1, n_classes)
    baseline_errors = len(y) - int(table.sum(axis=0).max())
    if baseline_errors < MIN_ERRORS:
        return 1.0
    highest = np.sort(table, axis=1)[:, -2:]
    others = np.where(table == highest[:, 1:], highest[:, :1], highest[:, 1:])
    return min(int(table[table - 1 <= others].sum()) / baseline_errors, 1.0)


def _remaining_variance(codes: IntArray, ranks: FloatArray) -> float:
    """Squared error of each row's mean of the other rows with its code, beside that of the mean of all."""
    counts = np.bincount(codes)
    means = np.bincount(codes, weights=ranks) / np.maximum(counts, 1)
    n_rows = counts[codes]
    own = (ranks - means[codes]) * n_rows / np.maximum(n_rows - 1, 1)
    errors = np.where(n_rows > 1, own, ranks - ranks.mean())
    spread = float(((ranks - ranks.mean()) ** 2).sum())
    return min(float((errors**2).sum()) / spread, 1.0) if spread > 0 else 1.0


def _rank_correlation(values: FloatArray, y: FloatArray) -> float:
    is_present = ~np.isnan(values)
    if is_present.sum() < max(MIN_ROWS, len(y) // 2):
        return 0.0
    first, second = pd.Series(values[is_present]).rank(), pd.Series(y[is_present]).rank()
    spread = float(first.std() * second.std())
    return abs(float(np.cov(first, second)[0, 1])) / spread if spread > 0 else 0.0
