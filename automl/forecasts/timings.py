"""Timings of fits, with their data, from all runs."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from automl.experience.data_set import KnownTrial
from automl.records import Configuration, Fidelity, Trial, TrialStatus

KILLED = frozenset(
    {
        TrialStatus.TIMED_OUT,
        TrialStatus.OUT_OF_MEMORY,
        TrialStatus.CRASHED,
        TrialStatus.KILLED,
    }
)
LEAST_SECONDS = 1e-4
"""Logarithms of seconds are learned: below a tenth of a millisecond the clock says nothing."""


@dataclass(frozen=True)
class Workload:
    """Size of the data that one fit learns from.

    Parameters
    ----------
    rows : of the training part of a fold
    columns : before encoding
    classes : 0 for regression
    iteration_share : share of the trees, rounds or epochs, in (0, 1]
    """

    rows: int = 1000
    columns: int = 10
    classes: int = 2
    iteration_share: float = 1.0

    @property
    def logarithms(self) -> tuple[float, ...]:
        """Logarithms of rows, columns, classes (at least 1) and share of iterations."""
        numbers = (self.rows, self.columns, self.classes)
        return (*(math.log(max(n, 1)) for n in numbers), math.log(self.iteration_share))

    def at(self, fidelity: Fidelity) -> Workload:
        """What a fit of this fidelity learns from."""
        rows = max(1, round(self.rows * fidelity.row_share))
        share = self.iteration_share * fidelity.iteration_share
        return replace(self, rows=rows, iteration_share=share)


@dataclass(frozen=True)
class Timing:
    """Timings of the fits of one trial.

    Parameters
    ----------
    seconds : positive
        Wall seconds of a fold (preprocessing, fit and prediction), mean of the folds begun.
    is_censored
        Whether the last fold was killed, so that `seconds` is only a lower bound.
    """

    configuration: Configuration
    workload: Workload
    seconds: float
    is_censored: bool = False


@dataclass(frozen=True)
class KnownTimings:
    """Timings that a run knows before its first trial.

    Parameters
    ----------
    workload : what a full fit of the run learns from
    earlier : timings of other runs
    """

    workload: Workload = field(default_factory=Workload)
    earlier: tuple[Timing, ...] = ()


def timing_of(trial: Trial, workload: Workload) -> Timing | None:
    """Timing of a trial of this run; see `known_timing`.

    The folds that a killed trial had ended are timings like any others, unless the one in which it
    was killed was slower.
    """
    timing = known_timing(KnownTrial.of(trial), workload)
    if timing is None or not timing.is_censored or not trial.folds or trial.most_rounds is not None:
        return timing
    seconds = sum(fold.seconds for fold in trial.folds) / len(trial.folds)
    return (
        replace(timing, seconds=seconds, is_censored=False) if seconds > timing.seconds else timing
    )


def known_timing(trial: KnownTrial, workload: Workload) -> Timing | None:
    """Timing of a trial; None of one that failed, whose seconds are not those of a fit.

    A trial that was killed in its fold k + 1 took less for the folds begun than they would have
    taken: their mean is at least seconds / (k + 1).

    Parameters
    ----------
    workload
        Of a complete trial on the same table.
    """
    is_killed = trial.status in KILLED
    n_begun = trial.folds + is_killed
    if trial.status is TrialStatus.FAILED or n_begun < 1 or not math.isfinite(trial.seconds):
        return None
    seconds = max(trial.seconds / n_begun, LEAST_SECONDS)
    return Timing(trial.configuration, workload.at(trial.fidelity), seconds, is_killed)
