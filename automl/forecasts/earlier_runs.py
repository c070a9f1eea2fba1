"""Timings of earlier runs, which say how long fits take on other data."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator

from automl.experience.data_set import Experience
from automl.experience.knowledge import SHIPPED
from automl.forecasts.timings import Timing, Workload, known_timing

MOST_RUNS = 25
"""The newest of this installation: they tell of the machine as it is now, and each is read at the start (by
judgement)."""
MOST_PER_FAMILY = 40
"""First timings of each family that are taken from a run."""


def earlier_timings(
    experiences: Iterable[Experience], workload: Workload
) -> dict[str, list[Timing]]:
    """Timings of the newest runs that have any, by run, newest first; then those that the package ships.

    A new installation has none of its own. As many shipped data sets as runs are missing take their
    place, those nearest in size first. They were timed on another machine, which a forecast corrects
    as soon as it has seen this one. Other experience from elsewhere does not count. Nothing else of
    a run matters: it may have failed.

    Parameters
    ----------
    workload
        Of the run that is to be forecast.
    """
    usable = [one for one in experiences if one.training_rows > 0]
    own = [one for one in usable if one.origin == "run"]
    newest = sorted(own, key=lambda one: (one.created, one.id), reverse=True)
    from_package = [one for one in usable if one.origin == SHIPPED]
    nearest = sorted(from_package, key=lambda one: (_distance(_workload(one), workload), one.id))
    by_run: dict[str, list[Timing]] = {}
    for one in (*newest, *nearest):
        if len(by_run) == MOST_RUNS:
            break
        if timings := list(_timings(one)):
            by_run[one.id] = timings
    return by_run


def _distance(one: Workload, other: Workload) -> float:
    """Euclidean, of the logarithms of rows, columns and classes."""
    return math.dist(one.logarithms, other.logarithms)


def _workload(experience: Experience) -> Workload:
    return Workload(experience.training_rows, experience.data.columns, experience.data.classes)


def _timings(experience: Experience) -> Iterator[Timing]:
    workload = _workload(experience)
    taken: Counter[str] = Counter()
    for trial in experience.trials:
        timing = known_timing(trial, workload)
        if timing is not None and taken[timing.configuration.family] < MOST_PER_FAMILY:
            taken[timing.configuration.family] += 1
            yield timing
