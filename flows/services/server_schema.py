"""The empty database of a local Prefect server, remembered for the installed version of Prefect.

A new home makes a database, and Prefect's migrations take more than half of the processor time of its first start (7.4 s
with them, 3.3 s without, measured with Prefect 3.8.8). The first server that this installation starts runs them. What
they made lies beside the key of the installation from then on, and each further home begins with it. Another version of
Prefect runs its own migrations once.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
from contextlib import closing, suppress
from importlib.metadata import version
from pathlib import Path

from automl.durable import write_whole
from automl.errors import SettingsError, StorageError
from automl.installation import key_file

DATABASE = "prefect.db"
REVISIONS = "alembic_version"
"""The table in which the migrations note how far they are."""


def schema_file() -> Path | None:
    """Where the schema of the installed version of Prefect is, or will be; None if there is no place for it."""
    try:
        return key_file().parent / f"prefect-{version('prefect')}.sql"
    except SettingsError:
        return None


def ensure_database(folder: Path) -> bool:
    """Create the database in `folder` from the remembered schema; whether that was done.

    Nothing happens where a database exists or no schema is remembered.
    """
    target = folder / DATABASE
    schema = schema_file()
    if schema is None or target.exists() or not schema.exists():
        return False
    folder.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=folder, suffix=".new")
    os.close(handle)
    draft = Path(name)
    try:
        with closing(sqlite3.connect(draft)) as connection:
            connection.execute("PRAGMA synchronous=OFF")
            connection.executescript(schema.read_text(encoding="utf-8"))
        target.hardlink_to(draft)  # fails when another run was first
    except (FileExistsError, sqlite3.Error):
        return False
    finally:
        draft.unlink(missing_ok=True)
    return True


def remember_schema(folder: Path) -> None:
    """Keep the schema of a database that the installed Prefect has migrated, unless it is kept already.

    An installation whose folder cannot be written remembers nothing.
    """
    schema = schema_file()
    if schema is None or schema.exists():
        return
    with suppress(StorageError, sqlite3.Error):
        text = schema_text(folder / DATABASE)
        write_whole(schema, [text.encode()], "the schema of Prefect's database", makes_folder=True)


def schema_text(database: Path) -> str:
    """SQL that makes an empty database like this one, migrations noted.

    Raises
    ------
    sqlite3.Error
        If the file is no database of Prefect's.
    """
    with closing(sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True)) as connection:
        made = connection.execute(
            "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY rowid"
        )
        statements = [sql for (sql,) in made]
        noted = connection.execute(f"SELECT quote(version_num) FROM {REVISIONS}")  # noqa: S608
        statements += [f"INSERT INTO {REVISIONS} VALUES ({revision})" for (revision,) in noted]  # noqa: S608
    return "".join(f"{statement};\n" for statement in statements)
