"""Columns that give the target away.

A column that equals the target, or is the target under other names, refuses the table. A column that alone leaves
less than 1 % of the errors of the most frequent class, or ranks the rows like a regression target
(rank correlation 0.9995 or more), is noted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from automl.data.findings import Findings
from automl.data.roles import ColumnRole, Role
from automl.data.target import EncodedTarget, label_text
from automl.errors import DataError
from automl.inference.readings import Reading, numbers
from automl.records import FloatArray, IntArray

MAX_ROWS = 20_000
MIN_ROWS = 50
MIN_ERRORS = 10
ROWS_PER_VALUE = 10
MAX_BINS = 64
REMAINING_ERRORS = 0.01
RANK_CORRELATION = 0.9995


def check_leaks(
    raw: pd.DataFrame,
    roles: Mapping[str, ColumnRole],
    target: EncodedTarget,
    findings: Findings,
) -> None:
    """Find columns that equal or almost determine the target, among all that are not left out by hand."""
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
        elif role.role.is_used and (relation or _almost_determines(raw[name], role, target)):
            findings.notes.append(
                f"column {name!r} alone almost determines the target; make sure that it is known "
                "before the target is, else give it the role ignored"
            )


def _relation(series: pd.Series, role: ColumnRole, target: EncodedTarget) -> str:
    """``equals``, ``renames`` or nothing."""
    if target.class_labels is None:
        return "equals" if _equal_numbers(series, role.reading, target.y) else ""
    n_classes = len(target.class_labels)
    if len(series.iloc[:200].unique()) > n_classes + 1:
        return ""
    codes, values = pd.factorize(series)
    if len(values) != n_classes or (codes < 0).any():
        return ""
    pairs = np.unique(codes * n_classes + target.y)
    if len(pairs) != n_classes:
        return ""
    same = all(
        label_text(values[pair // n_classes]) == label_text(target.class_labels[pair % n_classes])
        for pair in pairs
    )
    return "equals" if same else "renames"


def _equal_numbers(series: pd.Series, reading: Reading | None, y: NDArray[Any]) -> bool:
    name = str(series.name)
    try:
        head = numbers(series.iloc[:50], name=name, reading=reading)
        if not np.allclose(head, y[:50], rtol=1e-12, atol=0.0):
            return False
        values = numbers(series, name=name, reading=reading)
        return bool(np.allclose(values, y, rtol=1e-12, atol=0.0))
    except DataError:
        return False


def _almost_determines(series: pd.Series, role: ColumnRole, target: EncodedTarget) -> bool:
    step = len(series) // MAX_ROWS + 1
    sample, y = series.iloc[::step], target.y[::step]
    if len(y) < MIN_ROWS or role.role is Role.DATE:
        return False
    values = None
    if role.role is Role.NUMERIC:
        values = numbers(sample, name=role.name, reading=role.reading)
        values = np.where(np.isinf(values), np.nan, values)
    if target.class_labels is None:
        return values is not None and _rank_correlation(values, y) >= RANK_CORRELATION
    if values is not None:
        return _separates(_bins(values), y)
    codes, distinct = pd.factorize(sample)
    return len(distinct) * ROWS_PER_VALUE <= len(y) and _separates(codes + 1, y)


def _bins(values: FloatArray) -> IntArray:
    """Quantile bins of at least `ROWS_PER_VALUE` rows from 1; 0 is missing."""
    known = np.sort(values[~np.isnan(values)])
    n_bins = int(np.clip(len(known) // ROWS_PER_VALUE, 1, MAX_BINS))
    edges = np.unique(known[np.arange(1, n_bins) * len(known) // n_bins])
    return np.where(np.isnan(values), 0, np.searchsorted(edges, values, side="left") + 1)


def _separates(codes: IntArray, y: IntArray) -> bool:
    n_classes = int(y.max()) + 1
    counts = np.bincount(codes * n_classes + y, minlength=(int(codes.max()) + 1) * n_classes)
    table = counts.reshape(-1, n_classes)
    baseline_errors = len(y) - int(table.sum(axis=0).max())
    errors = len(y) - int(table.max(axis=1).sum())
    return baseline_errors >= MIN_ERRORS and errors <= REMAINING_ERRORS * baseline_errors


def _rank_correlation(values: FloatArray, y: FloatArray) -> float:
    known = ~np.isnan(values)
    if known.sum() < max(MIN_ROWS, len(y) // 2):
        return 0.0
    first, second = pd.Series(values[known]).rank(), pd.Series(y[known]).rank()
    spread = float(first.std() * second.std())
    return abs(float(np.cov(first, second)[0, 1])) / spread if spread > 0 else 0.0
