"""Methods files, data sets by file, folder, list and name, and the settings of cells."""

from __future__ import annotations

import json

import pytest

from automl.comparison.plan import Cell, ComparisonPlan, read_methods
from automl.data.collections import find_data_sets, target_of
from automl.errors import SettingsError


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def test_methods_share_the_common_settings(tmp_path):
    text = "common: {trials: 9, metric: mcc}\nmethods:\n  a: {optimizer: tpe}\n  b:\n  c: {trials: 3}\n"
    methods, metric = read_methods(write(tmp_path / "m.yaml", text))
    assert methods["a"] == {"trials": 9, "metric": "mcc", "optimizer": "tpe"}
    assert (methods["b"]["trials"], methods["c"]["trials"], metric) == (9, 3, "mcc")
    as_json = json.dumps({"methods": {"a": {}, "b": {"seed": 1}}})
    with pytest.raises(SettingsError, match="the comparison sets seed itself"):
        read_methods(write(tmp_path / "m.json", as_json))


def test_methods_may_follow_the_sections_of_the_settings(tmp_path):
    text = (
        "common: {resources: {trials: 9}, search: {optimizer: random}}\n"
        "methods:\n  a: {optimizer: tpe}\n  b: {}\n"
    )
    methods, _ = read_methods(write(tmp_path / "m.yaml", text))
    assert methods == {
        "a": {"trials": 9, "optimizer": "tpe"},
        "b": {"trials": 9, "optimizer": "random"},
    }
    nested = "methods: {a: {data: {groups: g}}}"
    with pytest.raises(SettingsError, match="groups belongs to a data set"):
        read_methods(write(tmp_path / "m.yaml", nested))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("methods: {}", "methods must map the name"),
        ("a: {trials: 3}", "must have the key methods.*got a"),
        ("- a", "must have the key methods.*got list"),
        ("methods: {a: 3}", "method a must hold settings"),
        ("methods: {a: {target: y}}", "target belongs to a data set"),
        ("methods: {a/b: {}}", "a name must not contain '/'"),
        ("methods: [", "must be YAML"),
    ],
)
def test_a_wrong_methods_file_is_one_sentence(tmp_path, text, words):
    with pytest.raises(SettingsError, match=words):
        read_methods(write(tmp_path / "m.yaml", text))


def test_a_missing_methods_file_is_named(tmp_path):
    with pytest.raises(SettingsError, match="does not exist"):
        read_methods(tmp_path / "none.yaml")


def test_data_sets_are_found_wherever_they_are(tmp_path):
    folder = tmp_path / "tables"
    folder.mkdir()
    for name in ("b.csv", "a.csv.gz", "notes.md"):
        write(folder / name, "x,y\n1,2\n")
    entries = "- {table: tables/b.csv, name: other, target: x, task: regression}\n- sklearn:wine\n"
    listed = write(tmp_path / "list.yaml", entries)
    found = find_data_sets(["sklearn:iris", str(folder), str(listed)], target="y")
    assert list(found) == ["iris", "a", "b", "other", "wine"]
    assert found["iris"] == {"table": "sklearn:iris", "target": "y"}
    assert found["a"]["table"] == str(folder / "a.csv.gz")
    assert found["other"] == {
        "table": str(folder / "b.csv"),
        "target": "x",
        "task": "regression",
    }


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ("[]", "must be a list with an entry"),
        ("- 3", "entry 1: a source, or settings"),
        ("- {table: a.csv, trials: 3}", "trials is no setting of a data set"),
        ("- a.csv\n- {table: b/a.csv}", "two data sets are called a"),
        ("- {table: a.csv, name: a/b}", "must not contain"),
    ],
)
def test_a_wrong_list_is_one_sentence(tmp_path, entries, words):
    with pytest.raises(SettingsError, match=words):
        find_data_sets([str(write(tmp_path / "list.yaml", entries))])


def test_no_table_is_said(tmp_path):
    with pytest.raises(SettingsError, match="holds no table"):
        find_data_sets([str(tmp_path)])
    with pytest.raises(SettingsError, match="no data set is given"):
        find_data_sets([])


def test_the_target_is_the_column_of_that_name_else_the_last():
    assert target_of(["target", "x"], "t") == "target"
    assert target_of(["x", "label"], "t") == "label"
    with pytest.raises(SettingsError, match="no columns"):
        target_of([], "t")


def test_cells_come_method_by_method_and_their_settings_ignore_the_environment(monkeypatch):
    monkeypatch.setenv("AUTOML_TRIALS", "99")
    tables = {"a": {"table": "a.csv", "target": "y"}, "b": {"table": "b.csv", "test": "c.csv"}}
    plan = ComparisonPlan({"m": {"trials": 4}, "n": {"folds": 1}}, tables, n_seeds=2)
    cells = list(plan.cells())
    assert cells[:3] == [Cell("m", "a", 0), Cell("n", "a", 0), Cell("m", "b", 0)]
    assert len(cells) == 8
    settings = plan.settings(Cell("m", "a", 1))
    assert (settings.trials, settings.seed, settings.test_share) == (4, 1, 0.3)
    with pytest.raises(SettingsError, match="method n: setting folds"):
        plan.settings(Cell("n", "a", 0))
    with pytest.raises(SettingsError, match="method m: setting target is missing"):
        plan.settings(Cell("m", "b", 0))


def test_what_all_methods_have_in_common_may_have_no_effect_in_some(tmp_path):
    file = tmp_path / "methods.yaml"
    file.write_text(
        "common: {trials: 5, ensemble_members: 4, fidelity: rows}\n"
        "methods:\n  single: {ensemble: none}\n  halving: {optimizer: hyperband}\n"
        "  own: {ensemble: none, ensemble_members: 3}\n"
    )
    methods, _ = read_methods(file)
    assert methods["single"] == {"trials": 5, "ensemble": "none"}
    assert methods["halving"] == {
        "trials": 5,
        "ensemble_members": 4,
        "fidelity": "rows",
        "optimizer": "hyperband",
    }
    data = {"iris": {"table": "sklearn:iris", "target": "target"}}
    plan = ComparisonPlan(methods, data)
    plan.settings(Cell("single", "iris", 0))
    with pytest.raises(SettingsError, match="method own: setting ensemble_members: 3 has no"):
        plan.settings(Cell("own", "iris", 0))
