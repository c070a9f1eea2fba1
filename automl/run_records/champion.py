"""Record of the selection: the champion, and all that it was chosen by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from automl.records import short_id
from automl.selection.clusters import Candidate
from automl.selection.dispositions import Disposition
from automl.selection.preselection import ScoringRecord, ScreeningRecord, SignatureClusters
from automl.selection.record_digest import record_digest
from automl.selection.selection_records import LevelDecision, SelectionRecord, SelectionSettings
from automl.stage_record import StageRecord


@dataclass(frozen=True, kw_only=True)
class ChampionRecord(StageRecord):
    """The whole selection; `automl.selection.checker` computes it again from its JSON form.

    Records of earlier versions may lack the fields with a default.

    Parameters
    ----------
    winner, champion : trial id
    candidates, settings, decisions : see `SelectionRecord`
    trials : see `automl.selection.preselection.trial_row`
    fold_rows : rows of each fold of the search
    max_predict_ms : limit of the milliseconds to predict a row
    k : clusters of each signature
    dispositions : what became of each trial, with its cluster
    seconds : whether the speed that was ranked was measured or expected
    digest : see `record_digest`
    """

    stage: ClassVar[str] = "selection"

    winner: str
    candidates: tuple[Candidate, ...]
    settings: SelectionSettings
    decisions: tuple[LevelDecision, ...]
    champion: str
    trials: tuple[Mapping[str, Any], ...] = ()
    fold_rows: tuple[int, ...] = ()
    max_predict_ms: float | None = None
    k: int = 0
    clusters: tuple[SignatureClusters, ...] = ()
    screening: ScreeningRecord = field(default_factory=lambda: ScreeningRecord((), (), 0))
    scoring: ScoringRecord = field(default_factory=lambda: ScoringRecord((), 0, 0, 0, {}, (), ()))
    dispositions: Mapping[str, Disposition] = field(default_factory=dict)
    seconds: str = ""
    digest: str = ""

    @property
    def selection(self) -> SelectionRecord:
        """Candidates, settings and decisions alone."""
        return SelectionRecord(self.candidates, self.settings, self.decisions)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON form, with the digest of all the rest."""
        made = super().to_json()
        return {**made, "digest": self.digest or record_digest(made)}

    @property
    def sentence(self) -> str:
        """The champion."""
        return f"champion is trial {short_id(self.champion)}"
