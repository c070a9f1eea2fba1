"""Every format gives the same frame and the same digest."""

import io
import runpy
from pathlib import Path

import fsspec
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from automl.data.arff import read_arff
from automl.data.digests import digest_frame, row_digests
from automl.data.readers import read_table
from automl.errors import DataError

good_frame = runpy.run_path(str(Path(__file__).parent / "bad_tables.py"))["good_frame"]


def frame_with_gaps():
    frame = good_frame()
    frame.loc[3, "size"] = np.nan
    frame.loc[[4, 9], "color"] = None
    return frame


WRITERS = {
    "t.csv": lambda frame, path: frame.to_csv(path, index=False),
    "t.CSV": lambda frame, path: frame.to_csv(path, index=False),
    "t.csv.gz": lambda frame, path: frame.to_csv(path, index=False),
    "t.tsv": lambda frame, path: frame.to_csv(path, index=False, sep="\t"),
    "t.tsv.gz": lambda frame, path: frame.to_csv(path, index=False, sep="\t"),
    "t.v2.tab": lambda frame, path: frame.to_csv(path, index=False, sep="\t"),
    "t.parquet": lambda frame, path: frame.to_parquet(path),
    "t.feather": lambda frame, path: frame.to_feather(path),
    "t.jsonl": lambda frame, path: frame.to_json(path, orient="records", lines=True),
    "t.jsonl.gz": lambda frame, path: frame.to_json(path, orient="records", lines=True),
    "t.ndjson": lambda frame, path: frame.to_json(path, orient="records", lines=True),
    "t.json": lambda frame, path: frame.to_json(path, orient="records"),
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_the_same_table(name, tmp_path):
    frame = frame_with_gaps()
    WRITERS[name](frame, tmp_path / name)
    read = read_table(tmp_path / name)
    pd.testing.assert_frame_equal(read, frame, check_dtype=False)
    assert digest_frame(read) == digest_frame(frame)
    assert np.array_equal(row_digests(read), row_digests(frame))


def test_uris_are_read_through_fsspec(tmp_path):
    frame = frame_with_gaps()
    with fsspec.open("memory://folder/t.csv", "w") as stream:
        frame.to_csv(stream, index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    for uri in ("memory://folder/t.csv", f"file://{tmp_path}/t.parquet"):
        assert digest_frame(read_table(uri)) == digest_frame(frame)


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("iris", (150, 5)),
        ("wine", (178, 14)),
        ("breast_cancer", (569, 31)),
        ("diabetes", (442, 11)),
    ],
)
def test_bundled_tables_have_a_target(name, shape):
    frame = read_table(f"sklearn:{name}")
    assert frame.shape == shape
    assert "target" in frame


def test_openml_tables_are_fetched_by_name_and_version(monkeypatch):
    calls = []

    class Answer:
        frame = good_frame()

    def fetch(name, **arguments):
        calls.append((name, arguments["version"]))
        return Answer()

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch)
    read_table("openml:credit-g")
    assert read_table("openml:credit-g@2").shape == good_frame().shape
    assert calls == [("credit-g", "active"), ("credit-g", 2)]


def test_a_frame_is_taken_without_its_index_and_not_changed():
    frame = good_frame().set_index(np.arange(60)[::-1])
    frame.columns = [*range(8), "sold"]
    before = frame.copy()
    read = read_table(frame)
    assert list(read.columns) == [*map(str, range(8)), "sold"]
    assert read.index.equals(pd.RangeIndex(60))
    pd.testing.assert_frame_equal(frame, before)


def test_a_named_index_of_a_parquet_file_is_a_column(tmp_path):
    good_frame().set_index("color").to_parquet(tmp_path / "t.parquet")
    assert "color" in read_table(tmp_path / "t.parquet")


def test_a_byte_order_mark_quotes_and_blank_lines_are_read(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes('\ufeff"a","b,c"\r\n1,"x\ny"\r\n\r\n2,"z ""q"""\r\n'.encode())
    frame = read_table(path)
    assert list(frame.columns) == ["a", "b,c"]
    assert frame["b,c"].tolist() == ["x\ny", 'z "q"']


def test_missing_markers_of_text_tables_and_labels_that_are_none(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n?,None\nNA,none\n1.5,-\n,+\n")
    frame = read_table(path)
    assert frame["a"].isna().tolist() == [True, True, False, True]
    assert frame["b"].tolist() == ["None", "none", "-", "+"]


def test_a_row_that_ends_in_missing_values_is_not_short(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b,y\n1,2,\n3,,\n")
    assert read_table(path)["y"].isna().all()


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_only_ends_of_lines_part_json_lines_and_pairs_make_one_character(end, tmp_path):
    path = tmp_path / "t.jsonl"
    lines = ['{"a": "one\u2028two\x85"}', r'{"a": "\ud83d\ude00"}', ""]
    path.write_bytes(end.join(lines).encode())
    assert read_table(path)["a"].tolist() == ["one\u2028two\x85", "\U0001f600"]


def test_columns_are_kept_in_the_order_asked_for():
    assert list(read_table(good_frame(), columns=["sold", "size"])) == ["sold", "size"]


ARFF = """% a comment
@RELATION 'two words'

@attribute 'the size' NUMERIC
@attribute count integer
@attribute color {red, 'light blue', "dark, blue"}
@attribute remark string
@attribute day date "yyyy-MM-dd'T'HH:mm:ss"
@attribute class {yes,no}
@data
1.5, 1, red, 'it''s', '2026-01-02T03:04:05', yes
% another
?, 2, 'light blue', ?, ?, no
-2e3, 3, 'dark, blue', 'a, b', '2026-01-03T00:00:00', yes
"""


def test_arff_types_come_from_its_header(tmp_path):
    path = tmp_path / "t.arff"
    path.write_text(ARFF)
    frame = read_table(path)
    assert list(frame.columns) == ["the size", "count", "color", "remark", "day", "class"]
    assert frame["the size"].tolist()[::2] == [1.5, -2000.0]
    assert frame["the size"].isna()[1]
    assert frame["count"].dtype == np.int64
    assert list(frame["color"].cat.categories) == ["red", "light blue", "dark, blue"]
    assert frame["color"].tolist() == ["red", "light blue", "dark, blue"]
    assert frame["remark"].isna()[1]
    assert frame["remark"][2] == "a, b"
    assert frame["day"][0] == "2026-01-02 03:04:05"


def test_arff_agrees_with_scipy():
    from scipy.io import arff

    text = "@relation r\n@attribute x real\n@attribute c {u,v}\n@data\n1,u\n2.5,v\n?,u\n"
    expected = pd.DataFrame(arff.loadarff(io.StringIO(text))[0])
    read, _ = read_arff(text, name="r")
    assert np.array_equal(read["x"], expected["x"], equal_nan=True)
    assert read["c"].tolist() == [value.decode() for value in expected["c"]]


def test_the_digest_sees_names_values_and_their_places():
    frame = good_frame()
    variants = [
        frame,
        frame.rename(columns={"size": "sizes"}),
        frame[frame.columns[::-1]],
        frame.iloc[::-1],
        frame.assign(color=frame["color"].where(frame.index > 0)),
        frame.assign(size=frame["size"] + 1e-9),
    ]
    assert len({digest_frame(variant) for variant in variants}) == len(variants)


def test_the_digest_does_not_see_how_values_are_stored():
    frame = good_frame()
    stored = frame.assign(
        color=frame["color"].astype("category"),
        level=frame["level"].astype(object),
        count=frame["count"].astype("Int64"),
        site=frame["site"].astype("Float64"),
    )
    assert digest_frame(stored) == digest_frame(frame)
    assert np.array_equal(row_digests(stored), row_digests(frame))


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["a", "b", None])), min_size=1))
def test_rows_have_equal_digests_exactly_where_they_are_equal(rows):
    frame = pd.DataFrame(rows, columns=["x", "c"])
    digests = row_digests(frame)
    for i, digest in enumerate(digests):
        assert [digest == other for other in digests] == [rows[i] == row for row in rows]


def test_a_file_without_permission_is_named(tmp_path, monkeypatch):
    def refuse(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(DataError, match=r"t\.csv cannot be read: Permission denied"):
        read_table(tmp_path / "t.csv")


def test_row_digests_see_which_column_holds_a_value():
    values = np.arange(20.0)
    rows = pd.DataFrame({"a": np.repeat(values, 20), "b": np.tile(values, 20), "c": 1.0})
    assert len(np.unique(row_digests(rows))) == 400
    assert len(np.unique(row_digests(rows[["a", "c"]]))) == 20
