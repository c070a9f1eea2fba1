"""Tables and settings that must be refused, by name.

Each case makes its file in a folder and gives the arguments of `prepare_table` (`source` and `target`
among them), the error and the words that its message must hold. Load with `runpy.run_path`.
"""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from automl.errors import AutoMLError, DataError, ServiceError, SettingsError

N_ROWS = 60


class Case(NamedTuple):
    """A refused table.

    `words` must all occur in one problem (or, for other errors than DataError, in the message).
    """

    name: str
    arguments: Callable[[Path], dict[str, Any]]
    words: tuple[str, ...]
    error: type[AutoMLError] = DataError


CASES: list[Case] = []


def good_frame(n_rows: int = N_ROWS) -> pd.DataFrame:
    """A small sound table: numbers, categories, dates, a group, a weight and a binary target."""
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "size": rng.normal(size=n_rows).round(3),
            "count": rng.integers(0, 1000, n_rows),
            "color": rng.choice(["red", "green", "blue"], n_rows),
            "day": pd.date_range("2026-01-01", periods=n_rows).strftime("%Y-%m-%d"),
            "site": np.arange(n_rows) % 8 * 7.5,
            "weight": 1.0 + np.arange(n_rows) % 3,
            "price": rng.normal(size=n_rows).round(4),
            "level": rng.choice(["low", "middle", "high"], n_rows),
            "sold": rng.choice(["yes", "no"], n_rows),
        }
    )


def changed(column: str, values: Any, rows: Any = slice(None)) -> pd.DataFrame:
    """The sound table with other values in some rows of a column."""
    frame = good_frame()
    if column not in frame or not isinstance(rows, slice):
        frame[column] = frame.get(column, pd.Series(0, index=frame.index)).astype(object)
        frame.loc[rows, column] = values
    else:
        frame[column] = values
    return frame


def csv_file(folder: Path, frame: pd.DataFrame, name: str = "bad.csv") -> str:
    path = folder / name
    frame.to_csv(path, index=False)
    return str(path)


def bad_frame(
    name: str,
    make: Callable[[], pd.DataFrame],
    *words: str,
    error: type[AutoMLError] = DataError,
    file: bool = True,
    **settings: Any,
) -> None:
    """Register a case of a frame, as a csv file unless only a frame can hold it."""

    def arguments(folder: Path) -> dict[str, Any]:
        source = csv_file(folder, make()) if file else make()
        return {"source": source, "target": "sold", **settings}

    CASES.append(Case(name, arguments, words, error))


def bad_file(
    name: str,
    file: str,
    content: str | bytes,
    *words: str,
    error: type[AutoMLError] = DataError,
    target: str = "y",
    **settings: Any,
) -> None:
    """Register a case of a file with this content; the message must name the file."""

    def arguments(folder: Path) -> dict[str, Any]:
        data = content.encode() if isinstance(content, str) else content
        path = folder / file
        path.write_bytes(data)
        return {"source": str(path), "target": target, **settings}

    CASES.append(Case(name, arguments, (file, *words), error))


def bad_source(name: str, source: str, *words: str, error: type[AutoMLError] = DataError) -> None:
    """Register a case of a source; ``{folder}`` stands for the folder."""

    def arguments(folder: Path) -> dict[str, Any]:
        return {"source": source.replace("{folder}", str(folder)), "target": "y"}

    CASES.append(Case(name, arguments, words, error))


def _rows(delimiter: str = ",", n_rows: int = 30) -> str:
    lines = [delimiter.join(["a", "b", "y"])]
    lines += [
        delimiter.join([str(i * 37 % 101), f"{i * 0.7:.1f}", "uv"[i % 2]]) for i in range(n_rows)
    ]
    return "\n".join(lines) + "\n"


# --- files -----------------------------------------------------------------------------------------
bad_source("missing file", "{folder}/none.csv", "none.csv", "no file")
bad_source("missing folder", "{folder}/none/none.csv", "none.csv", "no file")
bad_source("a directory", "{folder}", "directory")
bad_source("uri of a missing file", "file://{folder}/none.csv", "none.csv", "no file")
bad_source("uri in memory of a missing file", "memory://none/none.csv", "none.csv", "no file")
bad_source("unknown scheme", "warp://x/y.csv", "warp", error=SettingsError)
bad_source("unknown bundled table", "sklearn:iriss", "sklearn:iriss", "did you mean 'iris'")
bad_source("empty openml name", "openml:@3", "openml:@3", "NAME@VERSION")
bad_file("unknown extension", "bad.doc", "PK", ".doc", ".csv")
bad_file(
    "json of columns", "bad.json", '{"a": [1, 2], "y": [1, 2]}', "object of columns", "each row"
)
bad_file("no extension", "bad", "a,y\n1,2\n", "extension")
bad_file("gzipped parquet", "bad.parquet.gz", b"x", "extension")
bad_file("empty file", "bad.csv", "", "empty")
bad_file("blank file", "bad.csv", "\n\n  \n", "empty")
bad_file("header only", "bad.csv", "a,b,y\n", "no rows")
bad_file("semicolons in a csv file", "bad.csv", _rows(";"), "semicolons", "commas", strict=True)
bad_file("tabs in a csv file", "bad.csv", _rows("\t"), "tabs", "commas", strict=True)
bad_file("bars in a csv file", "bad.csv", _rows("|"), "vertical bars", strict=True)
bad_file("commas in a tsv file", "bad.tsv", _rows(","), "commas", "tabs", strict=True)
bad_file(
    "latin-1",
    "bad.csv",
    "a,y\ncaf\xe9,1\n".encode("latin-1"),
    "line 2",
    "0xe9",
    "UTF-8",
    strict=True,
)
bad_file(
    "latin-1 header",
    "bad.csv",
    "caf\xe9,y\n1,1\n".encode("latin-1"),
    "line 1",
    "UTF-8",
    strict=True,
)
bad_file(
    "latin-1 late",
    "bad.csv",
    (_rows(n_rows=5000) + "\xfc,1,u\n").encode("latin-1"),
    "5002",
    strict=True,
)
bad_file("utf-16", "bad.csv", "a,y\n1,2\n".encode("utf-16"), "UTF-16", "UTF-8", strict=True)
bad_file("binary file named csv", "bad.csv", b"PK\x00\x04" + bytes(100), "binary")
bad_file("row too long", "bad.csv", _rows() + "1,2,u,4\n", "line 32", "4 fields", "3")
bad_file("first row too long", "bad.csv", "a,y\n1,2,3\n4,5,6\n", "line 2", "3 fields")
bad_file("row too short", "bad.csv", _rows() + "1,2\n", "line 32", "2 fields", "3")
bad_file("open quotation mark", "bad.csv", _rows() + '1,"2,u\n3,4,v\n', "quotation mark")
bad_file(
    "truncated gzip", "bad.csv.gz", gzip.compress(_rows(n_rows=3000).encode())[:-400], "truncated"
)
bad_file("not gzip", "bad.csv.gz", _rows(), "gzip")
bad_file("damaged gzip", "bad.csv.gz", gzip.compress(b"a" * 9)[:12] + bytes(30), "gzip")
bad_file("damaged parquet", "bad.parquet", b"PAR1" + bytes(50) + b"PAR1", "parquet")
bad_file("damaged feather", "bad.feather", b"ARROW1" + bytes(50), "feather")
bad_file("damaged json line", "bad.jsonl", '{"a": 1, "y": 2}\n{"a": \n', "line 2", "JSON")
bad_file("json line is no object", "bad.jsonl", '{"a": 1}\n[1, 2]\n', "record 2", "object")
bad_file("json nested deep", "bad.jsonl", '{"a": ' + "[" * 100_000, "line 1", "nested too deep")
bad_file("list nested deep", "bad.json", "[" * 100_000, "nested too deep")
bad_file("sheet that is none", "bad.xlsx", "PK", "bad.xlsx", "spreadsheet")
bad_file("json that is no list", "bad.json", "[1, 2", "JSON")
bad_file(
    "json half a character",
    "bad.jsonl",
    '{"a": "x"}\n\n{"a": "\\uD83D"}\n',
    "line 3",
    r"\ud83d is half a character",
)
bad_file(
    "json half a character in a name",
    "bad.json",
    '[{"a\\ude00": "x"}]',
    r"\ude00 is half a character",
)
bad_file("empty json lines", "bad.jsonl", "\n", "empty")
bad_file("json lines latin-1", "bad.jsonl", b'{"a": 1}\n{"a": "\xe9"}\n', "line 2", "UTF-8")
bad_file("arff without data", "bad.arff", "@relation r\n@attribute a numeric\n", "@data")
bad_file("arff without attributes", "bad.arff", "@relation r\n@data\n1\n", "@attribute")
bad_file("arff with an unknown type", "bad.arff", "@attribute a blob\n@data\n1\n", "line 1", "blob")
bad_file("sparse arff", "bad.arff", "@attribute a numeric\n@data\n{1 1}\n", "line 3", "sparse")
bad_file("ragged arff", "bad.arff", "@attribute a numeric\n@data\n1,2\n", "line 3", "2 fields")
bad_file(
    "arff with a text as number", "bad.arff", "@attribute a real\n@data\n1\nx\n", "line 4", "'x'"
)
bad_file(
    "arff with an undeclared value", "bad.arff", "@attribute a {u,v}\n@data\nw\n", "'w'", "'a'"
)
bad_file(
    "duplicate columns in the header",
    "bad.csv",
    "\n".join(["a,a,y", *(f"{i % 7},{i},{'uv'[i % 2]}" for i in range(30))]),
    "'a'",
    "2 times",
    strict=True,
)

# --- names and settings ------------------------------------------------------------------------------
bad_frame("no such target", good_frame, "'solt'", "did you mean 'sold'", target="solt")
bad_frame("target in another case", good_frame, "'SOLD'", "did you mean 'sold'", target="SOLD")
bad_frame("role of the target", good_frame, "'sold'", "target", "task", error=SettingsError,
          roles={"sold": "nominal"})  # fmt: skip
bad_frame("role of the groups column", good_frame, "'site'", "nominal", "groups",
          error=SettingsError, roles={"site": "nominal"}, groups="site")  # fmt: skip
bad_frame("no such groups column", good_frame, "groups", "'sit'", "'site'", groups="sit")
bad_frame("no such weights column", good_frame, "weights", "'wait'", weights="wait")
bad_frame("no such time column", good_frame, "time", "'dya'", "'day'", time="dya")
bad_frame("weights are the target", good_frame, "'sold'", "both", weights="sold")
bad_frame(
    "groups and time", good_frame, "groups", "time", error=SettingsError, groups="site", time="day"
)
bad_frame(
    "role of a missing column", good_frame, "'colour'", "'color'", error=SettingsError,
    roles={"colour": "nominal"},
)  # fmt: skip
bad_frame(
    "unknown role", good_frame, "'color'", "'nominl'", "nominal", error=SettingsError,
    roles={"color": "nominl"},
)  # fmt: skip
bad_frame("unknown task", good_frame, "'guess'", "auto", error=SettingsError, task="guess")
bad_frame(
    "duplicate columns in a frame", lambda: pd.concat([good_frame(), good_frame()[["size"]]], axis=1),
    "'size'", "2 times", file=False, strict=True)  # fmt: skip

# --- target ------------------------------------------------------------------------------------------
bad_frame("one class", lambda: changed("sold", "yes"), "'sold'", "one class", "'yes'")
bad_frame(
    "target empty", lambda: changed("sold", None), "'sold'", "holds no target in any of its 60 rows"
)
bad_frame(
    "one value", lambda: changed("sold", 2.5), "'sold'", "2.5", target="sold", task="regression"
)
bad_frame(
    "class with one member",
    lambda: changed("sold", "maybe", [6]),
    "'maybe'",
    "row 7",
    "one row",
    strict=True,
)
bad_frame(
    "classes with one member",
    lambda: changed("sold", ["so", "la"], [3, 6]),
    "2 classes",
    "'so'",
    "'la'",
    strict=True,
)
bad_frame("regression on texts", good_frame, "'sold'", "regression", "row 1", task="regression")
bad_frame("binary on three classes", good_frame, "binary", "3 classes", "multiclass",
          target="level", task="binary")  # fmt: skip
bad_frame("multiclass on two classes", good_frame, "multiclass", "2 classes", task="multiclass")
bad_frame("classes of measurements", good_frame, "'price'", "regression", target="price",
          task="multiclass")  # fmt: skip
bad_frame("infinite target", lambda: changed("price", np.inf, [4]), "'price'", "infinite", "row 5",
          target="price", strict=True)  # fmt: skip
bad_frame("target too large", lambda: changed("price", -1e300, [4]), "'price'", "-1e+300", "row 5",
          "rescale", target="price")  # fmt: skip
bad_frame("target of dates", lambda: changed("sold", pd.Timestamp("2026-01-01")), "'sold'", "dates",
          file=False)  # fmt: skip
bad_frame("target of dates as texts", good_frame, "'day'", "dates", target="day")
bad_frame("target of decimal commas", lambda: changed("price", [f"{i % 50},{i % 7}" for i in range(N_ROWS)]),
          "'price'", "'0,0'", "1234.5", target="price", strict=True)  # fmt: skip
bad_frame("target of amounts", lambda: changed("price", [f"${1000 + i % 50:,}" for i in range(N_ROWS)]),
          "'price'", "'$1,000'", "currencies", target="price", strict=True)  # fmt: skip
bad_frame("text in a target of numbers", lambda: changed("price", "many", [11]), "'price'", "'many'",
          "row 12", target="price", strict=True)  # fmt: skip
bad_frame("target of mixed types", lambda: changed("sold", 1, [5]), "'sold'", "row 6", "mixes",
          file=False)  # fmt: skip
bad_frame("target of lists", lambda: changed("sold", pd.Series([[1]] * N_ROWS)), "'sold'", "list",
          file=False)  # fmt: skip
bad_frame("no such positive label", good_frame, "'ja'", "'no', 'yes'", positive="ja")
bad_frame(
    "positive label of three", good_frame, "'low'", "two classes", target="level", positive="low"
)
bad_frame(
    "positive label of numbers", good_frame, "'1'", "two classes", target="price", positive="1"
)
bad_frame("too few rows", lambda: good_frame(8), "8 rows", "10")
bad_frame("fewer rows than folds", lambda: good_frame(30), "30 rows", "40 folds", n_folds=40)
bad_frame(
    "few rows with a target", lambda: changed("sold", None, slice(0, 0)).assign(
        sold=["yes", "no"] * 4 + [None] * (N_ROWS - 8)), "8 rows", "10",
)  # fmt: skip

# --- features ----------------------------------------------------------------------------------------
bad_frame("infinite feature", lambda: changed("size", [np.inf, -np.inf], [2, 9]), "'size'",
          "2 infinite", "row 3", strict=True)  # fmt: skip
bad_frame(
    "infinite text",
    lambda: changed("count", ["inf", "-"], [2, 3]),
    "'count'",
    "infinite",
    "row 3",
    strict=True,
)
bad_frame(
    "text among numbers",
    lambda: changed("size", "about 3", [17]),
    "'size'",
    "'about 3'",
    "row 18",
    strict=True,
)
bad_frame("mixed types", lambda: changed("count", "many", [11]), "'count'", "'many'", "row 12",
          file=False, strict=True)  # fmt: skip
bad_frame("dates among numbers", lambda: changed("count", pd.Timestamp(0), [11]), "'count'", "a date",
          file=False)  # fmt: skip
bad_frame("lists in a column", lambda: changed("tags", pd.Series([["a"]] * N_ROWS)), "'tags'", "list",
          file=False, strict=True)  # fmt: skip
bad_frame("complex numbers", lambda: changed("size", np.full(N_ROWS, 1j)), "'size'", "complex",
          file=False, strict=True)  # fmt: skip
bad_frame("decimal commas", lambda: changed("size", [f"{i},{i % 7}" for i in range(N_ROWS)]), "'size'",
          "commas", "'0,0'", strict=True)  # fmt: skip
bad_frame("percentages", lambda: changed("size", [f"{i}%" for i in range(N_ROWS)]), "'size'", "'0%'",
          "units", strict=True)  # fmt: skip
bad_frame("thousands", lambda: changed("size", [f"{i},234.50" for i in range(N_ROWS)]), "'size'",
          "'0,234.50'", "separators", strict=True)  # fmt: skip
bad_frame("no column to learn from", lambda: good_frame()[["sold"]].assign(n=range(N_ROWS), c=1), "'n'",
          "counts the rows", "'c'", "1 in every row")  # fmt: skip
bad_frame("only the target", lambda: good_frame()[["sold"]], "no column", "besides the target")
bad_frame(
    "damaged date", lambda: changed("day", "soon", [40]), "'day'", "dates", "'soon'", strict=True
)
bad_frame("number role on texts", good_frame, "'color'", "numbers", roles={"color": "numeric"})
bad_frame("date role on texts", good_frame, "'color'", "dates", roles={"color": "date"})
bad_frame("copy of the target", lambda: good_frame().assign(copy=lambda f: f["sold"]), "'copy'",
          "equals the target")  # fmt: skip
bad_frame("copy of a number", lambda: good_frame().assign(cost=lambda f: f["price"]), "'cost'",
          "equals the target", target="price")  # fmt: skip
bad_frame("renamed target", lambda: good_frame().assign(flag=lambda f: (f["sold"] == "yes") * 1),
          "'flag'", "other names")  # fmt: skip
bad_frame(
    "nothing to learn from", lambda: good_frame()[["sold"]].assign(a=1, b=None), "no column is left"
)
bad_frame("all columns ignored", lambda: good_frame()[["sold", "size"]], "no column is left",
          roles={"size": "ignored"})  # fmt: skip
bad_frame("target alone", lambda: good_frame()[["sold"]], "no column is left")

# --- weights, groups, time -----------------------------------------------------------------------------
bad_frame("negative weight", lambda: changed("weight", -1, [3]), "'weight'", "negative", "row 4",
          weights="weight")  # fmt: skip
bad_frame("missing weight", lambda: changed("weight", None, [3, 4]), "'weight'", "empty", "row 4",
          weights="weight")  # fmt: skip
bad_frame("infinite weight", lambda: changed("weight", np.inf, [3]), "'weight'", "infinite", "row 4",
          weights="weight")  # fmt: skip
bad_frame("weights of texts", good_frame, "'color'", "weights", "numbers", weights="color")
bad_frame("weights all zero", lambda: changed("weight", 0), "'weight'", "zero in every row",
          weights="weight")  # fmt: skip
bad_frame("missing group", lambda: changed("site", None, [8]), "'site'", "row 9", groups="site")
bad_frame("fewer groups than folds", good_frame, "'site'", "8 groups", "9 folds", groups="site",
          n_folds=9)  # fmt: skip
bad_frame(
    "unreadable time", lambda: changed("day", "soon", [8]), "time", "'day'", "'soon'", time="day"
)
bad_frame("missing time", lambda: changed("day", None, [8]), "'day'", "row 9", time="day")
bad_frame("few times", lambda: changed("day", "2026-01-01"), "'day'", "1 distinct", time="day")
bad_frame("time of texts", good_frame, "'color'", "dates", time="color")


def _offline(folder: Path) -> dict[str, Any]:
    return {"source": "http://127.0.0.1:9/table.csv", "target": "y"}


CASES.append(Case("unreachable host", _offline, ("127.0.0.1", "cannot be read"), ServiceError))
for _address in (
    "http://127.0.0.1:9/t.csv?token=x",
    "http://me:x@127.0.0.1:9/t.csv",
    "ftp://127.0.0.1:9/t.csv?k=x",
):
    bad_source(
        f"unreachable {_address}", _address, "127.0.0.1", "cannot be read", error=ServiceError
    )


def _nested_json(folder: Path) -> dict[str, Any]:
    path = folder / "bad.jsonl"
    lines = [json.dumps({"a": {"b": i}, "c": i * 17 % 31, "y": "uv"[i % 2]}) for i in range(30)]
    path.write_text("\n".join(lines))
    return {"source": str(path), "target": "y", "strict": True}


CASES.append(Case("nested json", _nested_json, ("'a'", "dict", "row 1")))
