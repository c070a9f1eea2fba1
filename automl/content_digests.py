"""By what equal contents are known: BLAKE2b of 128 bits, written as 32 hexadecimal digits."""

from __future__ import annotations

import hashlib
from pathlib import Path

_BYTES = 16
"""Two of a billion contents agree by chance with probability 1e-21."""


def new_digest(content: bytes = b"") -> hashlib.blake2b:
    """A digest to be updated with further parts of a content."""
    return hashlib.blake2b(content, digest_size=_BYTES)


def content_digest(content: bytes) -> str:
    """Digest of a content that is in memory."""
    return new_digest(content).hexdigest()


def file_digest(path: Path) -> str:
    """Digest of a file's content, read in parts.

    Raises
    ------
    OSError
        If it cannot be read.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, new_digest).hexdigest()
