"""Columns that give the target away, and columns that name the rows."""

from __future__ import annotations

import uuid
from collections.abc import Callable

import numpy as np
import pandas as pd
from defects import NEUTRAL, Case, defect


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


def add_ids(
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
    add_ids(case, rng, lambda i: i + 1)


@defect("id")
def numbers_in_order_with_gaps(case: Case, rng: np.random.Generator) -> None:
    add_ids(case, rng, lambda i: 1000 + i, is_sorted=True)


@defect("id")
def every_fifth_number_in_any_order(case: Case, rng: np.random.Generator) -> None:
    add_ids(case, rng, lambda i: 70_000 + 5 * i)


@defect("id")
def a_row_counter_of_floats(case: Case, rng: np.random.Generator) -> None:
    case.add(np.arange(len(case.train)) * 1.0, np.arange(len(case.test)) * 1.0)


@defect("id")
def numbers_drawn_from_four_times_as_many(case: Case, rng: np.random.Generator) -> None:
    n = len(case.train) + len(case.test)
    drawn = rng.permutation(4 * n)[:n]
    add_ids(case, rng, lambda i: drawn[i])


@defect("id")
def numbers_of_eight_digits(case: Case, rng: np.random.Generator) -> None:
    n = len(case.train) + len(case.test)
    drawn = np.unique(rng.integers(10_000_000, 100_000_000, 2 * n))
    drawn = rng.permutation(drawn)[:n]
    add_ids(case, rng, lambda i: drawn[i])


@defect("id")
def numbers_of_eight_digits_named_so(case: Case, rng: np.random.Generator) -> None:
    n = len(case.train) + len(case.test)
    drawn = rng.integers(10_000_000, 100_000_000, n)
    add_ids(case, rng, lambda i: drawn[i], name="customer_id")


@defect("id")
def numbers_with_leading_zeros(case: Case, rng: np.random.Generator) -> None:
    add_ids(case, rng, lambda i: [f"{k:07d}" for k in i])


@defect("id")
def letters_and_numbers(case: Case, rng: np.random.Generator) -> None:
    add_ids(case, rng, lambda i: [f"C-{k:05d}" for k in i])


@defect("id")
def letters_and_numbers_with_3_percent_repeated(case: Case, rng: np.random.Generator) -> None:
    n = len(case.train) + len(case.test)
    add_ids(case, rng, lambda i: [f"P{k if k % 33 else k + 1}X" for k in i], is_sorted=n % 2 == 0)


@defect("id")
def uuids(case: Case, rng: np.random.Generator) -> None:
    add_ids(case, rng, lambda i: [str(uuid.UUID(bytes=rng.bytes(16))) for _ in i])


@defect("id")
def digests_of_64_digits(case: Case, rng: np.random.Generator) -> None:
    add_ids(case, rng, lambda i: [rng.bytes(32).hex() for _ in i])
