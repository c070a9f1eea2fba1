"""Copies of rows, and rows in an order of time that folds at random leak."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
from column_defects import add_ids
from defects import NEUTRAL, Case, defect


def _appended(
    case: Case,
    share: float,
    rng: np.random.Generator,
    change: Callable[[pd.DataFrame], pd.DataFrame] = lambda rows: rows,
) -> None:
    """Copies of training rows among the training rows, anywhere."""
    chosen = rng.permutation(len(case.train))[: max(1, round(share * len(case.train)))]
    copies = change(case.train.iloc[chosen].copy())
    together = pd.concat([case.train, copies], ignore_index=True)
    case.train = together.iloc[np.sort(rng.permutation(len(together)))].reset_index(drop=True)
    case.n_added = len(chosen)


def _shared(
    case: Case,
    share: float,
    rng: np.random.Generator,
    change: Callable[[pd.DataFrame], pd.DataFrame] = lambda rows: rows,
) -> None:
    """Copies of training rows in place of test rows."""
    n = min(len(case.test), len(case.train), max(1, round(share * len(case.test))))
    copies = change(case.train.iloc[rng.permutation(len(case.train))[:n]].copy())
    kept = case.test.iloc[rng.permutation(len(case.test))[n:]]
    together = pd.concat([kept, copies], ignore_index=True)
    case.test = together.iloc[rng.permutation(len(together))].reset_index(drop=True)
    case.n_added = n


def _other_target(case: Case, rng: np.random.Generator) -> Callable[[pd.DataFrame], pd.DataFrame]:
    def change(rows: pd.DataFrame) -> pd.DataFrame:
        if not case.is_classification:
            return rows.assign(
                **{case.target: rows[case.target] + rng.normal(0, 0.3 * case.y.std(), len(rows))}
            )
        labels = case.y.unique()
        place = {label: k for k, label in enumerate(labels)}
        other = [labels[(place[label] + 1) % len(labels)] for label in rows[case.target]]
        return rows.assign(**{case.target: other})

    return change


def _continuous(case: Case) -> list[str]:
    return [
        name
        for name, kind in case.kinds.items()
        if kind == "numeric"
        and pd.api.types.is_float_dtype(case.train[name])
        and case.train[name].nunique() >= 20
    ]


def _rounded(case: Case) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """As a tool writes them that keeps seven digits: numbers get rounding errors."""
    names = _continuous(case)
    case.need(len(names) >= 2)
    for part in (case.train, case.test):
        part[names] = part[names] * 1.000000123456789
    return lambda rows: rows.assign(
        **{name: rows[name].astype("float32").astype(float) for name in names}
    )


@defect("duplicates")
def one_percent_copied_within(case: Case, rng: np.random.Generator) -> None:
    _appended(case, 0.01, rng)


@defect("duplicates")
def twenty_percent_copied_within(case: Case, rng: np.random.Generator) -> None:
    _appended(case, 0.2, rng)


@defect("duplicates")
def copied_within_with_another_target(case: Case, rng: np.random.Generator) -> None:
    _appended(case, 0.05, rng, _other_target(case, rng))


@defect("duplicates")
def copied_within_and_rounded(case: Case, rng: np.random.Generator) -> None:
    _appended(case, 0.05, rng, _rounded(case))


@defect("duplicates")
def copied_within_under_a_new_id(case: Case, rng: np.random.Generator) -> None:
    add_ids(case, rng, lambda i: [f"C-{k:05d}" for k in i])
    _appended(
        case,
        0.05,
        rng,
        lambda rows: rows.assign(**{NEUTRAL: [f"C-9{k:05d}" for k in range(len(rows))]}),
    )
    case.column = None


@defect("duplicates")
def one_percent_of_the_test_rows(case: Case, rng: np.random.Generator) -> None:
    _shared(case, 0.01, rng)


@defect("duplicates")
def twenty_percent_of_the_test_rows(case: Case, rng: np.random.Generator) -> None:
    _shared(case, 0.2, rng)


@defect("duplicates")
def test_rows_with_another_target(case: Case, rng: np.random.Generator) -> None:
    _shared(case, 0.1, rng, _other_target(case, rng))


@defect("duplicates")
def test_rows_rounded(case: Case, rng: np.random.Generator) -> None:
    _shared(case, 0.1, rng, _rounded(case))


@defect("duplicates")
def test_rows_under_a_new_id(case: Case, rng: np.random.Generator) -> None:
    add_ids(case, rng, lambda i: [f"C-{k:05d}" for k in i])
    _shared(
        case,
        0.1,
        rng,
        lambda rows: rows.assign(**{NEUTRAL: [f"C-9{k:05d}" for k in range(len(rows))]}),
    )
    case.column = None


@defect("duplicates")
def test_rows_in_other_letters(case: Case, rng: np.random.Generator) -> None:
    names = [
        name
        for name, kind in case.kinds.items()
        if kind == "nominal"
        and case.train[name].dropna().astype(str).str.contains("[a-zA-Z]").mean() > 0.9
    ]
    case.need(bool(names))
    _shared(
        case,
        0.1,
        rng,
        lambda rows: rows.assign(**{name: "  " + rows[name] + " " for name in names}),
    )


def _slow(n: int, rng: np.random.Generator, memory: float = 0.98) -> np.ndarray:
    """A stationary walk."""
    steps, values = rng.normal(size=n), np.empty(n)
    level = rng.normal() / np.sqrt(1 - memory**2)
    for row in range(n):
        level = memory * level + steps[row]
        values[row] = level
    return values


def _in_time(
    case: Case, strength: float, rng: np.random.Generator, also: str | None = None
) -> None:
    """Order the training rows so that the target, and a feature, follow slow walks."""
    n = len(case.train)
    key = (pd.Series(case.ranks).rank(method="first") / n).to_numpy()
    if also is not None:
        other = (case.train[also].rank(method="first", na_option="top") / n).to_numpy()
        key = key + other * (1 if np.corrcoef(key, other)[0, 1] >= 0 else -1)
    key = pd.Series(key).rank(method="first").to_numpy() / n
    spread = np.sqrt(1 / strength**2 - 1) * key.std()
    key = key + rng.normal(0, spread, n)
    placed = np.empty(n, dtype=int)
    placed[np.argsort(_slow(n, rng))] = np.argsort(key)
    case.train = case.train.iloc[placed].reset_index(drop=True)


def _in_groups(case: Case, size: int, noise: float, rng: np.random.Generator) -> None:
    """Some of the training rows alone, each measured `size` times in a row; `noise` in deviations."""
    names = _continuous(case)
    case.need(len(names) >= 2)
    chosen = rng.permutation(len(case.train))[: len(case.train) // size]
    case.train = case.train.iloc[np.repeat(chosen, size)].reset_index(drop=True)
    for name in names:
        column = case.train[name]
        case.train[name] = column + rng.normal(0, noise * column.std(), len(column))


@defect("groups")
def measured_three_times(case: Case, rng: np.random.Generator) -> None:
    _in_groups(case, 3, 0.1, rng)


@defect("groups")
def measured_five_times(case: Case, rng: np.random.Generator) -> None:
    _in_groups(case, 5, 0.1, rng)


@defect("groups")
def measured_five_times_roughly(case: Case, rng: np.random.Generator) -> None:
    _in_groups(case, 5, 0.3, rng)


@defect("groups")
def measured_ten_times_roughly(case: Case, rng: np.random.Generator) -> None:
    _in_groups(case, 10, 0.3, rng)


def _moments(case: Case) -> tuple[pd.Series, pd.Series]:
    n, m = len(case.train), len(case.test)
    first = pd.Timestamp("2023-03-01 06:00")
    return (
        pd.Series(first + pd.to_timedelta(np.arange(n) * 7, unit="h")),
        pd.Series(first + pd.to_timedelta((n + np.arange(m)) * 7, unit="h")),
    )


@defect("time")
def sorted_by_a_date(case: Case, rng: np.random.Generator) -> None:
    _in_time(case, 0.8, rng)
    train, test = _moments(case)
    case.add(train.dt.strftime("%Y-%m-%d %H:%M"), test.dt.strftime("%Y-%m-%d %H:%M"))


@defect("time")
def sorted_by_a_day_weakly(case: Case, rng: np.random.Generator) -> None:
    _in_time(case, 0.5, rng)
    train, test = _moments(case)
    case.add(train.dt.strftime("%Y-%m-%d"), test.dt.strftime("%Y-%m-%d"))


@defect("time")
def dates_in_any_order(case: Case, rng: np.random.Generator) -> None:
    _in_time(case, 0.8, rng)
    train, test = _moments(case)
    case.add(train.dt.strftime("%Y-%m-%d %H:%M"), test.dt.strftime("%Y-%m-%d %H:%M"))
    case.train = case.train.iloc[rng.permutation(len(case.train))].reset_index(drop=True)


@defect("time")
def days_in_any_order_weakly(case: Case, rng: np.random.Generator) -> None:
    _in_time(case, 0.5, rng)
    train, test = _moments(case)
    case.add(train.dt.strftime("%d.%m.%Y"), test.dt.strftime("%d.%m.%Y"))
    case.train = case.train.iloc[rng.permutation(len(case.train))].reset_index(drop=True)


@defect("time")
def sorted_by_seconds(case: Case, rng: np.random.Generator) -> None:
    _in_time(case, 0.7, rng)
    n, m = len(case.train), len(case.test)
    seconds = 1_600_000_000 + np.cumsum(rng.integers(1, 7_200, n + m))
    case.add(seconds[:n], seconds[n:])


@defect("time")
def beside_a_slow_sensor(case: Case, rng: np.random.Generator) -> None:
    _in_time(case, 0.7, rng)
    n, m = len(case.train), len(case.test)
    level = _slow(n + m, rng, 0.995) + rng.normal(0, 0.3, n + m)
    case.add(level[:n], level[n:])
    case.column = None


@defect("time")
def a_feature_follows_too(case: Case, rng: np.random.Generator) -> None:
    _in_time(case, 0.8, rng, also=case.numeric(rng))
    case.column = None


@defect("time")
def a_feature_follows_weakly(case: Case, rng: np.random.Generator) -> None:
    _in_time(case, 0.6, rng, also=case.numeric(rng))
    case.column = None
