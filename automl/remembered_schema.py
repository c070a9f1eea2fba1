"""The empty database of a service, remembered for the installed version of it.

A new home makes databases, and the migrations of Prefect and of MLflow take seconds of a processor each. What they made
in the first home of this installation lies beside its key from then on, and each further home begins with it. Another
version of the service runs its own migrations once.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import closing, suppress
from importlib.metadata import version
from pathlib import Path

from automl.durable import write_whole
from automl.errors import SettingsError, StorageError
from automl.installation import key_file

REVISIONS = "alembic_version"
"""The table in which the migrations note how far they are."""


def schema_file(service: str) -> Path | None:
    """Where the schema of the installed version of a service is, or will be; None if there is no place for it.

    Parameters
    ----------
    service
        Name of its distribution.
    """
    try:
        return key_file().parent / f"{service}-{version(service)}.sql"
    except SettingsError:
        return None


def make_database(service: str, file: Path) -> bool:
    """Fill an empty database from the remembered schema; whether one is remembered.

    Raises
    ------
    sqlite3.Error
        If the schema or the file is of no use.
    """
    schema = schema_file(service)
    if schema is None or not schema.exists():
        return False
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA synchronous=OFF")
        connection.executescript(schema.read_text(encoding="utf-8"))
    return True


def remember_schema(service: str, database: Path, rows_of: Iterable[str] = (REVISIONS,)) -> None:
    """Keep the schema of a database that the installed service has migrated, unless it is kept already.

    An installation whose folder cannot be written remembers nothing.

    Parameters
    ----------
    rows_of
        Tables whose rows are kept too.
    """
    schema = schema_file(service)
    if schema is None or schema.exists():
        return
    with suppress(StorageError, sqlite3.Error):
        text = schema_text(database, rows_of)
        write_whole(
            schema, [text.encode()], f"the schema of {service}'s database", makes_folder=True
        )


def schema_text(database: Path, rows_of: Iterable[str] = (REVISIONS,)) -> str:
    """SQL that makes an empty database like this one, with the rows of some tables.

    Raises
    ------
    sqlite3.Error
        If the file is no database of the service.
    """
    with closing(sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True)) as connection:
        made = connection.execute(
            "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY rowid"
        )
        statements = [sql for (sql,) in made]
        statements += [sql for table in rows_of for sql in _insertions(connection, table)]
    return "".join(f"{statement};\n" for statement in statements)


def _insertions(connection: sqlite3.Connection, table: str) -> list[str]:
    columns = [name for _, name, *_ in connection.execute(f'PRAGMA table_info("{table}")')]
    quoted = " || ', ' || ".join(f'quote("{column}")' for column in columns)
    rows = connection.execute(f'SELECT {quoted} FROM "{table}"')  # noqa: S608 names of its own tables
    return [f'INSERT INTO "{table}" VALUES ({row})' for (row,) in rows]  # noqa: S608
