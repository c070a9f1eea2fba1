"""Completes what a tracking store was not told: for all runs of a home, or the models of a name."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from automl.errors import AutoMLError, ServiceError
from automl.home import Home, RunFolder
from automl.tracking.mirror import Mirror, complete, end_killed_runs, only_mirror
from automl.tracking.mirror_process import Registration, complete_apart, registration
from automl.tracking.outbox import Outbox
from automl.tracking.pending import REFUSED, is_refused, pending_runs

REGISTRATION_SECONDS = 120.0
"""Most that a command which needs a name waits for a model of it; usually a tenth of this."""
LEAST_SECONDS = 8.0
"""On an idle machine, to open a store and register a small model; with less time it is not begun."""
LOOK_SECONDS = 1.0
"""After which it looks again whether another process has registered the model by now."""


@dataclass
class SyncSummary:
    """Result of `sync`.

    Parameters
    ----------
    runs : number of runs looked at
    trials : number of trials written
    registered : model versions of runs that were pending before
    alias_stays : why such a model did not take the alias, by run id
    pending : why a run is still not complete, by run id
    skipped : why a run was left alone, by run id
    """

    runs: int = 0
    trials: int = 0
    registered: list[str] = field(default_factory=list)
    alias_stays: dict[str, str] = field(default_factory=dict)
    pending: dict[str, str] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON form."""
        return asdict(self)


def sync(home: Path, *, seconds_per_run: float = 600.0) -> SyncSummary:
    """Write missing trials, models and ends of all runs; afterwards none is left `RUNNING`.

    Runs that a living process drives have a mirror of their own and are skipped. If the store is
    away nothing is lost: `pending` has the reason.

    Parameters
    ----------
    home
        Home folder.
    seconds_per_run : after which the next run's turn comes
    """
    summary = SyncSummary()
    for folder in Home(home).run_folders():
        summary.runs += 1
        try:
            facts = folder.read_facts()
            if folder.is_driven():
                summary.skipped[folder.run_id] = "it is being driven by another process"
            elif "settings" not in facts:
                summary.skipped[folder.run_id] = "run.json names no settings"
            else:
                _forget_secret(folder)
                if not Mirror(folder).is_up_to_date:
                    _sync_run(folder, summary, seconds_per_run)
        except AutoMLError as error:
            summary.pending[folder.run_id] = error.message
    return summary


def register_pending(name: str, home: Path) -> list[str]:
    """Register the models of a name whose registration was cut short, the oldest first.

    Whoever needs a name calls this before looking it up, so that what a finished run has promised
    exists. Trials that the store lacks are left to `sync`, and so is a bundle that did not load in
    a clean process: trying it again would take the same seconds at every look. What runs of the home
    left `RUNNING` in the store is ended.

    Parameters
    ----------
    name
        Problem, that is registered model.
    home
        Home folder.

    Returns
    -------
        One sentence about each model that waited.
    """
    sentences = [_register(folder) for folder in pending_runs(name, home)]
    end_killed_runs(Home(home))
    return sentences


def register_within(name: str, home: Path, seconds: float) -> list[str]:
    """`register_pending` with no more time than this, however slow machine and store are.

    It is left to processes that are killed when the time is over; one that could not even begin is not
    started.
    """
    deadline = time.monotonic() + seconds
    return [_register_apart(folder, deadline) for folder in pending_runs(name, home)]


def _register_apart(folder: RunFolder, deadline: float) -> str:
    left = deadline - time.monotonic()
    if left >= LEAST_SECONDS and not is_refused(folder):
        complete_apart(folder, left)
    outcome = registration(folder)
    if outcome.registered is None:
        return f"the model of run {folder.run_id} is not registered yet, and there is no time for it now"
    return _sentence(folder, outcome)


def _register(folder: RunFolder) -> str:
    """Complete the registration of a run; one sentence about what became of it."""
    refused = Outbox.load(folder.path / "outbox.json").done.get(REFUSED)
    if refused:
        return f"the model of run {folder.run_id} is not registered: {refused}"
    try:
        _register_or_wait(folder, REGISTRATION_SECONDS)
    except AutoMLError as error:
        return f"the model of run {folder.run_id} is not registered yet: {error.message}"
    outcome = registration(folder)
    if outcome.registered is None:
        return f"the model of run {folder.run_id} is not registered yet: {outcome.reason}"
    return _sentence(folder, outcome)


def _sentence(folder: RunFolder, found: Registration) -> str:
    stays = f"; {found.alias_stays}" if found.alias_stays else ""
    return f"the model of run {folder.run_id} was not registered yet; it is {found.registered} now{stays}"


def _register_or_wait(folder: RunFolder, seconds: float) -> None:
    """Register the model of a run, or wait for the process that is about to.

    Raises
    ------
    ServiceError
        If the other process has not done it in so many seconds.
    """
    deadline = time.monotonic() + seconds
    while registration(folder).status == "pending":
        left = deadline - time.monotonic()
        try:
            with only_mirror(folder, seconds=min(LOOK_SECONDS, max(left, 0.0))):
                complete(Mirror(folder), left, is_whole=False)
                return
        except ServiceError:
            if left <= 0:
                raise


def _forget_secret(folder: RunFolder) -> None:
    """Take user and password of the store out of a file that an earlier version wrote."""
    file = folder.path / "outbox.json"
    if Outbox.load(file).tells_secret:
        with only_mirror(folder):
            Outbox.load(file).save()


def _sync_run(folder: RunFolder, summary: SyncSummary, seconds: float) -> None:
    before = registration(folder)
    with only_mirror(folder):
        mirror = Mirror(folder)
        is_done = complete(mirror, seconds)
    after = registration(folder)
    summary.trials += after.trials - before.trials
    if after.registered and not before.registered:
        summary.registered.append(after.registered)
        if after.alias_stays:
            summary.alias_stays[folder.run_id] = after.alias_stays
    if not is_done:
        summary.pending[folder.run_id] = after.reason
