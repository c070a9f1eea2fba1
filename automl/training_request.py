"""Settings of a problem, without the changes of single retrainings.

A retraining has the settings of the problem's newest training request. What it overrides, such as
the number of trials, is its own: it is recorded with its run and the next retraining knows
nothing of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from automl.alternatives import How
from automl.home import RunFolder
from automl.problem_names import problem_name
from automl.settings import Settings
from automl.settings.sources import validated_settings

KEY = "request"
"""Key of the record in `run.json`; a run without it is a training request itself."""
HOW_WORDS = {
    "warm": "a short search that begins with the champion's configurations",
    "refit": "the champion's configurations and weights, fitted once more",
}
LIMITS = ("budget_seconds", "trials")
"""Settings of which one that is overridden replaces the other."""


@dataclass(frozen=True)
class TrainingRequest:
    """Settings that retrainings of a problem inherit, and what one of them changed.

    Parameters
    ----------
    run_id : of the run that was asked for with `settings`
    settings : plain JSON form
    task : that the run found, so that a new version of the table is the same problem
    overrides : settings of one retraining alone
    recipe_settings : settings of the champion's run that its recipe needs
    how : one retraining is done: by a search, by one that begins with the champion's recipe, or by that alone
    """

    run_id: str
    settings: Mapping[str, Any]
    task: str
    overrides: Mapping[str, Any] = field(default_factory=dict)
    recipe_settings: Mapping[str, Any] = field(default_factory=dict)
    how: How = "search"

    @classmethod
    def of(cls, folder: RunFolder) -> TrainingRequest:
        """Request that a finished run goes back to, without overrides: its own, or the inherited."""
        facts = folder.read_facts()
        if KEY in facts:
            own = {"overrides": {}, "recipe_settings": {}, "how": "search"}
            return cls.from_json({**facts[KEY], **own})
        settings = facts["settings"]
        name = settings.get("name") or problem_name(settings)
        return cls(folder.run_id, {**settings, "name": name}, facts["data"]["task"])

    def with_overrides(self, overrides: Mapping[str, Any]) -> TrainingRequest:
        """The same for a retraining that changes some settings; those that are None it keeps."""
        given = {key: value for key, value in overrides.items() if value is not None}
        return replace(self, overrides=given)

    def settings_for(self, table: str) -> Settings:
        """Settings of a retraining on another table.

        Of `budget_seconds` and `trials`, one that is overridden replaces the other.

        Raises
        ------
        SettingsError
            If a value is not usable, or the settings are of an incompatible version.
        """
        limits = dict.fromkeys(LIMITS) if set(LIMITS) & self.overrides.keys() else {}
        own = {"task": self.task, "table": table, "challenge": True}
        values = {**self.settings, **limits, **own, **self.recipe_settings, **self.overrides}
        return validated_settings(values, of=f"run {self.run_id}")

    def to_json(self) -> dict[str, Any]:
        """Plain JSON form."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> TrainingRequest:
        """From its plain JSON form."""
        return cls(**data)

    @property
    def remark(self) -> str:
        """``; for this run alone trials=3``, or nothing."""
        changed = ", ".join(f"{key}={value}" for key, value in self.overrides.items())
        manner = "" if self.how == "search" else f"; {HOW_WORDS[self.how]}"
        return manner + (f"; for this run alone {changed}" if changed else "")
