"""All checks of a raw table (DESIGN 7): every problem is collected, then the table is refused or typed."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from automl.data.column_checks import note_unused, take_reading, value_problem
from automl.data.digests import used_row_digests
from automl.data.findings import Findings, Oddity, listed, nearest
from automl.data.identifiers import check_identifiers
from automl.data.labelled_rows import target_read, with_target, with_target_read
from automl.data.leaks import check_leaks
from automl.data.repeats import equal_rows, note_other_targets
from automl.data.roles import (
    ColumnRole,
    GivenRole,
    Role,
    check_overrides,
    column_role,
    unusable_kind,
)
from automl.data.row_columns import read_groups, read_time, read_weights
from automl.data.row_order import check_row_order
from automl.data.target import (
    LARGEST_EXACT,
    EncodedTarget,
    check_single_rows,
    check_task,
    encode_target,
)
from automl.errors import AutoMLWarning, DataError, SettingsError
from automl.inference.columns import are_whole
from automl.inference.dates import difference_note
from automl.inference.labels import encode_labels
from automl.inference.raw_table import Column, RawTable
from automl.inference.readings import Reading
from automl.inference.schema import TableSchema
from automl.listing import first_few
from automl.records import FloatArray, IntArray, Task

SHOWN_COLUMNS = 3
"""Columns that a sentence names before it counts the others: a line of a terminal holds about three."""


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
        Codes of the group column or, if there is none, of equal rows that look like copies.
    target_reading
        How the numbers of the target are read, where they are more than plain numbers.
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
    target_reading: Reading | None = None


def check_table(
    table: RawTable,
    *,
    columns: Columns,
    source: str = "the frame",
    task: str = "auto",
    roles: Mapping[str, str] | None = None,
    positive: object = None,
    n_folds: int = 5,
    min_rows: int = 10,
    oddities: Sequence[Oddity] = (),
    strict: bool = False,
) -> CheckedTable:
    """Check a table of training rows and type it.

    Parameters
    ----------
    table
        Raw columns with a RangeIndex.
    source
        The table's name in messages.
    oddities
        Found before, by the reader.
    strict
        Refuse what is odd, instead of taking it with a note.

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
    given = check_overrides(roles or {}, table)
    _check_role_holders(given, columns)
    findings = _findings(source, oddities, strict=strict)
    columns = _check_names(table, columns, findings)
    table, reading = with_target_read(table, columns.target, task, findings)
    raw, has_target = with_target(table, columns.target, findings)
    target = None
    if has_target:
        labels = _target_values(raw[columns.target], has_gaps=raw.n_rows < table.n_rows)
        target = encode_target(labels, task=task, positive=positive, findings=findings)
    if target is not None:
        check_single_rows(target, raw[columns.target].series, findings)
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
    findings.notes.extend(filter(None, [difference_note(len(schema.dates))]))
    check_identifiers(raw, detected, findings)
    typed = _typed(raw, schema)
    check_row_order(
        raw,
        typed,
        detected,
        target,
        findings,
        time=time,
        time_column=columns.time,
        has_groups=groups is not None,
    )
    digests = used_row_digests(raw, schema, target.texts_or_values)
    note_other_targets(typed, digests, findings)
    if groups is None:
        classes = target.y if target.task.is_classification else None
        groups = equal_rows(digests, classes, min_rows, findings, in_time_order=time is not None)
    return CheckedTable(
        frame=typed,
        schema=schema,
        roles=detected,
        target=target,
        row_digests=digests,
        weights=weights,
        groups=groups,
        time=time,
        notes=tuple(findings.notes),
        target_reading=reading,
    )


def check_later_table(
    table: RawTable,
    *,
    columns: Columns,
    schema: TableSchema,
    task: Task,
    class_labels: NDArray[Any] | None,
    positive: int | None,
    target_reading: Reading | None = None,
    source: str = "the frame",
    oddities: Sequence[Oddity] = (),
    strict: bool = False,
) -> CheckedTable:
    """Check rows that must fit a table of training rows, and type them.

    Raises
    ------
    DataError
        With every problem: missing columns, labels unknown to the training rows, wrong values.
    """
    findings = _findings(source, oddities, strict=strict)
    raw, target = _labelled(
        table, columns.target, task, class_labels, reading=target_reading, findings=findings
    )
    typed = _transformed(raw, schema, findings)
    weights = _later_weights(raw, columns.weights, findings)
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
        groups=_later_groups(raw, columns.groups),
        time=None,
        notes=tuple(findings.notes),
        target_reading=target_reading,
    )


@dataclass(frozen=True)
class Labelled:
    """Rows that have a target.

    Parameters
    ----------
    rows : (n,)
        Positions in the table.
    target : of these rows
    weights : (n,), >= 0, or None
    """

    rows: IntArray
    target: EncodedTarget
    weights: FloatArray | None


def check_labels(
    table: RawTable,
    *,
    columns: Columns,
    task: Task,
    class_labels: NDArray[Any] | None,
    target_reading: Reading | None = None,
    source: str = "the frame",
    strict: bool = False,
) -> Labelled:
    """Rows of a later table that have a target; what the other columns hold is not looked at.

    Parameters
    ----------
    strict
        Refuse rows without a target, instead of leaving them out.

    Raises
    ------
    DataError
        If there is no target column, no row has a target, or a label is unknown to the training rows.
    """
    findings = _findings(source, (), strict=strict)
    raw, target = _labelled(
        table, columns.target, task, class_labels, reading=target_reading, findings=findings
    )
    n_before = len(findings.notes)
    weights = _later_weights(raw, columns.weights, findings)
    findings.raise_problems()
    for note in findings.notes[n_before:]:
        warnings.warn(note, AutoMLWarning, stacklevel=2)
    if target is None:
        raise AssertionError("a table without target has a problem")
    rows: IntArray = raw[columns.target].series.index.to_numpy()
    return Labelled(rows, target, weights)


def _later_weights(raw: RawTable, column: str | None, findings: Findings) -> FloatArray | None:
    if column is not None and column not in raw:
        text = f"there is no weights column {column!r}"
        findings.take(f"{text}: all rows count alike", text)
    return read_weights(raw, column, findings)


def _later_groups(raw: RawTable, column: str | None) -> IntArray | None:
    """Codes of the groups of later rows, where the table has them: rows of a group are no evidence of their own."""
    if column is None or column not in raw:
        return None
    codes, _ = pd.factorize(raw[column].series, use_na_sentinel=False)
    return codes.astype(np.int64)


def _labelled(
    table: RawTable,
    name: str,
    task: Task,
    class_labels: NDArray[Any] | None,
    *,
    reading: Reading | None,
    findings: Findings,
) -> tuple[RawTable, EncodedTarget | None]:
    """Rows with a target, and it as the training rows have it; None after a problem."""
    _check_names(table, Columns(name), findings)
    table = target_read(table, name, reading, findings)
    raw, has_target = with_target(table, name, findings)
    if not has_target:
        return raw, None
    return raw, _later_target(raw[name], task, class_labels, findings)


def _typed(raw: RawTable, schema: TableSchema) -> pd.DataFrame:
    """Typed training table; the notes on its columns have said what was made of their values."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AutoMLWarning)
        return schema.transform(raw)


def _transformed(raw: RawTable, schema: TableSchema, findings: Findings) -> pd.DataFrame | None:
    """Typed frame; what was made of its values is noted. None after a problem."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", AutoMLWarning)
        try:
            typed = schema.transform(raw)
        except DataError as error:
            findings.problems.extend(error.problems)
            return None
    findings.notes.extend(str(warning.message) for warning in caught)
    return typed


def _findings(source: str, oddities: Sequence[Oddity], *, strict: bool) -> Findings:
    findings = Findings(source, strict=strict)
    for oddity in oddities:
        findings.take(oddity.note, oddity.refusal)
    return findings


def _check_role_holders(given: Mapping[str, GivenRole], columns: Columns) -> None:
    """Refuse a role that would have no effect."""
    if columns.target in given:
        raise SettingsError(
            f"a role is given for the target column {columns.target!r}; roles are for the other "
            "columns, the setting task says what kind of target it is",
            setting="roles",
        )
    for part, name in (("groups", columns.groups), ("weights", columns.weights)):
        if name is not None and name in given and given[name].role.is_used:
            raise SettingsError(
                f"the role {given[name].role} is given for the {part} column {name!r}, which no model sees",
                setting="roles",
            )


def _check_names(table: RawTable, columns: Columns, findings: Findings) -> Columns:
    """The columns, without a second part of one column: that is one problem."""
    taken: dict[str, str] = {}
    kept: dict[str, str] = {}
    for part, name in columns.to_json().items():
        if name is None:
            continue
        if name not in table:
            hint = nearest(name, table)
            findings.problems.append(f"there is no {part} column {name!r}{hint}")
        if name in taken:
            findings.problems.append(
                f"column {name!r} cannot be both the {taken[name]} column and the {part} column"
            )
        else:
            kept[part] = name
        taken[name] = part
    return Columns(**kept)


def _target_values(column: Column, *, has_gaps: bool) -> Column:
    series = column.series
    if has_gaps and series.dtype.kind == "f" and are_whole(series.to_numpy()):
        if series.abs().max() >= LARGEST_EXACT:
            return column
        # pandas reads whole numbers with gaps as floats
        return Column(series.astype(np.int64), column.name)
    return column


def _later_target(
    column: Column, task: Task, class_labels: NDArray[Any] | None, findings: Findings
) -> EncodedTarget | None:
    name, series = column.name, column.series
    if class_labels is None:
        try:
            values = column.read().values
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
        shown = listed(dict.fromkeys(series[unseen].astype(object)))
        findings.problems.append(
            f"target column {name!r} holds labels that the training rows lack: {shown} "
            f"(the first in row {row})"
        )
        return None
    return EncodedTarget(task, codes, class_labels)


def _check_size(raw: RawTable, n_folds: int, min_rows: int, findings: Findings) -> None:
    needed = max(n_folds, min_rows)
    if raw.n_rows < needed:
        found = f"{raw.n_rows} rows with a target are" if raw.n_rows > 1 else "only one sample is"
        findings.problems.append(f"{found} too few: {n_folds} folds need at least {needed}")


def _feature_roles(
    raw: RawTable, columns: Columns, given: Mapping[str, GivenRole], findings: Findings
) -> dict[str, ColumnRole]:
    names = [name for name in raw if name not in columns.not_features]
    roles: dict[str, ColumnRole] = {}
    for name in names:
        try:
            roles[name] = _feature_role(raw[name], given.get(name), findings)
        except DataError as error:
            findings.problems.extend(error.problems)
    for name, role in roles.items():
        take_reading(raw[name], role, findings)
    note_unused(roles, findings)
    if len(roles) == len(names) and not any(role.role.is_used for role in roles.values()):
        findings.problems.append(f"no column is left to learn from{_why_unused(roles)}")
    return roles


def _feature_role(column: Column, given: GivenRole | None, findings: Findings) -> ColumnRole:
    """Role of a column.

    Raises
    ------
    DataError
        If its values are of kinds that do not go together, or do not fit its role.
    """
    if given is not None and given.role in (Role.IGNORED, Role.ID):
        return column_role(column, given)
    problem = value_problem(column, is_given=given is not None)
    if problem and (given is not None or findings.strict or not unusable_kind(column.series)):
        raise DataError(problem)
    return column_role(column, given)


def _why_unused(roles: Mapping[str, ColumnRole]) -> str:
    if not roles:
        return " besides the target"
    shown = [f"column {role.name!r} is {role.role} ({role.reason})" for role in roles.values()]
    return f": {first_few(shown, SHOWN_COLUMNS)}"


def _fit_schema(
    raw: RawTable, roles: Mapping[str, ColumnRole], findings: Findings
) -> TableSchema | None:
    try:
        return TableSchema.fit(
            raw,
            {name: str(role.role) for name, role in roles.items()},
            {name: role.reading for name, role in roles.items() if role.reading is not None},
        )
    except DataError as error:
        findings.problems.extend(error.problems)
        return None
