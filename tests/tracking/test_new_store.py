"""The database of a new home: MLflow's migrations run in the first home of an installation alone."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from automl.installation import KEY_VARIABLE
from automl.remembered_schema import schema_file, schema_text
from automl.tracking.store import open_store, store_address

pytestmark = [
    pytest.mark.integration,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of SQLAlchemy, through MLflow
]


@pytest.fixture
def schema(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a new installation will remember MLflow's schema."""
    monkeypatch.setenv(KEY_VARIABLE, str(tmp_path / "installation" / "key"))
    file = schema_file("mlflow")
    assert file is not None
    return file


@pytest.fixture
def migrated(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """A list that grows by one whenever MLflow makes a database."""
    from mlflow.store.db import utils

    makes, calls = utils._initialize_tables, []

    def counted(engine: Any, *given: Any, **named: Any) -> None:
        calls.append(engine)
        makes(engine, *given, **named)

    monkeypatch.setattr("mlflow.store.db.utils._initialize_tables", counted)
    return calls


def content(home: Path) -> str:
    """Tables of a store and what is in them, but for the experiments, which name their home."""
    database = home / "mlflow.db"
    with closing(sqlite3.connect(database)) as connection:
        found = connection.execute("select name from sqlite_master where type = 'table'")
        names = sorted({name for (name,) in found} - {"experiments", "sqlite_sequence"})
    return schema_text(database, names)


def test_every_further_home_begins_with_the_database_that_the_first_one_made(
    tmp_path: Path, schema: Path, migrated: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("first", "second"):
        monkeypatch.delenv("_MLFLOW_SERVER_ARTIFACT_ROOT", raising=False)  # of a process for each
        client = open_store(store_address(tmp_path / name))
        assert client.create_experiment("beans")
        (default,) = client.search_experiments(filter_string="name = 'Default'")
        assert default.artifact_location.startswith(str(tmp_path / name))
        assert len(migrated) == 1
        assert schema.exists()
    assert content(tmp_path / "second") == content(tmp_path / "first")
    assert 'INSERT INTO "alembic_version"' in content(tmp_path / "second")
    assert (tmp_path / "second" / "mlflow.db").stat().st_mode & 0o777 == 0o600


def test_a_remembered_schema_that_is_damaged_is_not_used(
    tmp_path: Path, schema: Path, migrated: list[Any]
) -> None:
    schema.parent.mkdir()
    schema.write_text("CREATE TABLE experiments (experiment_id INTEGER);\nCREATE half")
    client = open_store(store_address(tmp_path / "home"))
    assert client.create_experiment("beans")
    assert len(migrated) == 1
    assert (tmp_path / "home" / "mlflow.db").stat().st_mode & 0o777 == 0o600
