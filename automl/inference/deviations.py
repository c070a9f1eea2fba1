"""Deviations of later rows from the training table: missing columns, new categories, numbers outside its range."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd

from automl.inference.reference import TrainingReference, typed_values
from automl.inference.schema import TableSchema
from automl.listing import first_few


@dataclass(frozen=True)
class Deviations:
    """Counts of rows, by column.

    Parameters
    ----------
    rows
        That were looked at.
    filled
        Columns that were left out, and taken as missing.
    unseen
        Rows with a category that the training table lacks; columns without such rows are left out.
    outside
        Rows with a number or date outside the range of the training table, likewise. None if the model does not
        know the ranges, as those of earlier versions.
    """

    rows: int
    filled: tuple[str, ...]
    unseen: Mapping[str, int]
    outside: Mapping[str, int] | None

    def __bool__(self) -> bool:
        return bool(self.filled or self.unseen or self.outside)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON form."""
        return {**asdict(self), "filled": list(self.filled)}

    @property
    def sentence(self) -> str:
        """Columns with new categories and with values outside the range; empty if there are none."""
        found = [("unseen categories", self.unseen), ("outside the training range", self.outside)]
        parts = [f"{what}: {_listed(counts)}" for what, counts in found if counts]
        return f"of {self.rows} rows, {'; '.join(parts)}" if parts else ""


def deviations_of(
    schema: TableSchema,
    reference: TrainingReference | None,
    typed: pd.DataFrame,
    filled: Sequence[str] = (),
) -> Deviations:
    """Deviations of a typed frame from the training table."""
    unseen, outside = {}, {}
    for column in schema.columns:
        values = typed_values(column, typed)
        if column.role == "nominal":
            unseen[column.name] = int((values.cat.codes == len(column.categories)).sum())
        elif column.role != "text" and reference is not None:
            numbers = np.asarray(values, dtype=np.float64)
            outside[column.name] = reference.columns[column.name].n_outside(numbers)
    known = None if reference is None else _positive(outside)
    return Deviations(len(typed), tuple(filled), _positive(unseen), known)


def _positive(counts: Mapping[str, int]) -> dict[str, int]:
    return {name: count for name, count in counts.items() if count}


def _listed(counts: Mapping[str, int]) -> str:
    ordered = sorted(counts.items(), key=lambda item: -item[1])
    return first_few(f"{name} {count}" for name, count in ordered)
