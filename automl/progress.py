"""Progress of a run, for its displays."""

from __future__ import annotations

from dataclasses import dataclass

LEAST_TRIALS = 5
"""Fewest trials for a forecast; before, the seconds of the first say nothing about the others (by judgement)."""


@dataclass(frozen=True)
class Best:
    """The best complete trial so far.

    Parameters
    ----------
    score : homogenized index
    metric, value : in natural units; "" and None if none is known
    history : best score after each complete trial, never falling
    """

    score: float
    family: str = ""
    metric: str = ""
    value: float | None = None
    history: tuple[float, ...] = ()


@dataclass(frozen=True)
class Progress:
    """State of a run at one moment.

    Parameters
    ----------
    stage
        Name of the stage that runs, such as ``search``.
    elapsed : seconds since the command began
    budget : seconds; None when trials bound the run
    trials_done, trials_running : number of trials
    trials_failed, trials_raced : of those done; raced ones were ended early as hopeless
    slots : number of places where trials run; 0 where it is not known
    best : None before the first complete trial
    message
        One sentence about something that just happened; shown once.
    trials_planned : number of trials of the budget; None under a time budget
    stages_done, stages_planned : number of stages, of which the search is one
    """

    stage: str
    elapsed: float
    budget: float | None = None
    trials_done: int = 0
    trials_running: int = 0
    trials_failed: int = 0
    trials_raced: int = 0
    slots: int = 0
    best: Best | None = None
    message: str = ""
    trials_planned: int | None = None
    stages_done: int = 0
    stages_planned: int = 0

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the budget is used; None without one."""
        return None if self.budget is None else max(0.0, self.budget - self.elapsed)

    @property
    def trials_seconds_left(self) -> float | None:
        """About how long the other planned trials take, at the pace so far; None if it is not known."""
        if not self.trials_planned or self.trials_done < LEAST_TRIALS:
            return None
        others = max(0, self.trials_planned - self.trials_done)
        return self.elapsed / self.trials_done * others

    @property
    def share_done(self) -> float:
        """Share of the seconds that are used, or of the planned trials and stages that are done, in [0, 1]."""
        if self.trials_planned:
            done = min(self.trials_done, self.trials_planned) + self.stages_done
            return done / (self.trials_planned + self.stages_planned)
        return min(1.0, self.elapsed / self.budget) if self.budget else 0.0
