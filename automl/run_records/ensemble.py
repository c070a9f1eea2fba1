"""Record of the ensemble."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from automl.ensembles.evidence import EnsembleDecision
from automl.inference.calibration import Calibration
from automl.inference.combining import Combine
from automl.inference.decision import DecisionRule
from automl.records import Trial
from automl.stage_record import StageRecord


@dataclass(frozen=True)
class Share:
    """A trial and its weight in a blend."""

    trial_id: str
    weight: float


@dataclass(frozen=True)
class BlendScores:
    """Score of a blend of trials on their out-of-fold predictions.

    Parameters
    ----------
    rule : decision rule, learned on all rows; None for regression
    score : index by the rules of the other folds
    metrics : the same by metric, natural sign
    """

    rule: DecisionRule | None
    score: float
    metrics: Mapping[str, float]


@dataclass(frozen=True)
class EnsembleEvidence:
    """The comparison of an ensemble with the champion.

    Parameters
    ----------
    n_bags : of which the weights are means
    seconds : that learning and comparing took
    calibration_gain : of the mean score of the folds, each calibrated by the others; None where nothing
        was to be calibrated
    """

    decision: EnsembleDecision
    n_bags: int
    seconds: float
    calibration_gain: float | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain JSON form, the decision's fields among the others."""
        return {
            **self.decision.to_json(),
            "n_bags": self.n_bags,
            "seconds": self.seconds,
            "calibration_gain": self.calibration_gain,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> EnsembleEvidence:
        """Inverse of `to_json`; earlier versions kept no scores on all rows and no numbers of their own."""
        own = {"n_bags", "seconds", "calibration_gain"}
        unknown = {"learned_score": float("nan"), "replaced_score": float("nan")}
        decision = {key: value for key, value in data.items() if key not in own}
        return cls(
            EnsembleDecision.from_json({**unknown, **decision}),
            data.get("n_bags", 1),
            data.get("seconds", 0.0),
            data.get("calibration_gain"),
        )


@dataclass(frozen=True)
class EnsembleRecord(StageRecord):
    """Members of the model, and why they are it.

    Parameters
    ----------
    members : heaviest first; the champion alone where the ensemble was not taken
    learned : members of the ensemble, also where it was not taken; empty without one
    evidence : None if nothing was learned
    method : of the ensemble
    n_library : trials that it chose from
    rule, score, metrics : of what is chosen
    stack : trials of the second layer
    base : ids of those whose predictions they take
    calibration : of the blend's probabilities; None where they stay as they are
    recipe : run whose members and weights these are on other rows; empty where they were chosen here
    """

    stage: ClassVar[str] = "ensemble"

    members: tuple[Share, ...]
    learned: tuple[Share, ...] = ()
    replaced_champion: bool = False
    evidence: EnsembleEvidence | None = None
    method: str = "none"
    combine: Combine = "mean"
    n_library: int = 0
    stack: tuple[Trial, ...] = ()
    base: tuple[str, ...] = ()
    rule: DecisionRule | None = None
    score: float = float("nan")
    metrics: Mapping[str, float] = field(default_factory=dict)
    calibration: Calibration | None = None
    recipe: str = ""

    @property
    def shares(self) -> dict[str, float]:
        """Weight of each member by its trial id."""
        return {member.trial_id: member.weight for member in self.members}

    def is_made_of(self, trial_ids: Iterable[str]) -> bool:
        """Whether these are all the members: rule, scores and calibration are about nothing less."""
        return set(trial_ids) == set(self.shares)

    @property
    def scores(self) -> BlendScores:
        """Decision rule and scores of what is chosen."""
        return BlendScores(self.rule, self.score, self.metrics)

    @property
    def sentence(self) -> str:
        """Why the ensemble replaces the champion, or why not."""
        if self.recipe:
            return f"the members and their weights are those of run {self.recipe}"
        return "no ensemble was built" if self.evidence is None else self.evidence.decision.reason
