"""What is known of a run's choices, from its folder alone, while it runs as well as after."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from automl.errors import SettingsError
from automl.home import RunFolder
from automl.lookup import nearest_names
from automl.records import Trial
from automl.run.stage_table import STAGES
from automl.run_state import read_stage
from automl.selection.dispositions import Disposition
from automl_flows.words.results import short_id
from automl_flows.words.run_status import RunStatus, describe

NEAR = 3


@dataclass(frozen=True)
class Known:
    """A run as far as it got.

    Parameters
    ----------
    status
        One line about it.
    facts
        `run.json`; empty where it cannot be read.
    trials
        All trials of the journal by id, those on fresh folds and of a second layer included.
    stages
        Records of the finished stages by name.
    """

    status: RunStatus
    facts: Mapping[str, Any]
    trials: Mapping[str, Trial]
    stages: Mapping[str, Mapping[str, Any]]

    @property
    def run_id(self) -> str:
        """Identifier of the run."""
        return self.status.run_id

    @cached_property
    def searched(self) -> list[Trial]:
        """Trials of the search, in the order of the decisions."""
        found = [trial for trial in self.trials.values() if trial.stage == "search"]
        return sorted(found, key=lambda trial: trial.index)

    @cached_property
    def complete(self) -> list[Trial]:
        """Complete trials of the search, best first."""
        found = [trial for trial in self.searched if trial.is_complete]
        return sorted(found, key=lambda trial: (-trial.achieved, trial.index))

    @cached_property
    def dispositions(self) -> dict[str, Disposition]:
        """By trial id; empty before the selection."""
        found = self.stages["selection"].get("dispositions") or {}
        known = {key: value for key, value in found.items() if "place" in value}
        return {trial_id: Disposition.from_json(entry) for trial_id, entry in known.items()}

    @cached_property
    def weights(self) -> dict[str, float]:
        """Weight of each member of the model, by trial id."""
        members = (self.stages["final"] or self.stages["ensemble"]).get("members") or ()
        return {member["trial_id"]: float(member["weight"]) for member in members}

    @property
    def champion(self) -> str:
        """Trial id of the champion; empty before the selection."""
        return str(self.stages["selection"].get("champion", ""))

    def shortened(self, text: str) -> str:
        """A text with the short forms of the run's trial ids."""
        return text.replace(f"{self.run_id}-", "")

    def trial(self, name: str) -> Trial:
        """Trial by its id, its short form, or its number in the search.

        Raises
        ------
        SettingsError
            If there is none; the message names near ones.
        """
        by_short = {short_id(trial_id): trial for trial_id, trial in self.trials.items()}
        numbered = f"s{int(name):05d}" if name.isdecimal() else name
        found = self.trials.get(name) or by_short.get(name) or by_short.get(numbered)
        if found is None:
            near = nearest_names(short_id(numbered), by_short, most=NEAR, cutoff=0.0)
            known = f"; near ones are {', '.join(sorted(near))}" if near else ", nor any other yet"
            raise SettingsError(f"run {self.run_id} has no trial {name!r}{known}", trial=name)
        return found


def known_of(folder: RunFolder) -> Known:
    """What is known of a run."""
    from automl.tracking.reading import JournalView

    try:
        facts = folder.read_facts()
    except SettingsError:
        facts = {}
    view = JournalView(folder)
    if folder.journal.is_dir():
        view.refresh()
    names = [stage.name for stage in STAGES]
    stages = {name: read_stage(folder, name) for name in names}
    trials = dict(view.trials)
    for entry in stages["ensemble"].get("stack") or ():
        trial = Trial.from_json(entry)
        trials.setdefault(trial.id, trial)
    return Known(describe(folder), facts, trials, stages)
