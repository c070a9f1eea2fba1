"""Defects put into clean tables: six kinds, each in several strengths.

A defect is a function of a `Case` and a generator; it changes the case's frames and says what a
finding must name. Whoever adds one decorates it with `defect`.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import pandas as pd

Order = Literal["source", "shuffled"]
Kind = Literal["leak", "id", "duplicates", "time", "shift", "constant"]
NEUTRAL = "w27"
LEAST_ROWS = 150


class NotApplicable(Exception):
    """The table has no place for this defect."""


@dataclass
class Case:
    """A clean table divided into training and test rows, to be spoilt.

    Parameters
    ----------
    column
        That a finding must name; None where any will do.
    n_added
        Rows that were added as copies.
    """

    target: str
    is_classification: bool
    train: pd.DataFrame
    test: pd.DataFrame
    kinds: dict[str, str]
    column: str | None = None
    n_added: int = 0
    roles: dict[str, str] = field(default_factory=dict)

    @property
    def y(self) -> pd.Series:
        """Target of the training rows."""
        return self.train[self.target]

    @property
    def ranks(self) -> np.ndarray:
        """Target as numbers from 0 to 1: ranks, or codes of classes."""
        values = pd.factorize(self.y, sort=True)[0] if self.is_classification else self.y.rank()
        values = np.asarray(values, dtype=float)
        return values / max(values.max(), 1.0)

    def add(self, train: object, test: object, name: str = NEUTRAL) -> None:
        """A new column somewhere among the others."""
        place = len(name) % self.train.shape[1]
        self.train.insert(place, name, np.asarray(train, dtype=object))
        self.test.insert(place, name, np.asarray(test, dtype=object))
        self.train[name] = self.train[name].infer_objects()
        self.test[name] = self.test[name].infer_objects()
        self.column = name

    def both(self, values: Callable[[pd.Series], object], name: str = NEUTRAL) -> None:
        """A new column made of the target of both parts."""
        n = len(self.train)
        made = np.asarray(values(pd.concat([self.y, self.test[self.target]], ignore_index=True)))
        self.add(made[:n], made[n:], name)

    def numeric(self, rng: np.random.Generator) -> str:
        """A numeric feature with at least twenty values, none of more than half of the rows."""
        return self._feature(
            rng, lambda s, kind: _is_number(s) and kind == "numeric" and s.nunique() >= 20
        )

    def nominal(self, rng: np.random.Generator) -> str:
        """A feature of 3 to 30 categories."""
        return self._feature(rng, lambda s, kind: kind == "nominal" and 3 <= s.nunique() <= 30)

    def varied(self, rng: np.random.Generator) -> str:
        """A feature that has no value in more than 70 % of the rows."""
        return self._feature(rng, lambda s, kind: kind in ("numeric", "nominal"), most=0.7)

    def _feature(
        self,
        rng: np.random.Generator,
        fits: Callable[[pd.Series, str], bool],
        most: float = 0.5,
    ) -> str:
        names = [
            name
            for name, kind in self.kinds.items()
            if fits(self.train[name], kind)
            and self.train[name].value_counts(dropna=False, normalize=True).iloc[0] <= most
        ]
        if not names:
            raise NotApplicable
        self.column = str(rng.choice(names))
        return self.column

    def need(self, condition: bool) -> None:
        """Stop where the table is of the wrong sort."""
        if not condition:
            raise NotApplicable


@dataclass(frozen=True)
class Defect:
    """How to spoil a case."""

    kind: Kind
    name: str
    spoil: Callable[[Case, np.random.Generator], None]


DEFECTS: list[Defect] = []


def defect(
    kind: Kind,
) -> Callable[
    [Callable[[Case, np.random.Generator], None]], Callable[[Case, np.random.Generator], None]
]:
    """Register a defect under its function's name."""

    def add(
        spoil: Callable[[Case, np.random.Generator], None],
    ) -> Callable[[Case, np.random.Generator], None]:
        DEFECTS.append(Defect(kind, spoil.__name__.replace("_", " "), spoil))
        return spoil

    return add


def _is_number(series: pd.Series) -> bool:
    return bool(pd.api.types.is_numeric_dtype(series))


# leaks of the target


@defect("leak")
def copy_of_the_target(case: Case, rng: np.random.Generator) -> None:
    case.both(lambda y: y)


@defect("leak")
def classes_under_other_names(case: Case, rng: np.random.Generator) -> None:
    case.need(case.is_classification)
    case.both(lambda y: [f"v{code}" for code in pd.factorize(y)[0]])


def _flipped(y: pd.Series, share: float, rng: np.random.Generator) -> np.ndarray:
    codes, labels = pd.factorize(y)
    wrong = rng.random(len(y)) < share
    other = (codes + rng.integers(1, len(labels), len(y))) % len(labels)
    return np.where(wrong, other, codes)


@defect("leak")
def classes_with_1_percent_wrong(case: Case, rng: np.random.Generator) -> None:
    case.need(case.is_classification)
    case.both(lambda y: _flipped(y, 0.01, rng))


@defect("leak")
def classes_with_3_percent_wrong(case: Case, rng: np.random.Generator) -> None:
    case.need(case.is_classification)
    case.both(lambda y: [f"v{code}" for code in _flipped(y, 0.03, rng)])


@defect("leak")
def several_codes_for_each_class(case: Case, rng: np.random.Generator) -> None:
    case.need(case.is_classification)
    case.both(
        lambda y: (
            [
                f"{a}{b}"
                for a, b in zip(
                    pd.factorize(y)[0] * 7 % 11, rng.integers(0, 4, len(y)), strict=True
                )
            ]
            if y.nunique() <= 11
            else [
                f"{a}-{b}"
                for a, b in zip(pd.factorize(y)[0], rng.integers(0, 4, len(y)), strict=True)
            ]
        )
    )


@defect("leak")
def a_code_of_twelve_per_class_in_text(case: Case, rng: np.random.Generator) -> None:
    case.need(case.is_classification)
    case.both(
        lambda y: [
            f"k{a * 37 % 101}.{b}"
            for a, b in zip(pd.factorize(y)[0], rng.integers(0, 12, len(y)), strict=True)
        ]
    )


@defect("leak")
def a_noisy_score_of_the_class(case: Case, rng: np.random.Generator) -> None:
    case.need(case.is_classification)
    case.both(lambda y: pd.factorize(y)[0] * 3.7 + rng.normal(0, 0.6, len(y)))


@defect("leak")
def known_for_one_class_only(case: Case, rng: np.random.Generator) -> None:
    case.need(case.is_classification and case.y.nunique() == 2)
    case.both(
        lambda y: np.where(pd.factorize(y)[0] == 0, np.nan, rng.normal(50, 9, len(y)).round(2))
    )


@defect("leak")
def target_in_other_units(case: Case, rng: np.random.Generator) -> None:
    case.need(not case.is_classification)
    case.both(lambda y: 32 - 1.8 * y)


@defect("leak")
def a_monotone_function(case: Case, rng: np.random.Generator) -> None:
    case.need(not case.is_classification)
    case.both(lambda y: np.log1p(y - y.min()))


@defect("leak")
def target_with_noise_of_1_percent(case: Case, rng: np.random.Generator) -> None:
    case.need(not case.is_classification)
    case.both(lambda y: y + rng.normal(0, 0.01 * y.std(), len(y)))


@defect("leak")
def target_with_noise_of_5_percent(case: Case, rng: np.random.Generator) -> None:
    case.need(not case.is_classification)
    case.both(lambda y: y + rng.normal(0, 0.05 * y.std(), len(y)))


@defect("leak")
def target_in_twenty_bins(case: Case, rng: np.random.Generator) -> None:
    case.need(not case.is_classification)
    case.both(lambda y: pd.qcut(y, 20, labels=False, duplicates="drop"))


@defect("leak")
def target_in_ten_named_bins(case: Case, rng: np.random.Generator) -> None:
    case.need(not case.is_classification)
    names = rng.permutation([f"band {letter}" for letter in "abcdefghij"])
    case.both(lambda y: names[pd.qcut(y, 10, labels=False, duplicates="drop")])


@defect("leak")
def target_known_for_two_thirds(case: Case, rng: np.random.Generator) -> None:
    case.need(not case.is_classification)
    case.both(lambda y: np.where(rng.random(len(y)) < 2 / 3, 2.5 * y, np.nan))


# identifiers


def _add_ids(
    case: Case,
    rng: np.random.Generator,
    make: Callable[[np.ndarray], object],
    *,
    is_sorted: bool = False,
    name: str = NEUTRAL,
) -> None:
    n, m = len(case.train), len(case.test)
    numbers = np.arange(n + m) if is_sorted else rng.permutation(n + m)
    made = np.asarray(make(numbers), dtype=object)
    if is_sorted:  # as a file that was divided at random
        chosen = np.sort(rng.permutation(n + m)[:n])
        case.add(made[chosen], np.delete(made, chosen), name)
        return
    case.add(made[:n], made[n:], name)


@defect("id")
def numbers_in_any_order(case: Case, rng: np.random.Generator) -> None:
    _add_ids(case, rng, lambda i: i + 1)


@defect("id")
def numbers_in_order_with_gaps(case: Case, rng: np.random.Generator) -> None:
    _add_ids(case, rng, lambda i: 1000 + i, is_sorted=True)


@defect("id")
def every_fifth_number_in_any_order(case: Case, rng: np.random.Generator) -> None:
    _add_ids(case, rng, lambda i: 70_000 + 5 * i)


@defect("id")
def a_row_counter_of_floats(case: Case, rng: np.random.Generator) -> None:
    case.add(np.arange(len(case.train)) * 1.0, np.arange(len(case.test)) * 1.0)


@defect("id")
def numbers_drawn_from_four_times_as_many(case: Case, rng: np.random.Generator) -> None:
    n = len(case.train) + len(case.test)
    drawn = rng.permutation(4 * n)[:n]
    _add_ids(case, rng, lambda i: drawn[i])


@defect("id")
def numbers_of_eight_digits(case: Case, rng: np.random.Generator) -> None:
    n = len(case.train) + len(case.test)
    drawn = np.unique(rng.integers(10_000_000, 100_000_000, 2 * n))
    drawn = rng.permutation(drawn)[:n]
    _add_ids(case, rng, lambda i: drawn[i])


@defect("id")
def numbers_of_eight_digits_named_so(case: Case, rng: np.random.Generator) -> None:
    n = len(case.train) + len(case.test)
    drawn = rng.integers(10_000_000, 100_000_000, n)
    _add_ids(case, rng, lambda i: drawn[i], name="customer_id")


@defect("id")
def numbers_with_leading_zeros(case: Case, rng: np.random.Generator) -> None:
    _add_ids(case, rng, lambda i: [f"{k:07d}" for k in i])


@defect("id")
def letters_and_numbers(case: Case, rng: np.random.Generator) -> None:
    _add_ids(case, rng, lambda i: [f"C-{k:05d}" for k in i])


@defect("id")
def letters_and_numbers_with_3_percent_repeated(case: Case, rng: np.random.Generator) -> None:
    n = len(case.train) + len(case.test)
    _add_ids(case, rng, lambda i: [f"P{k if k % 33 else k + 1}X" for k in i], is_sorted=n % 2 == 0)


@defect("id")
def uuids(case: Case, rng: np.random.Generator) -> None:
    _add_ids(case, rng, lambda i: [str(uuid.UUID(bytes=rng.bytes(16))) for _ in i])


@defect("id")
def digests_of_64_digits(case: Case, rng: np.random.Generator) -> None:
    _add_ids(case, rng, lambda i: [rng.bytes(32).hex() for _ in i])


# duplicates


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
    _add_ids(case, rng, lambda i: [f"C-{k:05d}" for k in i])
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
    _add_ids(case, rng, lambda i: [f"C-{k:05d}" for k in i])
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


# time order that a random split leaks


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
        key = key + (case.train[also].rank(method="first", na_option="top") / n).to_numpy()
    key = pd.Series(key).rank(method="first").to_numpy() / n
    spread = np.sqrt(1 / strength**2 - 1) * key.std()
    key = key + rng.normal(0, spread, n)
    placed = np.empty(n, dtype=int)
    placed[np.argsort(_slow(n, rng))] = np.argsort(key)
    case.train = case.train.iloc[placed].reset_index(drop=True)


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


# columns whose distribution is another one in the test rows, or from a row on


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
    column = part[name].astype(float) if _is_number(part[name]) else part[name].astype(object)
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


# constant after a point


def _held(case: Case, start: float, rng: np.random.Generator, value: str) -> None:
    name = case.varied(rng)
    column = (
        case.train[name].astype(float)
        if _is_number(case.train[name])
        else case.train[name].astype(object)
    )
    first = round(start * len(column))
    known = column[:first].dropna()
    case.need(len(known) > 0)
    filled = {
        "last": known.iloc[-1],
        "missing": np.nan,
        "most frequent": known.mode().iloc[0],
        "zero": 0.0 if _is_number(column) else "0",
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


def names(kind: Kind) -> list[Defect]:
    """Defects of a kind."""
    return [found for found in DEFECTS if found.kind == kind]


def quoted(text: str) -> list[str]:
    """Names in quotation marks in a sentence."""
    return re.findall(r"'([^']*)'", text)
