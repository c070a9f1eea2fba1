"""How much of a machine's memory a table may take while it is read."""

from __future__ import annotations

import psutil

from automl.errors import DataError

MEMORY_SHARE = 0.25
"""Share of this machine's memory: a table's frame takes as much again, and more for a while."""


def most_bytes() -> int:
    """Bytes that the content of a table may take."""
    return int(MEMORY_SHARE * psutil.virtual_memory().total)


def check_size(n_bytes: int, name: str) -> None:
    """Refuse content that would not leave memory for the work on it.

    Parameters
    ----------
    n_bytes
        Of the uncompressed content, or of as much of it as was read.

    Raises
    ------
    DataError
        If it is more than `most_bytes`.
    """
    if n_bytes > most_bytes():
        raise DataError(
            f"{name} has more than {most_bytes() >> 20} MiB of content, a quarter of this machine's "
            "memory; use fewer rows or columns"
        )
