"""Timings of earlier runs of this installation, which say how long fits take on other data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from automl.experience.data_set import Experience
from automl.forecasts.timings import Timing, Workload, known_timing

MOST_RUNS = 25
"""The newest: they tell of the machine as it is now, and each is read at the start (by judgement)."""
MOST_PER_FAMILY = 40
"""Newest runs that count, and first timings of each family that are taken from each."""


def earlier_timings(experiences: Iterable[Experience]) -> dict[str, list[Timing]]:
    """Timings of the newest runs that have any, by run, newest first.

    Experience from elsewhere does not count: it was made on another machine. Nothing else of a run
    matters: it may have failed.
    """
    own = [one for one in experiences if one.origin == "run" and one.training_rows > 0]
    by_run: dict[str, list[Timing]] = {}
    for one in sorted(own, key=lambda one: (one.created, one.id), reverse=True):
        if len(by_run) == MOST_RUNS:
            break
        if timings := list(_timings(one)):
            by_run[one.id] = timings
    return by_run


def _timings(experience: Experience) -> Iterator[Timing]:
    workload = Workload(experience.training_rows, experience.data.columns, experience.data.classes)
    taken: Counter[str] = Counter()
    for trial in experience.trials:
        timing = known_timing(trial, workload)
        if timing is not None and taken[timing.configuration.family] < MOST_PER_FAMILY:
            taken[timing.configuration.family] += 1
            yield timing
