"""Columns that say something about rows instead of describing them: weights, groups and time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from automl.data.column_checks import value_problem
from automl.data.findings import Findings
from automl.data.roles import GivenRole, Role, column_role
from automl.errors import DataError
from automl.inference.forms import DateForm
from automl.inference.raw_table import Column, RawTable
from automl.inference.readings import Reading
from automl.records import BoolArray, FloatArray, IntArray


def read_weights(raw: RawTable, column: str | None, findings: Findings) -> FloatArray | None:
    """Sample weights, (n_rows,), finite and not negative; None after a problem or without a column."""
    if column is None or column not in raw:
        return None
    name = f"weights column {column!r}"
    try:
        values = raw[column].read().values
    except DataError as error:
        findings.problems.append(f"weights {error.problems[0]}")
        return None
    before = len(findings.problems)
    for wrong, what in (
        (np.isnan(values), "is empty"),
        (np.isinf(values), "is infinite"),
        (values < 0, "is negative"),
    ):
        if wrong.any():
            where = _rows(raw[column], wrong)
            findings.problems.append(f"{name} {what} in {where}; weights must be 0 or more")
    if len(findings.problems) == before and not values.any():
        findings.problems.append(f"{name} is zero in every row; some weights must be positive")
    return values if len(findings.problems) == before else None


def read_groups(
    raw: RawTable, column: str | None, n_folds: int, findings: Findings
) -> IntArray | None:
    """Group codes from 0, (n_rows,); None after a problem or without a column."""
    if column is None or column not in raw:
        return None
    problem = value_problem(raw[column], is_given=True)
    if problem:
        findings.problems.append(f"groups {problem}")
        return None
    missing = raw[column].missing
    if missing.any():
        findings.problems.append(
            f"groups column {column!r} is empty in {_rows(raw[column], missing)}; every row needs a group"
        )
    codes, distinct = pd.factorize(raw[column].series)
    if len(distinct) < n_folds:
        findings.problems.append(
            f"groups column {column!r} has {len(distinct)} groups; {n_folds} folds need at least {n_folds}"
        )
    return None if missing.any() else codes.astype(np.int64)


def read_time(
    raw: RawTable, column: str | None, n_folds: int, findings: Findings
) -> FloatArray | None:
    """Time of each row, (n_rows,): the number, or days since 1970-01-01; None after a problem."""
    if column is None or column not in raw:
        return None
    values = time_numbers(raw[column], findings)
    if values is None:
        return None
    missing = ~np.isfinite(values)
    if missing.any():
        findings.problems.append(
            f"time column {column!r} is empty in {_rows(raw[column], missing)}; every row needs a time"
        )
        return None
    n_distinct = len(pd.unique(values))
    if n_distinct <= n_folds:
        findings.problems.append(
            f"time column {column!r} has {n_distinct} distinct times; "
            f"{n_folds} folds need at least {n_folds + 1}"
        )
    return values


def time_numbers(column: Column, findings: Findings) -> NDArray[Any] | None:
    """Numbers of a column, or its dates as days since 1970-01-01, missing as NaN; None after a problem."""
    problem = value_problem(column)
    if problem:
        findings.problems.append(f"time {problem}")
        return None
    try:
        return column.read().values
    except DataError:
        pass
    try:
        reading = column_role(column, GivenRole(Role.DATE)).reading or Reading(DateForm())
        dates = column.read(Reading(reading.form)).values
    except DataError as error:
        findings.problems.append(f"time {error.problems[0]}")
        return None
    if reading.form == DateForm("mixed"):
        findings.problems.append(
            f"time column {column.name!r} must hold dates of one format; found several"
        )
        return None
    return dates


def _rows(column: Column, wrong: BoolArray) -> str:
    first = int(column.series.index[int(wrong.argmax())]) + 1
    count = int(wrong.sum())
    return f"row {first}" if count == 1 else f"{count} rows, the first is row {first}"
