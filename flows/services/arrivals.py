"""New files in a folder: when a file is complete, and what became of each content.

`FolderWatch` looks at a folder; `Arrivals` remembers, per problem, every content that was seen, in
one small file of the home folder that all processes share. So each content is used once, also
after a restart and by two watchers of one folder.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from fnmatch import fnmatch
from pathlib import Path
from typing import Literal

from filelock import FileLock

from automl.data.readers import FOLDER_EXTENSIONS
from automl.errors import AutoMLError, DataError, SettingsError
from automl.home import Home
from automl.problem_names import clean_name

MOST_ATTEMPTS = 2
"""At a file whose run failed: twice, since a store or a disk may have been away."""
MOST_INTERRUPTIONS = 5
"""Of a file's run by a stop or a restart, which is not its fault, but may be if it recurs."""
RETRY_SECONDS = 30.0
"""Until a failed file is tried again: what was away may be back."""
KEPT_ENTRIES = 5000
"""The newest of the list, which is written whole with every change."""
_CHUNK = 1 << 20

_PARTIAL_PREFIXES = (".", "~", "_tmp")
_PARTIAL_SUFFIXES = (
    ".part", ".partial", ".filepart", ".crdownload", ".download", ".tmp", ".temp", ".swp", "~",
)  # fmt: skip

Status = Literal["running", "done", "unchanged", "refused", "failed", "interrupted"]


@dataclass(frozen=True)
class Arrival:
    """What became of one content.

    Parameters
    ----------
    digest : of the file's bytes
    file : where it was seen
    status
        `running`; `done`, `unchanged` (trained on before), `refused` (a bad file, never tried
        again), `failed` (tried again once), `interrupted` (the service was stopped; tried again).
    attempts : runs begun, interrupted ones left out
    flow_run : Prefect's id of the last one
    reason : one sentence
    at : unix seconds of the last change
    """

    digest: str
    file: str
    status: Status
    attempts: int = 0
    interruptions: int = 0
    flow_run: str = ""
    run_id: str = ""
    reason: str = ""
    at: float = 0.0

    @property
    def may_run(self) -> bool:
        """Whether another run may be begun for it."""
        if self.status == "failed":
            return self.attempts < MOST_ATTEMPTS and time.time() - self.at >= RETRY_SECONDS
        return self.status == "interrupted" and self.interruptions < MOST_INTERRUPTIONS


def ending_of(error: BaseException) -> tuple[Status, str]:
    """Status and reason of a run that ended by an error; a bad file is not tried again."""
    if isinstance(error, DataError):
        return "refused", error.message
    if isinstance(error, AutoMLError):
        return "failed", error.message
    if isinstance(error, Exception):
        return "failed", f"{type(error).__name__}: {error}"
    return "interrupted", "the run was stopped"


class Arrivals:
    """The contents seen for one problem; every change is made under a lock and at once on disk.

    Parameters
    ----------
    name
        Problem.
    """

    def __init__(self, home: Home, name: str) -> None:
        folder = home.path / "arrivals"
        folder.mkdir(parents=True, exist_ok=True)
        self.file = folder / f"{clean_name(name)}.json"
        self._lock = FileLock(self.file.with_suffix(".lock"))

    def entries(self) -> dict[str, Arrival]:
        """Every content by digest, oldest first.

        Raises
        ------
        SettingsError
            If the file is not one of ours.
        """
        try:
            content = json.loads(self.file.read_text(encoding="utf-8"))
            return {entry["digest"]: Arrival(**entry) for entry in content}
        except FileNotFoundError:
            return {}
        except (ValueError, TypeError, KeyError):
            raise SettingsError(
                f"{self.file} is not a list of arrivals; remove it to see every file as new"
            ) from None

    def claim(self, digest: str, file: Path) -> bool:
        """Whether the caller is to begin a run for this content; nobody else is told so then."""
        with self._changing() as entries:
            arrival = entries.get(digest)
            if arrival is not None and not arrival.may_run:
                return False
            arrival = arrival or Arrival(digest, str(file), "running")
            entries[digest] = replace(
                arrival,
                file=str(file),
                status="running",
                attempts=arrival.attempts + 1,
                flow_run="",
            )
        return True

    def begun(self, digest: str, flow_run: str) -> None:
        """Remember the flow run of a claimed content, unless it has ended already."""
        with self._changing() as entries:
            if entries[digest].status == "running":
                entries[digest] = replace(entries[digest], flow_run=flow_run)

    def end(self, digest: str, status: Status, reason: str, *, run_id: str = "") -> None:
        """Remember how a run ended."""
        with self._changing() as entries:
            arrival = entries.get(digest) or Arrival(digest, "", "running", attempts=1)
            if status == arrival.status == "interrupted":
                return  # noticed by the run and by the service
            stopped = int(status == "interrupted")
            entries[digest] = replace(
                arrival,
                status=status,
                reason=reason,
                run_id=run_id,
                attempts=arrival.attempts - stopped,
                interruptions=arrival.interruptions + stopped,
            )

    def recover(self) -> None:
        """Take runs that a service before this one left behind as interrupted."""
        for digest, entry in self.entries().items():
            if entry.status == "running":
                self.end(digest, "interrupted", "the service was stopped")

    @contextmanager
    def _changing(self) -> Iterator[dict[str, Arrival]]:
        with self._lock:
            entries = self.entries()
            before = dict(entries)
            yield entries
            changed = {digest for digest in entries if entries[digest] != before.get(digest)}
            if not changed:
                return
            kept = [
                asdict(replace(entry, at=time.time()) if digest in changed else entry)
                for digest, entry in entries.items()
            ]
            temporary = self.file.with_suffix(".tmp")
            temporary.write_text(json.dumps(kept[-KEPT_ENTRIES:], indent=1), encoding="utf-8")
            temporary.replace(self.file)


class FolderWatch:
    """Files of a folder that are complete: unchanged in size and time for a while.

    Parameters
    ----------
    pattern : such as ``*.csv``; None takes every kind of table
    settle_seconds : how long a file must not change
    clock : monotonic seconds
    """

    def __init__(
        self,
        folder: Path,
        *,
        pattern: str | None = None,
        settle_seconds: float = 5.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.folder = folder
        self._pattern = pattern
        self._settle = settle_seconds
        self._clock = clock
        self._since: dict[Path, tuple[tuple[int, int, int], float]] = {}
        self._digests: dict[Path, tuple[tuple[int, int, int], str]] = {}

    def complete_files(self) -> list[tuple[Path, str]]:
        """Complete files with the digest of their bytes, oldest first.

        A folder or file that is away just now is no error: the next look may find it.
        """
        states = dict(sorted(self._states().items(), key=lambda item: (item[1][1], item[0])))
        now = self._clock()
        self._since = {
            path: self._since[path] if self._is_same(path, state) else (state, now)
            for path, state in states.items()
        }
        found = []
        for path, (state, since) in self._since.items():
            if now - since >= self._settle:
                digest = self._digest(path, state)
                if digest:
                    found.append((path, digest))
        self._digests = {path: known for path, known in self._digests.items() if path in states}
        return found

    def accepts(self, name: str) -> bool:
        """Whether a file of this name is a table and not a part of one."""
        lower = name.lower()
        if lower.startswith(_PARTIAL_PREFIXES) or lower.endswith(_PARTIAL_SUFFIXES):
            return False
        if self._pattern is not None:
            return fnmatch(name, self._pattern)
        return lower.removesuffix(".gz").endswith(FOLDER_EXTENSIONS)

    def _is_same(self, path: Path, state: tuple[int, int, int]) -> bool:
        return path in self._since and self._since[path][0] == state

    def _states(self) -> dict[Path, tuple[int, int, int]]:
        """Size, time of change and identity of each file of interest."""
        states = {}
        try:
            paths = [path for path in self.folder.iterdir() if self.accepts(path.name)]
        except OSError:
            return {}
        for path in paths:
            try:
                state = path.stat()
            except OSError:
                continue
            if path.is_file():
                states[path] = (state.st_size, state.st_mtime_ns, state.st_ino)
        return states

    def _digest(self, path: Path, state: tuple[int, int, int]) -> str:
        digest = self._digests.get(path)
        if digest is None or digest[0] != state:
            self._digests[path] = digest = (state, file_digest(path))
        return digest[1]


def file_digest(path: Path) -> str:
    """32 hexadecimal digits over a file's bytes; empty if it cannot be read."""
    digest = hashlib.blake2b(digest_size=16)
    try:
        with path.open("rb") as stream:
            while chunk := stream.read(_CHUNK):
                digest.update(chunk)
    except OSError:
        return ""
    return digest.hexdigest()
