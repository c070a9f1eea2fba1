"""Which runs may be deleted, and their deletion; what they have tried stays known."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from automl.home import Home, RunFolder
from automl.problem_names import clean_name
from automl.reports.run_status import RunStatus, describe
from automl.run_state import RUNNING
from automl.tracking.holders import Registry

_DELETED = ".deleted-"
"""Begins the name of a run folder that is being deleted, or was when the process was killed."""


def reason_to_keep(status: RunStatus) -> str:
    """Why a run must not be deleted, in a few words; empty if it may be."""
    if status.status == RUNNING:
        return "it is running"
    if status.registration == "pending":
        return "its model waits for registration; complete it with: automl sync"
    return ""


def prune(home: Home, name: str, keep: int) -> list[str]:
    """Delete all runs of a problem but the newest; returns the ids of those that are gone.

    Runs whose model has an alias, such as ``champion``, are spared, and those that must not be deleted.

    Parameters
    ----------
    keep : positive
        How many are spared in any case.
    """
    registry = Registry(home.path)
    statuses = {folder: describe(folder, registry) for folder in home.run_folders()}
    own = [folder for folder, status in statuses.items() if status.problem == clean_name(name)]
    doomed = [
        folder
        for folder in own[:-keep]
        if not reason_to_keep(statuses[folder]) and "@" not in (statuses[folder].registered or "")
    ]
    delete_runs(home, doomed)
    return [folder.run_id for folder in doomed]


def delete_runs(home: Home, folders: Sequence[RunFolder], *, experience: bool = False) -> int:
    """Delete run folders; returns the bytes that were freed.

    A folder is renamed first, so that a half-deleted run is never listed. What a killed process has left of
    one is deleted too. What the runs have tried stays known.

    Parameters
    ----------
    experience
        Forget what they have tried as well.
    """
    from automl.experience.harvest import collect
    from automl.experience.store import ExperienceStore

    freed = _sweep(home)
    if not experience:
        collect(home, among=folders)
    for folder in folders:
        if experience:
            ExperienceStore(home.experience).forget(folder.run_id)
        with folder.lock():
            folder.path.rename(folder.path.with_name(f"{_DELETED}{folder.run_id}"))
        freed += _sweep(home)
    return freed


def _sweep(home: Home) -> int:
    """Delete the folders that were renamed; returns their bytes.

    Two processes may do it at once: what one has deleted is gone for the other.
    """
    freed = 0
    for doomed in home.runs.glob(f"{_DELETED}*"):
        freed += _size(doomed)
        shutil.rmtree(doomed, ignore_errors=True)
    return freed


def _size(folder: Path) -> int:
    """Bytes of a folder whose files may vanish meanwhile."""
    size = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):
                size += Path(place, name).stat().st_size
    return size
