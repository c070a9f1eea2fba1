"""Artifacts of a home that was moved or copied; loads no mlflow.

MLflow writes down absolute places. The store of a moved home would name the folder that it came from, and artifacts
of new runs would go there.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

DATABASE, ARTIFACTS = "mlflow.db", "artifacts"
"""Names of the store and of the folder of its artifacts in a home."""
_PLACES = (
    ("experiments", "artifact_location"),
    ("runs", "artifact_uri"),
    ("logged_models", "artifact_location"),
    ("model_versions", "storage_location"),
)
_SUFFIX = f"/{ARTIFACTS}/0"
"""End of the place of MLflow's own first experiment, which every store has."""
_FIRST = "SELECT artifact_location FROM experiments WHERE experiment_id = 0"


def place_before(home: Path) -> Path | None:
    """Folder in which the home lay when its store was last opened; None if it lies there still.

    None also where there is no store, or one that somebody else made.
    """
    try:
        with closing(sqlite3.connect(f"{(home / DATABASE).as_uri()}?mode=ro", uri=True)) as store:
            (place,) = store.execute(_FIRST).fetchone() or ("",)
    except sqlite3.Error:
        return None
    if not place.startswith("/") or not place.endswith(_SUFFIX):
        return None
    before = Path(place.removesuffix(_SUFFIX))
    return None if _is_same(before, home) else before


def take_along(home: Path) -> None:
    """Make the store of a home name the artifacts that lie in it now, if the home was moved or copied.

    Parameters
    ----------
    home
        Absolute path, with a store of the installed version of MLflow.

    Raises
    ------
    sqlite3.Error
        If the store cannot be written.
    """
    before = place_before(home)
    if before is None:
        return
    old, new = before / ARTIFACTS, home / ARTIFACTS
    with closing(sqlite3.connect(home / DATABASE, timeout=10)) as store, store:
        for was, now in ((str(old), str(new)), (old.as_uri(), new.as_uri())):
            for table, column in _PLACES:
                store.execute(
                    f"UPDATE {table} SET {column} = ? || substr({column}, ?)"  # noqa: S608
                    f" WHERE substr({column}, 1, ?) = ?",
                    (now, len(was) + 1, len(was) + 1, f"{was}/"),
                )


def _is_same(before: Path, home: Path) -> bool:
    """Whether two paths lead to one folder, as two mounts of a disk do."""
    try:
        return before == home or before.samefile(home)
    except OSError:
        return False
