"""Reference of a model's training table, column by column: ranges, bins and the share of rows in each.

It travels with the model, so that later rows can be held against the training rows wherever the model is. It holds
counts and limits only, no rows. The bins of numbers are those of the training table's tenths; categories beyond the
most frequent ones share a bin; the last bin is that of missing values.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from automl.inference.column_schema import ColumnSchema
from automl.inference.decision import DecisionRule
from automl.inference.plain_records import ShapeError, read_record
from automl.inference.schema import TableSchema

REFERENCE = "reference.json"
"""Its file in a bundle."""
N_BINS = 10
"""Tenths, as the population stability index is used with since it is used."""
MOST_CATEGORIES = 20
"""With a bin of their own; shares of rarer ones say more of chance than of drift."""
SAMPLED_ROWS = 100_000
"""From which bins and shares are made; a tenth of these has a relative error of a hundredth."""
PREDICTION = "prediction"
PROBABILITY = "probability"

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class ColumnReference:
    """Distribution of one column in the training table.

    Parameters
    ----------
    kind
        Of ``text`` only whether values are missing is known.
    shares : sums to 1
        Of the rows in each bin; the last one is missing.
    low, high
        Numbers: least and greatest; dates as days since the column's first one. None if all are missing.
    edges : increasing
        Numbers: between the bins.
    labels
        Categories with a bin of their own; the bin after them is that of all others.
    """

    kind: Literal["number", "category", "text"]
    shares: tuple[float, ...]
    low: float | None = None
    high: float | None = None
    edges: tuple[float, ...] = ()
    labels: tuple[str, ...] = ()

    @classmethod
    def of_numbers(cls, values: FloatArray) -> ColumnReference:
        """Of numbers, missing as NaN, (n_rows,)."""
        seen = values[np.isfinite(values)]
        if not len(seen):
            return cls("number", (0.0, 1.0))
        sample = _sampled(seen)
        cuts = np.quantile(sample, np.linspace(0, 1, N_BINS + 1)[1:-1], method="inverted_cdf")
        edges = tuple(float(cut) for cut in np.unique(cuts) if cut < seen.max())
        found = cls("number", (), float(seen.min()), float(seen.max()), edges)
        return cls("number", found.shares_of(_sampled(values)), found.low, found.high, edges)

    @classmethod
    def of_texts(cls, values: pd.Series) -> ColumnReference:
        """Of categories as texts, missing as NaN or None, (n_rows,)."""
        counts = values.value_counts()
        labels = tuple(map(str, counts.index[counts > 0][:MOST_CATEGORIES]))
        return cls("category", cls("category", (), labels=labels).shares_of(values), labels=labels)

    def shares_of(self, values: FloatArray | pd.Series) -> tuple[float, ...]:
        """Share of rows in each bin: of numbers (n_rows,), or of categories or texts as a series."""
        missing = np.asarray(pd.isna(values))
        if self.kind == "number":
            codes = np.searchsorted(self.edges, np.asarray(values, dtype=float))
            n_bins = len(self.edges) + 1
        elif self.kind == "category":
            codes = _codes(pd.Series(values), self.labels)
            n_bins = len(self.labels) + 1
        else:
            codes, n_bins = np.zeros(len(missing), dtype=int), 1
        counts = np.bincount(np.where(missing, n_bins, codes), minlength=n_bins + 1)
        return tuple(float(count) / max(len(missing), 1) for count in counts)

    def n_outside(self, values: FloatArray) -> int:
        """Numbers below the least or above the greatest of the training table."""
        if self.low is None or self.high is None:
            return 0
        return int(((values < self.low) | (values > self.high)).sum())


@dataclass(frozen=True)
class TrainingReference:
    """Distributions of the training table.

    Parameters
    ----------
    rows
        Of the training table.
    columns
        By the name of the raw column.
    predictions
        Of rows that the models had not seen (out of fold): ``prediction`` (labels as texts, or numbers) and, of two
        classes, ``probability`` of the second. Empty if such predictions were not kept.
    """

    rows: int
    columns: Mapping[str, ColumnReference]
    predictions: Mapping[str, ColumnReference] = field(default_factory=dict)

    @classmethod
    def fit(
        cls,
        schema: TableSchema,
        typed: pd.DataFrame,
        predictions: Mapping[str, ColumnReference] | None = None,
    ) -> TrainingReference:
        """Reference of a typed frame (`automl.inference.schema`)."""
        columns = {column.name: _of_column(column, typed) for column in schema.columns}
        return cls(len(typed), columns, predictions or {})

    def to_json(self) -> str:
        """Text of its file."""
        return json.dumps(asdict(self), allow_nan=False, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str, schema: TableSchema) -> TrainingReference:
        """Inverse of `to_json`.

        Raises
        ------
        ShapeError, ValueError
            If it is not what it must be, or not of the schema's columns.
        """
        found = read_record(cls, json.loads(text))
        if list(found.columns) != schema.names:
            raise ShapeError("columns", "those of the schema", list(found.columns))
        for name, column in (*found.columns.items(), *found.predictions.items()):
            _check(column, name)
        return found


def typed_values(column: ColumnSchema, typed: pd.DataFrame) -> pd.Series:
    """The typed column that a raw column is compared by; of dates the days since the first one."""
    return typed[column.elapsed_output if column.role == "date" else column.outputs[0]]


def prediction_references(
    raw: NDArray[Any], rule: DecisionRule | None, classes: Sequence[Any] | NDArray[Any] | None
) -> dict[str, ColumnReference]:
    """Distributions of predictions, see `TrainingReference`; rows without one (NaN) are left out.

    Parameters
    ----------
    raw : (n_rows, n_classes) or (n_rows,)
    """
    values = prediction_values(raw, rule, classes)
    return {
        name: ColumnReference.of_texts(each)
        if each.dtype == object
        else ColumnReference.of_numbers(each.to_numpy(dtype=np.float64))
        for name, each in values.items()
    }


def prediction_values(
    raw: NDArray[Any], rule: DecisionRule | None, classes: Sequence[Any] | NDArray[Any] | None
) -> dict[str, pd.Series]:
    """What is compared of predictions, by name: labels as texts (object) or numbers."""
    raw = raw[np.isfinite(raw.reshape(len(raw), -1)).all(axis=1)]
    if classes is None or rule is None:
        return {PREDICTION: pd.Series(raw.astype(np.float64))}
    texts = np.array([str(label) for label in classes], dtype=object)
    found = {PREDICTION: pd.Series(texts[rule.codes(raw)], dtype=object)}
    if len(classes) == 2:
        found[PROBABILITY] = pd.Series(raw[:, 1].astype(np.float64))
    return found


def _of_column(column: ColumnSchema, typed: pd.DataFrame) -> ColumnReference:
    values = typed_values(column, typed)
    if column.role == "nominal":
        return ColumnReference.of_texts(values)
    if column.role == "text":
        return ColumnReference("text", ColumnReference("text", ()).shares_of(values))
    return ColumnReference.of_numbers(np.asarray(values, dtype=np.float64))


def _codes(values: pd.Series, labels: Sequence[str]) -> NDArray[np.intp]:
    """Position of each text among labels; their number for all others."""
    places = {label: place for place, label in enumerate(labels)}
    if isinstance(values.dtype, pd.CategoricalDtype):
        table = [places.get(str(text), len(labels)) for text in values.cat.categories]
        return np.array([*table, len(labels)], dtype=np.intp)[values.cat.codes]
    return np.array([places.get(str(text), len(labels)) for text in values], dtype=np.intp)


def _sampled(values: FloatArray) -> FloatArray:
    return values[:: math.ceil(max(len(values), 1) / SAMPLED_ROWS)]


def _check(column: ColumnReference, name: str) -> None:
    """Whether there is a share for each bin, and the edges increase."""
    n_bins = {"number": len(column.edges), "category": len(column.labels), "text": 0}[column.kind]
    if len(column.shares) != n_bins + 2:
        raise ShapeError(f"{name}.shares", f"a list of {n_bins + 2}", list(column.shares))
    if any(first >= second for first, second in zip(column.edges, column.edges[1:], strict=False)):
        raise ShapeError(f"{name}.edges", "increasing", list(column.edges))
