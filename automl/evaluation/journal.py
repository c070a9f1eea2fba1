"""The append-only journal of a run: every finished trial, durable before it is reported.

A journal is a folder of segments ``segment-<n>.jsonl``, one per driving process. Each line is
eight hexadecimal digits of a checksum, a space and one JSON object. What a crash cut off at the
end of a segment was never acknowledged and is dropped at reading.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import threading
import warnings
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from automl.durable import sync_folder
from automl.errors import AutoMLWarning, ServiceError, StorageError

_NAME = re.compile(r"segment-(\d+)\.jsonl")


@dataclass(frozen=True, order=True)
class Cursor:
    """A place in a journal: everything before it has been read.

    Parameters
    ----------
    segment : number of the segment, from 1; 0 before the first
    offset : bytes into the segment
    """

    segment: int = 0
    offset: int = 0


class Journal:
    """Appends records to a segment of its own, which is made with the first record.

    Several threads may append at once; those that wait together share one ``fsync``.

    Parameters
    ----------
    folder
        Made if it does not exist.

    Raises
    ------
    ServiceError
        If the folder cannot be made or read.
    """

    def __init__(self, folder: str | Path) -> None:
        self._folder = Path(folder)
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._n_before = sum(len(part.records) for part in _parts(self._folder))
        except OSError as error:
            raise ServiceError(f"{self._folder}: the journal cannot be read: {error}") from error
        self._changed = threading.Condition()
        self._waiting: list[_Entry] = []
        self._is_writing = False
        self._is_closed = False
        self._descriptor: int | None = None
        self._size = 0
        self._n_appended = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @staticmethod
    def read(folder: str | Path) -> list[dict[str, Any]]:
        """All records of a journal; see `read`."""
        return read(folder)

    def append(self, record: Mapping[str, Any]) -> int:
        """Write a record; when this returns it survives a crash and a power loss.

        Parameters
        ----------
        record
            JSON data; numpy numbers and arrays are converted.

        Returns
        -------
            Position of the record in `read`, from 0, while no other process appends.

        Raises
        ------
        ServiceError
            If it is closed.
        StorageError
            If it cannot be written, for instance to a full disk; earlier records stay whole.
        """
        entry = _Entry(_line(record))
        with self._changed:
            if self._is_closed:
                raise ServiceError(f"{self._folder}: the journal is closed")
            self._waiting.append(entry)
            while self._is_writing and not entry.is_done:
                self._changed.wait()
            if not entry.is_done:
                self._is_writing = True
                entries, self._waiting = self._waiting, []
        if not entry.is_done:
            self._lead(entries)
        if entry.error is not None:
            raise StorageError.of(entry.error, f"{self._folder}: the journal") from entry.error
        return entry.position

    def close(self) -> None:
        """Write what still waits and close the segment; nothing can be appended afterwards."""
        with self._changed:
            self._is_closed = True
            while self._is_writing:
                self._changed.wait()
            self._is_writing = True
            entries, self._waiting = self._waiting, []
        self._lead(entries)
        self._leave_segment()

    def _lead(self, entries: list[_Entry]) -> None:
        """Write the lines of all that wait, then wake them."""
        failure: OSError | None = None
        is_interrupted = True
        try:
            if entries:
                self._commit(b"".join(entry.line for entry in entries))
            is_interrupted = False
        except OSError as error:
            failure, is_interrupted = error, False
        finally:
            with self._changed:
                if is_interrupted:  # by a signal in this thread: another one shall write them
                    self._waiting = entries + self._waiting
                else:
                    self._acknowledge(entries, failure)
                self._is_writing = False
                self._changed.notify_all()

    def _acknowledge(self, entries: list[_Entry], failure: OSError | None) -> None:
        for entry in entries:
            entry.error, entry.is_done = failure, True
            if failure is None:
                entry.position = self._n_before + self._n_appended
                self._n_appended += 1

    def _commit(self, data: bytes) -> None:
        if self._descriptor is None:
            self._descriptor, self._size = _new_segment(self._folder), 0
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
            os.fdatasync(self._descriptor)
        except BaseException:
            # what was committed stays; the next append starts a new segment
            with contextlib.suppress(OSError):
                os.ftruncate(self._descriptor, self._size)
            self._leave_segment()
            raise
        self._size += len(data)

    def _leave_segment(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def read(folder: str | Path) -> list[dict[str, Any]]:
    """All records of a journal, segment after segment.

    Warns with AutoMLWarning about a torn end of a segment, which is dropped, and about damaged
    lines before the last good one, which are skipped.
    """
    records: list[dict[str, Any]] = []
    for part in _parts(Path(folder)):
        if part.damaged:
            _warn(
                f"{part.path}: line {part.damaged[0]} is damaged; "
                f"{len(part.damaged)} such lines were skipped"
            )
        if part.is_torn:
            _warn(f"{part.path}: the end was cut off and is dropped")
        records.extend(part.records)
    return records


def follow(
    folder: str | Path, cursor: Cursor | None = None
) -> Iterator[tuple[Cursor, dict[str, Any]]]:
    """New whole records after a cursor, each with the cursor to continue from.

    Costs one directory listing and reading the new bytes; never waits, warns of nothing.

    Parameters
    ----------
    folder
        Of the journal; it need not exist yet.
    cursor
        Where an earlier call stopped; None for the start.
    """
    cursor = cursor or Cursor()
    for number, path in _segments(Path(folder)):
        if number < cursor.segment:
            continue
        offset = cursor.offset if number == cursor.segment else 0
        with path.open("rb") as file:
            file.seek(offset)
            for line in file:
                if not line.endswith(b"\n"):
                    break
                offset += len(line)
                record = _parse(line[:-1])
                if record is not None:
                    yield Cursor(number, offset), record


@dataclass(frozen=True)
class _Part:
    """Content of one segment; `damaged` are line numbers before the last good line."""

    path: Path
    records: list[dict[str, Any]]
    damaged: list[int]
    is_torn: bool


def _parts(folder: Path) -> Iterator[_Part]:
    for _, path in _segments(folder):
        *lines, rest = path.read_bytes().split(b"\n")  # what follows the last newline is torn
        parsed = [_parse(line) for line in lines]
        last = max((i for i, record in enumerate(parsed) if record is not None), default=-1)
        yield _Part(
            path,
            [record for record in parsed if record is not None],
            [i + 1 for i, record in enumerate(parsed[: last + 1]) if record is None],
            is_torn=last + 1 < len(parsed) or bool(rest),
        )


@dataclass
class _Entry:
    line: bytes
    is_done: bool = False
    error: OSError | None = None
    position: int = -1


def _line(record: Mapping[str, Any]) -> bytes:
    body = json.dumps(dict(record), default=plain, separators=(",", ":")).encode()
    return b"%08x %s\n" % (zlib.crc32(body), body)


def plain(value: object) -> Any:
    """JSON form of numpy values and mappings, for `json.dumps`; TypeError for others."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"a journal record cannot hold {type(value).__name__}")


def _parse(line: bytes) -> dict[str, Any] | None:
    """Record of a line without its newline; None if it is damaged."""
    checksum, _, body = line.partition(b" ")
    if checksum != b"%08x" % zlib.crc32(body):
        return None
    try:
        record: dict[str, Any] = json.loads(body)
    except ValueError:
        return None
    return record


def _segments(folder: Path) -> list[tuple[int, Path]]:
    """Segments by number."""
    if not folder.is_dir():
        return []
    named = ((_NAME.fullmatch(path.name), path) for path in folder.iterdir())
    return sorted((int(match[1]), path) for match, path in named if match)


def _new_segment(folder: Path) -> int:
    """Descriptor of a segment that no other process has."""
    number = max((number for number, _ in _segments(folder)), default=0)
    while True:
        number += 1
        path = folder / f"segment-{number}.jsonl"
        with contextlib.suppress(FileExistsError):
            descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND, 0o644)
            sync_folder(folder)
            return descriptor


def _warn(message: str) -> None:
    warnings.warn(message, AutoMLWarning, stacklevel=3)
