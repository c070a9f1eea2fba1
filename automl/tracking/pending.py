"""Runs whose model waits to be registered; loads no mlflow."""

from __future__ import annotations

from pathlib import Path

from automl.errors import AutoMLError
from automl.home import Home, RunFolder
from automl.problem_names import clean_name, problem_name
from automl.run_records.result import RunResult
from automl.tracking.mirror_process import registration
from automl.tracking.outbox import Outbox

REFUSED = "refused"
"""Event of the outbox: why the bundle did not load in a clean process when it was last tried."""


def pending_runs(name: str, home: Path) -> list[RunFolder]:
    """Runs of a name with a result that no process drives and whose model is not registered."""
    wanted = clean_name(name)
    return [
        folder
        for folder in Home(home).run_folders()
        if _name_of(folder) == wanted
        and registration(folder).status == "pending"
        and RunResult.read(folder) is not None
        and not folder.is_driven()
    ]


def is_refused(folder: RunFolder) -> bool:
    """Whether the bundle of a run did not load in a clean process when it was last tried."""
    return REFUSED in Outbox.load(folder.path / "outbox.json").done


def _name_of(folder: RunFolder) -> str:
    try:
        settings = folder.read_facts().get("settings")
    except AutoMLError:
        return ""
    return problem_name(settings) if settings else ""
