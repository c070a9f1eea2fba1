"""Experience of one data set: its facts and the trials on it."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from automl.records import Configuration, Fidelity, MayHaveScore, Task, Trial, TrialStatus

SCHEMA = 1
"""Schema of a remembered data set, written with it for readers to come."""
SCORE_DECIMALS = 6
"""Of remembered fold scores, as in the tags of a tracking store; a trial is remembered alike from both."""
META_FEATURES = "meta_features"
"""Stage record with the meta-features of a run's table: ``{"values": {name: number}, …}``."""


@dataclass(frozen=True)
class DataSetFacts:
    """A data set as experience knows it.

    Parameters
    ----------
    name : the problem's name, or the file's
    fingerprint : digest of the content; equal for the same rows under another name
    layout : digest of the column names, their roles and the target; equal for new versions
    rows : that trials could learn from, all folds together
    columns : before encoding, without the target
    classes : 0 for regression
    meta_features : by name (`automl.meta_features`); those that are unknown are absent
    matrix : `automl.preprocessing.matrix_facts`; empty if it is not known
    """

    name: str
    fingerprint: str
    layout: str
    task: Task
    rows: int
    columns: int
    classes: int
    meta_features: Mapping[str, float] = field(default_factory=dict)
    matrix: Mapping[str, float] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON form."""
        content = {
            **self.__dict__,
            "task": str(self.task),
            "meta_features": dict(self.meta_features),
            "matrix": dict(self.matrix),
        }
        if not self.matrix:  # as it was written before, so that digests stay
            del content["matrix"]
        return content

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> DataSetFacts:
        """Inverse of `to_json`."""
        return cls(**{**data, "task": Task(data["task"])})


@dataclass(frozen=True)
class KnownTrial(MayHaveScore):
    """A configuration and what it gave.

    Parameters
    ----------
    score : mean of the fold scores, homogenized, to be maximized; None unless complete
    seconds : wall seconds of all folds that were run
    folds : how many were run
    fidelity : what was asked for
    fold_scores
        Of these folds in their order, to six decimals; empty where they were not remembered.
    """

    configuration: Configuration
    status: TrialStatus
    score: float | None
    seconds: float
    folds: int
    fidelity: Fidelity = field(default_factory=Fidelity)
    fold_scores: tuple[float, ...] = ()

    @classmethod
    def of(cls, trial: Trial) -> KnownTrial:
        """What is remembered of a trial; one that was cut short did not have the time that it needs."""
        is_cut = trial.most_rounds is not None
        return cls(
            configuration=trial.configuration,
            status=TrialStatus.TIMED_OUT if is_cut else trial.status,
            score=trial.score if trial.is_complete and not is_cut else None,
            seconds=trial.seconds,
            folds=len(trial.folds),
            fidelity=trial.fidelity,
            fold_scores=tuple(round(score, SCORE_DECIMALS) for score in trial.fold_scores),
        )

    def to_json(self) -> dict[str, Any]:
        """Plain JSON form."""
        return {
            **self.__dict__,
            "configuration": self.configuration.to_json(),
            "status": str(self.status),
            "fidelity": dict(self.fidelity.__dict__),
            "fold_scores": list(self.fold_scores),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> KnownTrial:
        """Inverse of `to_json`."""
        return cls(
            **{
                **data,
                "configuration": Configuration.from_json(data["configuration"]),
                "status": TrialStatus(data["status"]),
                "fidelity": Fidelity(**data.get("fidelity", {})),
                "fold_scores": tuple(data.get("fold_scores", ())),
            }
        )


@dataclass(frozen=True)
class Experience:
    """The trials of one run.

    Parameters
    ----------
    id : the run's id, or a name of the same uniqueness
    metric : what the scores are, as the settings name it
    trials : in the order of their decisions
    origin : `run`, `shipped`, `imported` or `mlflow`
    created : day and time, ISO 8601, UTC
    training_rows : that the first fit of a full trial learned from; 0 if unknown
    """

    id: str
    data: DataSetFacts
    metric: str
    trials: Sequence[KnownTrial]
    origin: str = "run"
    created: str = ""
    training_rows: int = 0

    def scored(self, families: Collection[str]) -> list[tuple[Configuration, float]]:
        """Configurations of these families with their complete, finite scores."""
        return [
            (trial.configuration, trial.score)
            for trial in self.trials
            if trial.status is TrialStatus.COMPLETE
            and trial.score is not None
            and math.isfinite(trial.score)
            and trial.configuration.family in families
        ]

    def to_json(self) -> dict[str, Any]:
        """Plain JSON form, with the number of the schema."""
        return {
            **self.__dict__,
            "schema": SCHEMA,
            "data": self.data.to_json(),
            "trials": [trial.to_json() for trial in self.trials],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Experience:
        """Inverse of `to_json`."""
        values = {key: value for key, value in data.items() if key != "schema"}
        return cls(
            **{
                **values,
                "data": DataSetFacts.from_json(data["data"]),
                "trials": tuple(KnownTrial.from_json(trial) for trial in data["trials"]),
            }
        )
