"""Record of the whole run, for people, pages and programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

from automl.alternatives import FinalKind
from automl.records import Configuration
from automl.run_records.final import FinalMember, UntouchedScore
from automl.run_records.honest import HonestRecord
from automl.run_records.promotion import PromotionRecord
from automl.stage_record import StageRecord


@dataclass(frozen=True)
class ResultChampion:
    """The trial that the selection chose.

    Parameters
    ----------
    score : on the folds of the search
    """

    trial_id: str
    family: str
    configuration: Configuration
    score: float | None


@dataclass(frozen=True)
class Baseline:
    """The final model beside the constant, which learns nothing from the columns.

    On the scale of the scores 0 is what labels drawn at random by the class frequencies achieve
    (B14, section 3.2). The constant takes the most frequent class, which is right more often than random
    labels wherever the classes are unequal, so that it may score above 0. Whether a model has
    learned anything is therefore asked of the constant's own trial, not of 0.

    Parameters
    ----------
    trial_id : complete trial of the constant; empty if there is none, as in a run of given configurations
    score : of that trial's out-of-fold predictions of all rows; 0 if there is none
    model_score : of those of what is deployed
    is_constant : whether the constant itself is deployed
    """

    trial_id: str
    score: float
    model_score: float
    is_constant: bool

    @property
    def is_beaten(self) -> bool:
        """Whether the model scores more than the constant."""
        return not self.is_constant and self.model_score > self.score

    @property
    def notice(self) -> str:
        """One sentence where the model is no better; empty if it is."""
        if self.is_beaten:
            return ""
        if self.is_constant:
            return (
                "no better than the baseline: the model is the constant, which predicts the same "
                f"for every row (score {self.score:.4f}); nothing that learns was better"
            )
        return (
            f"no better than the baseline: the model scores {self.model_score:.4f}, predicting the "
            f"same for every row {self.score:.4f}"
        )

    def to_json(self) -> dict[str, Any]:
        """Plain JSON form, with what follows from the fields."""
        return {**asdict(self), "is_beaten": self.is_beaten, "notice": self.notice}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Baseline:
        """Inverse of `to_json`."""
        return cls(data["trial_id"], data["score"], data["model_score"], data["is_constant"])


@dataclass(frozen=True, kw_only=True)
class LeaderboardRow:
    """A trial of either layer, and what became of it.

    Parameters
    ----------
    rank : from 1
    honest : the champion's score corrected for the choice; None of all others
    std : of the scores of its folds
    predict_ms : for one row
    status : a few words
    """

    rank: int
    trial_id: str
    family: str
    score: float | None
    honest: float | None = None
    std: float | None
    fit_seconds: float
    predict_ms: float
    status: str
    origin: str


@dataclass(frozen=True)
class FamilyScore:
    """A score by the folds of the search, and whose it is."""

    family: str
    score: float | None


@dataclass(frozen=True)
class BesideDefaults:
    """The families' defaults beside the champion.

    Parameters
    ----------
    boost : (chosen - best) / best; None if the best default is not above the baseline
    n : families that have a score of their default
    missing : why the others have none
    """

    worst: FamilyScore
    best: FamilyScore
    chosen: FamilyScore
    boost: float | None
    n: int
    missing: Mapping[str, str]


@dataclass(frozen=True)
class DeployedModel:
    """The final model.

    Parameters
    ----------
    bundle : folder
    registered : such as ``name/3@champion``; None if it is not registered
    registration : `done`, `pending` or `off`; empty before
    """

    bundle: str
    kind: FinalKind
    members: tuple[FinalMember, ...]
    predict_ms: float
    size_mib: float
    threshold: float | None
    registered: str | None = None
    registration: str = ""


@dataclass(frozen=True)
class KnownBefore:
    """Knowledge of other data that a run began with: digest, data sets and trials."""

    digest: str = ""
    entries: int = 0
    trials: int = 0


@dataclass(frozen=True, kw_only=True)
class RunResult(StageRecord):
    """Result of a run; results of earlier versions may lack the fields with a default.

    Parameters
    ----------
    score, metrics : validated, of the deployed model
    baseline : None in results of earlier versions
    test : None without test rows
    families : that have a trial
    untried : why families that took part have none
    defaults : None without any
    given_up : what was shortened or left out, one sentence each
    warnings : what the user should know, one sentence each
    reproducible : whether an equal run comes to the same
    seconds : from the first line, so far
    promotion : None unless the model challenges a champion
    notices : warnings that readers must see, one sentence each
    links : where to look, by name
    ledger : planned and used seconds by stage
    """

    stage: ClassVar[str] = "result"

    run_id: str
    problem: str
    task: str
    metric: str
    champion: ResultChampion
    score: float
    baseline: Baseline | None = None
    metrics: Mapping[str, float]
    honest: HonestRecord = field(default_factory=HonestRecord)
    test: UntouchedScore | None = None
    leaderboard: tuple[LeaderboardRow, ...]
    trials: int
    complete_trials: int = 0
    families: int = 0
    untried: Mapping[str, str] = field(default_factory=dict)
    defaults: BesideDefaults | None = None
    model: DeployedModel
    given_up: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    experience: KnownBefore = field(default_factory=KnownBefore)
    reproducible: bool = True
    seconds: float = 0.0
    promotion: PromotionRecord | None = None
    notices: tuple[str, ...] = ()
    links: Mapping[str, str] = field(default_factory=dict)
    ledger: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)

    @property
    def sentence(self) -> str:
        """The score of the model."""
        return f"{self.problem}: score {self.score:.4f}"
