"""Sixty files as people write them: odd values in one column, or odd ways to write a whole table.

Each has 60 rows of a number ``x``, an ``odd`` column and a target ``y``, unless its name says otherwise.
What a person takes the odd column for is known: `number`, `category`, `date`, `text` or `nothing`.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

N = 60
RNG = np.random.default_rng(7)
X = RNG.normal(size=N).round(3)
Y = [("no", "yes")[i % 2] for i in range(N)]
NUMBERS = RNG.integers(100, 99_999, N)
CITIES = ["Köln", "Ulm", "Orléans"]


@dataclass(frozen=True)
class UglyFile:
    """A file and what a person takes its columns for.

    Parameters
    ----------
    name
        What is odd about it.
    file
        Its name, whose extension says the format.
    write
        Writes it to a path.
    kinds
        Kind by column, the target left out.
    """

    name: str
    file: str
    write: Callable[[Path], Any]
    kinds: dict[str, str]


def frame(odd: Sequence[Any], **more: Sequence[Any]) -> pd.DataFrame:
    """Table with this odd column."""
    return pd.DataFrame({"x": X, "odd": list(odd), **more, "y": Y})


def each(*values: Any) -> list[Any]:
    """These values over and over."""
    return [values[i % len(values)] for i in range(N)]


def some(every: int, instead: str, texts: Sequence[Any]) -> list[Any]:
    """The texts, with another one in every so many rows."""
    return [instead if i % every == 0 else text for i, text in enumerate(texts)]


DAYS = [pd.Timestamp("2026-01-03") + pd.Timedelta(days=11 * i, hours=i) for i in range(N)]
SENTENCES = [
    f"The {w} arrived {i} days late and the box {v} was damaged at corner {i * 7 % 13}"
    for i, (w, v) in enumerate(
        zip(each("lamp", "chair", "desk"), each("itself", "also", "again"), strict=True)
    )
]
COLUMNS: dict[str, tuple[str, Sequence[Any]]] = {
    "currency before": ("number", [f"${n:,}.50" for n in NUMBERS]),
    "currency behind": ("number", [f"{n / 100:.2f} €" for n in NUMBERS]),
    "negative in brackets": ("number", [f"({n}.00)" if n % 3 else f"{n}.00" for n in NUMBERS]),
    "percent": ("number", [f"{n / 1000:.1f}%" for n in NUMBERS]),
    "thousands with commas": ("number", [f"{n:,}" for n in NUMBERS]),
    "thousands with points": ("number", [f"{n:,}".replace(",", ".") + ",5" for n in NUMBERS]),
    "thousands with blanks": ("number", [f"{n:,}".replace(",", " ") for n in NUMBERS]),
    "thousands with apostrophes": ("number", [f"{n:,}".replace(",", "'") for n in NUMBERS]),
    "decimal commas": ("number", [f"{n / 100:.2f}".replace(".", ",") for n in NUMBERS]),
    "a unit": ("number", [f"{n / 1000:.1f} kg" for n in NUMBERS]),
    "at least": ("number", [f"{n:,}+" for n in NUMBERS]),
    "magnitudes": ("number", [f"{n / 1000:.1f}{'kM'[n % 2]}" for n in NUMBERS]),
    "a word among numbers": ("number", some(7, "Not_Say", NUMBERS)),
    "several words among numbers": ("number", some(9, "unknown", some(7, "refused", NUMBERS))),
    "question marks": ("number", some(6, "?", NUMBERS)),
    "N/A, - and null": (
        "number",
        some(6, "N/A", some(7, "-", some(11, "null", NUMBERS))),
    ),
    "#DIV/0!": ("number", some(8, "#DIV/0!", NUMBERS)),
    "infinite": ("number", some(8, "inf", NUMBERS)),
    "scientific": ("number", [f"{n:.3e}" for n in NUMBERS]),
    "plus signs": ("number", [f"+{n}" for n in NUMBERS]),
    "blanks around numbers": ("number", [f"  {n} " for n in NUMBERS]),
    "minus by a dash": ("number", [f"\u2212{n}" for n in NUMBERS]),
    "blanks around categories": ("category", each("red", " red", "blue ", "blue", "green")),
    "boolean words": ("category", each("yes", "No", "YES", "no")),
    "y and n": ("category", each("Y", "n", "N", "y")),
    "on and off": ("category", each("on", "OFF", "off")),
    "few numbers and 3+": ("category", each("1", "2", "3+", "2")),
    "grades": ("category", each("A+", "A", "B-", "C")),
    "ranges": ("category", each("18-25", "26-35", "36-50", "50+")),
    "days first": ("date", [f"{d:%d/%m/%Y}" for d in DAYS]),
    "months first": ("date", [f"{d:%m/%d/%Y}" for d in DAYS]),
    "days with points": ("date", [f"{d:%d.%m.%Y}" for d in DAYS]),
    "named months": ("date", [f"{d:%d-%b-%Y}" for d in DAYS]),
    "long months": ("date", [f"{d:%B %d, %Y}" for d in DAYS]),
    "ISO with zones": ("date", [f"{d:%Y-%m-%dT%H:%M:%S}+02:00" for d in DAYS]),
    "years of two digits": ("date", [f"{d:%m/%d/%y}" for d in DAYS]),
    "dates with words": ("date", some(25, "pending", [f"{d:%Y-%m-%d}" for d in DAYS])),
    "times of day": ("number", [f"{d:%H:%M}" for d in DAYS]),
    "times with pm": ("number", [f"{d:%I:%M %p}" for d in DAYS]),
    "hours and minutes": ("number", [f"{i % 5}h {i}m" for i in range(N)]),
    "minutes": ("number", [f"{i % 50 + 1} min" for i in range(N)]),
    "clock spans": ("number", [f"{20 + i}:{i:02d}:00" for i in range(N)]),
    "sentences": ("text", SENTENCES),
    "empty": ("nothing", [None] * N),
    "constant": ("nothing", ["EUR"] * N),
    "counting": ("nothing", [f"ID-{i:05d}" for i in range(N)]),
}


def delimited(sep: str, encoding: str = "utf-8", before: str = "") -> Callable[[Path], Any]:
    """Writer of a text table of numbers and cities."""

    def write(path: Path) -> None:
        text = before + frame(each(*CITIES)).to_csv(index=False, sep=sep)
        path.write_bytes(text.encode(encoding))

    return write


def aligned(path: Path) -> None:
    """Columns by blanks."""
    path.write_text(frame(each("a", "b", "c")).to_string(index=False))


def named(*names: str) -> Callable[[Path], Any]:
    """Writer of a table with these names of columns."""
    return lambda path: (
        frame(each("a", "b", "c")).set_axis(list(names), axis=1).to_csv(path, index=False)
    )


def json_lines(path: Path) -> None:
    """One object for each row, with a list."""
    rows = [
        {"x": float(x), "odd": [i, i], "y": y} for i, (x, y) in enumerate(zip(X, Y, strict=True))
    ]
    path.write_text("\n".join(map(json.dumps, rows)))


def sparse_arff(path: Path) -> None:
    """Sparse rows with weights."""
    head = (
        "@relation r\n@attribute x numeric\n@attribute odd {a,b,c}\n@attribute y {no,yes}\n@data\n"
    )
    rows = [f"{{0 {x}, 1 {'abc'[i % 3]}, 2 {Y[i]}}}, {{2}}" for i, x in enumerate(X)]
    path.write_text(head + "\n".join(rows) + "\n")


def parquet_twice(path: Path) -> None:
    """Two columns of one name."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(
        pa.table([pa.array(X), pa.array(X**2), pa.array(Y)], names=["x", "x", "y"]), path
    )


def parquet_of(odd: Sequence[Any]) -> Callable[[Path], Any]:
    """Writer of a Parquet file with this column."""
    return lambda path: frame(odd).to_parquet(path)


def sheet(path: Path) -> None:
    """A workbook of two sheets."""
    with pd.ExcelWriter(path) as book:
        frame(each(*CITIES)).to_excel(book, sheet_name="one", index=False)
        frame(each(*CITIES)).to_excel(book, sheet_name="two", index=False)


PLAIN = {"x": "number", "odd": "category"}
FILES = (
    UglyFile("semicolons", "t.csv", delimited(";"), PLAIN),
    UglyFile("bars", "t.csv", delimited("|"), PLAIN),
    UglyFile("tabs in a csv", "t.csv", delimited("\t"), PLAIN),
    UglyFile("tabs in a txt", "t.txt", delimited("\t"), PLAIN),
    UglyFile("columns by blanks", "t.txt", aligned, PLAIN),
    UglyFile("latin-1", "t.csv", delimited(",", "latin-1"), PLAIN),
    UglyFile("UTF-16", "t.csv", delimited(",", "utf-16"), PLAIN),
    UglyFile("byte order mark", "t.csv", delimited(",", "utf-8-sig"), PLAIN),
    UglyFile("comments before", "t.csv", delimited(",", before="# export\n# of today\n"), PLAIN),
    UglyFile("sep=;", "t.csv", delimited(";", before="sep=;\n"), PLAIN),
    UglyFile("blanks after commas", "t.csv", lambda p: p.write_text(
        frame(each("a", "b", "c")).to_csv(index=False).replace(",", ", ")), PLAIN),
    UglyFile("names that occur again", "t.csv", named("x", "x", "y"), {"x": "number", "x.1": "category"}),
    UglyFile("an empty name", "t.csv", named("x", "", "y"), {"x": "number", "Unnamed: 1": "category"}),
    UglyFile("names with brackets", "t.csv", named("x [mm]", '"{odd}"', "y"),
             {"x [mm]": "number", '"{odd}"': "category"}),
    UglyFile("gzip", "t.csv.gz", lambda p: p.write_bytes(
        gzip.compress(frame(each(*CITIES)).to_csv(index=False).encode())), PLAIN),
    UglyFile("lists in JSON lines", "t.jsonl", json_lines, {"x": "number", "odd": "nothing"}),
    UglyFile("sparse ARFF with weights", "t.arff", sparse_arff, PLAIN),
    UglyFile("a name twice in Parquet", "t.parquet", parquet_twice, {"x": "number", "x.1": "number"}),
    UglyFile("bytes in Parquet", "t.parquet", parquet_of([b"a", b"b"] * 30), {"x": "number", "odd": "nothing"}),
    UglyFile("durations in Parquet", "t.parquet",
             parquet_of(pd.to_timedelta(NUMBERS, unit="s")), {"x": "number", "odd": "number"}),
    UglyFile("a workbook", "t.xlsx", sheet, PLAIN),
)  # fmt: skip


def ugly_files() -> Iterator[UglyFile]:
    """All of them."""
    for name, (kind, values) in COLUMNS.items():
        table = frame(values)
        yield UglyFile(
            name,
            "t.csv",
            lambda path, table=table: table.to_csv(path, index=False),
            {"x": "number", "odd": kind},
        )
    yield from FILES
