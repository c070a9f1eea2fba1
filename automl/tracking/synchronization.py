"""Completes what a tracking store was not told, for all runs of a home."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from automl.errors import AutoMLError
from automl.home import Home, RunFolder
from automl.tracking.mirror import Mirror, complete, only_mirror
from automl.tracking.process import registration


@dataclass
class SyncSummary:
    """What `sync` did.

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
    away nothing is lost: the reason stands in `pending`.

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
            elif not Mirror(folder).is_up_to_date:
                _sync_run(folder, summary, seconds_per_run)
        except AutoMLError as error:
            summary.pending[folder.run_id] = error.message
    return summary


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
