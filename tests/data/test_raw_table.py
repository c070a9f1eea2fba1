"""A column is looked at once: conversions are counted, and what is shared equals what each would make."""

import gc
import weakref
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from automl.data import table as tables
from automl.data.digests import BLOCK, close_digests, digest_frame, n_close_repeats, value_hashes
from automl.data.table import prepare_table, prepare_test_table
from automl.errors import DataError
from automl.inference.raw_table import Column, RawTable
from automl.inference.readings import Reading

N = 400
TYPED = ("float64", "category", "object")
"""Dtypes of typed columns; the raw ones that are counted have others."""


def mixed_frame(n_rows=N):
    """Whole numbers in several types, texts of categories and numbers, dates, an identifier, two targets."""
    rng = np.random.default_rng(3)
    return pd.DataFrame(
        {
            "whole": rng.integers(0, 1000, n_rows),
            "small": rng.integers(0, 9, n_rows).astype(np.int8),
            "gaps": pd.array(np.where(rng.random(n_rows) < 0.1, None, 7), dtype="Int64"),
            "flag": rng.random(n_rows) < 0.5,
            "color": rng.choice(["red", "green", "blue"], n_rows),
            "amount": [f"{value:,}" for value in rng.integers(1000, 99_999, n_rows)],
            "day": pd.date_range("2026-01-01", periods=n_rows).strftime("%Y-%m-%d"),
            "user_id": rng.permutation(n_rows) + 10**6,
            "size": rng.integers(0, 10**6, n_rows),
            "sold": rng.choice(["yes", "no"], n_rows),
        }
    )


@pytest.fixture
def looks(monkeypatch):
    """Counts of conversions to float64 and of factorizations of raw columns, by name."""
    counts = Counter()

    def counted(method, is_conversion):
        def call(self, *args, **kwargs):
            if self.dtype not in TYPED and is_conversion(*args, **kwargs):
                counts["converted", self.name] += 1
            return method(self, *args, **kwargs)

        return call

    def to_float(dtype=None, *args, **kwargs):
        return dtype in (float, np.float64, "float", "float64")

    for name in ("to_numpy", "astype", "__array__"):
        monkeypatch.setattr(pd.Series, name, counted(getattr(pd.Series, name), to_float))
    factorize = pd.factorize

    def factorized(values, *args, **kwargs):
        if isinstance(values, pd.Series) and values.dtype not in TYPED and len(values) >= N // 4:
            counts["factorized", values.name] += 1
        return factorize(values, *args, **kwargs)

    monkeypatch.setattr(pd, "factorize", factorized)
    monkeypatch.setattr(pd, "to_numeric", lambda *_, **__: pytest.fail("numbers are read by forms"))
    return counts


@pytest.mark.parametrize("target", ["sold", "size", "small"])
@pytest.mark.parametrize("is_dropped", [False, True], ids=["all rows", "rows without target"])
@pytest.mark.parametrize(
    "parts", [{}, {"time": "whole"}, {"groups": "small"}, {"weights": "whole"}]
)
def test_a_column_is_converted_and_factorized_once_at_most(looks, target, is_dropped, parts):
    if target in parts.values():
        pytest.skip("one column, one part")
    frame = mixed_frame()
    if is_dropped:
        frame[target] = frame[target].astype(object if target == "sold" else "Int64")
        frame.loc[[5, 77], target] = None
    prepare_table(frame, target=target, task="auto", **parts)
    assert looks["converted", "whole"] == looks["converted", "gaps"] == 1
    most = {"converted": 1, "factorized": 2 if is_dropped else 1}  # the digest is of all rows
    assert {key: n for key, n in looks.items() if key[1] != target and n > most[key[0]]} == {}


def test_a_test_table_is_converted_once_too(looks):
    table = prepare_table(mixed_frame(), target="sold")
    looks.clear()
    prepare_test_table(mixed_frame(100), table)
    assert looks["converted", "whole"] == looks["converted", "gaps"] == 1
    assert looks["factorized", "color"] == looks["factorized", "amount"] == 1


def test_what_a_column_keeps_goes_with_the_raw_table(monkeypatch):
    read = tables.load_source
    views = []

    def load(source):
        raw, oddities = read(source)
        views.extend(weakref.ref(column) for column in raw.values())
        return raw, oddities

    monkeypatch.setattr(tables, "load_source", load)
    table = prepare_table(mixed_frame(), target="sold")
    gc.collect()
    assert len(table) == N
    assert len(views) == 10
    assert [view() for view in views if view() is not None] == []


def test_rows_of_a_column_are_read_as_the_column_is():
    column = Column(pd.Series([3, 1, 2], name="c", dtype="Int64"))
    kept = np.array([True, False, True])
    part = column.where(kept)
    assert part.read().values.tolist() == [3.0, 2.0]
    assert part.read() is part.read()
    assert part.series.index.tolist() == [0, 2]
    assert RawTable({"c": column}, 3).where(kept).n_rows == 2


def test_two_readings_of_a_column_are_kept_apart():
    column = Column(pd.Series(["1", "x"], name="c"))
    assert column.read(Reading(words=("x",))).is_word.tolist() == [False, True]
    with pytest.raises(DataError, match="column 'c' must hold numbers; found 'x'"):
        column.read()


def test_only_frames_are_raw_tables():
    with pytest.raises(DataError, match="expected; got list"):
        RawTable.of([1, 2])


def test_digests_do_not_depend_on_blocks():
    n_rows = 2 * BLOCK + 5
    values = np.random.default_rng(0).normal(size=n_rows)
    values[[0, BLOCK, n_rows - 1]] = [np.nan, -0.0, np.nan]
    hashes = value_hashes(Column(pd.Series(values)))
    known = ~np.isnan(values)
    assert np.array_equal(hashes[known], pd.util.hash_array(values[known] + 0.0))
    assert len(np.unique(hashes[~known])) == 1
    assert hashes[BLOCK] == value_hashes(Column(pd.Series([0.0])))[0]
    frame = pd.DataFrame({"a": values})
    assert digest_frame(frame) == digest_frame(RawTable.of(frame))


@given(
    st.lists(
        st.tuples(*[st.sampled_from([0.0, 1.5, 1.500001, np.nan])] * 11), min_size=1, max_size=9
    )
)
def test_close_repeats_are_those_of_all_columns(rows):
    typed = pd.DataFrame(rows, columns=list("abcdefghijk"), dtype=np.float64)
    expected = int(pd.Series(close_digests(typed)).duplicated().sum())
    assert n_close_repeats(typed) == expected


def test_numbers_of_any_size_are_close_only_if_they_are_nearly_equal() -> None:
    sizes = np.array([1e-310, 1e-300, 1e-40, 1e-3, 1.0, 1e30, 3e38, 1e39, 1e300])
    apart = np.concatenate([sizes, 2.5 * sizes[:-1], -sizes])
    close = close_digests(pd.DataFrame({"x": apart + 0.0}), whole=())
    assert len(set(close)) == len(apart)
    assert (close_digests(pd.DataFrame({"x": apart * (1 + 1e-9)}), whole=()) == close).all()
