"""Record of the final model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from automl.alternatives import FinalKind
from automl.metrics.intervals import Intervals
from automl.stage_record import StageRecord

MADE_OF: Mapping[FinalKind, str] = {
    "bag": "fold models",
    "refit": "models of all training rows",
    "bag_and_refit": "fold models and models of all training rows",
}
"""What the members of a final model are, in words."""


@dataclass(frozen=True)
class FinalMember:
    """A member of the final model.

    Parameters
    ----------
    weight : 0 where its predictions are inputs of others only
    models : fitted pipelines of it
    inputs : ids of the trials whose predictions it takes
    """

    trial_id: str
    weight: float
    family: str = ""
    models: int = 1
    inputs: tuple[str, ...] = ()


@dataclass(frozen=True)
class UntouchedScore:
    """Scores of the final model on rows that nothing else has used.

    Parameters
    ----------
    intervals : of 95 %, of what has one; empty in records of earlier versions
    """

    rows: int
    score: float
    metrics: Mapping[str, float] = field(default_factory=dict)
    intervals: Intervals = field(default_factory=Intervals)


@dataclass(frozen=True)
class FinalRecord(StageRecord):
    """The model that a run made.

    Parameters
    ----------
    kind : fold models, fitted once more on all rows, or both
    bundle : folder
    threshold : of two classes; else None
    score, metrics : validated, of this very model
    predict_ms : for one row
    test : None without test rows
    """

    stage: ClassVar[str] = "final"

    members: tuple[FinalMember, ...]
    kind: FinalKind = "bag"
    bundle: str = ""
    threshold: float | None = None
    score: float = float("nan")
    metrics: Mapping[str, float] = field(default_factory=dict)
    predict_ms: float = 0.0
    size_mib: float = 0.0
    test: UntouchedScore | None = None

    @property
    def made_of(self) -> str:
        """What its members are."""
        return MADE_OF[self.kind]

    @property
    def sentence(self) -> str:
        """Kind and size."""
        return f"{self.kind}, members: {len(self.members)}"
