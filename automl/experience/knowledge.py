"""Knowledge that the package ships: the trials of known tables, one experience for each.

A file of knowledge is gzip members, one line of JSON each: the first says how the file was made,
the others are entries as the store has them. Portfolio, priors and meta-learner are computed from the
entries when they are needed, so that leaving a data set out leaves nothing of it behind. What takes longer to
learn is kept beside it, see `automl.recommendation.source_fits`, which leaves nothing behind either.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from automl.durable import write_whole
from automl.errors import SettingsError
from automl.experience.data_set import Experience
from automl.experience.entries import EntryError, pack, unpack

FOLDER = Path(__file__).parent / "knowledge"
SUFFIX = ".jsonl.gz"
SHIPPED = "shipped"
FORMAT = "automl-knowledge"
VERSION = 1
"""Version of a file of knowledge; another one is refused."""


@dataclass(frozen=True)
class Knowledge:
    """A file of knowledge.

    Parameters
    ----------
    command : that made the file
    date : of the day it was made, ISO 8601
    data_sets : names of its data sets, in the order of the entries
    conditions : what was run on each table
    experiences : one for each data set
    """

    command: str
    date: str
    experiences: tuple[Experience, ...]
    conditions: Mapping[str, Any]

    @property
    def data_sets(self) -> tuple[str, ...]:
        """Names in the order of the entries."""
        return tuple(experience.data.name for experience in self.experiences)


def shipped() -> tuple[Experience, ...]:
    """Every experience that the package ships, read once; origin `shipped`."""
    return _experiences_of(FOLDER)


@cache
def _experiences_of(folder: Path) -> tuple[Experience, ...]:
    files = sorted(folder.glob(f"*{SUFFIX}")) if folder.is_dir() else []
    return tuple(
        replace(experience, origin=SHIPPED)
        for file in files
        for experience in read_knowledge(file).experiences
    )


def write_knowledge(path: Path, knowledge: Knowledge) -> None:
    """Write a file of knowledge, completely or not at all; equal bytes for equal knowledge.

    Raises
    ------
    ServiceError
        If it cannot be written.
    """
    head = {
        "format": FORMAT,
        "version": VERSION,
        "command": knowledge.command,
        "date": knowledge.date,
        "conditions": dict(knowledge.conditions),
        "data_sets": list(knowledge.data_sets),
    }
    line = json.dumps(head).encode() + b"\n"
    parts = [gzip.compress(line, mtime=0), *map(pack, knowledge.experiences)]
    write_whole(path, parts, "the file of knowledge", makes_folder=True)


def read_knowledge(path: Path) -> Knowledge:
    """Content of a file of knowledge.

    Raises
    ------
    SettingsError
        If there is no such file, or it is none that is whole.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise SettingsError(f"knowledge {path} cannot be read: {error.strerror}") from None
    try:
        head, start = _head(data)
        experiences = []
        while start < len(data):
            experience, start = unpack(data, start)
            experiences.append(experience)
    except (EntryError, KeyError, RecursionError, TypeError, ValueError, zlib.error) as error:
        raise SettingsError(f"{path} is not a complete file of knowledge: {error}") from None
    return Knowledge(head["command"], head["date"], tuple(experiences), head["conditions"])


def is_knowledge(path: Path) -> bool:
    """Whether a file begins as a file of knowledge does, be it whole or not."""
    try:
        _head(path.read_bytes())
    except (OSError, RecursionError, ValueError, zlib.error):
        return False
    return True


def _head(data: bytes) -> tuple[dict[str, Any], int]:
    reader = zlib.decompressobj(wbits=31)
    head = json.loads(reader.decompress(data))
    if not isinstance(head, dict) or head.get("format") != FORMAT or head.get("version") != VERSION:
        raise ValueError(f"its first line must name {FORMAT} {VERSION}")
    return head, len(data) - len(reader.unused_data)
