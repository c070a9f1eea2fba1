"""Notes of models that have become the champion, for whoever tells others of it.

The alias may move in a process that outlives its command. So each move is noted where it is made, in
``home/new-champions/``, and a note is deleted when it is taken.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from automl.durable import write_whole
from automl.errors import ServiceError


@dataclass(frozen=True)
class NewChampion:
    """A version that took the alias `champion`.

    Parameters
    ----------
    problem : name of the registered model
    model : such as ``beans/3``
    run_id : of the run that made it; empty if it is not known
    promotion : why, in the words of `PromotionRecord`; empty if nothing was decided
    """

    problem: str
    model: str
    run_id: str
    promotion: Mapping[str, Any] = field(default_factory=dict)


def note_champion(home: Path, champion: NewChampion) -> None:
    """Keep a note; a home that cannot be written goes without."""
    path = _folder(home) / f"{time.time_ns():020d}.json"
    with suppress(ServiceError):
        write_whole(path, [json.dumps(asdict(champion)).encode()], "the note", makes_folder=True)


def has_new_champions(home: Path) -> bool:
    """Whether there is a note."""
    return any(_folder(home).glob("[0-9]*.json"))


def take_new_champions(home: Path) -> list[NewChampion]:
    """Notes, oldest first, which are deleted; each is taken by one process only."""
    taken = []
    for path in sorted(_folder(home).glob("[0-9]*.json")):
        with suppress(OSError, ValueError, TypeError):  # another process took it, or it is damaged
            text = path.read_text(encoding="utf-8")
            path.unlink()
            taken.append(NewChampion(**json.loads(text)))
    return taken


def _folder(home: Path) -> Path:
    return home / "new-champions"
