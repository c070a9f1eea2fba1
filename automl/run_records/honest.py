"""Record of the honest score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from automl.selection.correction import HonestMetric, HonestScore
from automl.stage_record import StageRecord

Kind = Literal["single", "ensemble"]


@dataclass(frozen=True)
class HonestRecord(StageRecord):
    """Corrected scores of the champion alone and of the ensemble.

    Parameters
    ----------
    single, ensemble : None if there is no estimate
    chosen : which of them is the model
    n_bootstraps : that repeated the choice
    n_trials : that were chosen from
    reason : why there is no estimate of what was chosen; empty if there is one
    """

    stage: ClassVar[str] = "honest"

    single: HonestScore | None = None
    ensemble: HonestScore | None = None
    chosen: Kind = "single"
    n_bootstraps: int = 0
    n_trials: int = 0
    reason: str = ""

    @property
    def of_model(self) -> HonestScore | None:
        """The estimate of what was chosen."""
        return self.ensemble if self.chosen == "ensemble" else self.single

    @property
    def of_metrics(self) -> Mapping[str, HonestMetric]:
        """Metrics of what was chosen, those that have an estimate."""
        return {} if self.of_model is None else self.of_model.metrics

    @property
    def sentence(self) -> str:
        """The score of what was chosen, or why there is none."""
        score = self.of_model
        return self.reason if score is None else f"honest score {score.score:.4f}"
