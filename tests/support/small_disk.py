"""A file system that is soon full."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    """A new folder with a file system of its own; skips the test where none can be mounted.

    Parameters
    ----------
    size
        Such as ``3m``.
    """
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    if (
        not shutil.which("mount")
        or subprocess.run(mount, capture_output=True, check=False).returncode
    ):
        pytest.skip("a file system can be mounted by root alone")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def make_room(folder: Path) -> None:
    """Let a small disk hold more than any test writes."""
    subprocess.run(["mount", "-o", "remount,size=300m", str(folder)], check=True)
