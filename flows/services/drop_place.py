"""A folder, or a prefix of an object store, into which others put files: the same code for both, by fsspec."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath
from typing import Any

from automl.addresses import public_address
from automl.content_digests import new_digest
from automl.data.memory_limit import most_bytes
from automl.data.remote import reaching
from automl.data.sources import is_table_name
from automl.errors import DataError, ServiceError

FAILED = "failed"
REASON = ".reason.txt"
DONE = ".done"
"""After the name of a file, for its marker; no file of this ending is a table."""
CHUNK = 1 << 20
"""Bytes that are copied at once."""
_ETAGS = ("ETag", "etag", "md5Hash")
"""What object stores call that which changes with an object's content."""
_TIMES = ("mtime", "LastModified", "last_modified", "updated", "created")
"""What file systems call the time of a file; they may tell it by other types in lists than for one file."""
_PARTIAL_PREFIXES = (".", "~", "_tmp")
_PARTIAL_SUFFIXES = (
    ".part", ".partial", ".filepart", ".crdownload", ".download", ".tmp", ".temp", ".swp", "~", DONE,
)  # fmt: skip


class DropChangedError(Exception):
    """The file is no longer what it was when it was listed: gone, or another version."""


@dataclass(frozen=True)
class Drop:
    """A file of a place, as a listing shows it.

    Parameters
    ----------
    version : equal until the file is written again
    is_plain : whether it is a file of its own, no link
    written : unix seconds; 0 where nothing says it
    """

    name: str
    version: str
    n_bytes: int
    is_plain: bool = True
    written: float = 0.0

    @property
    def fault(self) -> str:
        """Why it must not be read at all, after "it"; empty if it may be."""
        if not self.is_plain:
            return "is a link; the file itself is expected"
        if ".." in PurePosixPath(self.name).parts or "/" in self.name:
            return "has a name that leads out of its folder"
        if self.n_bytes > most_bytes():
            return (
                f"has {self.n_bytes >> 20} MiB; at most {most_bytes() >> 20} MiB, a quarter of this "
                "machine's memory, are read"
            )
        return ""


class DropPlace:
    """Where files arrive.

    Parameters
    ----------
    address
        Folder, or what fsspec reads, such as ``s3://bucket/inbox``.
    pattern : such as ``*.csv``; None takes every kind of table
    """

    def __init__(self, address: str, *, pattern: str | None = None) -> None:
        self.address = address.rstrip("/")
        self._pattern = pattern

    @property
    def shown(self) -> str:
        """The address without what is secret."""
        return public_address(self.address)

    def check(self) -> None:
        """Look whether the place is there.

        Raises
        ------
        SettingsError, DataError, ServiceError
            If it cannot be listed; a prefix of an object store may be empty.
        """
        with self._system() as (system, root):
            if "file" in _protocols(system) and not Path(root).is_dir():
                raise DataError(f"there is no folder {self.shown}")
            system.exists(root)

    def listing(self) -> tuple[dict[str, Drop], dict[str, float]]:
        """Tables that lie there, oldest first, and when each of all files was written, in unix seconds by its name.

        Raises
        ------
        ServiceError
            If the place is away.
        """
        with self._system() as (system, root):
            try:
                system.invalidate_cache(root)
                infos = [info for info in system.ls(root, detail=True) if _is_file(info)]
            except FileNotFoundError:
                if "file" in _protocols(system):  # unlike a prefix that is empty, it may come back
                    raise ServiceError(f"there is no folder {self.shown}") from None
                infos = []
        named = {_name(info, root): info for info in sorted(infos, key=_age)}
        drops = {name: _drop(name, info) for name, info in named.items() if self.accepts(name)}
        return drops, {name: _age(info)[0] for name, info in named.items()}

    def find(self, name: str) -> Drop | None:
        """The file of this name; None if there is none.

        Raises
        ------
        ServiceError
            If the place is away.
        """
        with self._system() as (system, root):
            try:
                return _drop(name, system.info(f"{root}/{name}"))
            except FileNotFoundError:
                return None

    def accepts(self, name: str) -> bool:
        """Whether a file of this name is a table and not a part of one."""
        lower = PurePosixPath(name).name.lower()
        if lower.startswith(_PARTIAL_PREFIXES) or lower.endswith(_PARTIAL_SUFFIXES):
            return False
        return is_table_name(lower) if self._pattern is None else fnmatch(name, self._pattern)

    def copy(self, drop: Drop, target: Path) -> str:
        """Copy a file to this machine; returns the digest of its bytes, 32 hexadecimal digits.

        Raises
        ------
        DropChangedError
            If it is gone, or not the version that was listed, before or after the copying.
        ServiceError
            If the place is away.
        """
        digest, n_left = new_digest(), drop.n_bytes
        with self._system() as (system, root):
            path = f"{root}/{drop.name}"
            try:
                self._check_version(system, path, drop)
                with system.open(path, "rb") as stream, target.open("wb") as copy:
                    while n_left >= 0 and (chunk := stream.read(CHUNK)):
                        n_left -= len(chunk)
                        digest.update(chunk)
                        copy.write(chunk)
                self._check_version(system, path, drop)
            except FileNotFoundError:
                raise DropChangedError(drop.name) from None
        return digest.hexdigest()

    def set_aside(self, name: str, reason: str, *, version: str | None, copy: Path | None) -> str:
        """Move a file into the folder ``failed``, its reason beside it; returns its name there.

        A file that an interrupted call has moved stays where it is.

        Parameters
        ----------
        version
            That the reason is about; a newer one stays where it is. None: no file is left.
        copy
            Of the content, for a file that is no longer there.

        Raises
        ------
        ServiceError
            If the place is away, or does not let this user write.
        """
        with self._system() as (system, root):
            system.makedirs(f"{root}/{FAILED}", exist_ok=True)
            text = f"{reason}\n".encode()
            path, folder = f"{root}/{name}", f"{root}/{FAILED}"
            own, is_moved = _name_aside(system, path, folder, text, copy)
            aside = f"{FAILED}/{own}"
            if not is_moved:
                system.pipe_file(f"{root}/{aside}{REASON}", text)
                is_moved = version is not None and _version_of(system, path) == version
                if is_moved:
                    _move(system, path, f"{root}/{aside}")
                elif copy is not None and copy.exists():
                    system.put_file(str(copy), f"{root}/{aside}")
            if is_moved and system.exists(path + DONE):
                system.rm_file(path + DONE)
        return aside

    @contextmanager
    def _system(self) -> Iterator[tuple[Any, str]]:
        address = self.address if "://" in self.address else f"file://{self.address}"
        try:
            with reaching(address) as (system, root):
                yield system, root.rstrip("/")
        except OSError as error:
            raise ServiceError(f"{self.shown} cannot be used: {error}") from None

    def _check_version(self, system: Any, path: str, drop: Drop) -> None:
        if _version_of(system, path) != drop.version:
            raise DropChangedError(drop.name)


def _version_of(system: Any, path: str) -> str | None:
    system.invalidate_cache(path.rpartition("/")[0])
    try:
        return _version(system.info(path))
    except FileNotFoundError:
        return None


def _version(info: dict[str, Any]) -> str:
    etag = next((str(info[key]).strip('"') for key in _ETAGS if info.get(key)), "")
    marks = [etag] if etag else [*map(str, _moments(info)), str(info.get("ino", ""))]
    return " ".join([*marks, str(info.get("size"))])


def _moments(info: dict[str, Any]) -> list[float]:
    """Timestamps of a file, in seconds."""
    told = (info.get(key) for key in _TIMES)
    times = (each.timestamp() if isinstance(each, datetime) else each for each in told)
    return [float(each) for each in times if isinstance(each, int | float)]


def _drop(name: str, info: dict[str, Any]) -> Drop:
    return Drop(
        name,
        _version(info),
        int(info.get("size") or 0),
        is_plain=not info.get("islink", False),
        written=_age(info)[0],
    )


def _is_file(info: dict[str, Any]) -> bool:
    return info["type"] == "file" or bool(info.get("islink"))


def _name(info: dict[str, Any], root: str) -> str:
    return str(info["name"]).removeprefix(root + "/")


def _age(info: dict[str, Any]) -> tuple[float, str]:
    """When a file was written, by whatever the file system says of it, and its name."""
    return next(iter(_moments(info)), 0.0), str(info["name"])


def _name_aside(
    system: Any, path: str, folder: str, reason: bytes, copy: Path | None
) -> tuple[str, bool]:
    """A name in a folder that no other file and no other reason has, and whether the file was moved there.

    One whose reason alone is there is free for the same reason: its file was not moved any more. A file that is
    gone from its path, and lies there for this reason, as large as its copy, was moved by a call that was interrupted.
    """
    name, number = PurePosixPath(path), 1
    free, is_gone = name.name, not system.exists(path)
    while True:
        target = f"{folder}/{free}"
        is_there, is_other = system.exists(target), _is_other(system, target + REASON, reason)
        if not (is_there or is_other):
            return free, False
        if is_gone and is_there and not is_other and _is_as_large(system, target, copy):
            return free, True
        number += 1
        free = f"{name.stem}-{number}{name.suffix}"


def _is_as_large(system: Any, path: str, copy: Path | None) -> bool:
    return copy is None or not copy.exists() or bool(system.size(path) == copy.stat().st_size)


def _is_other(system: Any, path: str, reason: bytes) -> bool:
    return system.exists(path) and bool(system.cat_file(path) != reason)


def _move(system: Any, path: str, target: str) -> None:
    """Move this very file; other systems than the local one would take its name for a pattern."""
    from fsspec.implementations.local import LocalFileSystem  # slow

    if isinstance(system, LocalFileSystem):
        system.mv(path, target)  # at once, so that no kill leaves it in both places
    else:
        system.cp_file(path, target)
        system.rm_file(path)


def _protocols(system: Any) -> tuple[str, ...]:
    return (system.protocol,) if isinstance(system.protocol, str) else tuple(system.protocol)
