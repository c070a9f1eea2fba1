"""What a run has understood of its table, in a few lines, before it begins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from automl.data.table import Table
from automl.evaluation.plan import EvaluationPlan
from automl.listing import first_few
from automl.metrics.words import index_words

MOST_NOTES = 6
"""Lines about odd columns; more would push what is above them off the screen (by judgement)."""
MOST_CLASSES = 6
"""Classes whose shares fit on a line."""


def first_words(plan: EvaluationPlan, data: Mapping[str, Any], *, more: str) -> list[str]:
    """Lines about rows, columns, target and score, then the notes on odd columns.

    Parameters
    ----------
    data : what the run knows of its table
    more : command that shows all notes
    """
    notes = list(data.get("notes") or ())
    hidden = len(notes) - MOST_NOTES
    rest = [f"note: {hidden} more; see {more}"] if hidden > 0 else []
    return [
        f"table: {_table_text(plan.table, data)}",
        f"target: {_target_text(plan.table)}",
        f"score: {index_words(plan.index.name)}, on {_folds_text(data)}",
        *(f"note: {note}" for note in notes[:MOST_NOTES]),
        *rest,
    ]


def roles_text(roles: Iterable[str]) -> str:
    """``2 numeric, 1 date``."""
    return ", ".join(f"{count} {role}" for role, count in Counter(roles).most_common())


def _table_text(table: Table, data: Mapping[str, Any]) -> str:
    columns = table.schema.columns
    parts = [
        f"{len(table)} rows",
        f"{len(columns)} columns to learn from ({roles_text(c.role for c in columns)})",
        *_other_columns(table),
    ]
    if data.get("test_rows"):
        parts.insert(1, f"{data['test_rows']} more as test rows")
    return ", ".join(parts)


def _other_columns(table: Table) -> Iterator[str]:
    """Columns with a part of their own, and those that no model sees."""
    held = table.columns.to_json()
    for part, name in held.items():
        if name is not None and part != "target":
            yield f"{name!r} for the {part}"
    unused = [name for name in table.schema.ignored if name not in held.values()]
    if unused:
        yield f"{len(unused)} not used ({first_few(map(repr, unused))})"


def _target_text(table: Table) -> str:
    if table.classes is None:
        y = np.asarray(table.y, dtype=np.float64)
        return (
            f"{table.target!r}, a number from {y.min():.4g} to {y.max():.4g}, "
            f"{y.mean():.4g} on average"
        )
    counts = np.bincount(table.y, minlength=table.n_classes)
    order = np.argsort(-counts, kind="stable")[:MOST_CLASSES]
    shares = [f"{table.classes[code]} {counts[code] / counts.sum():.0%}" for code in order]
    others = table.n_classes - len(order)
    more = f" and {others} more" if others > 0 else ""
    return f"{table.target!r}, {table.n_classes} classes: {', '.join(shares)}{more}"


def _folds_text(data: Mapping[str, Any]) -> str:
    n_folds = data.get("folds") or 0
    return "rows held out" if n_folds == 1 else f"{n_folds} folds"
