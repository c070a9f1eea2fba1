"""Store of the files that arrived for a problem: a copy of each content by its digest, in the home.

``home/drops/NAME/DIGEST/FILE`` is the copy, made before anything is trained on it, so that it does not
matter what becomes of the file where it arrived. ``seen.jsonl`` beside them says which version of
which file had which content, and which contents were used or set aside; ``waiting.json`` since when files wait that are not complete. What becomes of the runs is Prefect's to know; it begins one for each content (`automl_flows.services.drop_runs`).
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

from automl.durable import storing, write_whole
from automl.errors import StorageError
from automl.home import Home
from automl.privacy import FILE_MODE, make_private_folder
from automl.problem_names import clean_name
from automl_flows.services.drop_place import Drop, DropPlace


@dataclass(frozen=True)
class Waited:
    """A file that was not complete, in seconds of the epoch.

    Parameters
    ----------
    version : that it had last
    since : when it had this version first
    first : when it was first seen
    """

    version: str
    since: float
    first: float

    def is_possible(self) -> bool:
        """Whether a file can have been seen then."""
        moments = (self.since, self.first)
        numbers = [moment for moment in moments if isinstance(moment, float)]
        return len(numbers) == len(moments) and all(0.0 < m <= time.time() for m in numbers)


class DropStore:
    """The contents that arrived for one problem.

    Parameters
    ----------
    name
        Problem.
    """

    def __init__(self, home: Home, name: str) -> None:
        self.folder = home.path / "drops" / clean_name(name)
        self._lines = self.folder / "seen.jsonl"
        self._waiting = self.folder / "waiting.json"

    def digest_of(self, place: DropPlace, drop: Drop) -> str:
        """Digest of a version of a file that was copied before; empty if it was not, or was set aside since."""
        digest = ""
        for line in self._read():
            if line.get("file") == _file(place, drop) and line["version"] == drop.version:
                digest = str(line["digest"])
            elif digest and line.get("aside") == digest:
                digest = ""
        return digest

    def n_set_aside(self, digest: str) -> int:
        """How often a content was set aside."""
        return sum(line.get("aside") == digest for line in self._read())

    def waiting(self, place: DropPlace) -> dict[str, Waited]:
        """Files of a place that were not complete when a process looked last; none if that cannot be read."""
        try:
            content = json.loads(self._waiting.read_text(encoding="utf-8"))
            if content["place"] != place.shown:
                return {}
            found = {str(name): Waited(**kept) for name, kept in content["files"].items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return {}
        return {name: kept for name, kept in found.items() if kept.is_possible()}

    def keep_waiting(self, place: DropPlace, files: Mapping[str, Waited]) -> None:
        """Remember which files are not complete, for the next process that looks.

        Raises
        ------
        StorageError
            If the home is full.
        """
        known = {name: asdict(kept) for name, kept in files.items()}
        content = json.dumps({"place": place.shown, "files": known}).encode()
        write_whole(self._waiting, [content], "which files wait", makes_folder=True)

    def take(self, place: DropPlace, drop: Drop) -> str:
        """Copy a file and remember it; returns the digest of its bytes.

        Raises
        ------
        DropChangedError
            If it changes while it is copied.
        ServiceError
            If the place is away, or the home is full.
        """
        with storing(self.folder, "the copy of what arrived"):
            make_private_folder(self.folder)
            with TemporaryDirectory(dir=self.folder, prefix=".copy-") as temporary:
                copy = Path(temporary) / PurePosixPath(drop.name).name
                digest = place.copy(drop, copy)
                _keep(Path(temporary), self.folder / digest)
        self._write({"file": _file(place, drop), "version": drop.version, "digest": digest})
        return digest

    def path(self, digest: str) -> Path | None:
        """Copy of a content; None if there is none any more."""
        try:
            return next((self.folder / digest).iterdir(), None)
        except OSError:
            return None

    def accept(self, digest: str) -> None:
        """Remember that a content was used, so that later tables hold it."""
        if digest not in self._accepted():
            self._write({"accepted": digest})

    def accepted_files(self, digest: str) -> dict[str, str]:
        """Copies of what was used so far and of one more content, in the order of their arrival.

        A file that arrived again under its name counts with the last content that was used.

        Parameters
        ----------
        digest
            Of the content that comes on top.
        """
        wanted = self._accepted() | {digest}
        files: dict[str, str] = {}
        for line in self._read():
            if line.get("digest") in wanted:
                files.pop(line["file"], None)
                files[line["file"]] = line["digest"]
        digests = dict.fromkeys([*(each for each in files.values() if each != digest), digest])
        paths = (self.path(each) for each in digests)
        return {str(path): str(path) for path in paths if path is not None}

    def tidy(self, digest: str) -> None:
        """Delete the copy of a content whose run is over, unless later tables hold it."""
        if digest not in self._accepted():
            self._delete(digest)

    def give_up(self, digest: str) -> None:
        """Remember that a content was set aside, and delete its copy; if it arrives again, it is new."""
        self._write({"aside": digest})
        self._delete(digest)

    def _delete(self, digest: str) -> None:
        shutil.rmtree(self.folder / digest, ignore_errors=True)

    def _accepted(self) -> set[str]:
        return {str(line["accepted"]) for line in self._read() if "accepted" in line}

    def _read(self) -> Iterator[dict[str, Any]]:
        """Lines, oldest first; one that a killed process left unfinished does not count."""
        try:
            text = self._lines.read_text(encoding="utf-8")
        except FileNotFoundError:
            return
        for line in text.splitlines():
            try:
                yield json.loads(line)
            except ValueError:
                continue

    def _write(self, line: dict[str, str]) -> None:
        """Append a line by one write, which other processes' lines do not mix with."""
        make_private_folder(self.folder)
        content = f"\n{json.dumps(line)}\n".encode()  # after a line that was left unfinished
        try:
            file = os.open(self._lines, os.O_WRONLY | os.O_APPEND | os.O_CREAT, FILE_MODE)
            try:
                os.write(file, content)
                os.fsync(file)
            finally:
                os.close(file)
        except OSError as error:
            raise StorageError.of(error, f"{self._lines}: what arrived") from error


def _keep(temporary: Path, folder: Path) -> None:
    """Give a folder with a copy its name, unless another process has made the same copy."""
    try:
        temporary.rename(folder)
    except OSError:
        if not folder.is_dir():
            raise
    else:
        temporary.mkdir()  # for the end of the `with`


def _file(place: DropPlace, drop: Drop) -> str:
    return f"{place.shown}/{drop.name}"
