"""From a source to a typed table, to a folder and back."""

import re
import runpy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from automl.data.table import Table, prepare_table, prepare_test_table
from automl.errors import DataError
from automl.records import Task

good_frame = runpy.run_path(str(Path(__file__).parent / "bad_tables.py"))["good_frame"]

N = 240


def target(values):
    return pd.DataFrame({"x": np.random.default_rng(0).normal(size=len(values)), "y": values})


TARGETS = {
    "texts": (["no", "yes"] * (N // 2), Task.BINARY, ["no", "yes"], object),
    "integers": ([7, 3] * (N // 2), Task.BINARY, [3, 7], np.int64),
    "small integers": (np.array([1, -1] * (N // 2), dtype=np.int8), Task.BINARY, [-1, 1], np.int8),
    "booleans": ([True, False] * (N // 2), Task.BINARY, [False, True], np.bool_),
    "whole floats": ([1.0, 2.0] * (N // 2), Task.BINARY, [1.0, 2.0], np.float64),
    "integers with gaps": ([1, 2, None] * (N // 3), Task.BINARY, [1, 2], np.int64),
    "nullable integers": (pd.array([1, 2, None] * (N // 3), dtype="Int64"), Task.BINARY, [1, 2], np.int64),
    "nullable booleans": (pd.array([True, False, None] * (N // 3), dtype="boolean"), Task.BINARY, [False, True], np.bool_),
    "categories": (pd.Categorical(["b", "a", "c"] * (N // 3)), Task.MULTICLASS, ["a", "b", "c"], object),
    "unused categories": (pd.Categorical(["b", "a"] * (N // 2), categories=list("abz")), Task.BINARY, ["a", "b"], object),
    "categories of numbers": (pd.Categorical([5, 4] * (N // 2)), Task.BINARY, [4, 5], np.int64),
    "texts with blanks": (["u", " ", "v", "?"] * (N // 4), Task.BINARY, ["u", "v"], object),
    "texts of numbers": (["1", "2", "3"] * (N // 3), Task.MULTICLASS, ["1", "2", "3"], object),
    "twenty integers": (np.arange(N) % 20, Task.MULTICLASS, list(range(20)), np.int64),
    "many integers": (np.arange(N) % 21, Task.REGRESSION, None, None),
    "two fractions": ([0.5, 1.5] * (N // 2), Task.BINARY, [0.5, 1.5], np.float64),
    "three fractions": ([0.5, 1.5, 2.5] * (N // 3), Task.REGRESSION, None, None),
    "measurements": (np.linspace(0, 1, N), Task.REGRESSION, None, None),
    "texts of measurements": ([f"{i / 7:.3f}" for i in range(N)], Task.REGRESSION, None, None),
}  # fmt: skip


DAYS = pd.Series(pd.date_range("2020-01-01", periods=5).repeat(N // 5))
DATES = {
    "stored": DAYS,
    "with a zone": DAYS.dt.tz_localize("UTC"),
    "objects": DAYS.dt.date.astype(object),
    "moments": DAYS.astype(object),
    "texts": DAYS.dt.strftime("%Y-%m-%d"),
    "texts with hours": DAYS.dt.strftime("%Y/%m/%d %H:%M"),
    "categories": DAYS.astype("category"),
    "categories of texts": DAYS.dt.strftime("%Y-%m-%d").astype("category"),
    "with gaps": DAYS.where(np.arange(N) % 9 > 0),
}


@pytest.mark.parametrize("task", ["auto", "multiclass", "regression"])
@pytest.mark.parametrize("kind", DATES)
def test_a_target_of_dates_is_refused_when_the_table_is_read(kind, task):
    reason = "target column 'y' holds dates; a target is classes or numbers"
    with pytest.raises(DataError, match=f": {reason}$"):
        prepare_table(target(DATES[kind]), target="y", task=task)


@pytest.mark.parametrize("name", TARGETS)
def test_the_task_and_the_labels_follow_from_the_target(name):
    values, task, labels, dtype = TARGETS[name]
    table = prepare_table(target(values), target="y")
    assert table.task is task
    if labels is None:
        assert table.y.dtype == np.float64
        assert table.class_labels is table.classes is table.positive is None
        return
    assert table.class_labels.tolist() == labels
    assert table.class_labels.dtype == dtype
    assert all(type(a) is type(b) for a, b in zip(table.class_labels.tolist(), labels, strict=True))
    assert table.y.dtype == np.int32
    assert table.positive == (1 if len(labels) == 2 else None)
    kept = [value for value in pd.Series(values).dropna().astype(object) if value in labels]
    assert table.class_labels[table.y].tolist() == kept


def test_few_rows_with_many_integers_are_a_regression():
    assert prepare_table(target(np.arange(24) % 12), target="y").task is Task.REGRESSION


def test_integers_can_be_classes_or_numbers_on_demand():
    frame = target(np.arange(N) % 6)
    assert prepare_table(frame, target="y", task="regression").y.dtype == np.float64
    assert prepare_table(frame, target="y", task="classification").n_classes == 6
    assert prepare_table(frame, target="y", task="multiclass").classes == tuple("012345")


@pytest.mark.parametrize(("positive", "index"), [(0, 0), ("0", 0), ("1", 1), (1.0, 1), (None, 1)])
def test_the_positive_label_is_found_by_its_text(positive, index):
    assert prepare_table(target([0, 1] * 20), target="y", positive=positive).positive == index


def test_a_table_survives_its_folder(tmp_path):
    table = prepare_table(
        good_frame(), target="sold", weights="weight", groups="site", positive="no",
        roles={"count": "nominal"},
    )  # fmt: skip
    folder = table.write(tmp_path / "table")
    loaded = Table.load(folder)
    pd.testing.assert_frame_equal(loaded.frame, table.frame)
    for name in ("y", "row_digests", "weights", "groups", "class_labels"):
        assert np.array_equal(getattr(loaded, name), getattr(table, name))
        assert getattr(loaded, name).dtype == getattr(table, name).dtype
    for name in (
        "task",
        "target",
        "columns",
        "schema",
        "classes",
        "positive",
        "digest",
        "notes",
        "time",
    ):
        assert getattr(loaded, name) == getattr(table, name)


@pytest.mark.parametrize("name", ["level", "price"])
def test_kinds_of_targets_survive_the_folder(name, tmp_path):
    table = prepare_table(good_frame(), target=name, time="day")
    loaded = Table.load(table.write(tmp_path))
    assert np.array_equal(loaded.y, table.y)
    assert np.array_equal(loaded.time, table.time)
    assert loaded.task is table.task


def test_a_loaded_table_maps_its_numbers_and_cannot_be_changed(tmp_path):
    folder = prepare_table(good_frame(), target="sold").write(tmp_path)
    loaded = Table.load(folder)
    values = loaded.frame["size"].to_numpy()
    owner = values
    while owner.base is not None and not isinstance(owner, np.memmap):
        owner = owner.base
    assert not owner.flags.owndata
    assert not loaded.y.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        values[0] = 1.0


def test_a_folder_without_a_manifest_is_not_complete(tmp_path):
    folder = prepare_table(good_frame(), target="sold").write(tmp_path)
    (folder / "manifest.json").unlink()
    with pytest.raises(DataError, match=r"manifest.json is missing"):
        Table.load(folder)
    (folder / "manifest.json").write_text("{")
    with pytest.raises(DataError, match="damaged"):
        Table.load(folder)
    (folder / "manifest.json").write_text('{"format": 99}')
    with pytest.raises(DataError, match="found 99"):
        Table.load(folder)
    prepare_table(good_frame(), target="sold").write(tmp_path)
    (folder / "y.npy").unlink()
    with pytest.raises(DataError, match="array file"):
        Table.load(folder)


def test_a_subset_keeps_labels_and_schema():
    table = prepare_table(good_frame(), target="level", groups="site", weights="weight")
    rows = np.array([5, 3, 3, 40])
    part = table.subset(rows)
    assert len(part) == 4
    pd.testing.assert_frame_equal(part.frame, table.frame.iloc[rows].reset_index(drop=True))
    for name in ("y", "row_digests", "groups", "weights"):
        assert np.array_equal(getattr(part, name), getattr(table, name)[rows])
    assert part.n_classes == 3
    assert part.digest != table.digest
    assert part.digest == table.subset(rows).digest
    assert len(table.subset(table.y == 0)) == (table.y == 0).sum()


def test_what_is_dropped_is_noted():
    frame = good_frame().assign(
        customer_id=np.random.default_rng(1).permutation(60),
        code=[f"c{i}" for i in range(60)],
        nothing=None,
        same=1,
    )
    frame.loc[[3, 4], "sold"] = None
    table = prepare_table(frame, target="sold")
    text = "\n".join(table.notes)
    for words in ("2 of 60 rows are dropped", "'customer_id' is not used (id)", "'code' is not used (id)",
                  "'nothing' is not used: it is empty", "'same' is not used: it has the value 1"):  # fmt: skip
        assert words in text
    assert len(table) == 58
    assert not set(table.schema.names) & {
        "customer_id",
        "code",
        "nothing",
        "same",
        "sold",
    }


def test_columns_of_one_kind_are_noted_together():
    frame = good_frame().assign(**{f"same{i}": i for i in range(9)})
    notes = prepare_table(frame, target="sold").notes
    assert any(
        "9 columns are not used (constant): 'same0'" in note and "4 more" in note for note in notes
    )


def test_a_column_that_almost_determines_the_target_is_noted():
    frame = target((np.arange(N) >= N // 2).astype(int)).assign(late=np.arange(N) * 1.5)
    assert any(
        "'late' alone almost determines" in note for note in prepare_table(frame, target="y").notes
    )
    numbers = target(np.linspace(0, 1, N)).assign(other=lambda f: np.exp(f["y"]))
    assert any("'other' alone" in note for note in prepare_table(numbers, target="y").notes)
    assert not prepare_table(good_frame(), target="sold").notes


def test_a_renamed_target_can_be_kept_on_purpose():
    frame = good_frame().assign(flag=lambda f: (f["sold"] == "yes") * 1)
    table = prepare_table(frame, target="sold", roles={"flag": "numeric"})
    assert "flag" in table.schema.names
    assert any("'flag' alone" in note for note in table.notes)


def test_a_leak_that_is_ignored_is_no_problem():
    frame = good_frame().assign(copy=lambda f: f["sold"])
    table = prepare_table(frame, target="sold", roles={"copy": "ignored"})
    assert "copy" not in table.schema.names


def test_equal_rows_share_a_group_and_are_counted():
    frame = pd.concat(
        [good_frame(), good_frame().iloc[:7], good_frame().iloc[:2]], ignore_index=True
    )
    table = prepare_table(frame, target="sold")
    assert np.array_equal(table.groups[60:67], table.groups[:7])
    assert np.array_equal(table.groups[67:], table.groups[:2])
    assert len(np.unique(table.groups)) == 60
    assert (
        "9 of 69 rows repeat an earlier row and look like copies; equal rows are kept together in "
        "one fold"
    ) in table.notes


def test_rows_that_are_equal_by_chance_are_counted_and_not_kept_together():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({name: rng.integers(0, 9, 300) for name in "abc"})
    frame["y"] = rng.choice(["u", "v"], 300)
    table = prepare_table(frame, target="y")
    assert table.groups is None
    (note,) = (n for n in table.notes if "repeat" in n)
    n_repeated = int(frame.duplicated().sum())
    assert n_repeated > 10
    assert note == (
        f"{n_repeated} of 300 rows repeat an earlier row; taken for chance, they may be in different "
        "folds"
    )


def test_copies_of_a_rare_class_in_any_order_are_kept_together():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(300, 3)), columns=list("abc"))
    frame["y"] = np.where(np.arange(300) < 30, "rare", "usual")
    drawn = frame.iloc[rng.integers(0, 30, 90)]
    oversampled = pd.concat([frame, drawn]).sample(frac=1.0, random_state=0)
    table = prepare_table(oversampled, target="y")
    assert len(np.unique(table.groups)) == 300
    assert any("look like copies" in note for note in table.notes)


def test_equal_rows_do_not_join_given_groups_or_rows_in_time_order():
    frame = pd.concat([good_frame(), good_frame().iloc[:7]], ignore_index=True)
    frame["site"] = np.arange(len(frame)) % 10
    assert len(np.unique(prepare_table(frame, target="sold", groups="site").groups)) == 10
    assert prepare_table(frame, target="sold", time="day").groups is None


def test_so_many_equal_rows_that_folds_would_suffer_are_not_kept_together():
    frame = pd.DataFrame({"a": [0, 0, 0, 1] * 30, "b": [0, 0, 1, 1] * 30, "y": list("uvvu") * 30})
    table = prepare_table(frame, target="y")
    assert table.groups is None
    assert any("not kept together" in note for note in table.notes)


def test_weights_groups_and_time_are_read():
    table = prepare_table(good_frame(), target="sold", weights="weight", time="day")
    assert table.weights.tolist() == good_frame()["weight"].tolist()
    assert np.array_equal(np.diff(table.time), np.ones(59))
    assert "weight" not in table.schema.names
    assert "day" in table.schema.names
    grouped = prepare_table(good_frame(), target="sold", groups="color", n_folds=3)
    assert grouped.groups.max() == 2
    assert "color" not in grouped.schema.names


def test_a_whole_number_of_any_size_survives_a_gap_in_the_target():
    y = np.arange(40) * 2e18
    frame = pd.DataFrame({"x": np.random.default_rng(0).normal(size=40), "y": y})
    frame.loc[3, "y"] = np.nan
    assert prepare_table(frame, target="y").y == pytest.approx(np.delete(y, 3))


def test_groups_of_a_test_table_are_read_and_missing_weights_are_noted():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"x": rng.normal(size=60), "who": np.arange(60) // 3, "w": 1.0, "y": ["a", "b"] * 30}
    )
    table = prepare_table(frame, target="y", groups="who", weights="w", n_folds=3)
    test = prepare_test_table(frame.head(9).drop(columns="w"), table)
    assert test.groups.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert "there is no weights column 'w': all rows count alike" in test.notes
    assert prepare_test_table(frame.head(9).drop(columns="who"), table).groups is None


def test_a_test_table_gets_the_same_columns_and_labels():
    table = prepare_table(good_frame(), target="sold", weights="weight", positive="no")
    later = good_frame(45).iloc[::-1].assign(extra=1)[lambda f: f.columns[::-1]]
    later["color"] = "violet"
    test = prepare_test_table(later, table)
    assert list(test.frame.columns) == list(table.frame.columns)
    assert test.frame["color"].dtype == table.frame["color"].dtype
    assert test.positive == 0
    assert table.class_labels[test.y].tolist() == later["sold"].tolist()
    assert test.weights.tolist() == later["weight"].tolist()
    assert test.notes == (
        "columns that the model does not know are ignored: 'extra'",
        "column 'color' is distributed differently in the test rows: 100% are new categories, 0% in the training rows",
    )


def test_a_test_table_may_lack_weights_and_classes_and_tells_of_training_rows():
    table = prepare_table(good_frame(), target="sold", weights="weight")
    rows = good_frame().drop(columns="weight").query("sold == 'yes'")
    test = prepare_test_table(rows, table)
    assert test.weights is None
    assert set(test.y) == {1}
    assert test.notes == (
        "there is no weights column 'weight': all rows count alike",
        f"{len(rows)} of {len(rows)} test rows are also among the training rows",
        "column 'sold' is distributed differently in the test rows: 0% are 'no', 48% in the training rows",
    )


def test_labels_of_a_test_table_agree_by_value_or_text(tmp_path):
    table = prepare_table(target([1, 2, 3] * 20), target="y")
    for labels in ([3, 1], ["3", "1"], [3.0, 1.0]):
        assert prepare_test_table(target(labels), table).y.tolist() == [2, 0]


def test_a_nominal_column_may_mix_numbers_and_texts_on_demand():
    frame = good_frame()
    frame["count"] = frame["count"].astype(object)
    frame.loc[3, "count"] = "many"
    table = prepare_table(frame, target="sold", roles={"count": "nominal"})
    assert table.frame["count"][3] == "many"


def test_dates_in_another_order_are_read_with_a_note():
    frame = good_frame().assign(when=[f"{i % 28 + 1}.01.2026" for i in range(60)])
    table = prepare_table(frame, target="sold")
    assert (
        "column 'when' is read as dates in the order D.M.Y: '1.01.2026' is 2026-01-01"
        in table.notes
    )
    assert table.frame["when.day"].tolist() == [i % 28 + 1.0 for i in range(60)]


def test_row_digests_do_not_depend_on_how_values_are_written():
    table = prepare_table(good_frame(), target="sold")
    later = good_frame().assign(
        size=lambda f: f["size"].map(str),
        count=lambda f: f["count"] * 1.0,
        day=lambda f: pd.to_datetime(f["day"]),
        color=lambda f: f["color"].astype("category"),
    )
    test = prepare_test_table(later, table)
    assert np.array_equal(test.row_digests, table.row_digests)


@pytest.mark.parametrize(
    ("values", "task", "words"),
    [
        (
            [1.5, 2.5, 3.5],
            "auto",
            "the 3 different numbers .* as a quantity; give the task multiclass",
        ),
        ([1, 2, 3], "auto", "the 3 different numbers .* as classes; give the task regression"),
        (
            ["Yes", "yes", " no", "no"],
            "auto",
            "white space and are taken as one: 'Yes' and 'yes', ' no' and 'no'",
        ),
        (
            ["Red", "red", "blue"],
            "auto",
            "white space: 'Red' and 'red'; write",
        ),
        ([1.5, 2.5, 3.5], "regression", None),
        ([1, 2, 3], "multiclass", None),
        ([0, 1], "auto", None),
        (["a", "b", "c"], "auto", None),
    ],
)
def test_how_a_target_was_understood_is_noted_where_it_could_be_meant_otherwise(
    values, task, words
):
    frame = good_frame().assign(sold=[values[i // 7 % len(values)] for i in range(60)])
    frame = frame.drop(columns="day")  # since rows close in time have similar targets
    notes = prepare_table(frame, target="sold", task=task).notes
    assert len(notes) == (words is not None)
    assert words is None or re.search(words, notes[0])


def test_a_few_amounts_may_be_classes_and_are_numbers_elsewhere():
    frame = good_frame().assign(size=[f"{i % 4}0%" for i in range(60)])
    frame["sold"] = [f"${1 + i // 3 % 2}" for i in range(60)]
    table = prepare_table(frame, target="sold")
    assert table.classes == ("$1", "$2")
    assert table.frame["size"].tolist() == [i % 4 * 10.0 for i in range(60)]
