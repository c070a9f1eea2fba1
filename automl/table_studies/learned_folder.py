"""Where what is learned from tables lives: a record for each table, in the home.

::

    home/learned/
      lock               held while a process learns
      NAME.json          record of a table: there whole or not at all; a digest for an odd name
      runs/NAME/         home of the run under way; removed with the record

A table is learned when its record is there and holds all that is asked for; else what it lacks is
run, and joins it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from filelock import FileLock, Timeout

from automl.errors import SettingsError
from automl.experience.data_set import Experience
from automl.experience.store import ExperienceStore, file_name
from automl.home import Home
from automl.record_files import StageRecords

FORMAT = 1
"""Format of a record of a table; another one is refused."""
LOCK_SECONDS = 0.5
"""A process that holds the folder for longer is working in it."""


@dataclass(frozen=True)
class LearnedTable:
    """Record of one learned table.

    Parameters
    ----------
    table : settings that belong to it, its source among them
    measure : what the scores depend on, see `Conditions.measure`
    rows : of the whole table; 0 if unknown
    asked : ids of the configurations that were asked for; those that the table admits were tried
    left_out : ids of those that there was no time for
    table_seconds : that all trials were given
    searched : trials of an ordinary search among the trials
    """

    experience: Experience
    table: Mapping[str, Any]
    measure: Mapping[str, Any]
    rows: int
    asked: frozenset[str]
    left_out: frozenset[str]
    table_seconds: float
    searched: int = 0

    @property
    def is_taken_over(self) -> bool:
        """Whether it comes from a file of knowledge and the table has not been read since."""
        return self.rows == 0

    def to_json(self) -> dict[str, Any]:
        """Plain JSON form."""
        return {
            **self.__dict__,
            "format": FORMAT,
            "experience": self.experience.to_json(),
            "table": dict(self.table),
            "measure": dict(self.measure),
            "asked": sorted(self.asked),
            "left_out": sorted(self.left_out),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> LearnedTable:
        """Inverse of `to_json`."""
        values = {key: value for key, value in data.items() if key != "format"}
        return cls(
            **{
                **values,
                "experience": Experience.from_json(data["experience"]),
                "asked": frozenset(data["asked"]),
                "left_out": frozenset(data["left_out"]),
            }
        )


class LearnedFolder:
    """Records of tables in a home.

    Parameters
    ----------
    home
        Made with the first thing that is written.
    """

    def __init__(self, home: Home) -> None:
        self.home = home
        self.path = home.path / "learned"
        self._records = StageRecords(self.path)

    def run_home(self, name: str) -> Home:
        """Home of the run on a table while it is under way."""
        return Home(self.path / "runs" / file_name(name))

    def read(self, name: str) -> LearnedTable | None:
        """Record of a table, or None if there is none that is whole.

        Raises
        ------
        SettingsError
            If it was written by a later version.
        """
        content = self._records.read(file_name(name))
        if content is None:
            return None
        if content.get("format") != FORMAT:
            raise SettingsError(
                f"{self.path / file_name(name)}.json has format {content.get('format')!r}; known is {FORMAT}"
            )
        return LearnedTable.from_json(content)

    def write(self, learned: LearnedTable) -> None:
        """Write or replace the record of a table, and its entry in the store; durable afterwards.

        Raises
        ------
        ServiceError
            If it cannot be written.
        """
        self.remember(learned)
        self.record(learned)

    def remember(self, learned: LearnedTable) -> None:
        """Add what was learned to the store, where it is missing or damaged.

        Raises
        ------
        ServiceError
            If it cannot be written.
        """
        ExperienceStore(self.home.experience).add(learned.experience)

    def record(self, learned: LearnedTable) -> None:
        """Write or replace the record of a table alone; what the store has of it stays.

        Raises
        ------
        ServiceError
            If it cannot be written.
        """
        self._records.write(file_name(learned.experience.data.name), learned.to_json())

    def remove(self, name: str) -> None:
        """Delete the record of a table, if there is one; what is remembered stays."""
        self._records.remove(file_name(name))

    def forget(self, identities: Iterable[str]) -> None:
        """Delete the records of what is called by these ids, so that nothing brings it back."""
        ids = set(identities)
        for file in self._records.names():
            record = self._records.read(file)
            if record and record["experience"]["id"] in ids:
                self._records.remove(file)

    def written_at(self, name: str) -> int | None:
        """When the record of a table was written, in nanoseconds; None if there is none."""
        try:
            return (self.path / f"{file_name(name)}.json").stat().st_mtime_ns
        except OSError:
            return None

    def names(self) -> list[str]:
        """Tables that have a record."""
        records = (self._records.read(file) for file in self._records.names())
        return sorted(record["experience"]["data"]["name"] for record in records if record)

    @contextmanager
    def only_one(self) -> Iterator[None]:
        """Hold the folder; released by the system when the process dies.

        Raises
        ------
        SettingsError
            If another process holds it.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        lock = FileLock(self.path / "lock", timeout=LOCK_SECONDS, thread_local=False)
        try:
            lock.acquire()
        except Timeout:
            raise SettingsError(f"another process learns in {self.path}") from None
        try:
            yield
        finally:
            lock.release()
