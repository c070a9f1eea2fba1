"""Timings of earlier runs of the same home, which say how long fits take on other data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from typing import Any

from automl.errors import SettingsError
from automl.evaluation.journal import follow
from automl.home import Home, RunFolder
from automl.records import Trial
from automl.runtime.timings import Timing, Workload, timing_of

MOST_RUNS = 25
MOST_PER_FAMILY = 40
"""Newest runs that are read, and first timings of each family that are taken from each."""


def earlier_timings(home: Home, *, besides: Collection[str] = ()) -> dict[str, list[Timing]]:
    """Timings of the newest runs that have any, by run, newest first.

    Nothing else of a run matters: it may have failed, or be under way in another process. Journals
    are append-only, so that a run's first timings stay what they are.

    Parameters
    ----------
    besides
        Ids of runs that do not count.
    """
    found: dict[str, list[Timing]] = {}
    for folder in reversed(home.run_folders()):
        if len(found) == MOST_RUNS:
            break
        if folder.run_id not in besides and (timings := list(_timings(folder))):
            found[folder.run_id] = timings
    return found


def timings_again(home: Home, counts: Mapping[str, int]) -> dict[str, list[Timing]]:
    """The timings of an earlier look, as far as their runs still exist.

    Parameters
    ----------
    counts
        Number of timings by run.
    """
    folders = {folder.run_id: folder for folder in home.run_folders()}
    return {
        run: list(islice(_timings(folders[run]), n)) for run, n in counts.items() if run in folders
    }


def _timings(folder: RunFolder) -> Iterator[Timing]:
    workload = _workload(folder)
    if workload is None:
        return
    taken: Counter[str] = Counter()
    for _, record in follow(folder.journal):
        timing = _timing(record, workload)
        if timing is not None and taken[timing.configuration.family] < MOST_PER_FAMILY:
            taken[timing.configuration.family] += 1
            yield timing


def _timing(record: Mapping[str, Any], workload: Workload) -> Timing | None:
    if record.get("type") != "trial" or record["trial"]["stage"] != "search":
        return None
    return timing_of(Trial.from_json(record["trial"]), workload)


def _workload(folder: RunFolder) -> Workload | None:
    try:
        data = folder.read_facts().get("data") or {}
    except SettingsError:
        return None
    if "training_rows" not in data:
        return None
    return Workload(data["training_rows"], data["columns"], len(data["classes"] or ()))
