"""The slots of a run: those of this machine, unless whoever begins the run makes others."""

from __future__ import annotations

from typing import Protocol

from automl.errors import SettingsError
from automl.evaluation.slots import Slots
from automl.evaluation.worker_pool import JOB_MODULES, LOG, WorkerPool
from automl.home import RunFolder
from automl.run.workers import n_slots
from automl.settings import Settings


class MakeSlots(Protocol):
    """Makes the slots of a run."""

    def __call__(self, settings: Settings, folder: RunFolder, *, starts_at_once: bool) -> Slots:
        """Slots whose jobs get the path of the run folder as their context.

        Parameters
        ----------
        starts_at_once
            Whether workers are started now, and not by the first that asks for one.

        Raises
        ------
        ServiceError
            If they are to be had from a service that cannot be reached.
        """
        ...


def local_slots(settings: Settings, folder: RunFolder, *, starts_at_once: bool) -> Slots:
    """Slots of this machine.

    Raises
    ------
    SettingsError
        If the settings want those of a cluster.
    """
    if settings.cluster is not None:
        raise SettingsError(
            "setting cluster: this runs trials on this machine alone; leave it out",
            setting="cluster",
        )
    return WorkerPool(
        n_slots(settings),
        context=str(folder.path),
        threads=settings.threads,
        memory_limit_mib=None if settings.memory_mib is None else int(settings.memory_mib),
        log_path=folder.path / LOG,
        preload=JOB_MODULES,
        starts_at_once=starts_at_once,
    )
