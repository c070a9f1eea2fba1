"""Files that are there whole or not at all, however a process ends."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from uuid import uuid4

from automl.errors import StorageError
from automl.privacy import FILE_MODE


def write_whole(
    path: Path, parts: Iterable[bytes], what: str, *, makes_folder: bool = False
) -> None:
    """Write or replace a file, for its user alone; durable when this returns.

    Parameters
    ----------
    what
        That the file is, for the error.
    makes_folder
        Whether its folder is made where it is missing.

    Raises
    ------
    StorageError
        If it cannot be written; what was there before stays.
    """
    draft = path.with_name(f".{path.name}-{uuid4().hex}")
    with storing(path, draft, what):
        if makes_folder:
            path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE)
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(descriptor, FILE_MODE)
            file.writelines(parts)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
        sync_folder(path.parent)


@contextlib.contextmanager
def storing(path: Path, draft: Path, what: str) -> Iterator[None]:
    """While a draft is written that becomes a file; no draft is left of what fails.

    Raises
    ------
    StorageError
        If the system refuses.
    """
    try:
        yield
    except OSError as error:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)
        raise StorageError.of(error, f"{path}: {what}") from error


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
