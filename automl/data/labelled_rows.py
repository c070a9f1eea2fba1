"""Rows of a raw table that have a target: one way for training, tests, folds and scores."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING

from automl.data.column_checks import value_problem
from automl.data.findings import Findings
from automl.data.target_readings import read_target, take_spellings, target_reading
from automl.errors import AutoMLWarning, DataError
from automl.inference.labels import missing_targets
from automl.inference.raw_table import RawTable
from automl.inference.readings import Reading
from automl.listing import counted

if TYPE_CHECKING:
    import pandas as pd

    from automl.inference.model import TableModel

NO_TARGET_THERE = "holds no target there"
"""End of the note that counts rows without a target."""


def labelled(
    table: RawTable, target: str, task: str, findings: Findings, reading: Reading | None = None
) -> RawTable:
    """The rows that have a target, read as a run reads it; their index keeps the positions.

    Parameters
    ----------
    table
        Raw columns with a RangeIndex, of which one is the target.
    findings
        Takes the problems, also that no row has a target; then all rows are returned.
    reading
        How a model reads the numbers of its target; None finds it in the column.

    Warns
    -----
    AutoMLWarning
        Once, with the number of rows that are left out.
    """
    told = Findings(findings.source)  # its notes on readings are the run's
    if reading is None:
        read, _ = with_target_read(table, target, task, told)
    else:
        read = target_read(table, target, reading, told)
    left_out = Findings(findings.source)
    kept, _ = with_target(read, target, left_out)
    findings.problems += [*told.problems, *left_out.problems]
    for note in left_out.notes:
        warnings.warn(note, AutoMLWarning, stacklevel=4)
    return kept


def labelled_for(model: TableModel, frame: pd.DataFrame, findings: Findings) -> RawTable:
    """Rows of a frame that have a target, read as the model reads it; their index keeps the positions.

    Raises
    ------
    DataError
        If the target cannot be read, or no row has one.
    """
    table = RawTable.of(frame.reset_index(drop=True))
    kept = labelled(table, model.target, model.task, findings, model.target_reading)
    findings.raise_problems()
    return kept


def left_out_among(notes: Iterable[str]) -> list[str]:
    """Those of a table's notes that count rows without a target."""
    return [note for note in notes if note.endswith(NO_TARGET_THERE)]


def with_target_read(
    table: RawTable, target: str, task: str, findings: Findings
) -> tuple[RawTable, Reading | None]:
    """The table with its target read, and how it was read if it is more than plain numbers."""
    if target not in table or value_problem(table[target]):
        return table, None
    reading = target_reading(table[target], task, findings)
    read = target_read(table, target, reading, findings)
    if reading is None:
        take_spellings(table[target], read[target], findings)
    return read, reading


def target_read(
    table: RawTable, target: str, reading: Reading | None, findings: Findings
) -> RawTable:
    """The table with its target by a reading; a target that cannot be read so is a problem."""
    if target not in table or value_problem(table[target]):
        return table
    try:
        return table.replaced(read_target(table[target], reading))
    except DataError as error:
        findings.problems.append(f"target {error.problems[0]}")
        return table


def with_target(table: RawTable, target: str, findings: Findings) -> tuple[RawTable, bool]:
    """Rows with a target, whose index keeps their positions, and whether there is a target to use.

    Without one all rows are kept, so that their other problems are found.
    """
    if not table.n_rows:
        findings.problems.append("the table has no rows")
        findings.raise_problems()
    if target not in table:
        return table, False
    problem = value_problem(table[target])
    if problem:
        findings.problems.append(f"target {problem}")
        return table, False
    missing = missing_targets(table[target])
    n_missing = int(missing.sum())
    if n_missing == table.n_rows:
        findings.problems.append(
            f"target column {target!r} holds no target in any of its {counted(n_missing, 'row')}"
        )
        return table, False
    if n_missing:
        counts = f"{n_missing} of {counted(table.n_rows, 'row')}"
        findings.take(
            f"{counts} {'is' if n_missing == 1 else 'are'} dropped: target column {target!r} {NO_TARGET_THERE}",
            f"target column {target!r} holds no target in {counts}",
        )
    return (table.where(~missing) if n_missing else table), True
