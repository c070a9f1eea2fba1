"""Whatever pandas stores a column as, it is used, left out with a note, or refused by name."""

import datetime as dt
import decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from automl.data.readers import read_table
from automl.data.table import Table, prepare_table, prepare_test_table
from automl.errors import DataError

N = 60
RNG = np.random.default_rng(0)


def arrow(values, kind):
    return pd.array(values, dtype=pd.ArrowDtype(kind))


DAYS = [dt.date(2020, 1, 1 + i % 28) for i in range(N)]
USED = {
    "period": pd.period_range("2020-01", periods=N, freq="M"),
    "interval": pd.cut(np.arange(N), 6),
    "sparse": pd.arrays.SparseArray(RNG.normal(size=N)),
    "decimal": [decimal.Decimal(i) / 7 for i in range(N)],
    "days": DAYS,
    "times with zone": [dt.datetime(d.year, d.month, d.day, tzinfo=dt.UTC) for d in DAYS],
    "times of day": [dt.time(i % 24) for i in range(N)],
    "unsigned": RNG.permutation(np.arange(N, dtype=np.uint64) * 3),
    "half precision": RNG.normal(size=N).astype("f2"),
    "numbers and none": pd.Series([None, 1, 2.5] * (N // 3), dtype=object),
    "texts and missing": pd.Series([pd.NA, "a", "b"] * (N // 3), dtype=object),
    "dates and missing": [pd.NaT, pd.Timestamp("2020-01-01"), pd.Timestamp("2021-01-01")] * (N // 3),
    "arrow texts": arrow(["a", None, "b"] * (N // 3), pa.string()),
    "arrow integers": arrow([1, None, 3] * (N // 3), pa.int64()),
    "arrow booleans": arrow([True, None, False] * (N // 3), pa.bool_()),
    "arrow days": arrow(DAYS, pa.date32()),
    "arrow decimals": arrow([decimal.Decimal("1.5"), None] * (N // 2), pa.decimal128(5, 2)),
    "arrow categories": arrow(["a", "b"] * (N // 2), pa.dictionary(pa.int32(), pa.string())),
    "categories of booleans": pd.Categorical([True, False] * (N // 2)),
    "categories of dates": pd.Categorical(pd.date_range("2020", periods=3).repeat(N // 3)),
    "huge": [1e308, -1e308] * (N // 2),
    "durations": pd.to_timedelta(np.arange(N), unit="h"),
    "ancient and future dates": ["0001-01-01", "9999-12-31"] * (N // 2),
    "other scripts": ["é", "日本"] * (N // 2),
}  # fmt: skip
UNUSED = {
    "no date": pd.Series([pd.NaT] * N),
    "no category": pd.Categorical([None] * N, categories=["a"]),
    "arrow null": arrow([None] * N, pa.null()),
    "blank": [""] * N,
}
NO_VALUES = {
    "bytes": [b"a", b"b"] * (N // 2),
    "tuples": [(1, 2)] * N,
    "arrow lists": arrow([[1]] * N, pa.list_(pa.int64())),
    "one mapping": [1] * (N - 1) + [{}],
    "complex": np.full(N, 1j),
}


def frame(values):
    numbers = np.random.default_rng(1)
    labels = numbers.choice(["u", "v"], N)
    return pd.DataFrame({"x": numbers.normal(size=N), "odd": values, "y": labels})


@pytest.mark.parametrize("name", USED)
def test_a_column_is_used_and_survives_the_folder(name, tmp_path):
    table = prepare_table(frame(USED[name]), target="y")
    assert "odd" in table.schema.names
    loaded = Table.load(table.write(tmp_path))
    pd.testing.assert_frame_equal(loaded.frame, table.frame)
    again = prepare_test_table(frame(USED[name]), table)
    assert np.array_equal(again.row_digests, table.row_digests)


@pytest.mark.parametrize("name", [*UNUSED, *NO_VALUES])
def test_a_column_is_left_out_with_a_note(name):
    table = prepare_table(frame({**UNUSED, **NO_VALUES}[name]), target="y")
    assert table.schema.names == ["x"]
    assert len(table.notes) == 1
    assert "'odd'" in table.notes[0]


@pytest.mark.parametrize("name", NO_VALUES)
@pytest.mark.parametrize(
    "settings",
    [
        {"target": "y", "strict": True},
        {"target": "odd"},
        {"target": "y", "groups": "odd"},
        {"target": "y", "time": "odd"},
        {"target": "y", "weights": "odd"},
    ],
    ids=["feature", "target", "groups", "time", "weights"],
)
def test_a_column_is_refused_by_name_in_every_part(name, settings):
    with pytest.raises(DataError, match="column 'odd'"):
        prepare_table(frame(NO_VALUES[name]), **settings)


@pytest.mark.parametrize("name", NO_VALUES)
def test_a_column_of_any_kind_can_be_ignored(name):
    table = prepare_table(frame(NO_VALUES[name]), target="y", roles={"odd": "ignored"})
    assert table.schema.names == ["x"]


@pytest.mark.parametrize("name", NO_VALUES)
@pytest.mark.parametrize("column", ["x", "y"])
def test_a_later_table_with_such_a_column_is_refused(name, column):
    table = prepare_table(frame(0.0), target="y")
    with pytest.raises(DataError, match=f"column '{column}'"):
        prepare_test_table(frame(0.0).assign(**{column: NO_VALUES[name]}), table)


def test_durations_to_predict_are_refused_as_such():
    for values in (USED["durations"], arrow(USED["durations"], pa.duration("s"))):
        with pytest.raises(DataError, match="'odd' holds durations, which may be numbers such as"):
            prepare_table(frame(values), target="odd")


def test_half_a_character_is_refused_by_column_and_row():
    halves = pd.Series(["a", "\ud83d", "b", "c"] * (N // 4), dtype=object)
    for target in ("y", "odd"):
        with pytest.raises(DataError, match=r"column 'odd' holds \\ud83d in row 2"):
            prepare_table(frame(halves), target=target)


BEYOND = (2**63 + 5, 2**63 + 6)
WIDE_LABELS = {
    "uint64": pd.Series(BEYOND * (N // 2), dtype=np.uint64),
    "UInt64": pd.Series(BEYOND * (N // 2), dtype="UInt64"),
    "objects": pd.Series(BEYOND * (N // 2), dtype=object),
    "objects of 64 bits": pd.Series((2**53, 2**53 + 1) * (N // 2), dtype=object),
}


@pytest.mark.parametrize("name", WIDE_LABELS)
def test_labels_of_up_to_64_bits_stay_apart(name, tmp_path):
    values = WIDE_LABELS[name]
    table = prepare_table(frame(values), target="odd")
    assert table.class_labels.tolist() == list(values[:2])
    again = prepare_test_table(frame(values), Table.load(table.write(tmp_path)))
    assert again.y.tolist() == [0, 1] * (N // 2)


def test_whole_numbers_beyond_64_bits_are_not_mangled():
    table = prepare_table(
        frame([10.0**25 * (i % 7 + 1) for i in range(N)]), target="odd", task="regression"
    )
    assert table.y.max() == 7 * 10.0**25
    with pytest.raises(DataError, match="write such classes as texts"):
        prepare_table(frame([10**30] * N), target="odd")


INEXACT = {
    "beyond 64 bits": f"{2**64}\n{2**64 + 1}\n{2**65}",
    "two of them": f"{2**64}\n{2**64 + 1}\n{2**64}",
    "beside a fraction": f"1.5\n{2**64 + 1}\n{2**64 + 2}",
    "beside an empty cell": f"{2**53 + 1}\n{2**53 + 2}\n5",
}


@pytest.mark.parametrize("name", INEXACT)
def test_labels_that_numbers_cannot_tell_apart_are_refused(name, tmp_path):
    rows = (INEXACT[name].splitlines() * 20)[:N]
    lines = [f"{i * 37 % 50},{row}" for i, row in enumerate(rows)]
    file = tmp_path / "t.csv"
    file.write_text("x,odd\n" + "\n".join(lines) + ("\n7,\n" if "empty" in name else "\n"))
    with pytest.raises(DataError, match="write such classes as texts"):
        prepare_table(read_table(str(file)), target="odd", task="classification")
    table = prepare_table(frame([f"id {row}" for row in rows]), target="odd")
    assert len(table.class_labels) == len(set(rows))
