"""How far the tracking store has caught up with one run; one small file, replaced atomically.

Before trials are written their ids are put in `writing` and the file is saved; afterwards they
move to `trials` with the MLflow run each became. Only ids found in `writing` by a later process
are looked up in MLflow, so that every trial is there exactly once wherever a process was killed.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

VERSION = 1
"""Version of the outbox; of another one everything is copied anew, which does no harm."""


@dataclass
class Outbox:
    """State of one run in one store.

    Parameters
    ----------
    store : tracking URI everything below belongs to; empty before the first contact
    sequence : number of saved steps
    parent : MLflow run of the whole run
    families : MLflow run of each family
    trials : MLflow run of each trial written
    writing : trials that may or may not be in the store
    done : what else was written, by event name (`inputs`, `model`, `version`, `alias`, …)
    seconds : wall seconds that `opening` the store and `publishing` the model took
    status : `following`, `pending`, `done`
    reason : one sentence, why something is pending
    """

    path: Path
    store: str = ""
    sequence: int = 0
    experiment: str = ""
    parent: str = ""
    families: dict[str, str] = field(default_factory=dict)
    trials: dict[str, str] = field(default_factory=dict)
    writing: list[str] = field(default_factory=list)
    done: dict[str, str] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    status: str = "following"
    reason: str = ""
    is_new: bool = True

    @classmethod
    def load(cls, path: Path) -> Outbox:
        """State in the file; a new one if it is absent or not readable."""
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return cls(path)
        if not isinstance(content, dict) or content.pop("version", None) != VERSION:
            return cls(path)
        names = {item.name for item in fields(cls)}
        return cls(path=path, is_new=False, **{k: v for k, v in content.items() if k in names})

    def save(self) -> None:
        """Write to disk; a crash leaves the former state or this one."""
        self.sequence += 1
        content: dict[str, Any] = {"version": VERSION, **asdict(self)}
        del content["path"], content["is_new"]
        temporary = self.path.with_suffix(".tmp")
        with temporary.open("w", encoding="utf-8") as stream:
            json.dump(content, stream)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(self.path)

    def restart(self, store: str) -> None:
        """Forget everything and begin with another store."""
        self.store, self.experiment, self.parent = store, "", ""
        self.families, self.trials, self.writing, self.done = {}, {}, [], {}
        self.seconds = {}
        self.is_new = True
