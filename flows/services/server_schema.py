"""The empty database of a local Prefect server, as the first server of this installation made it.

Prefect's migrations take more than half of the processor time of its first start (7.4 s with them, 3.3 s without,
measured with Prefect 3.8.8).
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
from pathlib import Path

from automl import remembered_schema

DATABASE = "prefect.db"
SERVICE = "prefect"


def ensure_database(folder: Path) -> bool:
    """Create the database in `folder` from the remembered schema; whether that was done.

    Nothing happens where a database exists or no schema is remembered.
    """
    target = folder / DATABASE
    schema = remembered_schema.schema_file(SERVICE)
    if schema is None or target.exists() or not schema.exists():
        return False
    folder.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=folder, suffix=".new")
    os.close(handle)
    draft = Path(name)
    try:
        remembered_schema.make_database(SERVICE, draft)
        target.hardlink_to(draft)  # fails when another run was first
    except (FileExistsError, sqlite3.Error):
        return False
    finally:
        draft.unlink(missing_ok=True)
    return True


def remember_schema(folder: Path) -> None:
    """Keep the schema of a database that the installed Prefect has migrated, unless it is kept already."""
    remembered_schema.remember_schema(SERVICE, folder / DATABASE)
