"""Record of whether the model takes the champion's alias."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from automl.stage_record import StageRecord


@dataclass(frozen=True)
class PromotionRecord(StageRecord):
    """The new model beside the champion.

    Scores are the performance index on the rows that both were compared on; what belongs to them is None
    without a comparison.

    Parameters
    ----------
    promote : whether it takes the alias
    reason : one sentence
    champion : such as ``beans-label/3``; empty if no model holds the alias
    fresh_rows : rows that are not among the champion's training rows; None if unknown
    rows : that both were compared on
    held_rows : those of them that were held back from training
    is_compared : whether the scores decided
    rule : the setting `promotion`; empty in records of earlier versions
    score, champion_score, difference_standard_error : on these rows
    low, high : 95 % interval of the difference, new - old
    pvalue : one-sided, of the rule's null hypothesis
    level : the p-value that the rule allows
    look : how many models have been compared with this champion by now, this one included
    margin : how much worse the rule lets the model be, in units of `unit`; 0 for `superior`
    unit : the metric, or ``index`` for a sum of several
    difference_in_units : the difference, greater is better, in units of `unit`
    """

    stage: ClassVar[str] = "promotion"

    promote: bool
    reason: str
    champion: str = ""
    fresh_rows: int | None = None
    rows: int = 0
    held_rows: int = 0
    is_compared: bool = False
    rule: str = ""
    score: float | None = None
    champion_score: float | None = None
    difference_standard_error: float | None = None
    low: float | None = None
    high: float | None = None
    pvalue: float | None = None
    level: float | None = None
    look: int | None = None
    margin: float | None = None
    unit: str = ""
    difference_in_units: float | None = None

    @property
    def sentence(self) -> str:
        """Why."""
        return self.reason

    @property
    def difference(self) -> float | None:
        """Score of the new model less the champion's; None without a comparison."""
        if self.score is None or self.champion_score is None:
            return None
        return self.score - self.champion_score

    @property
    def champion_version(self) -> str:
        """Version that was compared with; empty for none."""
        return self.champion.rpartition("/")[2]
