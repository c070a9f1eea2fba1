"""Where a bundle comes from: whether its files are those of its manifest, and who signed that."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from automl.errors import DataError
from automl.inference.manifest import MANIFEST, parse_manifest
from automl.inference.signature import FIELD, proof

KIND = "bundle"
"""Kind of the records that are signed."""
CODE = "code"


def digests(folder: Path) -> dict[str, str]:
    """SHA-256 of every file below a folder, by relative path."""
    return {
        path.relative_to(folder).as_posix(): _digest(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def verify(folder: Path, expected: Mapping[str, str]) -> None:
    """Compare files with their digests.

    Raises
    ------
    DataError
        With every file that is missing, lies outside the folder or differs.
    """
    problems = []
    inside = folder.resolve()
    for name, digest in expected.items():
        path = folder / name
        if not path.is_file():
            problems.append(f"{path} is missing from the bundle")
        elif not path.resolve().is_relative_to(inside):
            problems.append(f"{path} is a link out of the bundle, to {path.resolve()}")
        elif _digest(path) != digest:
            problems.append(f"{path} differs from what was written (its SHA-256 is different)")
    if problems:
        raise DataError(problems[0], problems=problems)


def is_own(folder: Path, content: Mapping[str, Any], key: bytes | None, run: str) -> bool:
    """Whether the manifest of a bundle is signed with a key and of a run, if that is named.

    Parameters
    ----------
    content
        The manifest, as `automl.inference.manifest.parse_manifest` gives it.

    Raises
    ------
    DataError
        If it was signed with the key and changed afterwards.
    """
    verdict = proof(content, key, KIND)
    if verdict == "altered":
        raise DataError(
            f"{folder / MANIFEST} was changed since this installation signed it; restore it, or remove its "
            f"field {FIELD} to have it treated as the bundle of somebody else"
        )
    return verdict == "own" and run in ("", content["extra"].get("run"))


def has_own_code(folder: Path, key: bytes | None, run: str) -> bool:
    """Whether the code in a bundle may be run: the manifest is own, and the code is all and only what it lists.

    Files that Python has compiled are not looked at; who runs the code must not take them from there.

    Raises
    ------
    DataError, SettingsError
        As `is_own`, `verify` and `automl.inference.manifest.parse_manifest`.
    """
    content, manifest = parse_manifest(folder / MANIFEST)
    if not is_own(folder, content, key, run):
        return False
    listed = {name: d for name, d in manifest.files.items() if name.split("/")[0] == CODE}
    verify(folder, listed)
    for path in (folder / CODE).rglob("*"):
        name = path.relative_to(folder).as_posix()
        is_compiled = path.suffix == ".pyc" and path.parent.name == "__pycache__"
        if path.is_symlink() or not (path.is_dir() or is_compiled or name in listed):
            raise DataError(f"{path} is no part of the bundle: its manifest does not list it")
    return True


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
