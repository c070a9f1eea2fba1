"""Where the seconds of a run went: by family, by fold, by how trials ended, by stage; idle slots.

Notation
--------
window : from the first start to the last end of the search's trials of one driving process
slot seconds : seconds of all windows, each times the slots of its process
busy : the part of them in which a trial ran
asking : the part in which a decision was computed, while a slot waited for it
idle : the rest, in which a slot had nothing to run
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeVar

from automl.records import FoldResult, Trial, TrialStatus

Key = TypeVar("Key")
Item = TypeVar("Item")

SEARCH = "search"
PARTS = ("preprocessing", "fitting", "predicting", "scoring")
"""What the seconds of a fold are told apart into."""
SCORED = frozenset({TrialStatus.COMPLETE, TrialStatus.RACED, TrialStatus.PARTIAL})


@dataclass(frozen=True)
class Spent:
    """What some trials spent on their slots, wall seconds.

    Parameters
    ----------
    trials : number
    seconds : all of them
    preprocessing, fitting, predicting, scoring : inside the folds that ended
    other
        The rest: what is computed and kept after the last fold, messages, and the fold in which a
        trial was killed.
    median_seconds : of a trial; None without trials
    """

    trials: int
    seconds: float
    preprocessing: float
    fitting: float
    predicting: float
    scoring: float
    other: float
    median_seconds: float | None

    @classmethod
    def of(cls, trials: Sequence[Trial]) -> Spent:
        """Sums over trials."""
        seconds = [trial.seconds for trial in trials]
        folds = [fold for trial in trials for fold in trial.folds]
        preprocessing = sum(fold.preprocessing_seconds for fold in folds)
        fitting = sum(fold.fit_seconds for fold in folds) - preprocessing
        predicting = sum(fold.predict_seconds for fold in folds)
        scoring = sum(fold.scoring_seconds for fold in folds)
        inside = preprocessing + fitting + predicting + scoring
        return cls(
            len(trials),
            sum(seconds),
            preprocessing,
            fitting,
            predicting,
            scoring,
            max(sum(seconds) - inside, 0.0),
            statistics.median(seconds) if seconds else None,
        )


@dataclass(frozen=True)
class FamilySeconds:
    """What the search spent on a family.

    Parameters
    ----------
    complete, raced : numbers of trials
    failed : trials that failed, crashed, or broke a limit
    best_score : of the complete trials; None without one
    planned : trials that had a forecast when they were decided
    planned_seconds : that these were expected to take; None without any
    """

    family: str
    spent: Spent
    complete: int
    raced: int
    failed: int
    best_score: float | None
    planned: int = 0
    planned_seconds: float | None = None

    @classmethod
    def of(cls, family: str, trials: Sequence[Trial]) -> FamilySeconds:
        """Of the trials of one family."""
        scores = [t.score for t in trials if t.is_complete and t.score is not None]
        expected = [t.expected_seconds for t in trials if t.expected_seconds is not None]
        return cls(
            family,
            Spent.of(trials),
            complete=sum(trial.is_complete for trial in trials),
            raced=sum(trial.status is TrialStatus.RACED for trial in trials),
            failed=sum(trial.status not in SCORED for trial in trials),
            best_score=max(scores, default=None),
            planned=len(expected),
            planned_seconds=sum(expected) if expected else None,
        )


@dataclass(frozen=True)
class FoldSeconds:
    """What one fold of the search took, over all trials that ended it.

    Parameters
    ----------
    fits : number of trials
    preprocessing, fitting, predicting, scoring : wall seconds
    """

    repeat: int
    fold: int
    fits: int
    preprocessing: float
    fitting: float
    predicting: float
    scoring: float


@dataclass(frozen=True)
class GroupSeconds:
    """What trials with something in common spent.

    Parameters
    ----------
    name : status, origin or stage
    """

    name: str
    trials: int
    seconds: float


@dataclass(frozen=True)
class SlotUse:
    """What the slots did while the search ran; see the notation of this module.

    Parameters
    ----------
    slots : of the last process
    """

    slots: int
    slot_seconds: float
    busy: float
    asking: float
    idle: float


@dataclass(frozen=True)
class SecondsReport:
    """Where the seconds of a run went.

    Parameters
    ----------
    families : by seconds, greatest first
    folds : in the order in which they run
    statuses, origins : of the search, by seconds, greatest first
    stages : slot seconds of trials by the stage that they are of
    slots : None where the run does not tell how many there were, or nothing ran
    tells_preprocessing : False for an old journal, in which preprocessing is part of fitting
    """

    total: Spent
    families: tuple[FamilySeconds, ...]
    folds: tuple[FoldSeconds, ...]
    statuses: tuple[GroupSeconds, ...]
    origins: tuple[GroupSeconds, ...]
    stages: tuple[GroupSeconds, ...]
    slots: SlotUse | None
    tells_preprocessing: bool

    def to_json(self) -> dict[str, Any]:
        """Plain JSON form."""
        return asdict(self)


def seconds_report(
    trials: Sequence[Trial],
    *,
    processes: Sequence[Mapping[str, Any]] = (),
    asking: float = 0.0,
) -> SecondsReport:
    """Report of a run's trials, of all its stages.

    Parameters
    ----------
    processes
        `started_at` (unix seconds) and `slots` of every process that drove the run, in order.
    asking : seconds that the decisions of the trials took
    """
    searched = without_reuse(trial for trial in trials if trial.stage == SEARCH)
    others = [trial for trial in trials if trial.stage != SEARCH]
    families = [FamilySeconds.of(*item) for item in _grouped(searched, _family).items()]
    return SecondsReport(
        Spent.of(searched),
        tuple(sorted(families, key=lambda entry: -entry.spent.seconds)),
        tuple(_folds(searched)),
        _groups(searched, lambda trial: str(trial.status)),
        _groups(searched, lambda trial: trial.origin or "unknown"),
        _groups([*searched, *others], lambda trial: trial.stage),
        slot_use(searched, processes, asking) if searched and processes else None,
        any(fold.scoring_seconds > 0.0 for trial in trials for fold in trial.folds),
    )


def without_reuse(trials: Iterable[Trial]) -> list[Trial]:
    """The trials with the folds and seconds that they ran themselves, by index.

    A trial that went on from an earlier one repeats the results of its folds to the digit.
    """
    seen: set[tuple[str, FoldResult]] = set()
    trials_alone = []
    for trial in sorted(trials, key=lambda trial: trial.index):
        results = {(trial.configuration.id, fold): fold for fold in trial.folds}
        own = tuple(fold for key, fold in results.items() if key not in seen)
        seen |= results.keys()
        trials_alone.append(
            replace(trial, folds=own, seconds=trial.spent_seconds, reused_seconds=0.0)
        )
    return trials_alone


def slot_use(
    searched: Sequence[Trial], processes: Sequence[Mapping[str, Any]], asking: float
) -> SlotUse:
    """What the slots did, from starts and ends of trials alone.

    Parameters
    ----------
    searched, processes : not empty
    """
    slot_seconds = 0.0
    starts = [float(process["started_at"]) for process in processes]
    for number, process in enumerate(processes):
        begin = starts[number] if number else -math.inf
        end = starts[number + 1] if number + 1 < len(starts) else math.inf
        window = [trial for trial in searched if begin <= trial.started_at < end]
        if window:
            last = max(trial.started_at + trial.seconds for trial in window)
            first = min(trial.started_at for trial in window)
            slot_seconds += int(process["slots"]) * (last - first)
    busy = sum(trial.seconds for trial in searched)
    waiting = max(slot_seconds - busy, 0.0)
    asked = min(asking, waiting)
    return SlotUse(int(processes[-1]["slots"]), slot_seconds, busy, asked, waiting - asked)


def _folds(searched: Sequence[Trial]) -> Iterable[FoldSeconds]:
    ran = (fold for trial in searched for fold in trial.folds)
    folds = _grouped(ran, lambda result: (result.repeat, result.fold))
    for (repeat, fold), results in sorted(folds.items()):
        preprocessing = sum(result.preprocessing_seconds for result in results)
        yield FoldSeconds(
            repeat,
            fold,
            len(results),
            preprocessing,
            sum(result.fit_seconds for result in results) - preprocessing,
            sum(result.predict_seconds for result in results),
            sum(result.scoring_seconds for result in results),
        )


def _groups(trials: Sequence[Trial], name_of: Callable[[Trial], str]) -> tuple[GroupSeconds, ...]:
    groups = [
        GroupSeconds(name, len(members), sum(trial.seconds for trial in members))
        for name, members in _grouped(trials, name_of).items()
    ]
    return tuple(sorted(groups, key=lambda group: -group.seconds))


def _family(trial: Trial) -> str:
    return trial.configuration.family


def _grouped(items: Iterable[Item], key_of: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    groups: dict[Key, list[Item]] = {}
    for item in items:
        groups.setdefault(key_of(item), []).append(item)
    return groups
