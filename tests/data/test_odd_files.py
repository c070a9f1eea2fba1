"""Files as they come: delimiters, encodings, what stands before a header, and formats with odd columns."""

import gzip
import json
import zipfile

import fsspec
import numpy as np
import pandas as pd
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

from automl.data.readers import load_source, read_table
from automl.data.table import prepare_table
from automl.errors import AutoMLError, AutoMLWarning, DataError

ROWS = [(f"{i}.5", "Köln" if i % 3 else "Łódź", "uv"[i % 2]) for i in range(30)]
WESTERN = [(f"{i}.5", "Köln" if i % 3 else "Orléans", "uv"[i % 2]) for i in range(30)]
CYRILLIC = [
    (f"{i}.5", ["Москва", "Санкт-Петербург", "Нижний Новгород"][i % 3], "uv"[i % 2])
    for i in range(30)
]


def text_of(rows, delimiter=",", header=("size", "city", "y")):
    return "".join(delimiter.join(fields) + "\n" for fields in (header, *rows))


def commas(rows):
    return [(size.replace(".", ","), city, y) for size, city, y in rows]


# name and bytes of the file, its rows, words of the note ("" if there is none)
FILES = {
    "commas": ("t.csv", text_of(ROWS).encode(), ROWS, ""),
    "semicolons": ("t.csv", text_of(ROWS, ";").encode(), ROWS, "delimited by semicolons"),
    "semicolons and decimal commas": ("t.csv", text_of(commas(ROWS), ";").encode(), ROWS, "delimited by semicolons"),
    "bars": ("t.csv", text_of(ROWS, "|").encode(), ROWS, "delimited by vertical bars"),
    "tabs": ("t.csv", text_of(ROWS, "\t").encode(), ROWS, "delimited by tabs"),
    "commas in a tsv file": ("t.tsv", text_of(ROWS).encode(), ROWS, "delimited by commas"),
    "text file of tabs": ("t.txt", text_of(ROWS, "\t").encode(), ROWS, "delimited by tabs"),
    "text file of commas": ("t.txt", text_of(ROWS).encode(), ROWS, ""),
    "gzipped semicolons": ("t.csv.gz", gzip.compress(text_of(ROWS, ";").encode()), ROWS, "semicolons"),
    "Excel's separator line": ("t.csv", ("sep=;\n" + text_of(ROWS, ";")).encode(), ROWS, "'sep=;' before the header"),
    "blanks after commas": ("t.csv", text_of(ROWS, ", ").encode(), ROWS, ""),
    "blanks and quotation marks": (
        "t.csv", "".join(", ".join(f'"{v}"' for v in r) + "\n" for r in (("size", "city", "y"), *ROWS)).encode(), ROWS, ""
    ),
    "comments": ("t.csv", ("# made by hand\n# in March, or so\n" + text_of(ROWS)).encode(), ROWS, "2 lines before the header"),
    "a header with the sign": ("t.csv", text_of(ROWS, header=("#size", "city", "y")).encode(), ROWS, ""),
    "byte order mark": ("t.csv", text_of(ROWS).encode("utf-8-sig"), ROWS, ""),
    "UTF-16": ("t.csv", text_of(ROWS).encode("utf-16"), ROWS, "encoded in UTF-16"),
    "UTF-16, big end first": ("t.csv", b"\xfe\xff" + text_of(ROWS, ";").encode("utf-16-be"), ROWS, "encoded in UTF-16"),
    "latin-1": ("t.csv", text_of(WESTERN).encode("latin-1"), WESTERN, "read as cp1252"),
    "cp1252": ("t.csv", text_of([(a, b + "€", c) for a, b, c in WESTERN]).encode("cp1252"),
               [(a, b + "€", c) for a, b, c in WESTERN], "read as cp1252"),
    "latin-1 with semicolons": ("t.csv", text_of(commas(WESTERN), ";").encode("latin-1"), WESTERN, "read as cp1252"),
    "Cyrillic": ("t.csv", text_of(CYRILLIC).encode("cp1251"), CYRILLIC, "read as cp1251"),
    "a newline of other systems": ("t.csv", text_of(ROWS).replace("\n", "\r\n").encode(), ROWS, ""),
}  # fmt: skip


@pytest.mark.parametrize("kind", FILES)
def test_a_text_table_is_read_as_it_is_written(kind, tmp_path):
    name, content, rows, words = FILES[kind]
    path = tmp_path / name
    path.write_bytes(content)
    raw, oddities = load_source(path)
    assert [column.lstrip("#") for column in raw] == ["size", "city", "y"]
    assert raw["city"].series.tolist() == [city for _, city, _ in rows]
    table = prepare_table(path, target="y")
    assert table.frame.iloc[:, 0].tolist() == [float(size) for size, _, _ in rows]
    notes = [oddity.note for oddity in oddities]
    assert any(words in note for note in notes) if words else not notes
    assert set(notes) <= set(table.notes)


@pytest.mark.parametrize("kind", [kind for kind in FILES if FILES[kind][3]])
def test_strict_refuses_what_is_unusual_for_the_extension(kind, tmp_path):
    path = tmp_path / FILES[kind][0]
    path.write_bytes(FILES[kind][1])
    with pytest.raises(DataError):
        prepare_table(path, target="y", strict=True)


def test_what_was_odd_about_a_file_is_a_warning_to_predictions(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(text_of(ROWS, ";"))
    with pytest.warns(AutoMLWarning, match="delimited by semicolons"):
        assert list(read_table(path)) == ["size", "city", "y"]


def arrow_table(**columns):
    y = ["u", "v"] * 15
    return pa.table({"x": np.random.default_rng(0).normal(size=30), **columns, "y": y})


PARQUET = {
    "lists": pa.array([[1, 2]] * 30),
    "structures": pa.array([{"a": 1}] * 30),
    "bytes": pa.array([b"a", b"b"] * 15),
    "mappings": pa.array([[("a", 1)]] * 30, pa.map_(pa.string(), pa.int64())),
}


@pytest.mark.parametrize("kind", PARQUET)
def test_a_column_that_holds_no_plain_values_is_left_out(kind, tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(arrow_table(odd=PARQUET[kind]), path)
    table = prepare_table(path, target="y")
    assert table.schema.names == ["x"]
    assert any("'odd' is not used: its values are not plain" in note for note in table.notes)
    with pytest.raises(DataError, match="'odd' must hold plain values"):
        prepare_table(path, target="y", strict=True)


def test_durations_of_a_parquet_file_are_seconds(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(arrow_table(odd=pa.array(np.arange(30) * 1500, pa.duration("ms"))), path)
    assert prepare_table(path, target="y").frame["odd"].tolist() == [i * 1.5 for i in range(30)]


def test_names_of_a_parquet_file_that_occur_again_get_a_number(tmp_path):
    path = tmp_path / "t.parquet"
    table = arrow_table(other=np.arange(30) ** 2)
    pq.write_table(table.rename_columns(["x", "x", "y"]), path)
    prepared = prepare_table(path, target="y")
    assert prepared.schema.names == ["x", "x.1"]
    assert "column name 'x' occurs 2 times; the others are called 'x.1'" in prepared.notes


ARFF = "@relation r\n@attribute a numeric\n@attribute b {u,v}\n@attribute c numeric\n@data\n"


@pytest.mark.parametrize("kind", ["parquet", "feather"])
@pytest.mark.parametrize("note", [{"numpy_type": "pint[m]"}, {}])
def test_a_type_of_a_package_that_is_not_here_is_read_as_it_is_stored(kind, note, tmp_path):
    frame = pd.DataFrame({"x": np.arange(30.0), "y": ["u", "v"] * 15}, index=np.arange(30) * 2)
    stored = pa.Table.from_pandas(frame)
    notes = json.loads(stored.schema.metadata[b"pandas"])
    notes["columns"] = [{**each, **note} for each in notes["columns"]] if note else "lost"
    stored = stored.replace_schema_metadata({"pandas": json.dumps(notes)})
    path = tmp_path / f"t.{kind}"
    (pq.write_table if kind == "parquet" else feather.write_feather)(stored, path)
    pd.testing.assert_frame_equal(read_table(path), frame.reset_index(drop=True))


def test_a_time_zone_that_is_not_known_is_named(tmp_path):
    path = tmp_path / "t.parquet"
    days = pa.array(pd.date_range("2026-01-01", periods=30, unit="us"))
    pq.write_table(arrow_table(day=days.cast(pa.timestamp("us", tz="Nope/Zone"))), path)
    with pytest.raises(DataError, match="time zone that is not known here: 'Nope/Zone'"):
        read_table(path)


def test_sparse_rows_have_zeros_and_the_first_category(tmp_path):
    path = tmp_path / "t.arff"
    path.write_text(ARFF + "{0 1.5, 2 3}\n{1 v}\n{}\n{2 ?}\n1,u,2\n")
    frame = read_table(path)
    assert frame["a"].tolist() == [1.5, 0, 0, 0, 1]
    assert frame["b"].tolist() == ["u", "v", "u", "u", "u"]
    assert frame["c"].fillna(-1).tolist() == [3, 0, 0, -1, 2]


def test_weights_of_rows_are_left_out_with_a_note(tmp_path):
    path = tmp_path / "t.arff"
    path.write_text(ARFF + "1,u,2,{0.5}\n{0 2}, {3}\n3,v,4\n")
    raw, oddities = load_source(path)
    assert raw["a"].series.tolist() == [1, 2, 3]
    assert oddities[0].note == "weights of 2 rows, in braces at their end, are not used"


def test_the_first_sheet_of_a_spreadsheet_is_read(tmp_path):
    path = tmp_path / "t.xlsx"
    frame = pd.DataFrame({"size": [1.5, 2.5, None], "city": ["Köln", "NA", "Ulm"]})
    with pd.ExcelWriter(path) as book:
        frame.to_excel(book, sheet_name="one", index=False)
        frame.to_excel(book, sheet_name="two", index=False)
    found, oddities = load_source(path)
    assert found["size"].series.tolist()[:2] == [1.5, 2.5]
    assert found["city"].missing.tolist() == [False, True, False]
    assert oddities[0].note == "the first of 2 sheets is read ('one')"


def open_document(rows):
    """Content of an OpenDocument spreadsheet with one sheet of texts."""
    cells = [
        f'<table:table-cell office:value-type="string"><text:p>{text}</text:p></table:table-cell>'
        for text in rows
    ]
    names = "urn:oasis:names:tc:opendocument:xmlns"
    return (
        f'<office:document-content xmlns:office="{names}:office:1.0" xmlns:table="{names}:table:1.0"'
        f' xmlns:text="{names}:text:1.0"><office:body><office:spreadsheet><table:table table:name="s">'
        + "".join(f"<table:table-row>{cell}</table:table-row>" for cell in cells)
        + "</table:table></office:spreadsheet></office:body></office:document-content>"
    )


def test_an_open_document_is_read(tmp_path):
    path = tmp_path / "t.ods"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("META-INF/manifest.xml", "<manifest/>")
        archive.writestr("content.xml", open_document(["size", "3", "4"]))
    assert read_table(path)["size"].astype(float).tolist() == [3.0, 4.0]


@pytest.mark.parametrize("extension", [".txt", ".dat"])
def test_columns_aligned_by_blanks_are_read(extension, tmp_path):
    path = tmp_path / f"t{extension}"
    path.write_text('  size  name\ty\n 1.5   "a b"  2\n12    c\t 3 \n')
    raw, oddities = load_source(path)
    lists = {name: column.series.tolist() for name, column in raw.items()}
    assert lists == {"size": [1.5, 12.0], "name": ["a b", "c"], "y": [2, 3]}
    assert oddities[0].note == "the values are delimited by blanks"


def test_a_row_of_an_aligned_table_with_a_field_too_many_is_refused(tmp_path):
    path = tmp_path / "t.txt"
    path.write_text("a b\n" + "1  2\n" * 60 + "1 2 3\n")
    with pytest.raises(DataError, match="line 62: 3 fields, but the header has 2"):
        read_table(path)


def test_words_of_a_single_column_are_no_columns(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("first name;\nAnn Lee\nBob Ray\n")
    assert list(read_table(path).columns) == ["first name;"]


# --- limits ------------------------------------------------------------------------------------------


@pytest.fixture
def small_machine(monkeypatch):
    memory = psutil.virtual_memory()._replace(total=4 * 2**20)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: memory)


def gzip_bomb(path):
    path.write_bytes(gzip.compress(b"a,y\n" + b"1,2\n" * 2_000_000))


def parquet_bomb(path):
    pq.write_table(pa.table({"a": pa.array([1] * 200_000), "y": pa.array([2] * 200_000)}), path)


def feather_bomb(path):
    feather.write_feather(pa.table({"a": [1] * 200_000, "y": [2] * 200_000}), str(path))


def sheet_bomb(path):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.xml", b" " * (2 * 2**20))


BOMBS = {
    "t.csv.gz": gzip_bomb,
    "t.parquet": parquet_bomb,
    "t.feather": feather_bomb,
    "t.xlsx": sheet_bomb,
}


@pytest.mark.usefixtures("small_machine")
@pytest.mark.parametrize("name", BOMBS)
def test_a_small_file_of_more_content_than_the_memory_allows_is_refused(name, tmp_path):
    path = tmp_path / name
    BOMBS[name](path)
    assert path.stat().st_size < 2**17
    with pytest.raises(DataError, match="more than 1 MiB of content"):
        read_table(path)


@pytest.mark.usefixtures("small_machine")
def test_a_download_ends_where_the_memory_would_not_hold_it():
    with fsspec.open("memory://bomb.csv", "wb") as stream:
        stream.write(b"a,y\n" + b"1,2\n" * 500_000)
    with pytest.raises(DataError, match="more than 1 MiB of content"):
        read_table("memory://bomb.csv")


@pytest.mark.parametrize("depth", [50, 900])
def test_nested_values_are_left_out_however_deep(depth, tmp_path):
    path = tmp_path / "t.jsonl"
    rng = np.random.default_rng(0)
    lines = [
        f'{{"x": {rng.normal()}, "a": {"[" * depth}{i}{"]" * depth}, "y": "{"uv"[i % 2]}"}}'
        for i in range(30)
    ]
    path.write_text("\n".join(lines))
    table = prepare_table(path, target="y")
    assert table.schema.names == ["x"]


LONG = "x" * 200_000


@pytest.mark.parametrize(
    ("frame", "options"),
    [
        ({"a": [LONG, *range(29)]}, {"roles": {"a": "date"}}),
        ({"a": [LONG] * 30}, {}),
        ({"a": [LONG, *["v"] * 29]}, {"strict": True, "roles": {"a": "numeric"}}),
        ({"a": [[LONG]] * 30}, {"strict": True}),
    ],
)
def test_no_message_holds_a_long_field(frame, options):
    table = pd.DataFrame({**frame, "y": ["u", "v"] * 15})
    with pytest.raises(AutoMLError) as caught:
        prepare_table(table, target="y", **options)
    assert len(str(caught.value)) < 1000


def test_no_message_holds_a_long_label(tmp_path):
    frame = pd.DataFrame({"x": np.arange(30.0) % 7, "y": [LONG, *["u", "v"] * 14, "v"]})
    assert all(len(note) < 500 for note in prepare_table(frame, target="y").notes)
    path = tmp_path / "t.jsonl"
    path.write_text(json.dumps([LONG]))
    with pytest.raises(DataError) as caught:
        read_table(path)
    assert len(str(caught.value)) < 500
