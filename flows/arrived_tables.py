"""The table of a problem with a file that has arrived: read from the copy in the home, made of all that it is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from automl.addresses import public_address, whole_address
from automl.content_digests import file_digest
from automl.data.sources import TableSource, check_mode, source_at
from automl.errors import AutoMLError, DataError, ServiceError, SettingsError
from automl.home import Home
from automl.run.finished_runs import finished_runs
from automl.training_request import TrainingRequest
from automl_flows.services.drop_place import DropChangedError, DropPlace
from automl_flows.services.drop_store import DropStore

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class ArrivedTable:
    """A file that has arrived, and how it becomes the table of its problem.

    Parameters
    ----------
    name : of the problem
    digest : of the file's bytes
    mode, window, time : see `automl.data.sources`
    base
        Table that files are appended to; empty for the one that the problem was trained on.
    """

    home: Home
    name: str
    digest: str
    mode: str = "replace"
    window: str | None = None
    time: str | None = None
    base: str = ""

    @property
    def store(self) -> DropStore:
        """Where the copies are."""
        return DropStore(self.home, self.name)

    def read(self) -> pd.DataFrame:
        """The table, as all that was used so far and this file make it now.

        Raises
        ------
        DataError
            If this file cannot be used; the message names it as it was called where it arrived.
        SettingsError
            If mode and window do not fit each other.
        ServiceError
            If a service cannot be reached, or the table that files are appended to cannot be read: no
            fault of this file, which can wait until it is there again.
        """
        window = check_mode(self.mode, self.window, self.time)
        files = self._files()
        source = TableSource({**self._base(set(files)), **files}, self.mode, window)
        try:
            return source.read()
        except DataError as error:
            if error.fields.get("file") in files or "file" not in error.fields:
                raise
            raise _base_is_away(error) from None

    def said(self, message: str) -> str:
        """A message with the names of the files instead of the paths of their copies."""
        for path in (str(path) for path in self.store.folder.glob("*/*")):
            message = message.replace(path, Path(path).name)
        return message

    def accept(self) -> None:
        """Keep the copy for later tables, or delete it where they do not hold it."""
        if self.mode != "replace":
            self.store.accept(self.digest)
        self.store.tidy(self.digest)

    def _files(self) -> dict[str, str]:
        if self.mode != "replace":
            return self.store.accepted_files(self.digest)
        path = self.store.path(self.digest)
        return {} if path is None else {str(path): str(path)}

    def _base(self, copies: set[str]) -> Mapping[str, str]:
        """Files that new ones are appended to, without those that are among the new ones."""
        if self.mode == "replace":
            return {}
        runs = finished_runs(self.home, self.name)
        base = self.base or (str(TrainingRequest.of(runs[-1]).settings["table"]) if runs else "")
        if not base:
            return {}
        known = {Path(copy).parent.name for copy in copies}
        try:
            files = source_at(whole_address(base)).files
        except (DataError, SettingsError) as error:
            raise _base_is_away(error) from None
        return {name: path for name, path in files.items() if _digest(path) not in known}


def take(home: Home, name: str, table: str, digest: str) -> str:
    """Copy a file into the home unless its copy is there; returns the digest of its bytes.

    Parameters
    ----------
    table : address of the file
    digest : of what it held when it was seen; empty to take what it holds now

    Raises
    ------
    DataError
        If it is gone, must not be read, or was replaced since.
    ServiceError
        If it is being written, or the place is away.
    """
    store = DropStore(home, name)
    if digest and store.path(digest) is not None:
        return digest
    folder, _, file = whole_address(table).rpartition("/")
    place = DropPlace(folder)
    drop = place.find(file)
    if drop is None:
        raise DataError(f"{public_address(table)} was moved or deleted before its run")
    if drop.fault:
        raise DataError(f"{file} {drop.fault}")
    try:
        found = store.take(place, drop)
    except DropChangedError:
        raise ServiceError(f"{public_address(table)} is being written") from None
    if digest not in ("", found):
        store.tidy(found)
        raise DataError(f"{file} was replaced by another content before its run")
    return found


def _base_is_away(error: AutoMLError) -> ServiceError:
    return ServiceError(f"the table that new files are appended to cannot be read: {error.message}")


def _digest(path: str) -> str:
    """Digest of the bytes of a file on this machine; empty for any other."""
    try:
        return file_digest(Path(path))
    except OSError:
        return ""
