"""All checks of a raw table (DESIGN 7): every problem is collected, then the table is refused or typed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from automl.data.column_checks import check_finite, check_texts, note_unused, value_problem
from automl.data.digests import used_row_digests
from automl.data.findings import Findings, listed, nearest
from automl.data.leaks import check_leaks
from automl.data.roles import ColumnRole, Role, check_overrides, detect_roles
from automl.data.row_columns import read_groups, read_time, read_weights
from automl.data.target import (
    EncodedTarget,
    check_task,
    encode_labels,
    encode_target,
    missing_targets,
)
from automl.errors import DataError, SettingsError
from automl.inference.columns import numbers
from automl.inference.schema import TableSchema
from automl.records import FloatArray, IntArray, Task

SHOWN_COLUMNS = 3


@dataclass(frozen=True)
class Columns:
    """Names of the columns with a part of their own."""

    target: str
    groups: str | None = None
    time: str | None = None
    weights: str | None = None

    def to_json(self) -> dict[str, str | None]:
        """Plain JSON form."""
        return asdict(self)

    @property
    def not_features(self) -> set[str]:
        """Columns that no model sees; the time column may be a feature."""
        return {name for name in (self.target, self.groups, self.weights) if name is not None}


@dataclass(frozen=True)
class CheckedTable:
    """What remains of a raw table after its checks; all arrays are over the kept rows.

    Parameters
    ----------
    frame : (n_rows, n_features)
        Typed features.
    groups
        Codes of the group column, or of equal rows where there is none and equal rows exist.
    """

    frame: pd.DataFrame
    schema: TableSchema
    roles: Mapping[str, ColumnRole]
    target: EncodedTarget
    row_digests: NDArray[np.uint64]
    weights: FloatArray | None
    groups: IntArray | None
    time: FloatArray | None
    notes: tuple[str, ...]


def check_table(
    frame: pd.DataFrame,
    *,
    columns: Columns,
    source: str = "the frame",
    task: str = "auto",
    roles: Mapping[str, str] | None = None,
    positive: object = None,
    n_folds: int = 5,
    min_rows: int = 10,
    problems: Sequence[str] = (),
) -> CheckedTable:
    """Check a table of training rows and type it.

    Parameters
    ----------
    frame : (n_rows, n_columns)
        Raw columns with unique text names and a RangeIndex.
    source
        The table's name in messages.
    problems
        Found before, by the reader.

    Raises
    ------
    SettingsError
        If a setting cannot be meant, whatever the table holds.
    DataError
        With every problem of the table.
    """
    check_task(task)
    if columns.groups and columns.time:
        raise SettingsError("groups and time cannot be combined; give one of them")
    given = check_overrides(roles or {}, frame.columns)
    _check_role_holders(given, columns)
    findings = Findings(source, list(problems))
    columns = _check_names(frame, columns, findings)
    raw, has_target = _with_target(frame, columns.target, findings)
    target = None
    if has_target:
        series = _target_values(raw[columns.target], has_gaps=len(raw) < len(frame))
        target = encode_target(series, task=task, positive=positive, findings=findings)
    _check_size(raw, n_folds, min_rows, findings)
    weights = read_weights(raw, columns.weights, findings)
    groups = read_groups(raw, columns.groups, n_folds, findings)
    time = read_time(raw, columns.time, n_folds, findings)
    detected = _feature_roles(raw, columns, given, findings)
    schema = _fit_schema(raw, detected, findings)
    if target is not None:
        check_leaks(raw, detected, target, findings)
    if schema is None or target is None or findings.problems:
        findings.raise_problems()
        raise AssertionError("a table without schema or target has a problem")
    digests = used_row_digests(raw, schema, target.texts_or_values)
    if groups is None:
        groups = _equal_rows(digests, min_rows, findings, in_time_order=time is not None)
    return CheckedTable(
        frame=schema.transform(raw),
        schema=schema,
        roles=detected,
        target=target,
        row_digests=digests,
        weights=weights,
        groups=groups,
        time=time,
        notes=tuple(findings.notes),
    )


def check_later_table(
    frame: pd.DataFrame,
    *,
    columns: Columns,
    schema: TableSchema,
    task: Task,
    class_labels: NDArray[Any] | None,
    positive: int | None,
    source: str = "the frame",
    problems: Sequence[str] = (),
) -> CheckedTable:
    """Check rows that must fit a table of training rows, and type them.

    Raises
    ------
    DataError
        With every problem: missing columns, labels unknown to the training rows, wrong values.
    """
    findings = Findings(source, list(problems))
    _check_names(frame, Columns(columns.target), findings)
    raw, has_target = _with_target(frame, columns.target, findings)
    target = None
    if has_target:
        target = _later_target(raw[columns.target], task, class_labels, findings)
    for column in schema.columns:
        if column.role != Role.NUMERIC or column.name not in raw.columns:
            continue
        if not check_finite(raw[column.name], findings):
            raw = raw.assign(**{column.name: np.nan})  # go on looking for problems
    typed = None
    try:
        typed = schema.transform(raw)
    except DataError as error:
        findings.problems.extend(p for p in error.problems if p not in findings.problems)
    weights = None
    if columns.weights in raw.columns:
        weights = read_weights(raw, columns.weights, findings)
    if typed is None or target is None or findings.problems:
        findings.raise_problems()
        raise AssertionError("a table without typed frame or target has a problem")
    return CheckedTable(
        frame=typed,
        schema=schema,
        roles={},
        target=replace(target, positive=positive),
        row_digests=used_row_digests(raw, schema, target.texts_or_values),
        weights=weights,
        groups=None,
        time=None,
        notes=tuple(findings.notes),
    )


def _check_role_holders(given: Mapping[str, Role], columns: Columns) -> None:
    """Refuse a role that would have no effect."""
    if columns.target in given:
        raise SettingsError(
            f"a role is given for the target column {columns.target!r}; roles are for the other "
            "columns, the setting task says what kind of target it is",
            setting="roles",
        )
    for part, name in (("groups", columns.groups), ("weights", columns.weights)):
        if name is not None and name in given and given[name].is_used:
            raise SettingsError(
                f"the role {given[name]} is given for the {part} column {name!r}, which no model sees",
                setting="roles",
            )


def _check_names(frame: pd.DataFrame, columns: Columns, findings: Findings) -> Columns:
    """The columns, without a second part of one column: that is one problem."""
    taken: dict[str, str] = {}
    kept: dict[str, str] = {}
    for part, name in columns.to_json().items():
        if name is None:
            continue
        if name not in frame.columns:
            hint = nearest(name, frame.columns)
            findings.problems.append(f"there is no {part} column {name!r}{hint}")
        if name in taken:
            findings.problems.append(
                f"column {name!r} cannot be both the {taken[name]} column and the {part} column"
            )
        else:
            kept[part] = name
        taken[name] = part
    return Columns(**kept)


def _with_target(frame: pd.DataFrame, target: str, findings: Findings) -> tuple[pd.DataFrame, bool]:
    """Rows with a target, whose index keeps their positions, and whether there is a target to use.

    Without one all rows are kept, so that their other problems are found.
    """
    if not len(frame):
        findings.problems.append("the table has no rows")
        findings.raise_problems()
    if target not in frame.columns:
        return frame, False
    problem = value_problem(frame[target])
    if problem:
        findings.problems.append(f"target {problem}")
        return frame, False
    missing = missing_targets(frame[target])
    n_missing = int(missing.sum())
    if n_missing == len(frame):
        findings.problems.append(f"target column {target!r} is empty in all {len(frame)} rows")
        return frame, False
    if n_missing:
        findings.notes.append(
            f"{n_missing} of {len(frame)} rows are dropped: target column {target!r} is empty there"
        )
    return (frame[~missing] if n_missing else frame), True


def _target_values(series: pd.Series, *, has_gaps: bool) -> pd.Series:
    if (
        has_gaps
        and series.dtype.kind == "f"
        and np.isfinite(series).all()
        and np.array_equal(series, np.floor(series))
    ):
        return series.astype(np.int64)  # pandas reads whole numbers with gaps as floats
    return series


def _later_target(
    series: pd.Series, task: Task, class_labels: NDArray[Any] | None, findings: Findings
) -> EncodedTarget | None:
    name = series.name
    if class_labels is None:
        try:
            values = numbers(series, name=str(name))
        except DataError as error:
            findings.problems.append(f"target {error.problems[0]}")
            return None
        if not np.isfinite(values).all():
            row = int(series.index[int(np.argmin(np.isfinite(values)))]) + 1
            findings.problems.append(f"target column {name!r} is not a finite number in row {row}")
            return None
        return EncodedTarget(task, values)
    codes = encode_labels(series, class_labels)
    unseen = codes < 0
    if unseen.any():
        row = int(series.index[int(unseen.argmax())]) + 1
        shown = listed(dict.fromkeys(series[unseen]))
        findings.problems.append(
            f"target column {name!r} holds labels that the training rows lack: {shown} "
            f"(the first in row {row})"
        )
        return None
    return EncodedTarget(task, codes, class_labels)


def _check_size(raw: pd.DataFrame, n_folds: int, min_rows: int, findings: Findings) -> None:
    needed = max(n_folds, min_rows)
    if len(raw) < needed:
        findings.problems.append(
            f"{len(raw)} rows with a target are too few: {n_folds} folds need at least {needed}"
        )


def _feature_roles(
    raw: pd.DataFrame, columns: Columns, given: Mapping[str, Role], findings: Findings
) -> dict[str, ColumnRole]:
    names = [name for name in raw.columns if name not in columns.not_features]
    sound = []
    for name in names:
        if given.get(name) in (Role.IGNORED, Role.TEXT, Role.ID):
            sound.append(name)
            continue
        problem = value_problem(raw[name], is_given=name in given)
        if problem:
            findings.problems.append(problem)
        else:
            sound.append(name)
    roles = detect_roles(raw[sound], {name: role for name, role in given.items() if name in sound})
    for name, role in roles.items():
        if role.role is Role.NUMERIC:
            check_finite(raw[name], findings)
        elif not role.is_given and role.role is not Role.DATE:
            check_texts(raw[name], findings)
    note_unused(raw, roles, findings)
    if len(sound) == len(names) and not any(role.role.is_used for role in roles.values()):
        findings.problems.append(f"no column is left to learn from{_why_unused(roles)}")
    return roles


def _why_unused(roles: Mapping[str, ColumnRole]) -> str:
    if not roles:
        return " besides the target"
    shown = [f"column {role.name!r} is {role.role} ({role.reason})" for role in roles.values()]
    more = f" and {len(shown) - SHOWN_COLUMNS} more" if len(shown) > SHOWN_COLUMNS else ""
    return f": {', '.join(shown[:SHOWN_COLUMNS])}{more}"


def _fit_schema(
    raw: pd.DataFrame, roles: Mapping[str, ColumnRole], findings: Findings
) -> TableSchema | None:
    try:
        return TableSchema.fit(raw, {name: str(role.role) for name, role in roles.items()})
    except DataError as error:
        findings.problems.extend(error.problems)
        return None


def _equal_rows(
    digests: NDArray[np.uint64], min_rows: int, findings: Findings, *, in_time_order: bool
) -> IntArray | None:
    """Group codes of equal rows; None where there are none, or so many that folds would suffer."""
    codes, distinct = pd.factorize(digests)
    n_repeated = len(digests) - len(distinct)
    if not n_repeated:
        return None
    note = f"{n_repeated} of {len(digests)} rows repeat an earlier row"
    largest = int(np.bincount(codes).max())
    few = len(distinct) < 2 * min_rows or largest > max(5, len(digests) / min_rows)
    if in_time_order or few:
        findings.notes.append(f"{note}; they are not kept together in one fold")
        return None
    findings.notes.append(f"{note}; equal rows are kept together in one fold")
    return codes.astype(np.int64)
