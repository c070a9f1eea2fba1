"""When two tables are the same data set, and when a table is a version of another."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from automl.data.table import prepare_table
from automl.experience.fingerprints import fingerprint, layout


def frame_of(n_rows=60, seed=0):
    rng = np.random.default_rng(seed)
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n_rows), unit="D")
    numbers = rng.normal(size=n_rows).round(6)
    numbers[::7] = np.nan
    return pd.DataFrame(
        {
            "x": numbers,
            "count": rng.integers(0, 9, n_rows),
            "kind": rng.choice(["a", "b", "c"], n_rows),
            "day": days,
            "same": 1,
            "y": rng.choice(["no", "yes"], n_rows),
        }
    )


def table_of(frame, **given):
    return prepare_table(frame, **{"target": "y", **given})


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "tsv", "parquet", "feather", "jsonl"])
def test_every_file_format_gives_the_same(tmp_path, suffix):
    frame, path = frame_of(), tmp_path / f"table.{suffix}"
    if suffix == "parquet":
        frame.to_parquet(path)
    elif suffix == "feather":
        frame.to_feather(path)
    elif suffix == "jsonl":
        frame.assign(day=frame["day"].dt.strftime("%Y-%m-%d")).to_json(
            path, orient="records", lines=True
        )
    else:
        frame.to_csv(path, index=False, sep="\t" if suffix == "tsv" else ",")
    table, again = table_of(frame), table_of(path)
    assert fingerprint(again) == fingerprint(table)
    assert layout(again) == layout(table)


@pytest.fixture(scope="module")
def content():
    return fingerprint(table_of(frame_of()))


@given(st.randoms(use_true_random=False))
def test_no_order_and_no_name_of_a_feature_matters_to_the_content(content, random):
    frame = frame_of()
    names = list(frame.columns)
    random.shuffle(names)
    rows = list(range(len(frame)))
    random.shuffle(rows)
    other = frame.iloc[rows][names].rename(columns={"x": "height", "kind": "x"})
    assert fingerprint(table_of(other)) == content


def test_the_layout_needs_no_order_but_names():
    frame = frame_of()
    assert layout(table_of(frame[frame.columns[::-1]])) == layout(table_of(frame))
    assert layout(table_of(frame.rename(columns={"x": "height"}))) != layout(table_of(frame))


@pytest.mark.parametrize("column", ["x", "count", "kind", "y"])
def test_one_other_value_is_another_content_of_the_same_layout(column):
    frame = frame_of()
    other = frame.copy()
    first, second = other[column].drop_duplicates().iloc[[1, 2 if column != "y" else 0]]
    row = int(np.flatnonzero(other[column] == first)[0])
    other.loc[row, column] = second
    assert fingerprint(table_of(other)) != fingerprint(table_of(frame))
    assert layout(table_of(other)) == layout(table_of(frame))


def test_values_that_change_places_are_another_content():
    frame = frame_of()
    columns, rows = frame.copy(), frame.copy()
    frame_values = frame.loc[[1, 2], "x"].to_numpy()
    rows.loc[[1, 2], "x"] = frame_values[::-1]
    columns["other"] = columns["count"].to_numpy()[::-1]
    swapped = columns.copy()
    swapped.loc[3, ["count", "other"]] = swapped.loc[3, ["other", "count"]].to_numpy()
    assert fingerprint(table_of(rows)) != fingerprint(table_of(frame))
    if columns.loc[3, "count"] != columns.loc[3, "other"]:
        assert fingerprint(table_of(swapped)) != fingerprint(table_of(columns))


def test_a_repeated_row_counts():
    frame = frame_of()
    more = pd.concat([frame, frame.iloc[[0]]], ignore_index=True)
    assert fingerprint(table_of(more)) != fingerprint(table_of(frame))


def test_a_version_with_other_rows_has_the_layout_though_roles_change():
    frame = frame_of()
    later = pd.concat([frame, frame_of(200, seed=1).assign(same=range(200))], ignore_index=True)
    assert layout(table_of(later)) == layout(table_of(frame.iloc[:40]))
    assert fingerprint(table_of(later)) != fingerprint(table_of(frame))


def test_another_target_is_another_problem():
    frame = frame_of()
    by_count = table_of(frame, target="count", task="regression")
    assert fingerprint(by_count) != fingerprint(table_of(frame))
    assert layout(by_count) != layout(table_of(frame))


def test_the_same_numbers_as_classes_and_as_values_are_two_problems():
    frame = frame_of()
    frame["y"] = frame["count"] % 2
    classes, values = table_of(frame), table_of(frame, task="regression")
    assert fingerprint(classes) != fingerprint(values)
    assert layout(classes) != layout(values)


def test_a_written_table_has_the_same(tmp_path):
    from automl.data.table import Table

    table = table_of(frame_of())
    table.write(tmp_path)
    again = Table.load(tmp_path)
    assert (fingerprint(again), layout(again)) == (fingerprint(table), layout(table))
