"""Columns that are distributed differently in the test rows or from a row on, and columns that stand still."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
from defects import Case, defect, is_number


def _later(case: Case, where: str, rng: np.random.Generator) -> tuple[pd.DataFrame, np.ndarray]:
    """The part that is spoilt, and which of its rows."""
    if where == "test":
        return case.test, np.ones(len(case.test), dtype=bool)
    first = rng.uniform(0.4, 0.85) * len(case.train)
    return case.train, np.arange(len(case.train)) >= first


def _spoil(
    case: Case,
    where: str,
    rng: np.random.Generator,
    name: str,
    change: Callable[[pd.Series], object],
) -> None:
    part, rows = _later(case, where, rng)
    column = part[name].astype(float) if is_number(part[name]) else part[name].astype(object)
    column[rows] = np.asarray(change(column[rows]))
    part[name] = column


def _moved(case: Case, where: str, rng: np.random.Generator, deviations: float) -> None:
    name = case.numeric(rng)
    by = deviations * case.train[name].std()
    _spoil(case, where, rng, name, lambda values: values + by)


@defect("shift")
def test_moved_by_one_deviation(case: Case, rng: np.random.Generator) -> None:
    _moved(case, "test", rng, 1.0)


@defect("shift")
def test_moved_by_half_a_deviation(case: Case, rng: np.random.Generator) -> None:
    case.need(len(case.train) >= 700)
    _moved(case, "test", rng, 0.5)


@defect("shift")
def test_in_thousandths(case: Case, rng: np.random.Generator) -> None:
    name = case.numeric(rng)
    _spoil(case, "test", rng, name, lambda values: values / 1000)


@defect("shift")
def test_with_a_third_missing(case: Case, rng: np.random.Generator) -> None:
    name = case.varied(rng)
    _spoil(case, "test", rng, name, lambda values: values.where(rng.random(len(values)) > 1 / 3))


@defect("shift")
def test_with_categories_exchanged(case: Case, rng: np.random.Generator) -> None:
    name = case.nominal(rng)
    counts = case.train[name].value_counts()
    other = dict(zip(counts.index, counts.index[::-1], strict=True))
    _spoil(case, "test", rng, name, lambda values: values.map(other))


@defect("shift")
def test_with_new_categories(case: Case, rng: np.random.Generator) -> None:
    name = case.nominal(rng)
    _spoil(
        case, "test", rng, name, lambda values: values.where(rng.random(len(values)) > 0.4, "other")
    )


@defect("shift")
def test_with_two_columns_exchanged(case: Case, rng: np.random.Generator) -> None:
    first = case.numeric(rng)
    second = case.numeric(rng)
    case.need(first != second)
    ratio = abs(case.train[first].mean() - case.train[second].mean()) / case.train[first].std()
    case.need(ratio > 0.8)
    case.test[[first, second]] = case.test[[second, first]].to_numpy()


@defect("shift")
def moved_by_one_deviation_from_a_row_on(case: Case, rng: np.random.Generator) -> None:
    _moved(case, "rows", rng, 1.0)


@defect("shift")
def in_thousandths_from_a_row_on(case: Case, rng: np.random.Generator) -> None:
    _spoil(case, "rows", rng, case.numeric(rng), lambda values: values / 1000)


@defect("shift")
def drifting_by_two_deviations(case: Case, rng: np.random.Generator) -> None:
    name = case.numeric(rng)
    values = case.train[name].astype(float)
    case.train[name] = values + 2 * values.std() * np.linspace(0, 1, len(values))


@defect("shift")
def three_times_as_wide_from_a_row_on(case: Case, rng: np.random.Generator) -> None:
    name = case.numeric(rng)
    middle = case.train[name].median()
    _spoil(case, "rows", rng, name, lambda values: middle + 3 * (values - middle))


@defect("shift")
def new_categories_from_a_row_on(case: Case, rng: np.random.Generator) -> None:
    name = case.nominal(rng)
    _spoil(
        case, "rows", rng, name, lambda values: values.where(rng.random(len(values)) > 0.4, "other")
    )


@defect("shift")
def a_third_missing_from_a_row_on(case: Case, rng: np.random.Generator) -> None:
    name = case.varied(rng)
    _spoil(case, "rows", rng, name, lambda values: values.where(rng.random(len(values)) > 1 / 3))


def _held(case: Case, start: float, rng: np.random.Generator, value: str) -> None:
    name = case.varied(rng)
    column = (
        case.train[name].astype(float)
        if is_number(case.train[name])
        else case.train[name].astype(object)
    )
    first = round(start * len(column))
    known = column[:first].dropna()
    case.need(len(known) > 0)
    filled = {
        "last": known.iloc[-1],
        "missing": np.nan,
        "most frequent": known.mode().iloc[0],
        "zero": 0.0 if is_number(column) else "0",
    }[value]
    column.iloc[first:] = filled
    case.train[name] = column


@defect("constant")
def last_value_held_from_one_half(case: Case, rng: np.random.Generator) -> None:
    _held(case, 0.5, rng, "last")


@defect("constant")
def last_value_held_from_80_percent(case: Case, rng: np.random.Generator) -> None:
    _held(case, 0.8, rng, "last")


@defect("constant")
def last_value_held_from_95_percent(case: Case, rng: np.random.Generator) -> None:
    case.need(len(case.train) >= 400)
    _held(case, 0.95, rng, "last")


@defect("constant")
def zero_from_70_percent(case: Case, rng: np.random.Generator) -> None:
    _held(case, 0.7, rng, "zero")


@defect("constant")
def most_frequent_value_from_75_percent(case: Case, rng: np.random.Generator) -> None:
    _held(case, 0.75, rng, "most frequent")


@defect("constant")
def missing_from_60_percent(case: Case, rng: np.random.Generator) -> None:
    _held(case, 0.6, rng, "missing")


@defect("constant")
def missing_from_90_percent(case: Case, rng: np.random.Generator) -> None:
    _held(case, 0.9, rng, "missing")
