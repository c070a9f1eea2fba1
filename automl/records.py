"""The small frozen records that travel between stages, processes and files.

Scores are maximized: 0 is the baseline, 1 is ideal, negative is worse than the baseline.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

JsonScalar = None | bool | int | float | str
FloatArray = NDArray[np.floating[Any]]
IntArray = NDArray[np.integer[Any]]
BoolArray = NDArray[np.bool_]


TOLD_SHARE, TOLD_SHARE_OF_NUMBERS = 0.45, 0.53
"""Of the seconds of a boosted fit that looked for its rounds, what one takes that is told them; for numbers these are
half as many again. See ``benchmarks/seconds``."""
_STAGE_LETTERS = {"stack": "l"}  # of layer; s is for search


class Task(StrEnum):
    """Kind of target."""

    BINARY = "binary"
    MULTICLASS = "multiclass"
    REGRESSION = "regression"

    @property
    def is_classification(self) -> bool:
        """Whether the target has classes."""
        return self is not Task.REGRESSION


class TrialStatus(StrEnum):
    """How a trial ended.

    `raced` was stopped as hopeless, `partial` was asked for fewer folds or rows, `crashed` ended its
    own process, and of `killed` the process was ended from outside, twice.
    """

    COMPLETE = "complete"
    RACED = "raced"
    PARTIAL = "partial"
    TIMED_OUT = "timed_out"
    OUT_OF_MEMORY = "out_of_memory"
    CRASHED = "crashed"
    KILLED = "killed"
    FAILED = "failed"

    @property
    def depends_on_machine(self) -> bool:
        """Whether an equal run, on a machine in another state, need not come to it."""
        return self in (TrialStatus.TIMED_OUT, TrialStatus.OUT_OF_MEMORY, TrialStatus.KILLED)


@dataclass(frozen=True)
class Configuration:
    """One point of a family's search space.

    Parameters
    ----------
    family
        Registry key of the algorithm family.
    values
        Every active hyperparameter by name, virtual and `prep.*` ones included.
    path
        The categorical choices from the family's root to the leaf, each as ``name=value``;
        together with the family it is the signature (B14, section 3.1.2).
    """

    family: str
    values: Mapping[str, JsonScalar] = field(default_factory=dict)
    path: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", MappingProxyType(dict(self.values)))

    def __reduce__(self) -> tuple[Any, ...]:
        return Configuration, (self.family, dict(self.values), self.path)

    def __hash__(self) -> int:
        return hash(self.id)

    @property
    def signature(self) -> str:
        """``family/name=value/…``, the context of the numerical hyperparameters."""
        return "/".join((self.family, *self.path))

    @property
    def preprocessing(self) -> tuple[tuple[str, JsonScalar], ...]:
        """Names and values that shape the preprocessing, in the order of their names."""
        return tuple(sorted((k, v) for k, v in self.values.items() if k.startswith("prep.")))

    @cached_property
    def id(self) -> str:
        """16 hexadecimal digits, equal for equal family and values."""
        text = json.dumps([self.family, dict(self.values)], sort_keys=True)
        return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()

    def to_json(self) -> dict[str, Any]:
        """Plain JSON form."""
        return {"family": self.family, "values": dict(self.values), "path": list(self.path)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Configuration:
        """Inverse of `to_json`."""
        return cls(data["family"], data["values"], tuple(data["path"]))


@dataclass(frozen=True)
class Fidelity:
    """How much of the data and of the training a proposal asks for.

    Parameters
    ----------
    folds : number of folds to run; None runs all
    row_share : share of the training rows of each fold, in (0, 1]
    iteration_share : share of the trees, rounds or epochs of a fit, in (0, 1]
    """

    folds: int | None = None
    row_share: float = 1.0
    iteration_share: float = 1.0

    @property
    def is_full(self) -> bool:
        """Whether every fold, row and iteration is used."""
        return self.folds is None and self.has_full_fits

    @property
    def text(self) -> str:
        """Words for it, for example `1 fold, 33 % of the rows`; empty for the full one."""
        folds = f"{self.folds} fold" + ("s" if self.folds != 1 else "") if self.folds else ""
        rows = f"{self.row_share:.0%} of the rows" if self.row_share < 1.0 else ""
        share = self.iteration_share
        iterations = f"{share:.0%} of the iterations" if share < 1.0 else ""
        return ", ".join(filter(None, (folds, rows, iterations)))

    @property
    def has_full_fits(self) -> bool:
        """Whether the folds that run give what they give in a complete trial."""
        return self.row_share == 1.0 and self.iteration_share == 1.0


@dataclass(frozen=True)
class FoldResult:
    """Result of one (repeat, fold) of one configuration.

    Parameters
    ----------
    score : homogenized performance index
    rows : number of validation rows
    fit_seconds : preprocessing and fit, wall seconds
    predict_seconds : prediction of all validation rows, wall seconds
    processor_seconds
        Of both, all threads together. A busy machine does not change it. 0 if not measured.
    preprocessing_seconds
        The part of `fit_seconds` that preprocessing took; next to nothing where the preprocessed
        rows were still at hand. 0 in journals that do not tell it apart.
    scoring_seconds : of the predictions, wall seconds; 0 in journals that do not tell it
    rounds : that the fit kept when its time was over; None if it ended by itself
    found_rounds
        That were best by rows which the fit held out; further folds of the trial go by them. None if
        it looked for none.
    """

    repeat: int
    fold: int
    score: float
    rows: int
    fit_seconds: float
    predict_seconds: float
    processor_seconds: float = 0.0
    preprocessing_seconds: float = 0.0
    scoring_seconds: float = 0.0
    rounds: int | None = None
    found_rounds: int | None = None

    @property
    def seconds(self) -> float:
        """Wall seconds of fit, prediction and scoring."""
        return self.fit_seconds + self.predict_seconds + self.scoring_seconds

    def told_fit_seconds(self, task: Task) -> float:
        """About what the fit takes where it is told its rounds."""
        if self.found_rounds is None:
            return self.fit_seconds
        share = TOLD_SHARE if task.is_classification else TOLD_SHARE_OF_NUMBERS
        return share * self.fit_seconds

    def further_seconds(self, task: Task) -> float:
        """About what a further fold of the trial takes that is told its rounds."""
        return self.told_fit_seconds(task) + self.predict_seconds + self.scoring_seconds

    def to_json(self) -> dict[str, Any]:
        """Plain JSON form."""
        return dict(self.__dict__)


class MayHaveScore:
    """A record of a trial, which has a score if it is complete."""

    configuration: Configuration
    status: TrialStatus
    score: float | None

    @property
    def achieved(self) -> float:
        """The score of a trial that has one.

        Raises
        ------
        ValueError
            If it has none.
        """
        if self.score is None:
            raise ValueError(f"a trial of {self.configuration.family} has no score: {self.status}")
        return self.score


@dataclass(frozen=True)
class Trial(MayHaveScore):
    """One evaluated decision of the search.

    Parameters
    ----------
    index : decision number, from 0
    score : row-weighted mean of the fold scores; None unless complete, raced or partial
    metrics : every metric over all validation rows, natural sign; empty unless complete
    fidelity : what was asked for; scores of different fidelities are never compared
    seconds
        Wall seconds on the slot; those of folds that were taken over are among them, so that this
        is what the whole trial costs.
    reused_seconds : the part of `seconds` that the earlier, partial trial has spent
    expected_seconds
        What `spent_seconds` was expected to be when the trial was decided; None where nothing forecast
        it: in runs that count trials, before the first timing, and in journals of earlier versions.
    peak_memory_mib : greatest anonymous resident memory of the trial's processes
    origin : what proposed it (`floor`, `default`, `portfolio`, or the optimizer's name)
    stage : `search`, `candidates` or `stack`, the second layer
    reason : one sentence for a trial that is not complete, or whose fits were cut short
    started_at : unix seconds
    bootstrap_scores
        Index on each bootstrap of the validation rows; empty unless complete and an optimizer of
        the run wants them.
    """

    run_id: str
    index: int
    configuration: Configuration
    status: TrialStatus
    score: float | None
    folds: tuple[FoldResult, ...] = ()
    fidelity: Fidelity = field(default_factory=Fidelity)
    metrics: Mapping[str, float] = field(default_factory=dict)
    seconds: float = 0.0
    reused_seconds: float = 0.0
    expected_seconds: float | None = None
    peak_memory_mib: float = 0.0
    origin: str = ""
    stage: str = "search"
    reason: str = ""
    started_at: float = 0.0
    bootstrap_scores: tuple[float, ...] = ()

    @property
    def id(self) -> str:
        """Unique over all runs, sortable within one."""
        letter = _STAGE_LETTERS.get(self.stage, self.stage[0])
        return f"{self.run_id}-{letter}{self.index:05d}"

    @property
    def is_complete(self) -> bool:
        """Whether every planned fold was scored."""
        return self.status is TrialStatus.COMPLETE

    @property
    def depends_on_machine(self) -> bool:
        """Whether an equal run, on a machine in another state, need not come to it."""
        return self.status.depends_on_machine or self.most_rounds is not None

    @property
    def most_rounds(self) -> int | None:
        """Rounds that this trial's fits kept where their time was over; None if all ended by themselves.

        Who fits its configuration again takes as many, so that it is the model that was judged.
        """
        kept = [result.rounds for result in self.folds if result.rounds is not None]
        return round(sum(kept) / len(kept)) if kept else None

    @property
    def fold_scores(self) -> tuple[float, ...]:
        """Scores in the order of the folds."""
        return tuple(result.score for result in self.folds)

    @property
    def spent_seconds(self) -> float:
        """Wall seconds that this trial has added to the search."""
        return self.seconds - self.reused_seconds

    @property
    def fit_seconds(self) -> float:
        """Seconds inside preprocessing and fit, all folds."""
        return sum(result.fit_seconds for result in self.folds)

    @property
    def processor_seconds(self) -> float:
        """Processor seconds of the folds that were scored."""
        return sum(result.processor_seconds for result in self.folds)

    @property
    def predict_milliseconds(self) -> float:
        """Mean milliseconds to predict one row."""
        rows = sum(result.rows for result in self.folds)
        return 1000.0 * sum(r.predict_seconds for r in self.folds) / rows if rows else 0.0

    def to_json(self) -> dict[str, Any]:
        """Plain JSON form."""
        return {
            **self.__dict__,
            "configuration": self.configuration.to_json(),
            "status": str(self.status),
            "fidelity": dict(self.fidelity.__dict__),
            "folds": [result.to_json() for result in self.folds],
            "metrics": dict(self.metrics),
            "bootstrap_scores": list(self.bootstrap_scores),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Trial:
        """Inverse of `to_json`."""
        return cls(
            **{
                **data,
                "configuration": Configuration.from_json(data["configuration"]),
                "status": TrialStatus(data["status"]),
                "fidelity": Fidelity(**data["fidelity"]),
                "folds": tuple(FoldResult(**result) for result in data["folds"]),
                "bootstrap_scores": tuple(data.get("bootstrap_scores", ())),
            }
        )


def short_id(trial_id: str) -> str:
    """The part of a trial's id that tells it from the others of its run."""
    return trial_id.rsplit("-", 1)[-1]
