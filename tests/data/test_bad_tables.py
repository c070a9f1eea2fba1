"""Every bad table is refused with one clear sentence per problem."""

import pickle
import runpy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from automl.data.readers import read_table
from automl.data.table import prepare_table, prepare_test_table
from automl.errors import DataError, ServiceError, SettingsError

BAD = runpy.run_path(str(Path(__file__).parent / "bad_tables.py"))
CASES, good_frame = BAD["CASES"], BAD["good_frame"]
EXIT_CODES = {SettingsError: 2, DataError: 3, ServiceError: 4}


def test_there_are_many_kinds_of_bad_tables():
    assert len(CASES) >= 60
    assert len({case.name for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_a_bad_table_is_refused_with_a_clear_sentence(case, tmp_path):
    arguments = case.arguments(tmp_path)
    with pytest.raises(case.error) as caught:
        prepare_table(**arguments)
    error = caught.value
    assert error.exit_code == EXIT_CODES[case.error]
    sentences = error.problems if isinstance(error, DataError) else (str(error),)
    assert any(all(word in sentence for word in case.words) for sentence in sentences), sentences
    assert all("\n" not in sentence and len(sentence) < 400 for sentence in sentences)
    assert type(pickle.loads(pickle.dumps(error))) is case.error
    if isinstance(arguments["source"], str) and isinstance(error, DataError):
        assert all(Path(arguments["source"]).name in sentence for sentence in sentences)


def test_all_problems_are_reported_at_once(tmp_path):
    frame = good_frame()
    frame["size"] = frame["size"].where(frame.index != 4, np.inf)
    frame["weight"] = frame["weight"].where(frame.index != 5, -2)
    frame["color"] = np.where(frame.index == 7, "red", [f"{i}.5" for i in frame.index])
    frame["site"] = frame["site"].where(frame.index != 9)
    frame["copy"] = frame["sold"]
    frame["sold"] = np.where(frame.index == 11, "perhaps", frame["sold"])
    frame["copy"] = frame["sold"]
    path = tmp_path / "many.csv"
    frame.to_csv(path, index=False)
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0].replace("level", "size"), *lines[1:]]))
    with pytest.raises(DataError) as caught:
        prepare_table(
            path,
            target="sold",
            weights="weight",
            groups="site",
            positive="si",
            n_folds=12,
            strict=True,
        )
    text = "\n".join(caught.value.problems)
    for words in ("'size' occurs 2 times", "infinite", "negative", "'red' in row 8", "row 10",
                  "8 groups", "'copy' equals", "'perhaps'", "'si'"):  # fmt: skip
        assert words in text
    assert str(caught.value).startswith(f"9 problems in {path}: ")
    assert all(str(caught.value).count(words) == 1 for words in ("infinite", "negative", "'si'"))
    assert len(caught.value.problems) == 9


@pytest.mark.parametrize(
    ("values", "task", "words"),
    [
        ([f"customer {i}" for i in range(60)], "auto", "another text in each of its 60 rows"),
        ([f"customer {i}" for i in range(60)], "binary", "another text in each of its 60 rows"),
        (range(60), "multiclass", "or use task regression"),
    ],
)
def test_a_target_with_a_class_for_each_row_is_one_problem(values, task, words):
    frame = good_frame().assign(sold=list(values))
    with pytest.raises(DataError, match=words) as caught:
        prepare_table(frame, target="sold", task=task, positive="yes")
    assert len(caught.value.problems) == 1


@pytest.mark.parametrize("part", ["groups", "time", "weights"])
def test_a_column_with_two_parts_is_one_problem(part):
    with pytest.raises(
        DataError, match=f"'sold' cannot be both the target .* the {part}"
    ) as caught:
        prepare_table(good_frame(), target="sold", **{part: "sold"})
    assert len(caught.value.problems) == 1


def test_a_missing_target_does_not_hide_other_problems():
    frame = good_frame()
    frame.loc[3, "size"] = np.inf
    with pytest.raises(DataError) as caught:
        prepare_table(frame, target="absent", strict=True)
    assert len(caught.value.problems) == 2


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of the cache and the retries
def test_openml_without_a_network_is_a_service_error(monkeypatch, tmp_path):
    def unreachable(*args, **kwargs):
        raise OSError("no route to host")

    monkeypatch.setattr("sklearn.datasets._openml.urlopen", unreachable)
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path))
    with pytest.raises(ServiceError, match=r"openml:credit-g.*no route to host"):
        read_table("openml:credit-g")


def test_columns_asked_for_must_exist():
    with pytest.raises(DataError, match="'colour'; did you mean 'color'"):
        read_table(good_frame(), columns=["size", "colour"])


BAD_TEST_TABLES = {
    "no target": (lambda f: f.drop(columns="sold"), "no target column 'sold'"),
    "missing column": (lambda f: f.drop(columns="color"), "column 'color'"),
    "unseen label": (lambda f: f.assign(sold="maybe"), "'maybe'"),
    "wrong type": (lambda f: f.assign(size="wide"), "column 'size'"),
    "no rows with a target": (lambda f: f.assign(sold=None), "holds no target in any"),
    "damaged date": (lambda f: f.assign(day="soon"), "'day'"),
}


@pytest.mark.parametrize(("change", "words"), BAD_TEST_TABLES.values(), ids=BAD_TEST_TABLES)
def test_a_test_table_that_does_not_fit_is_refused(change, words):
    table = prepare_table(good_frame(), target="sold")
    with pytest.raises(DataError, match=words):
        prepare_test_table(change(good_frame()), table)


def test_all_problems_of_a_test_table_are_reported_at_once():
    table = prepare_table(good_frame(), target="sold")
    frame = good_frame().drop(columns=["color", "level"]).assign(sold="maybe", size="wide")
    with pytest.raises(DataError) as caught:
        prepare_test_table(frame, table)
    assert len(caught.value.problems) == 4


def test_a_numeric_test_target_must_be_finite_numbers():
    table = prepare_table(good_frame(), target="price")
    with pytest.raises(DataError, match="price"):
        prepare_test_table(good_frame().assign(price="cheap"), table)
    with pytest.raises(DataError, match="row 1"):
        prepare_test_table(good_frame().assign(price=np.inf), table)


def test_rows_are_counted_in_the_original_table():
    frame = good_frame()
    frame.loc[:4, "sold"] = None
    frame.loc[20, "size"] = np.inf
    assert any("row 21" in note for note in prepare_table(frame, target="sold").notes)
    with pytest.raises(DataError, match="row 21"):
        prepare_table(frame, target="sold", strict=True)


def test_several_levels_of_names_are_refused():
    frame = good_frame()
    frame.columns = pd.MultiIndex.from_product([["a"], frame.columns])
    with pytest.raises(DataError, match="levels"):
        read_table(frame)
