"""Record of the search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from automl.selection.defaults import DefaultTrial
from automl.stage_record import StageRecord


@dataclass(frozen=True)
class FamilyFindings:
    """Result of the search of one family.

    Parameters
    ----------
    best_score, best_trial : of its complete trials; None without any
    seconds : that its trials spent on their slots
    """

    trials: int = 0
    complete: int = 0
    best_score: float | None = None
    best_trial: str | None = None
    seconds: float = 0.0

    @property
    def sentence(self) -> str:
        """The findings in words."""
        if not self.trials:
            return "no trial"
        told = f"{self.complete} of {self.trials} trials complete"
        return told if self.best_score is None else f"{told}, best score {self.best_score:.4f}"


@dataclass(frozen=True)
class SearchRecord(StageRecord):
    """Trials and result of the search.

    Parameters
    ----------
    families : by name
    dropped : why families took no part, or no longer
    untried : why families that took part have no trial
    defaults : default configuration of each family
    seconds : from the run's first line to the end of the search
    allocator : its name; empty where there was one family, and in records from before it was kept
    joined_families : whether the optimizer chose the family of what it proposed, and not the allocator
    """

    stage: ClassVar[str] = "search"

    trials: int
    complete: int
    families: Mapping[str, FamilyFindings] = field(default_factory=dict)
    dropped: Mapping[str, str] = field(default_factory=dict)
    untried: Mapping[str, str] = field(default_factory=dict)
    defaults: Mapping[str, DefaultTrial] = field(default_factory=dict)
    seconds: float = 0.0
    allocator: str = ""
    joined_families: bool = False

    @property
    def sentence(self) -> str:
        """How many trials are complete."""
        return f"{self.complete} of {self.trials} trials are complete"
