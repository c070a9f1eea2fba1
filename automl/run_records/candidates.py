"""Record of the candidates and of their scores on fresh folds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from automl.selection.preselection import ScoringRecord, ScreeningRecord, SignatureClusters
from automl.stage_record import StageRecord


@dataclass(frozen=True)
class ScoredCandidate:
    """A candidate of the selection.

    Parameters
    ----------
    scores : on the folds on which all candidates are compared
    seconds : of a fold
    """

    trial_id: str
    scores: tuple[float, ...]
    seconds: float


@dataclass(frozen=True)
class ChosenCandidates:
    """The best trial of each cluster of each signature, screened.

    Parameters
    ----------
    trial_ids : best first
    """

    trial_ids: tuple[str, ...]
    clusters: tuple[SignatureClusters, ...]
    screening: ScreeningRecord


@dataclass(frozen=True)
class CandidateScores:
    """Scores of the candidates.

    Parameters
    ----------
    candidates : those that are compared
    scoring : how their scores came about
    """

    candidates: tuple[ScoredCandidate, ...]
    scoring: ScoringRecord


@dataclass(frozen=True)
class CandidatesRecord(CandidateScores, ChosenCandidates, StageRecord):
    """Candidates, and what they scored."""

    stage: ClassVar[str] = "candidates"

    @classmethod
    def of(cls, chosen: ChosenCandidates, scores: CandidateScores) -> CandidatesRecord:
        """Both parts as one record."""
        return cls(**chosen.__dict__, **scores.__dict__)

    @property
    def sentence(self) -> str:
        """How many were scored."""
        return f"candidates scored: {len(self.candidates)}"
