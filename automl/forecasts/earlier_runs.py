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
    own = [known for known in experiences if known.origin == "run" and known.training_rows > 0]
    by_run: dict[str, list[Timing]] = {}
    for known in sorted(own, key=lambda known: (known.created, known.id), reverse=True):
        if len(by_run) == MOST_RUNS:
            break
        if timings := list(_timings(known)):
            by_run[known.id] = timings
    return by_run


def _timings(known: Experience) -> Iterator[Timing]:
    workload = Workload(known.training_rows, known.data.columns, known.data.classes)
    taken: Counter[str] = Counter()
    for trial in known.trials:
        timing = known_timing(trial, workload)
        if timing is not None and taken[timing.configuration.family] < MOST_PER_FAMILY:
            taken[timing.configuration.family] += 1
            yield timing
