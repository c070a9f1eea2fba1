"""However the files of a table are cut and stored, they become one table; what does not fit is named."""

from __future__ import annotations

from pathlib import Path

import fsspec
import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from automl.data.digests import digest_frame
from automl.data.readers import read_table
from automl.data.sources import TableSource, Window, check_mode, source_at
from automl.data.table import prepare_table
from automl.errors import DataError, SettingsError
from automl.run.challenge import choose_rows, n_held_back


def frame_of(n_rows: int, first: int = 0) -> pd.DataFrame:
    numbers = np.arange(first, first + n_rows)
    return pd.DataFrame(
        {
            "whole": numbers,
            "gaps": np.where(numbers % 5 == 0, np.nan, numbers * 1.25),
            "flag": numbers % 3 == 0,
            "code": [str(n) if n % 7 else "x" for n in numbers],
            "late": [None if n < 12 else f"t{n % 4}" for n in numbers],
            "day": (pd.Timestamp("2026-01-01") + pd.to_timedelta(numbers, "D")).astype(str),
            "target": np.where(numbers % 2, "yes", "no"),
        }
    )


def written(frame: pd.DataFrame, path: Path) -> str:
    frame.to_csv(path, index=False) if path.suffix == ".csv" else frame.to_parquet(path)
    return str(path)


def source_of(*files: str, mode: str = "append", window: Window | None = None) -> TableSource:
    return TableSource({file: file for file in files}, mode, window)


@settings(
    deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    cuts=st.sets(st.integers(1, 39), max_size=4),
    kinds=st.lists(st.sampled_from(["csv", "parquet"]), min_size=5, max_size=5),
)
def test_a_table_in_pieces_is_the_table(tmp_path: Path, cuts: set[int], kinds: list[str]) -> None:
    whole = frame_of(40)
    whole.to_csv(tmp_path / "whole.csv", index=False)
    edges = [0, *sorted(cuts), 40]
    pieces = zip(edges, edges[1:], kinds, strict=False)
    files = [
        written(whole.iloc[a:b].reset_index(drop=True), tmp_path / f"{a}.{kind}")
        for a, b, kind in pieces
    ]
    joined = source_of(*files).read()
    assert list(joined.index) == list(range(40))
    assert digest_frame(joined) == digest_frame(read_table(tmp_path / "whole.csv"))


def test_replace_takes_the_newest_file(tmp_path: Path) -> None:
    files = [written(frame_of(10 + n), tmp_path / f"{n}.csv") for n in range(3)]
    assert len(source_of(*files, mode="replace").read()) == 12


def test_columns_may_stand_in_another_order_but_must_be_the_same(tmp_path: Path) -> None:
    first = written(frame_of(20), tmp_path / "a.csv")
    turned = written(frame_of(5, 20).iloc[:, ::-1], tmp_path / "b.csv")
    assert list(source_of(first, turned).read()["whole"]) == list(range(25))
    other = frame_of(5, 20).drop(columns=["flag"]).assign(extra=1, more=2)
    wrong = written(other, tmp_path / "c.csv")
    with pytest.raises(DataError) as caught:
        source_of(first, turned, wrong).read()
    assert caught.value.file == wrong
    said = f"{wrong} has other columns than {first}: without 'flag' and with 'extra', 'more'"
    assert caught.value.message == said


def test_dates_beside_texts_are_refused_by_column_and_files(tmp_path: Path) -> None:
    stored = frame_of(5).assign(day=pd.Timestamp("2026-01-01"))
    files = written(stored, tmp_path / "a.parquet"), written(frame_of(5), tmp_path / "b.csv")
    with pytest.raises(DataError, match=r"column 'day' holds dates in .*a\.parquet and texts in .*b\.csv"):  # fmt: skip
        source_of(*files).read()


def test_a_file_that_cannot_be_read_is_the_one_to_blame(tmp_path: Path) -> None:
    good = written(frame_of(5), tmp_path / "a.csv")
    bad = tmp_path / "b.csv"
    bad.write_text("a,b\n1\n")
    with pytest.raises(DataError, match="line 2") as caught:
        source_of(good, str(bad)).read()
    assert caught.value.file == str(bad)


@pytest.mark.parametrize("by_folder", [True, False])
def test_a_folder_of_parquet_files_is_a_table_with_the_columns_of_its_folders(
    tmp_path: Path, by_folder: bool
) -> None:
    frame = frame_of(30).assign(year=2024 + np.arange(30) // 10)
    folder = tmp_path / "sales"
    for year, part in frame.groupby("year"):
        place = folder / f"year={year}" if by_folder else folder
        place.mkdir(parents=True, exist_ok=True)
        kept = part.drop(columns=["year"]) if by_folder else part
        kept.to_parquet(place / f"part-{year}.parquet", index=False)
    (folder / "_SUCCESS").touch()
    assert digest_frame(read_table(folder)) == digest_frame(frame)
    table = prepare_table(str(folder), target="target")
    assert len(table) == 30


def test_partitions_are_read_from_a_prefix(tmp_path: Path) -> None:
    memory = fsspec.filesystem("memory")
    for year in (2025, 2026):
        with memory.open(f"/sales/year={year}/a.parquet", "wb") as file:
            frame_of(10, year).to_parquet(file)
    frame = read_table("memory://sales/")
    assert (len(frame), sorted(set(frame["year"]))) == (20, [2025, 2026])
    memory.rm("/sales", recursive=True)


def test_what_is_no_table_of_partitions_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="a directory without a Parquet file"):
        read_table(tmp_path)
    written(frame_of(5), tmp_path / "a.csv")
    with pytest.raises(DataError, match=r"holds a\.csv; one that is a table holds Parquet files alone"):  # fmt: skip
        read_table(tmp_path)
    (tmp_path / "b" / "year=1").mkdir(parents=True)
    (tmp_path / "b" / "month=1").mkdir()
    frame_of(5).to_parquet(tmp_path / "b" / "year=1" / "x.parquet")
    frame_of(5).to_parquet(tmp_path / "b" / "month=1" / "x.parquet")
    with pytest.raises(DataError, match=r"year=1/x\.parquet is in folders of year, the first file in folders of month"):  # fmt: skip
        read_table(tmp_path / "b")
    (tmp_path / "c" / "whole=1").mkdir(parents=True)
    frame_of(5).to_parquet(tmp_path / "c" / "whole=1" / "x.parquet")
    with pytest.raises(
        DataError, match="has the column 'whole', which the name of its folder has too"
    ):
        read_table(tmp_path / "c")


def test_a_window_keeps_the_last_rows_or_days(tmp_path: Path) -> None:
    files = [written(frame_of(10, 10 * n), tmp_path / f"{n}.csv") for n in range(3)]
    rows = source_of(*files, mode="window", window=Window.parse("12 rows")).read()
    assert list(rows["whole"]) == list(range(18, 30))
    days = source_of(*files, mode="window", window=Window.parse("7 days", "day")).read()
    assert list(days["whole"]) == list(range(23, 30))
    late_first = source_of(*files[::-1], mode="window", window=Window.parse("7d", "day")).read()
    assert sorted(late_first["whole"]) == list(range(23, 30))


@pytest.mark.parametrize(
    ("time", "said"),
    [
        ("dax", "no column 'dax' .*did you mean 'day'"),
        ("whole", "column 'whole' must hold dates; found numbers"),
        ("code", "time column 'code' must hold dates; found 'x'"),
        ("late", "missing|empty|dates"),
    ],
)
def test_a_window_of_days_needs_a_column_of_dates(tmp_path: Path, time: str, said: str) -> None:
    file = written(frame_of(20), tmp_path / "a.csv")
    with pytest.raises(DataError, match=said):
        source_of(file, mode="window", window=Window.parse("7d", time)).read()


def test_all_tables_of_a_folder_are_the_source(tmp_path: Path) -> None:
    for n in range(3):
        written(frame_of(10, 10 * n), tmp_path / f"{n}.csv")
    (tmp_path / "notes.md").write_text("no table")
    assert list(source_at(str(tmp_path), "append").read()["whole"]) == list(range(30))
    assert len(source_at(str(tmp_path), "window", "5 rows").read()) == 5
    assert list(source_at(str(tmp_path), "replace").read()["whole"]) == list(range(20, 30))
    assert len(source_at(str(tmp_path / "1.csv"), "append").read()) == 10
    written(frame_of(5), tmp_path / "10.csv")
    assert len(source_at(str(tmp_path), "replace").read()) == 5
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="a directory that holds no table"):
        source_at(str(tmp_path / "empty"), "append")


@pytest.mark.parametrize(
    ("mode", "window", "time", "said"),
    [
        ("apend", None, None, "did you mean 'append'"),
        ("window", None, None, "got mode window and no window"),
        ("append", "90 days", "day", "got mode append and window '90 days'"),
        ("window", "a week", None, "must look like '90 days' or '5000 rows'; got 'a week'"),
        ("window", "90 days", None, "needs the column with the times"),
        ("window", "2.5 rows", None, "whole number of rows"),
        ("append", None, "day", "a column of times is for the mode window"),
    ],
)
def test_modes_that_cannot_be_meant_are_refused(
    mode: str, window: str | None, time: str | None, said: str
) -> None:
    with pytest.raises(SettingsError, match=said):
        check_mode(mode, window, time)


@pytest.mark.parametrize("mode", ["append", "partition", "window"])
def test_after_200_new_rows_the_comparison_is_on_rows_of_these(tmp_path: Path, mode: str) -> None:
    """The champion read one file; in the new table the same rows stand beside others of other types."""
    from types import SimpleNamespace

    from automl.run.challenge import _fresh_rows

    old = frame_of(300)
    kind = "parquet" if mode == "partition" else "csv"
    first = written(old, tmp_path / f"a.{kind}")
    new = frame_of(200, 300).assign(whole=np.arange(300, 500) + 0.5, code=7)
    second = written(new, tmp_path / "b.parquet")
    champion = prepare_table(first, target="target")
    window = Window.parse("450 rows") if mode == "window" else None
    raw = source_of(first, second, mode=mode, window=window).read()
    table = prepare_table(raw, target="target")
    model = SimpleNamespace(schema=champion.schema)
    fresh = _fresh_rows(model, raw, table, champion.row_digests)  # type: ignore[arg-type]
    compared, _ = choose_rows(table, fresh, seed=0)
    assert fresh.sum() == 200
    assert len(compared) == n_held_back(200, len(table))
    assert raw["whole"].iloc[compared].ge(300).all()
