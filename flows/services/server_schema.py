"""A ready-made empty database for the local Prefect server.

The migrations of a new home cost about five seconds of the first start. A dump of the empty schema
lies beside this module; it is used only by the version of Prefect that it was made with, any other
version migrates as usual. ``python -m automl_flows.services.server_schema`` writes the dump anew.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from importlib.metadata import version
from pathlib import Path

SCHEMA = Path(__file__).parent / "prefect_schema.sql"
_HEADER = "-- prefect {version}\n-- Written by `python -m automl_flows.services.server_schema`; used for a new home by exactly this version.\n"


def ensure_database(folder: Path) -> bool:
    """Create ``prefect.db`` in `folder` from the dump; whether that was done.

    Nothing happens when the database exists or the dump belongs to another version of Prefect.
    """
    target = folder / "prefect.db"
    if target.exists() or not SCHEMA.exists():
        return False
    text = SCHEMA.read_text(encoding="utf-8")
    if text.split("\n", 1)[0].split()[-1] != version("prefect"):
        return False
    folder.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=folder, suffix=".new")
    os.close(handle)
    temporary = Path(name)
    try:
        with closing(sqlite3.connect(temporary)) as connection:
            connection.execute("PRAGMA synchronous=OFF")
            connection.executescript(text)
        target.hardlink_to(temporary)  # fails when another run was first
    except FileExistsError:
        return False
    finally:
        temporary.unlink(missing_ok=True)
    return True


def write_schema(path: Path = SCHEMA) -> None:
    """Dump the schema of a database that the installed Prefect has just migrated."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "PREFECT_HOME": folder}
        command = [sys.executable, "-P", "-m", "prefect", "server", "database", "upgrade", "-y"]
        subprocess.run(command, env=environment, check=True, capture_output=True)
        with closing(sqlite3.connect(Path(folder) / "prefect.db")) as connection:
            lines = "\n".join(connection.iterdump())
    path.write_text(_HEADER.format(version=version("prefect")) + lines + "\n", encoding="utf-8")


if __name__ == "__main__":
    write_schema()
