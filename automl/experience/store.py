"""The experience of one installation: a folder with one file for each run.

A file is written under another name and renamed, so that it is there whole or not at all, and runs
that end at the same time never meet. Nothing that is found in the folder is an error: what cannot
be read is left out, with a note.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from automl.content_digests import content_digest
from automl.durable import write_whole
from automl.errors import ServiceError, SettingsError
from automl.experience.data_set import Experience
from automl.experience.entries import EntryError, pack, unpack
from automl.privacy import make_private_folder

SUFFIX = ".json.gz"
FORGOTTEN = "forgotten"
"""Folder with the names of entries that were forgotten, so that no old run folder brings one back."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


@dataclass(frozen=True)
class Reading:
    """Experience found in a folder or file.

    Parameters
    ----------
    experiences : each id once, in the order of the files' names
    notes : one sentence about each thing that was left out
    """

    experiences: tuple[Experience, ...] = ()
    notes: tuple[str, ...] = ()


class ExperienceStore:
    """Entries of one folder, which need not exist.

    Parameters
    ----------
    folder
        Of the entries; `Home.experience`, or that of a run's snapshot.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def path_of(self, identity: str) -> Path:
        """File of an entry, whether it is there or not."""
        return self.folder / f"{file_name(identity)}{SUFFIX}"

    def add(self, experience: Experience) -> bool:
        """Write an entry, or replace that of the same id; whether anything has changed.

        Raises
        ------
        ServiceError
            If it cannot be written; an earlier entry of this id stays.
        """
        data, path = pack(experience), self.path_of(experience.id)
        with contextlib.suppress(OSError):
            if path.read_bytes() == data:
                return False
        try:
            make_private_folder(self.folder)
            self._mark(experience.id).unlink(missing_ok=True)
        except OSError as error:
            raise ServiceError(f"{path}: the experience cannot be written: {error}") from error
        write_whole(path, [data], "the experience")
        return True

    def read(self) -> Reading:
        """Every entry that can be read."""
        by_id: dict[str, Experience] = {}
        notes = []
        try:
            files = self._files()
        except OSError as error:
            return Reading((), (f"{self.folder} is left out of the experience: {error.strerror}",))
        for path in files:
            try:
                experience = _read_file(path)
            except (EntryError, OSError) as error:
                notes.append(f"{path} is left out of the experience: {_reason(error)}")
                continue
            if experience.id in by_id:
                notes.append(f"{path} is left out of the experience: it repeats {experience.id}")
                continue
            by_id[experience.id] = experience
        return Reading(tuple(by_id.values()), tuple(notes))

    def read_one(self, identity: str) -> Experience | None:
        """The entry of an id; None if there is none that can be read."""
        experience = _read_if_whole(self.path_of(identity))
        return experience if experience is not None and experience.id == identity else None

    def written_at(self, identity: str) -> int | None:
        """When an entry was written, in nanoseconds; None if there is none of its own name."""
        try:
            return self.path_of(identity).stat().st_mtime_ns
        except OSError:
            return None

    def is_forgotten(self, identity: str) -> bool:
        """Whether an entry was forgotten, and not written again since."""
        return self._mark(identity).exists()

    def forget(self, identity: str) -> bool:
        """Delete an entry for good; whether there was one.

        Raises
        ------
        ServiceError
            If it cannot be deleted.
        """
        path, mark = self._find(identity), self._mark(identity)
        if path is None:
            return False
        try:
            mark.parent.mkdir(parents=True, exist_ok=True)
            mark.touch()
            path.unlink(missing_ok=True)
        except OSError as error:
            raise ServiceError(f"{path}: the experience cannot be deleted: {error}") from error
        return True

    def _find(self, identity: str) -> Path | None:
        """File of an entry, which somebody may have copied under another name."""
        path = self.path_of(identity)
        if path.exists():
            return path
        others = ((other, _read_if_whole(other)) for other in self._files())
        return next((other for other, one in others if one and one.id == identity), None)

    def _mark(self, identity: str) -> Path:
        return self.folder / FORGOTTEN / file_name(identity)

    def _files(self) -> list[Path]:
        if not self.folder.is_dir():
            return []
        return sorted(
            path
            for path in self.folder.iterdir()
            if path.name.endswith(SUFFIX) and not path.name.startswith(".")
        )


def write_export(path: Path, experiences: Iterable[Experience]) -> None:
    """Write experiences as one file, completely or not at all.

    Raises
    ------
    ServiceError
        If it cannot be written.
    """
    write_whole(path, map(pack, experiences), "the experience")


def read_export(path: Path) -> Reading:
    """Experiences of a file that `write_export` wrote, up to the first damage.

    Raises
    ------
    SettingsError
        If there is no such file, or it is empty, or its first bytes are no experience.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise SettingsError(f"experience {path} cannot be read: {error.strerror}") from None
    if not data:
        raise SettingsError(f"{path} is not a file of experience: it is empty")
    by_id: dict[str, Experience] = {}
    start = 0
    while start < len(data):
        try:
            experience, start = unpack(data, start)
        except EntryError as error:
            if not by_id:
                raise SettingsError(
                    f"{path} is not a file of `automl experience export` or `automl learn "
                    f"experience --into`: {error}"
                ) from None
            note = f"{path} is left out of the experience from byte {start} on: {error}"
            return Reading(tuple(by_id.values()), (note,))
        by_id.setdefault(experience.id, experience)
    return Reading(tuple(by_id.values()))


def take_in(store: ExperienceStore, experiences: Iterable[Experience], *, origin: str) -> list[str]:
    """Add experiences that the store lacks; returns the ids of those added.

    What came from the same place before is replaced where it has grown; a run's own entry never is.

    Raises
    ------
    ServiceError
        If one cannot be written; those before it stay.
    """
    added = []
    for experience in experiences:
        stored = store.read_one(experience.id)
        is_new = stored is None or (
            stored.origin == origin and len(stored.trials) < len(experience.trials)
        )
        if is_new and store.add(replace(experience, origin=origin)):
            added.append(experience.id)
    return added


def _read_if_whole(path: Path) -> Experience | None:
    try:
        return _read_file(path)
    except (EntryError, OSError):
        return None


def _read_file(path: Path) -> Experience:
    data = path.read_bytes()
    experience, end = unpack(data)
    if end != len(data):
        raise EntryError("data follow its end")
    return experience


def file_name(identity: str) -> str:
    """A name that every file system takes: the text itself, or a digest of it."""
    if _NAME.fullmatch(identity):
        return identity
    return content_digest(identity.encode("utf-8", "surrogatepass"))


def _reason(error: EntryError | OSError) -> str:
    return str(error.strerror) if isinstance(error, OSError) else str(error)
