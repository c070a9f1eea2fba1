"""The content of a home is for its user alone: tables, models and trials.

Folders have mode 0700 and files 0600, whatever the umask. A SQLite database gives its journal files its own mode.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from fnmatch import fnmatch
from pathlib import Path

from automl.listing import first_few

FOLDER_MODE = 0o700
"""Read, written and entered by the user alone."""
FILE_MODE = 0o600
"""Read and written by the user alone."""
UMASK = 0o077
"""Umask of processes of others that write into a home."""
_FOLDERS = ("artifacts", "experience", "prefect", "runs")
_FILES = (
    "mlflow.db",
    "mlflow.db-*",
    "prefect/prefect.db",
    "prefect/prefect.db-*",
    "experience/*.gz",
)
_OF_A_HOME = (
    *_FOLDERS, "aliases", "arrivals", "demo", "downloads", "drops", "learned", "locks", "logs", "mlflow.db*",
    "mlflow-server.log", "services.*", "tracking-*.lock",
)  # fmt: skip


def make_private_folder(path: Path) -> None:
    """Make a folder, and those above it that are missing, for their user alone; what is there stays as it is.

    Raises
    ------
    OSError
        If it cannot be made.
    """
    for folder in reversed([each for each in (path, *path.parents) if not each.exists()]):
        with suppress(FileExistsError):
            folder.mkdir()
            folder.chmod(FOLDER_MODE)


def make_private_file(path: Path) -> None:
    """Make an empty file for its user alone; one that is there gets this mode.

    Raises
    ------
    OSError
        If it cannot be made.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, FILE_MODE)
    try:
        os.fchmod(descriptor, FILE_MODE)
    finally:
        os.close(descriptor)


def tighten(home: Path) -> str:
    """Close a home, and what matters in it, to other users.

    A folder that holds other things besides, such as a project, stays open itself.

    Returns
    -------
        One sentence about what was open before, or could not be closed; empty if all was closed.
    """
    opened = [path for path in _parts(home) if _is_open(path)]
    failed = [path for path in opened if not _close(path)]
    if failed:
        return (
            f"home folder {home} is open to other users, and {failed[0]} cannot be closed to them: "
            "it belongs to somebody else"
        )
    if opened:
        names = ["it" if path == home else path.relative_to(home) for path in opened]
        return (
            f"home folder {home} was open to other users ({first_few(names, 1)}); it is closed to them now, "
            "since it holds tables, models and trials"
        )
    return ""


def _parts(home: Path) -> Iterator[Path]:
    """The home and what is there of what matters in it; not the home where it holds other things as well."""
    names = {path.name for path in home.iterdir()}
    if all(any(fnmatch(name, own) for own in _OF_A_HOME) for name in names):
        yield home
    yield from (home / name for name in _FOLDERS)
    for pattern in _FILES:
        yield from home.glob(pattern)


def _is_open(path: Path) -> bool:
    """Whether others may do anything with a folder or file; a link is not looked at."""
    with suppress(OSError):
        mode = path.lstat().st_mode
        return not stat.S_ISLNK(mode) and bool(mode & UMASK)
    return False


def _close(path: Path) -> bool:
    with suppress(OSError):
        path.chmod(stat.S_IMODE(path.stat().st_mode) & ~UMASK)
        return True
    return False
