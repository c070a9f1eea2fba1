"""What the data are: roles, missing values, distributions, and what was decided about ugly columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from automl.addresses import public_address
from automl.data.column_readings import read_as
from automl.data.table import Table
from automl.errors import AutoMLError
from automl.evaluation.plan import EvaluationPlan
from automl.home import RunFolder
from automl.inference.column_schema import ColumnSchema
from automl.inference.reference import REFERENCE, ColumnReference, TrainingReference
from automl.reports.column_values import value_words
from automl.reports.figure import Cell, DataTable, number
from automl.reports.figures.columns import distribution
from automl.reports.page import Facts, Items, Paragraph, Part, Section, Tabular
from automl.reports.run_choices import RunChoices

KEY, TITLE = "data", "What the data are"
MOST_COLUMNS = 300
"""That are listed one by one: a page of more is not read (by judgement)."""
MOST_SHOWN = 4
"""Categories of a column that are named (by judgement)."""
REFERENCE_ROWS = 20_000
"""From which distributions are made where there is no model yet: shares are then known to 0.004."""
MOST_UNFOLDED = 8
"""Classes that are seen at once (by judgement)."""
MOST_UNFOLDED_COLUMNS = 60
"""Columns that are seen at once: two screens (by judgement)."""
MOST_CLASSES = 40
"""That are listed with their rows (by judgement)."""


def data(
    choices: RunChoices, folder: RunFolder, plan: EvaluationPlan | None, reason: str
) -> Section:
    """Table, target and columns.

    Parameters
    ----------
    plan : None where it cannot be read
    reason : why not
    """
    return Section(KEY, TITLE, tuple(_parts(choices, folder, plan, reason)))


def _parts(
    choices: RunChoices, folder: RunFolder, plan: EvaluationPlan | None, reason: str
) -> Iterator[Part]:
    facts = choices.facts.get("data") or {}
    if not facts:
        yield Paragraph("The table has not been read yet.")
        return
    yield Facts.of(_facts(choices, facts))
    if facts.get("notes"):
        yield Paragraph("What was decided or noticed when the table was read:")
        yield Items(tuple(f"{note[:1].upper()}{note[1:]}." for note in facts["notes"]))
    else:
        yield Paragraph("Nothing odd was noticed when the table was read.")
    if plan is None:
        yield Paragraph(f"Its columns cannot be shown: {reason}.")
        return
    yield Tabular(_target_table(plan.table))
    yield Tabular(_column_table(plan.table, _reference(folder, plan.table)))
    ignored = [name for name in plan.table.schema.ignored if name != plan.table.target]
    if ignored:
        shown = ", ".join(ignored[:MOST_COLUMNS])
        yield Paragraph(f"Columns that are not used: {shown}.")


def _facts(choices: RunChoices, facts: dict[str, Any]) -> dict[str, object]:
    settings = choices.facts.get("settings") or {}
    classes = facts.get("classes")
    kind = f"{facts.get('task')}, {len(classes)} classes" if classes else facts.get("task")
    folds = facts.get("folds") or 0
    return {
        "table": public_address(str(settings.get("table", ""))),
        "to be predicted": f"{facts.get('target')} ({kind})",
        "training rows": number(facts.get("rows")),
        "test rows": number(facts.get("test_rows") or 0),
        "validation": f"{folds} folds" if folds > 1 else "one part of the rows is held out",
        "groups kept together": settings.get("groups"),
        "ordered by time": settings.get("time"),
        "row weights": settings.get("weights"),
    }


def _target_table(table: Table) -> DataTable:
    return _number_table(table) if table.classes is None else _class_table(table, table.classes)


def _number_table(table: Table) -> DataTable:
    y = np.asarray(table.y, dtype=np.float64)
    quartiles = [float(value) for value in np.percentile(y, [0, 25, 50, 75, 100])]
    figure = distribution(table.target, ColumnReference.of_numbers(y))
    row: tuple[Cell, ...] = (table.target, *quartiles, figure)
    columns = ("target", "least", "25 %", "median", "75 %", "greatest", "distribution")
    return DataTable("The target in the training rows", columns, (row,))


def _class_table(table: Table, classes: Sequence[str]) -> DataTable:
    """Classes by their rows, the most frequent first."""
    counts = np.bincount(table.y, minlength=table.n_classes)
    order = np.argsort(-counts, kind="stable")
    shown = [(classes[i], int(counts[i])) for i in order[:MOST_CLASSES]]
    if len(order) > MOST_CLASSES:
        rest = int(counts[order[MOST_CLASSES:]].sum())
        shown.append((f"{len(order) - MOST_CLASSES} more", rest))
    rows = tuple((name, count, f"{count / len(table):.1%}") for name, count in shown)
    columns = (f"class of {table.target}", "rows", "share")
    caption = f"The {len(order)} classes in the training rows"
    return DataTable(caption, columns, rows, is_folded=len(order) > MOST_UNFOLDED)


def _column_table(table: Table, reference: TrainingReference) -> DataTable:
    columns = table.schema.columns
    roles = Counter(column.role for column in columns)
    told = ", ".join(f"{count} {role}" for role, count in roles.most_common())
    rows = [_row(column, reference.columns[column.name]) for column in columns[:MOST_COLUMNS]]
    if len(columns) > MOST_COLUMNS:
        rows.append((f"{len(columns) - MOST_COLUMNS} more", "", "", "", "", None))
    return DataTable(
        f"The columns that are used: {told}",
        ("column", "role", "read as", "missing", "content", "distribution"),
        tuple(rows),
        is_folded=len(columns) > MOST_UNFOLDED_COLUMNS,
    )


def _row(column: ColumnSchema, known: ColumnReference) -> tuple[Cell, ...]:
    missing = f"{known.shares[-1]:.1%}" if known.shares[-1] else "none"
    read = read_as(column.reading, column.role)
    unit = "days after the first" if column.role == "date" else ""
    figure = None if known.kind == "text" else distribution(column.name, known, unit=unit)
    return column.name, column.role, read, missing, _content(column, known), figure


def _content(column: ColumnSchema, known: ColumnReference) -> str:
    if column.role == "nominal":
        shown = ", ".join(map(column.category_words, column.categories[:MOST_SHOWN]))
        more = len(column.categories) - MOST_SHOWN
        return f"{shown} and {more} more" if more > 0 else shown
    if known.low is None or known.high is None:
        return ""
    return f"{value_words(column, known.low)} to {value_words(column, known.high)}"


def _reference(folder: RunFolder, table: Table) -> TrainingReference:
    """What the model knows of the training table; of a sample where there is none."""
    file = folder.bundle / REFERENCE
    if file.is_file():
        try:
            return TrainingReference.from_json(file.read_text(encoding="utf-8"), table.schema)
        except (AutoMLError, ValueError):
            pass  # of an earlier version, or of other columns
    frame = table.frame.iloc[:: max(len(table) // REFERENCE_ROWS, 1)]
    return TrainingReference.fit(table.schema, frame.reset_index(drop=True))
