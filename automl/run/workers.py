"""How many trials of a run this machine works on at a time."""

from __future__ import annotations

import warnings

from automl.errors import AutoMLWarning, SettingsError
from automl.evaluation.machine_limits import usable_cores
from automl.settings import Settings

MOST_PER_CORE = 4
"""Workers or threads for each core; more only wait for each other."""


def n_slots(settings: Settings) -> int:
    """Trials at a time; a run that is resumed on fewer cores has fewer."""
    n_cores = usable_cores()
    as_many_as_fit = max(n_cores // settings.threads, 1)
    return min(settings.workers or as_many_as_fit, MOST_PER_CORE * n_cores)


def check_workers(settings: Settings) -> None:
    """Refuse numbers of workers and threads that cannot be meant for this machine, if it runs the trials.

    Raises
    ------
    SettingsError
        If either is above `MOST_PER_CORE` for each core.

    Warns
    -----
    AutoMLWarning
        If there are more threads of all workers than cores.
    """
    if settings.cluster is not None:
        return
    n_cores = usable_cores()
    there = f"{n_cores} core{'s' if n_cores > 1 else ''} of this machine"
    most = MOST_PER_CORE * n_cores
    for name, wanted in (("workers", settings.workers), ("threads", settings.threads)):
        if wanted > most:
            raise SettingsError(
                f"setting {name}: at most {most} can share the {there}; got {wanted}", setting=name
            )
    n_workers, n_threads = n_slots(settings), settings.threads
    if n_workers * n_threads > n_cores:
        each = f" with {n_threads} threads each" if n_threads > 1 else ""
        warnings.warn(
            f"{n_workers} worker{'s' if n_workers > 1 else ''}{each} share the {there}; "
            "trials take longer than with a core for each",
            AutoMLWarning,
            stacklevel=2,
        )
