"""What tells copies of rows from rows that are equal by chance."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from automl.data.repeats import are_copied_in_order, is_doubled, is_oversampled

SIZES = st.integers(10, 200)
SEEDS = st.integers(0, 2**32 - 1)


def codes_of(rows):
    return pd.factorize(np.asarray(rows))[0]


@given(SIZES, SEEDS, st.data())
def test_a_second_export_of_a_stretch_of_rows_is_seen_wherever_it_begins(n_rows, seed, data):
    begin = data.draw(st.integers(0, n_rows - 3))
    stretch = np.arange(begin, data.draw(st.integers(begin + 3, n_rows)))
    rows = np.random.default_rng(seed).permutation(n_rows)
    assert are_copied_in_order(codes_of([*rows, *rows[stretch]]))


@given(SIZES, SEEDS)
def test_equal_rows_side_by_side_are_in_no_order_of_before(n_rows, seed):
    rows = np.sort(np.random.default_rng(seed).integers(0, n_rows, 2 * n_rows))
    assert not are_copied_in_order(codes_of(rows))


@given(SIZES, SEEDS, st.integers(2, 4))
def test_a_table_of_which_every_row_is_there_several_times_is_doubled(n_rows, seed, times):
    rows = np.random.default_rng(seed).permutation(np.repeat(np.arange(n_rows), times))
    assert is_doubled(codes_of(rows))
    assert not is_doubled(np.arange(n_rows))


@given(st.integers(50, 200), SEEDS)
def test_a_rare_class_that_is_drawn_often_is_oversampled_in_any_order(n_rows, seed):
    rng = np.random.default_rng(seed)
    rare = np.arange(8)
    rows = rng.permutation(np.r_[np.arange(n_rows), rng.choice(rare, n_rows)])
    classes = np.isin(rows, rare).astype(int)
    assert is_oversampled(codes_of(rows), classes, 10)
    assert not is_doubled(codes_of(rows))


@given(st.integers(2, 5), st.integers(1, 6), SEEDS)
def test_few_values_make_rows_equal_by_chance_however_many_there_are(n_values, n_columns, seed):
    rng = np.random.default_rng(seed)
    cells = rng.integers(0, n_values, (400, n_columns)) @ n_values ** np.arange(n_columns)
    classes = rng.integers(0, 2, 400)
    codes = codes_of(2 * cells + classes)
    assert not is_oversampled(codes, classes, 10)
    assert not are_copied_in_order(codes)


@pytest.mark.parametrize(
    ("n_own", "n_others", "expected"),
    [(40, 0, False), (60, 0, True), (60, 5, True), (60, 30, False)],
)
def test_most_rows_of_one_class_alone_must_be_there_more_than_once(n_own, n_others, expected):
    rows = np.r_[np.arange(200), 100 + np.arange(n_own), np.arange(n_others)]
    classes = (rows >= 100).astype(int)
    assert is_oversampled(codes_of(rows), classes, 10) is expected
    assert not is_oversampled(codes_of(rows), None, 10)


def test_a_class_of_a_few_rows_tells_nothing():
    rows = np.r_[np.arange(100), 97 + np.arange(3)]
    classes = (rows >= 97).astype(int)
    assert not is_oversampled(codes_of(rows), classes, 10)
    assert is_oversampled(codes_of(rows), classes, 6)
