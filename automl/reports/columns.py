"""What the deployed model makes of its raw columns: permutation importance and partial dependence.

All rows that are needed go through the model in few large calls: a bag of many models pays for each call.
Typed columns that come from one raw column are shuffled together (Breiman, 2001, Random forests; Friedman,
2001, Greedy function approximation, section 8.2, for the dependence).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from automl.data.table import Table
from automl.inference.column_schema import ColumnSchema
from automl.inference.dates import date_parts
from automl.inference.model import CHUNK_ROWS, TableModel
from automl.metrics.index import PerformanceIndex
from automl.records import FloatArray, IntArray
from automl.reports.column_values import value_words
from automl.reports.judged import SEED

LEAST_ROWS, MOST_ROWS = 60, 3000
"""In which a column is shuffled: below, a score means little; above, the order of the columns stays as it is
(by judgement)."""
ENOUGH_ROWS = 300
"""For which a slow model is waited for longer: the deviation of an importance is small beside it (by judgement)."""
MOST_ROUND_ROWS = 250
"""Shuffled at once, so that the clock is looked at often enough."""
TIMED_ROWS = 600
"""That tell how long a row takes among many: what a call costs by itself is then a small part."""
N_BOOTSTRAPS = 40
"""Number of bootstraps of the rows, from which a standard deviation is known to a ninth."""
NEVER_DRAWN = 1e-9
"""Weight of a row that is in no bootstrap: a class whose rows all have weight 0 has no score."""
IMPORTANCE_SHARE = 0.6
"""Share of the seconds; the rest is for the dependence on a few columns."""
MOST_DEPENDENCES = 6
"""Columns whose dependence is drawn: a screenful (by judgement)."""
GRID = 12
"""Values of a number at which the dependence is drawn."""
MOST_CATEGORIES = 8
"""Most categories of a column, for which it is drawn; the most frequent ones."""
DEPENDENCE_ROWS = 300
"""Over which predictions are averaged: the mean of probabilities is then known to 0.03."""


@dataclass(frozen=True)
class ColumnImportance:
    """What the score loses when a column is shuffled.

    Parameters
    ----------
    deviation : of the drop over bootstraps of the rows
    """

    column: str
    drop: float
    deviation: float


@dataclass(frozen=True)
class Importances:
    """Columns, the most important first.

    Parameters
    ----------
    score : of the same rows, unshuffled
    rows : in which each column was shuffled
    """

    columns: tuple[ColumnImportance, ...]
    score: float
    rows: int


@dataclass(frozen=True)
class Dependence:
    """Mean prediction where all rows have the same value in a column.

    Parameters
    ----------
    words : G values of the column
    places : G numbers; None for categories
    means : (G, K) probabilities of the classes, or (G, 1) values
    classes : K texts, or empty
    """

    column: str
    role: str
    words: tuple[str, ...]
    places: tuple[float, ...] | None
    means: FloatArray
    classes: tuple[str, ...]
    rows: int


@dataclass(frozen=True)
class LookedAt:
    """Rows on which a model is looked at.

    Parameters
    ----------
    index : scores them
    frame : n typed rows
    y : (n,)
    weights : (n,) or None
    """

    model: TableModel
    index: PerformanceIndex
    frame: pd.DataFrame
    y: NDArray[Any]
    weights: FloatArray | None

    @classmethod
    def of(cls, model: TableModel, index: PerformanceIndex, table: Table) -> LookedAt:
        """A sample of a table."""
        rows: IntArray = np.arange(len(table))
        if len(table) > MOST_ROWS:
            rows = np.random.default_rng(SEED).choice(rows, MOST_ROWS, replace=False)
        weights = None if table.weights is None else np.asarray(table.weights[rows])
        frame = table.frame.iloc[rows].reset_index(drop=True)
        return cls(model, index, frame, np.asarray(table.y[rows]), weights)

    @cached_property
    def row_seconds(self) -> float:
        """Seconds of a row among many; the first call, which loads libraries, does not count."""
        self.model.raw_typed(self.frame.iloc[:LEAST_ROWS])
        rows = np.resize(np.arange(len(self.frame)), TIMED_ROWS)
        many = self.frame.take(rows).reset_index(drop=True)
        started = time.perf_counter()
        self.model.raw_typed(many)
        return max((time.perf_counter() - started) / len(many), 1e-7)

    def seconds_for(self, rows: int) -> float:
        """That importances and dependences on so many rows take."""
        copies = max(len(self.model.schema.columns), 1) + 1
        return self.row_seconds * rows * copies / IMPORTANCE_SHARE

    def part(self, start: int, stop: int) -> LookedAt:
        """The same with some of the rows."""
        weights = None if self.weights is None else self.weights[start:stop]
        frame = self.frame.iloc[start:stop].reset_index(drop=True)
        return LookedAt(self.model, self.index, frame, self.y[start:stop], weights)

    def scores(self, raw: NDArray[np.float32], counts: FloatArray) -> FloatArray:
        """(N,) of one prediction (n, K) or (n,), labels by the model's rule.

        Parameters
        ----------
        counts : (N, n)
            How often each row is in a bootstrap.
        """
        codes = self.model.codes(raw)
        weights = counts if self.weights is None else counts * self.weights
        labels = None if codes is None else codes[None]
        return self.index.scores(self.y, raw[None], weights, labels=labels)


def importances(looked_at: LookedAt, seconds: float) -> Importances | None:
    """Importance of every column; None where the model is too slow for the seconds."""
    columns, budget = looked_at.model.schema.columns, IMPORTANCE_SHARE * seconds
    affordable = budget / looked_at.row_seconds / max(len(columns), 1)
    if affordable < LEAST_ROWS or not columns:
        return None
    raw = _shuffled_predictions(looked_at, int(min(affordable, MOST_ROUND_ROWS)), budget)
    sample, rng = looked_at.part(0, raw.shape[1]), np.random.default_rng(SEED)
    n = len(sample.y)
    drawn = rng.multinomial(n, np.full(n, 1.0 / n), N_BOOTSTRAPS)
    counts = np.concatenate([np.ones((1, n)), np.maximum(drawn, NEVER_DRAWN)])
    whole = sample.scores(raw[0], counts)
    entries = []
    for column, prediction in zip(columns, raw[1:], strict=True):
        drops = whole - sample.scores(prediction, counts)
        entries.append(ColumnImportance(column.name, float(drops[0]), float(drops[1:].std(ddof=1))))
    entries.sort(key=lambda entry: -entry.drop)
    return Importances(tuple(entries), float(whole[0]), n)


def _shuffled_predictions(looked_at: LookedAt, size: int, seconds: float) -> NDArray[np.float32]:
    """(1 + n columns, n, K) or without K: predictions as the rows are, then with each column shuffled.

    Rows are taken `size` at a time, as long as there is time for another round.
    """
    columns, began, rng = (
        looked_at.model.schema.columns,
        time.monotonic(),
        np.random.default_rng(SEED),
    )
    rounds: list[NDArray[np.float32]] = []
    for start in range(0, len(looked_at.y), size):
        elapsed = time.monotonic() - began
        if rounds and elapsed * (len(rounds) + 1) / len(rounds) > seconds:
            break
        sample = looked_at.part(start, start + size)
        orders = [rng.permutation(len(sample.y)) for _ in columns]
        copies = [_shuffled(sample, *each) for each in zip(columns, orders, strict=True)]
        rounds.append(_predicted(sample, [{}, *copies]))
    return np.concatenate(rounds, axis=1)


def dependences(
    looked_at: LookedAt, found: Importances, classes: Sequence[str], seconds: float
) -> list[Dependence]:
    """Dependence on the most important columns that have values to be drawn, as far as there is time."""
    by_name = {column.name: column for column in looked_at.model.schema.columns}
    useful = (by_name[e.column] for e in found.columns if e.drop > e.deviation)
    chosen = [column for column in useful if column.role != "text"][:MOST_DEPENDENCES]
    if not chosen:
        return []
    began = time.monotonic()
    affordable = seconds / looked_at.row_seconds / (GRID * len(chosen))
    sample = looked_at.part(0, int(min(max(affordable, LEAST_ROWS), DEPENDENCE_ROWS)))
    made = []
    for column in chosen:
        if time.monotonic() - began >= seconds:
            break
        values = _grid(column, looked_at.frame)
        if len(values) < 2:
            continue
        raw = _predicted(sample, [_replaced(sample, column, value) for value in values])
        means = raw.mean(axis=1, dtype=np.float64).reshape(len(values), -1)
        places = None if column.role == "nominal" else tuple(float(value) for value in values)
        words = tuple(value_words(column, value) for value in values)
        made.append(
            Dependence(
                column.name, column.role, words, places, means, tuple(classes), len(sample.y)
            )
        )
    return made


Changes = Mapping[str, Any]
"""Typed columns by name, (n_rows,) each."""


def _shuffled(sample: LookedAt, column: ColumnSchema, order: IntArray) -> Changes:
    """The typed columns of a raw one, their rows in another order."""
    own = {name: sample.frame[name].take(order).array for name in column.outputs}
    return _with_differences(sample, column, own)


def _replaced(sample: LookedAt, column: ColumnSchema, value: Any) -> Changes:
    """The typed columns of a raw one that has the same value in every row."""
    n = len(sample.frame)
    if column.role == "nominal":
        codes = np.full(n, column.codes.get(value, len(column.categories)))
        return {column.outputs[0]: pd.Categorical.from_codes(codes, dtype=column.dtype)}
    marks = dict.fromkeys(column.outputs, np.zeros(n))
    if column.role == "date":
        days = np.full(n, column.date_origin + value)
        parts = date_parts(days, column.date_parts, origin=column.date_origin)
        own = dict(zip(column.outputs, parts.values(), strict=False))
        return _with_differences(sample, column, {**marks, **own})
    return {**marks, column.outputs[0]: np.full(n, float(value))}


def _with_differences(sample: LookedAt, column: ColumnSchema, own: Changes) -> Changes:
    """Also the days between this date and others."""
    schema = sample.model.schema
    affected = {
        each.output for each in schema.differences if column.name in (each.first, each.second)
    }
    if not affected:
        return own
    typed = {name: sample.frame[name].to_numpy() for name in sample.frame.columns} | dict(own)
    made = schema.differences_of(typed)
    return {**own, **{name: made[name] for name in affected}}


def _predicted(sample: LookedAt, copies: Sequence[Changes]) -> NDArray[np.float32]:
    """(m, n, K) or (m, n) predictions of m changed copies of the sample, many in one call."""
    n = len(sample.frame)
    size = max(CHUNK_ROWS // n, 1)
    parts = [
        sample.model.raw_typed(_stacked(sample.frame, copies[start : start + size]))
        for start in range(0, len(copies), size)
    ]
    raw = np.concatenate(parts)
    return raw.reshape(len(copies), n, *raw.shape[1:])


def _stacked(frame: pd.DataFrame, copies: Sequence[Changes]) -> pd.DataFrame:
    n = len(frame)
    stacked = frame.take(np.tile(np.arange(n), len(copies))).reset_index(drop=True)
    for name, positions in _changed(copies):
        values = stacked[name].array.copy()
        for position in positions:
            values[position * n : (position + 1) * n] = copies[position][name]
        stacked[name] = pd.Series(values, dtype=stacked[name].dtype)  # else pandas infers one
    return stacked


def _changed(copies: Sequence[Changes]) -> Iterator[tuple[str, list[int]]]:
    """Typed columns that differ, and in which copies."""
    places: dict[str, list[int]] = {}
    for position, copy in enumerate(copies):
        for name in copy:
            places.setdefault(name, []).append(position)
    yield from places.items()


def _grid(column: ColumnSchema, frame: pd.DataFrame) -> list[Any]:
    """Values that are drawn: frequent categories, or numbers from the twentieth to the last but one."""
    values = frame[column.elapsed_output if column.role == "date" else column.outputs[0]].dropna()
    if column.role == "nominal":
        counts = values.value_counts()
        return [str(label) for label in counts.index[counts > 0][:MOST_CATEGORIES]]
    numbers = np.asarray(values, dtype=np.float64)
    distinct = np.unique(numbers)
    if len(distinct) <= GRID:
        return list(distinct)
    return list(np.unique(np.quantile(numbers, np.linspace(0.05, 0.95, GRID))))
