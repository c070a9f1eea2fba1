"""What a run tells whoever watches it."""

from __future__ import annotations

from dataclasses import dataclass


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
    best_score : homogenized index; None before the first complete trial
    best_family
        Family of the best trial so far.
    message
        One sentence about something that just happened; shown once.
    trials_planned : number of trials of the budget; None under a time budget
    """

    stage: str
    elapsed: float
    budget: float | None = None
    trials_done: int = 0
    trials_running: int = 0
    best_score: float | None = None
    best_family: str = ""
    message: str = ""
    trials_planned: int | None = None

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the budget is used; None without one."""
        return None if self.budget is None else max(0.0, self.budget - self.elapsed)

    @property
    def share_done(self) -> float:
        """Share of the budget that is used, in [0, 1]."""
        if self.trials_planned:
            return min(1.0, self.trials_done / self.trials_planned)
        return min(1.0, self.elapsed / self.budget) if self.budget else 0.0
