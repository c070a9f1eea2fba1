"""Folders that say themselves what they hold."""

from __future__ import annotations

import json

import pytest

from automl.data.collections import find_data_sets
from automl.errors import SettingsError


@pytest.fixture
def folder(tmp_path):
    for name in ("a.csv", "b.csv", "unlisted.csv"):
        (tmp_path / name).write_text("x,y\n1,2\n", encoding="utf-8")
    return tmp_path


def test_a_catalog_names_tables_targets_and_tasks(folder):
    text = "name,rows,file,target,task\nfirst,1,a.csv,x,regression\n,1,b.csv,,\n"
    (folder / "catalog.csv").write_text(text, encoding="utf-8")
    found = find_data_sets([str(folder)], target="y")
    assert found == {
        "first": {"table": str(folder / "a.csv"), "target": "x", "task": "regression"},
        "b": {"table": str(folder / "b.csv"), "target": "y"},
    }


def test_a_schema_says_what_columns_are(folder):
    (folder / "catalog.csv").write_text("file\na.csv\nb.csv\n", encoding="utf-8")
    kinds = {"x": "nominal", "when": "datetime", "note": "text"}
    schema = {"a": {"target": "y", "columns": kinds}}
    (folder / "schema.json").write_text(json.dumps(schema), encoding="utf-8")
    found = find_data_sets([str(folder)])
    assert found["a"]["roles"] == {"x": "nominal", "when": "date"}
    assert "roles" not in found["b"]


def test_a_schema_may_list_the_target_too(folder):
    (folder / "catalog.csv").write_text("file,target\na.csv,y\n", encoding="utf-8")
    schema = {"a": {"columns": {"x": "numeric", "y": "nominal"}}}
    (folder / "schema.json").write_text(json.dumps(schema), encoding="utf-8")
    assert find_data_sets([str(folder)])["a"]["roles"] == {"x": "numeric"}


@pytest.mark.parametrize(
    ("catalog", "schema", "words"),
    [
        ("name\na\n", None, "must have a column called file"),
        ("file\n", None, "must have a column called file"),
        (
            "file,name\na.csv,a/b\n",
            None,
            r"catalog\.csv, line 2: data set .* a name must not contain '/'",
        ),
        ("name,file\na,a.csv\nb\n", None, r"catalog\.csv, line 3: there is no file"),
        ("file,name\na.csv,a\n,b\n", None, r"catalog\.csv, line 3: there is no file"),
        ("file\na.csv\n", "[1]", "must hold columns and their kinds"),
        ("file\na.csv\n", '{"a": {"columns": 3}}', "must hold columns and their kinds"),
    ],
)
def test_a_wrong_catalog_or_schema_is_one_sentence(folder, catalog, schema, words):
    (folder / "catalog.csv").write_text(catalog, encoding="utf-8")
    if schema is not None:
        (folder / "schema.json").write_text(schema, encoding="utf-8")
    with pytest.raises(SettingsError, match=words):
        find_data_sets([str(folder)])
