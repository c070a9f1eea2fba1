"""Record of whether the model takes the champion's alias."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from automl.stage_record import StageRecord


@dataclass(frozen=True)
class PromotionRecord(StageRecord):
    """The new model beside the champion.

    Parameters
    ----------
    promote : whether it takes the alias
    reason : one sentence
    champion : such as ``beans-label/3``; empty if no model holds the alias
    fresh_rows : rows that are not among the champion's training rows; None if unknown
    rows : that both were compared on
    held_rows : those of them that were held back from training
    is_compared : whether the scores decided
    score, champion_score, difference_standard_error : on these rows; None without a comparison
    """

    stage: ClassVar[str] = "promotion"

    promote: bool
    reason: str
    champion: str = ""
    fresh_rows: int | None = None
    rows: int = 0
    held_rows: int = 0
    is_compared: bool = False
    score: float | None = None
    champion_score: float | None = None
    difference_standard_error: float | None = None

    @property
    def sentence(self) -> str:
        """Why."""
        return self.reason
