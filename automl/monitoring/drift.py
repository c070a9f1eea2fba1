"""How far rows and predictions have moved from the training table, column by column."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from automl.errors import SettingsError
from automl.inference.model import TableModel
from automl.inference.reference import (
    ColumnReference,
    TrainingReference,
    prediction_values,
    typed_values,
)
from automl.inference.schema import TableSchema
from automl.statistics.stability import stability_by_chance, stability_index

SMALL, LARGE = 0.1, 0.25
"""Moves by custom: below 0.1 none, above 0.25 a large one (Siddiqi, Credit risk scorecards, 2006)."""

Verdict = Literal["same", "some", "large"]


@dataclass(frozen=True)
class Movement:
    """Movement of one column, or of the predictions.

    Parameters
    ----------
    name
        Of the raw column; ``prediction`` and ``probability`` of what was predicted.
    is_prediction
        Whether it is of the predictions.
    index : not negative
        Population stability index over the bins of the training table, missing values among them.
    by_chance : not negative
        What the index stays below in 99 of 100 cases where nothing has moved.
    verdict
        ``some`` above `SMALL`, ``large`` above `LARGE`, both only above chance.
    missing_before, missing : in [0, 1]
        Share of missing values in the training table and now.
    unseen, outside : in [0, 1]
        Share of rows with a category that the training table lacks, or outside its range.
    """

    name: str
    is_prediction: bool
    index: float
    by_chance: float
    verdict: Verdict
    missing_before: float
    missing: float
    unseen: float
    outside: float


@dataclass(frozen=True)
class Drift:
    """Movements of all columns and of the predictions, the greatest first."""

    rows: int
    training_rows: int
    movements: tuple[Movement, ...]

    @property
    def moved(self) -> tuple[Movement, ...]:
        """Those that have moved by more than chance and custom let pass."""
        return tuple(each for each in self.movements if each.verdict != "same")

    def to_json(self) -> dict[str, Any]:
        """Plain JSON form."""
        return {**asdict(self), "movements": [asdict(each) for each in self.movements]}


def drift_of(model: TableModel, rows: pd.DataFrame) -> Drift:
    """Movement of raw rows, and of what the model predicts of them, from the training table.

    Raises
    ------
    SettingsError
        If the model does not know its training table (those of earlier versions do not), or there are no rows.
    DataError
        If the model cannot read the rows.
    """
    reference = model.reference
    if reference is None:
        raise SettingsError(
            "the model does not know what its training table looked like; train it again"
        )
    if rows.empty:
        raise SettingsError("there are no rows to compare with the training table")
    typed = model.typed(rows)
    found = list(movements_of(model.schema, reference, typed))
    predicted = prediction_values(
        model.raw_typed(typed), model.rule_, getattr(model, "classes_", None)
    )
    found += [
        movement(name, reference.predictions[name], values, reference.rows, is_prediction=True)
        for name, values in predicted.items()
        if name in reference.predictions
    ]
    ordered = sorted(found, key=lambda each: (not each.is_prediction, -each.index))
    return Drift(len(typed), reference.rows, tuple(ordered))


def movements_of(
    schema: TableSchema, reference: TrainingReference, typed: pd.DataFrame
) -> Iterator[Movement]:
    """Movement of each column of a typed frame."""
    for column in schema.columns:
        values = typed_values(column, typed)
        known = reference.columns[column.name]
        n_unseen = (
            (values.cat.codes == len(column.categories)).sum() if column.role == "nominal" else 0
        )
        yield movement(column.name, known, values, reference.rows, n_unseen=int(n_unseen))


def movement(
    name: str,
    known: ColumnReference,
    values: pd.Series,
    n_training: int,
    *,
    n_unseen: int = 0,
    is_prediction: bool = False,
) -> Movement:
    """Movement of one column, or of predictions, from what is known of `n_training` rows.

    Parameters
    ----------
    values : (n_rows,), at least one
        Numbers, or texts of categories.
    n_unseen
        Rows with a category that the training table lacks.
    """
    n_rows = len(values)
    is_number = known.kind == "number"
    numbers = np.asarray(values, dtype=np.float64) if is_number else np.empty(0)
    shares = known.shares_of(numbers if is_number else values)
    index = stability_index(known.shares, shares, n_expected=n_training, n_found=n_rows)
    n_bins = sum(one > 0 or other > 0 for one, other in zip(known.shares, shares, strict=True))
    chance = stability_by_chance(n_bins, n_expected=n_training, n_found=n_rows)
    return Movement(
        name,
        is_prediction,
        index,
        chance,
        _verdict(index, chance),
        known.shares[-1],
        shares[-1],
        n_unseen / n_rows,
        known.n_outside(numbers) / n_rows if is_number else 0.0,
    )


def _verdict(index: float, chance: float) -> Verdict:
    if index <= max(chance, SMALL):
        return "same"
    return "large" if index > LARGE else "some"
