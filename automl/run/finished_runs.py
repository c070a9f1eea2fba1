"""The runs of a home: what a problem was trained on before, and which of its runs can go on."""

from __future__ import annotations

import json
from typing import Any

from automl.errors import SettingsError
from automl.home import Home, RunFolder
from automl.problem_names import clean_name
from automl.run_state import FINISHED, INTERRUPTED, state_of
from automl.tracking.layout import problem_name
from automl.training_request import KEY as REQUEST
from automl.training_request import TrainingRequest

MOST_ATTEMPTS = 5
"""A run that takes its process down each time starts again rather than continued for ever."""


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


def interrupted_run(
    home: Home, name: str, digest: str, request: TrainingRequest
) -> RunFolder | None:
    """Newest run that was interrupted while it did the same: with these settings, on this content.

    Parameters
    ----------
    digest : of the whole table's content
    """
    wanted, asked = clean_name(name), json.loads(json.dumps(request.to_json()))
    for folder in reversed(home.run_folders()):
        try:
            facts = folder.read_facts()
        except SettingsError:
            continue
        is_same = facts.get(REQUEST) == asked and "data" in facts and problem_name(facts) == wanted
        if is_same and table_digest(folder) == digest and _may_go_on(folder, facts):
            return folder
    return None


def _may_go_on(folder: RunFolder, facts: dict[str, Any]) -> bool:
    state = state_of(folder, facts)
    return state.status == INTERRUPTED and len(state.attempts) < MOST_ATTEMPTS


def table_digest(folder: RunFolder) -> str:
    """Digest of the whole table that a run was given."""
    data = folder.read_facts()["data"]
    return str(data.get("table_digest") or data["digest"])
