"""Record of the report of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from automl.stage_record import StageRecord

LOOK_SECONDS = 4.0
"""For looking at the deployed model within a run; the page is then there in less than ten seconds in all."""
PATIENT_SECONDS = 30.0
"""For the same where a person asks for the page and the model is slow: most models are looked at then."""


@dataclass(frozen=True)
class ReportRecord(StageRecord):
    """Whether the run has made its report.

    Parameters
    ----------
    size_kib : of the page; 0 where none was made
    reason : why there is none, one sentence; empty if there is one
    """

    stage: ClassVar[str] = "report"

    size_kib: float = 0.0
    reason: str = ""

    @property
    def sentence(self) -> str:
        """Its size, or why it is not there."""
        return self.reason or f"the report has {self.size_kib:.0f} KiB"
