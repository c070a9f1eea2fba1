"""The slots of a run: those of the Dask cluster that its settings name, else those of this machine."""

from __future__ import annotations

from automl.evaluation.slots import Slots
from automl.home import RunFolder
from automl.run.local_slots import local_slots
from automl.settings import Settings


def run_slots(settings: Settings, folder: RunFolder, *, starts_at_once: bool) -> Slots:
    """Slots that the settings ask for; see `automl.run.local_slots.MakeSlots`.

    Raises
    ------
    ServiceError
        If the cluster cannot be reached, or has no workers to use.
    """
    if settings.cluster is None:
        return local_slots(settings, folder, starts_at_once=starts_at_once)
    from automl_tasks.cluster.dask_slots import dask_slots  # slow: imports distributed

    return dask_slots(settings, folder)
