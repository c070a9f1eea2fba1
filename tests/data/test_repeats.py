"""What tells copies of rows from rows that are equal by chance."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from automl.data.repeats import are_copied_by_class, are_copied_in_order

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


@given(SIZES, SEEDS)
def test_a_table_of_which_every_row_is_there_twice_is_copied(n_rows, seed):
    rows = np.random.default_rng(seed).permutation(np.repeat(np.arange(n_rows), 2))
    assert are_copied_by_class(codes_of(rows), None, 10)


@pytest.mark.parametrize(("n_copied", "is_copied"), [(40, False), (60, True)])
def test_most_rows_of_a_class_must_be_there_more_than_once(n_copied, is_copied):
    rows = np.r_[np.arange(200), 100 + np.arange(n_copied)]
    classes = (rows >= 100).astype(int)
    assert are_copied_by_class(codes_of(rows), classes, 10) is is_copied
    assert not are_copied_by_class(codes_of(rows), None, 10)  # a third of all rows


def test_a_class_of_a_few_rows_tells_nothing():
    rows = np.r_[np.arange(100), 95 + np.arange(5)]
    classes = (rows >= 95).astype(int)
    assert not are_copied_by_class(codes_of(rows), classes, 10)
    assert are_copied_by_class(codes_of(rows), classes, 5)
