"""Passwords and tokens of a table's address are used to read it, and neither kept nor shown."""

from __future__ import annotations

import json
import re
from pathlib import Path

import fsspec
import pytest

from automl.addresses import (
    ENVIRONMENT,
    check_told_apart,
    entrust,
    public_address,
    public_text,
    whole_address,
)
from automl.data.readers import read_table
from automl.data.remote import fetch
from automl.errors import AutoMLError, DataError, ServiceError, SettingsError
from automl.home import Home
from automl.problem_names import problem_name
from automl.run.beginning import begin, reopen
from automl.settings import Settings


@pytest.mark.parametrize(
    ("source", "public"),
    [
        ("https://anna:s3cret@host/a/beans.csv", "https://host/a/beans.csv"),
        ("https://anna:s3c@ret@host:80/beans.csv", "https://host:80/beans.csv"),
        ("https://anna:s?c#ret@host/beans.csv", "https://host/beans.csv"),
        ("https://host/beans.csv?token=a/b@c#part", "https://host/beans.csv"),
        ("https://host?token=s3cret", "https://host"),
        ("https://host/a@b/beans.csv", "https://host/a@b/beans.csv"),
        (
            "postgresql+psycopg://mlflow:ab/c@d@db:5432/mlflow",
            "postgresql+psycopg://db:5432/mlflow",
        ),
        ("zip://beans.csv::https://a:b@host/x.zip?sig=1", "zip://beans.csv::https://host/x.zip"),
        ("simplecache::s3://key:secret@bucket/beans.csv", "simplecache::s3://bucket/beans.csv"),
        ("s3://bucket/beans.csv", "s3://bucket/beans.csv"),
        ("sklearn:iris", "sklearn:iris"),
        ("data/a#1@home?.csv", "data/a#1@home?.csv"),
    ],
)
def test_the_public_form_of_an_address(source, public):
    assert public_address(source) == public
    assert public_address(public) == public


def test_tables_that_only_a_secret_tells_apart_are_refused():
    check_told_apart(["https://host/a?t=1", "https://host/b?t=1", "https://host/a?t=1"])
    with pytest.raises(SettingsError, match="two tables have the address https://host/export and"):
        check_told_apart(["https://host/export?table=a", "https://host/export?table=b"])


def test_a_text_keeps_its_words():
    text = "404, message='Not Found', url='https://a:b@host/x.csv?token=t' (twice)"
    assert public_text(text) == "404, message='Not Found', url='https://host/x.csv' (twice)"


def test_a_token_is_no_part_of_a_problems_name():
    for table in ("https://host/export?token=s3cret", "https://u:s3cret@host/export"):
        assert problem_name({"table": table, "target": "y"}) == "export-y"
    assert problem_name({"table": "https://u:s3cret@host", "target": "y"}) == "host-y"


def test_an_address_is_entrusted_to_this_process_and_its_children(monkeypatch):
    monkeypatch.delenv(ENVIRONMENT, raising=False)
    secret = "https://u:s3cret@host/export.csv"
    assert whole_address(entrust(secret)) == secret
    assert whole_address(entrust("other.csv")) == "other.csv"
    assert "s3cret" not in entrust(secret)


@pytest.fixture
def remote(monkeypatch):
    """Tables behind addresses of a made-up host, which wants a password."""
    rows = "".join(f"{i % 7},{'ab'[i % 2]}\n" for i in range(40))

    def read(uri):
        if "s3cret" not in uri:
            raise ServiceError(f"{public_address(uri)} cannot be read: 401")
        return f"x,y\n{rows}".encode()

    monkeypatch.setattr("automl.data.readers.fetch", read)
    return "https://anna:s3cret@host/beans.csv?token=s3cret"


def files_with(secret: str, folder: Path) -> list[Path]:
    return [
        path
        for path in folder.rglob("*")
        if path.is_file() and secret.encode() in path.read_bytes()
    ]


def test_a_run_keeps_the_public_address_alone_and_is_resumed_without_the_other(remote, tmp_path):
    home = Home(tmp_path / "home")
    home.prepare()
    settings = Settings(
        table=remote, test=remote, target="y", trials=1, workers=1, families=("ridge",)
    )
    session = begin(settings, home)
    session.close()
    session.release()
    assert session.settings.table == session.settings.test == "https://host/beans.csv"
    assert files_with("s3cret", home.path) == []
    facts = session.folder.read_facts()
    assert facts["settings"]["table"] == "https://host/beans.csv"
    again = reopen(session.run_id, home)
    assert len(again.plan.table) == 40
    again.close()
    again.release()


def test_messages_about_a_table_do_not_show_its_password(monkeypatch):
    with fsspec.open("memory://s3cret@folder/t.csv", "w") as stream:
        stream.write("x,y\n1\n2,3,4\n")
    for action in (
        lambda: read_table("memory://s3cret@folder/t.csv"),
        lambda: read_table("memory://s3cret@folder/t"),
        lambda: fetch("memory://s3cret@folder/none.csv"),
        lambda: fetch("nothing://u:s3cret@folder/none.csv"),
        lambda: fetch("http://u:s3cret@127.0.0.1:9/none.csv?s3cret"),
    ):
        with pytest.raises((AutoMLError, DataError)) as caught:
            action()
        assert "s3cret" not in caught.value.message
        assert re.search(r"folder|127", caught.value.message)


def test_a_plan_of_a_comparison_has_public_addresses_and_cells_read_the_tables(tmp_path):
    from automl.comparison.folder import ComparisonFolder
    from automl.comparison.plan import Cell, ComparisonPlan

    secret, folder = "https://u:s3cret@host/beans.csv?t=s3cret", ComparisonFolder(tmp_path)
    data = {"beans": {"table": secret, "target": "y"}, "iris": {"table": "sklearn:iris"}}
    plan = ComparisonPlan({"a": {}, "b": {"folds": 3}}, data)
    folder.write_plan(plan)
    assert "s3cret" not in (tmp_path / "plan.json").read_text()
    assert [path.name for path in files_with("s3cret", tmp_path)] == ["addresses.json"]
    assert (tmp_path / "addresses.json").stat().st_mode & 0o777 == 0o600
    known = folder.read_plan()
    assert known is not None
    assert known.settings(Cell("a", "beans", 0)).table == secret
    other = {**data, "beans": {"table": "https://u:n3w@host/beans.csv", "target": "y"}}
    joined = known.joined(ComparisonPlan(plan.methods, other), str(tmp_path))
    assert joined.data_sets["beans"]["table"] == "https://u:n3w@host/beans.csv"
    folder.write_plan(joined)
    assert json.loads((tmp_path / "addresses.json").read_text())["beans"]["table"].count("n3w") == 1
    folder.forget_addresses()
    assert files_with("n3w", tmp_path) == []
    assert folder.read_plan() is not None
