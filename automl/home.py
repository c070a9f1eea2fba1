"""Where runs live: one home folder, one folder per run.

::

    home/
      mlflow.db  artifacts/        tracking store (unless MLFLOW_TRACKING_URI is set)
      prefect/                     state of the local orchestrator
      drops/NAME/                  what arrived for a problem, by digest
      aliases/NAME.json            what the registry last said of a model's aliases
      experience/ID.json.gz        what every run has tried, one file a run
      runs/RUN_ID/
        run.json                   run id, settings, start, data facts; written first
        lock                       held while a process drives the run
        table/  test/              memory-mappable training and test tables
        journal/                   trials, one append-only segment per driving process
        stages/NAME.json           one record per finished stage
        experience.jsonl.gz        what the run knew at its start, until it is finished
        priors.yaml                priors that it searches with, if any
        predictions/  models/      out-of-fold predictions, fold models
        bundle/                    the final model
        report.html                what it found, for people
        outbox.json                how far the tracking store has caught up
        mirror/                    what is being copied there; gone when that is over
        orchestrator.json          its flow runs, and which of them say what the folder says
        run.log  workers.log
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import secrets
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from automl.durable import write_whole
from automl.errors import AutoMLWarning, SettingsError
from automl.listing import first_few
from automl.privacy import make_private_folder, tighten

_PROBE_SECONDS = 0.5
"""A look at the lock by `is_driven` holds it for microseconds; who holds it longer drives the run."""

HOME_VARIABLE = "AUTOML_HOME"
"""Environment variable with the state folder of this installation."""
RUN_ID = re.compile(r"^\d{8}-\d{6}-[0-9a-f]{4}$")


def default_home() -> Path:
    """`AUTOML_HOME`, else ``./automl-home``."""
    return Path(os.environ.get(HOME_VARIABLE) or "automl-home").resolve()


def new_run_id() -> str:
    """Identifier that sorts by time (UTC), such as ``20260314-150926-3f2a``."""
    return f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{secrets.token_hex(2)}"


@dataclass(frozen=True)
class RunFolder:
    """Paths of one run."""

    path: Path

    @property
    def run_id(self) -> str:
        """The folder's name."""
        return self.path.name

    @property
    def facts_file(self) -> Path:
        """`run.json`."""
        return self.path / "run.json"

    @property
    def table(self) -> Path:
        """Training rows."""
        return self.path / "table"

    @property
    def test(self) -> Path:
        """Untouched test rows; absent when there are none."""
        return self.path / "test"

    @property
    def journal(self) -> Path:
        """Trials."""
        return self.path / "journal"

    @property
    def stages(self) -> Path:
        """Stage records."""
        return self.path / "stages"

    @property
    def predictions(self) -> Path:
        """Out-of-fold predictions of complete trials."""
        return self.path / "predictions"

    @property
    def bundle(self) -> Path:
        """The final model."""
        return self.path / "bundle"

    @property
    def report(self) -> Path:
        """The page about the run; absent where none was made."""
        return self.path / "report.html"

    @property
    def mirror(self) -> Path:
        """Folder of the records that are being copied into the tracking store."""
        return self.path / "mirror"

    @property
    def experience(self) -> Path:
        """Folder of the experience that the run began with; deleted once the run is finished."""
        return self.path / "experience.jsonl.gz"

    @property
    def priors(self) -> Path:
        """Priors that the run searches with; not there if it has none."""
        return self.path / "priors.yaml"

    def read_facts(self) -> dict[str, Any]:
        """Content of `run.json`.

        Raises
        ------
        SettingsError
            If the run does not exist, never got as far as its first line, or the file is damaged.
        """
        try:
            facts = json.loads(self.facts_file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise SettingsError(f"run {self.run_id} has no run.json", run=self.run_id) from None
        except ValueError:
            facts = None
        if not isinstance(facts, dict):
            raise SettingsError(
                f"{self.facts_file} is damaged: it holds no JSON object", run=self.run_id
            )
        return facts

    def write_facts(self, facts: dict[str, Any]) -> None:
        """Replace `run.json` atomically.

        Raises
        ------
        StorageError
            If it cannot be written.
        """
        text = json.dumps(facts, indent=1).encode()
        write_whole(self.facts_file, [text], "what is known of the run", makes_folder=True)

    def is_driven(self) -> bool:
        """Whether a process holds the run's lock now; never waits, changes nothing."""
        try:
            descriptor = os.open(self.path / "lock", os.O_RDONLY)
        except OSError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return True
        finally:
            os.close(descriptor)  # gives the shared lock back at once
        return False

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the run; released by the system when the process dies.

        Raises
        ------
        SettingsError
            If another process drives this run.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        lock = FileLock(self.path / "lock", timeout=_PROBE_SECONDS, thread_local=False)
        try:
            lock.acquire()
        except Timeout:
            raise SettingsError(
                f"run {self.run_id} is being driven by another process", run=self.run_id
            ) from None
        try:
            yield
        finally:
            lock.release()


@dataclass(frozen=True)
class Home:
    """The state folder of one installation."""

    path: Path

    @property
    def runs(self) -> Path:
        """Folder of all run folders."""
        return self.path / "runs"

    @property
    def experience(self) -> Path:
        """Folder of what all runs have tried."""
        return self.path / "experience"

    def prepare(self) -> None:
        """Make the folder where it is missing, and close it to other users where it is open.

        Raises
        ------
        SettingsError
            If it cannot be made or written.

        Warns
        -----
        AutoMLWarning
            If a folder that was there was open to other users.
        """
        self.check()
        try:
            make_private_folder(self.path)
            note = tighten(self.path)
        except OSError as error:
            raise SettingsError(
                f"home folder {self.path} cannot be used: {error.strerror}"
            ) from None
        if note:
            warnings.warn(note, AutoMLWarning, stacklevel=2)

    def lock(self, name: str) -> FileLock:
        """A lock that processes of this home share, not taken yet; such as ``retrain-beans``."""
        folder = self.path / "locks"
        folder.mkdir(parents=True, exist_ok=True)
        return FileLock(folder / f"{name}.lock")

    def check(self) -> None:
        """Look whether the folder can be made and written, by a file that is gone at once.

        Raises
        ------
        SettingsError
            If it cannot.
        """
        nearest = next(p for p in (self.path, *self.path.parents) if p.exists())
        reason = ""
        if not nearest.is_dir():
            reason = f"{'it' if nearest == self.path else nearest} is not a folder"
        elif not _is_writable(nearest):
            reason = f"{'it' if nearest == self.path else nearest} is not writable"
        if reason:
            raise SettingsError(f"home folder {self.path} cannot be used: {reason}")

    def run(self, run_id: str) -> RunFolder:
        """Folder of an existing run; a unique prefix of its id is enough.

        Raises
        ------
        SettingsError
            If no run, or more than one, has this id or prefix.
        """
        if not run_id:
            raise SettingsError("a run id, or the beginning of one, is expected; got nothing")
        matches = [f for f in self.run_folders() if f.run_id.startswith(run_id)]
        exact = [f for f in matches if f.run_id == run_id]
        if exact or len(matches) == 1:
            return (exact or matches)[0]
        if matches:
            shown = first_few(f.run_id for f in matches)
            raise SettingsError(f"run {run_id!r} is ambiguous: {shown}", run=run_id)
        raise SettingsError(f"no run {run_id!r} in {self.path}; see `automl runs`", run=run_id)

    def run_folders(self) -> list[RunFolder]:
        """All run folders, oldest first."""
        if not self.runs.is_dir():
            return []
        return [RunFolder(p) for p in sorted(self.runs.iterdir()) if RUN_ID.match(p.name)]

    def create_run(self) -> RunFolder:
        """Folder of a new run; the home is made where it is missing.

        Raises
        ------
        SettingsError
            If it cannot be made or written.
        """
        self.prepare()
        make_private_folder(self.runs)
        while True:
            folder = RunFolder(self.runs / new_run_id())
            try:
                folder.path.mkdir(parents=True, mode=0o700)
            except FileExistsError:
                continue
            return folder


def _is_writable(folder: Path) -> bool:
    """Whether a file can be made in a folder; permissions alone do not tell, as of ``/proc``."""
    try:
        with tempfile.TemporaryFile(dir=folder):
            return os.access(folder, os.X_OK)
    except OSError:
        return False
