"""Files that are there whole or not at all, however a process ends."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from automl.errors import StorageError
from automl.privacy import FILE_MODE

if TYPE_CHECKING:
    from numpy.typing import NDArray


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
    with storing(path, what, draft):
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
def storing(path: Path, what: str, draft: Path | None = None) -> Iterator[None]:
    """While a file or folder is written; no draft, which becomes the file, is left of what fails.

    Raises
    ------
    StorageError
        If the system refuses.
    """
    try:
        yield
    except OSError as error:
        with contextlib.suppress(OSError):
            if draft is not None:
                draft.unlink(missing_ok=True)
        raise StorageError.of(error, f"{path}: {what}") from error


@dataclass(frozen=True)
class _Written:
    """A file of which numpy sees no more than this, so that it does not write past Python."""

    write: Callable[[bytes], int]


def save_array(path: Path, array: NDArray[Any]) -> None:
    """Write or replace what `numpy.save` writes, but name a full disk as the reason.

    A memory map of the file that was there before stays valid: the name moves to a new file. numpy's own
    writing (``tofile``) counts what was written and forgets why there is not more.

    Raises
    ------
    OSError
        With its number and the file's name; what was there before stays.
    """
    import numpy as np  # every command imports this module, and --help needs no arrays

    draft = path.with_name(f".{path.name}-{uuid4().hex}")
    try:
        with draft.open("wb") as file:
            np.save(_Written(file.write), array, allow_pickle=False)
        draft.replace(path)
    except OSError as error:
        error.filename = str(path)
        raise
    finally:
        draft.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
