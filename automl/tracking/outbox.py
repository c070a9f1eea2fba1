"""How far the tracking store has caught up with one run; one small file, replaced atomically.

The file keeps neither user nor password of the store: the environment of whoever writes there has them. The store of
the home is kept relative to the home, so that a run in a moved or copied home belongs to the store beside it.

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

from automl.addresses import public_address
from automl.errors import SettingsError
from automl.home import RunFolder
from automl.tracking.moved_home import DATABASE
from automl.tracking.store import StoreAddress, own_store, store_address

VERSION = 1
"""Version of the outbox; of another one everything is copied anew, which does no harm."""
_OWN_STORE = f"sqlite:///{DATABASE}"
"""Of the home that the run folder lies in."""


@dataclass
class Outbox:
    """State of one run in one store.

    Parameters
    ----------
    store : address that everything below belongs to, without user, password and query; empty before the first contact
    has_secret : whether the whole address has any of these
    sequence : number of saved steps
    parent : MLflow run of the whole run
    families : MLflow run of each family
    trials : MLflow run of each trial written
    writing : trials that may or may not be in the store
    done : what else was written, by event name (`inputs`, `model`, `version`, `alias`, …)
    seconds : wall seconds that `opening` the store and `publishing` the model took
    status : `following`, `pending`, `done`
    reason : one sentence, why something is pending
    is_new : whether there is no file yet
    tells_secret : whether the file has the whole address, as an earlier version wrote it
    """

    path: Path
    store: str = ""
    has_secret: bool = False
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
    tells_secret: bool = False

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
        outbox = cls(path=path, is_new=False, **{k: v for k, v in content.items() if k in names})
        outbox._place()
        return outbox

    def _place(self) -> None:
        """Turn the store of the file into what it is here and now; earlier versions wrote the whole address."""
        own = own_store(self._home)
        if self.store in (own, _OWN_STORE) or self._was_own():
            self.store = own
            return
        public = public_address(self.store)
        self.tells_secret = public != self.store
        self.has_secret |= self.tells_secret
        self.store = public

    def _was_own(self) -> bool:
        """Whether an earlier version wrote the address that the store of the home had then."""
        if not self.store.endswith(f"/{DATABASE}"):
            return False
        try:
            home = str(RunFolder(self.path.parent).read_facts().get("home", ""))
        except SettingsError:
            return False
        return bool(home) and self.store == own_store(Path(home))

    @property
    def _home(self) -> Path:
        return self.path.parents[2]

    def address(self) -> StoreAddress:
        """Store that the run is in, or will be in: a run stays in the one it began in.

        Raises
        ------
        SettingsError
            If the environment lacks user and password of that store.
        """
        named = store_address(self._home)
        if self.store in ("", named.shown):
            return named
        if self.has_secret:
            raise SettingsError(
                f"run {self.path.parent.name} is in the tracking store {self.store}, whose user and password "
                "are not kept; set MLFLOW_TRACKING_URI to its whole address",
                setting="MLFLOW_TRACKING_URI",
                run=self.path.parent.name,
            )
        return store_address(self._home, uri=self.store)

    def save(self) -> None:
        """Write to disk; a crash leaves the former state or this one."""
        self.sequence += 1
        content: dict[str, Any] = {"version": VERSION, **asdict(self)}
        del content["path"], content["is_new"], content["tells_secret"]
        if self.store == own_store(self._home):
            content["store"] = _OWN_STORE
        temporary = self.path.with_suffix(".tmp")
        with temporary.open("w", encoding="utf-8") as stream:
            json.dump(content, stream)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(self.path)

    def restart(self, store: StoreAddress) -> None:
        """Forget everything and begin with another store."""
        self.store, self.has_secret = store.shown, store.has_secret
        self.experiment, self.parent = "", ""
        self.families, self.trials, self.writing, self.done = {}, {}, [], {}
        self.seconds = {}
        self.is_new = True
