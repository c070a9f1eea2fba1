"""The finished runs of a home: what a problem was trained on before."""

from __future__ import annotations

from typing import Any

from automl.errors import SettingsError
from automl.home import Home, RunFolder
from automl.problem_names import clean_name
from automl.run_state import FINISHED, state_of
from automl.tracking.layout import problem_name


def finished_runs(home: Home, name: str) -> list[RunFolder]:
    """Finished runs of a problem, in the order of their starts."""
    wanted = clean_name(name)
    finished = [
        (float(facts.get("started_at", 0.0)), folder)
        for folder in home.run_folders()
        if (facts := finished_facts(folder)) and problem_name(facts) == wanted
    ]
    return [folder for _, folder in sorted(finished, key=lambda entry: entry[0])]


def finished_facts(folder: RunFolder) -> dict[str, Any]:
    """`run.json` of a finished run; of any other empty."""
    try:
        facts = folder.read_facts()
    except SettingsError:
        return {}
    is_whole = {"settings", "data"} <= facts.keys()
    return facts if is_whole and state_of(folder, facts).status == FINISHED else {}


def table_digest(folder: RunFolder) -> str:
    """Digest of the whole table that a run was given."""
    data = folder.read_facts()["data"]
    return str(data.get("table_digest") or data["digest"])
