"""What giving up late trials would have saved in recorded runs: ``giving_up.py RUN_FOLDER ...``.

For runs in which trials were killed at their limit. A trial's folds tell at which of them it was plain that
the others cannot end in time (`automl.evaluation.lateness`); what it ran beyond that fold is saved. Trials that
were complete are asked too, with a limit of just the seconds that they took: how many of them would have been
given up although they ended in time is the price, at its highest, since limits are rarely met so closely.

Prints a line for each run, and all together: seconds on slots, the share of them that went into trials
that ended at a limit, the share that giving up saves, and complete trials that it would have lost.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from automl.evaluation.journal import read
from automl.evaluation.lateness import lateness
from automl.records import Trial, TrialStatus

MULTIPLES = (1.05, 1.25, 1.5, 2.0)


@dataclass(frozen=True)
class Saving:
    """Seconds of some runs: all, those of trials that ended at a limit, and what is saved of them."""

    seconds: float = 0.0
    timed_out: float = 0.0
    saved: float = 0.0

    def __add__(self, other: Saving) -> Saving:
        pairs = zip(self.__dict__.values(), other.__dict__.values(), strict=True)
        return Saving(*(one + two for one, two in pairs))

    @property
    def text(self) -> str:
        """Words for it."""
        total = max(self.seconds, 1e-9)
        return (
            f"{self.seconds:7.0f} s, {self.timed_out / total:5.1%} in trials that ended at a limit, "
            f"{self.saved / total:5.1%} saved"
        )


def seconds_until_late(trial: Trial, n_folds: int, limit: float) -> float | None:
    """Seconds after which a trial would have been given up; None if it would not."""
    fold_seconds = [fold.seconds for fold in trial.folds]
    for n in range(1, len(fold_seconds) + 1):
        spent = sum(fold_seconds[:n])
        if lateness(fold_seconds[:n], n_folds, limit - spent):
            return spent
    return None


def saving_of(trials: list[Trial]) -> Saving:
    """Of the search of one run."""
    n_folds = folds_of(trials)
    killed = [t for t in trials if t.status is TrialStatus.TIMED_OUT]
    late = {trial.id: seconds_until_late(trial, n_folds, trial.seconds) for trial in killed}
    return Saving(
        sum(trial.seconds for trial in trials),
        sum(trial.seconds for trial in killed),
        sum(t.seconds - late[t.id] for t in killed if late.get(t.id) is not None),
    )


def folds_of(trials: list[Trial]) -> int:
    """Folds of a complete trial of a run."""
    return max((len(trial.folds) for trial in trials if trial.is_complete), default=0)


def prices(runs: list[list[Trial]]) -> Iterator[str]:
    """How many complete trials are lost with limits of multiples of their own seconds."""
    complete = [(t, folds_of(trials)) for trials in runs for t in trials if t.is_complete]
    for multiple in MULTIPLES:
        lost = [
            trial
            for trial, n_folds in complete
            if seconds_until_late(trial, n_folds, multiple * trial.seconds) is not None
        ]
        yield f"with a limit of {multiple:g} x their seconds: {len(lost)} of {len(complete)} are lost"


def main() -> None:
    """Print every run, all together, and the price."""
    runs, total = [], Saving()
    for name in sys.argv[1:]:
        trials = [
            Trial.from_json(record["trial"])
            for record in read(Path(name) / "journal")
            if record["type"] == "trial" and record["trial"]["stage"] == "search"
        ]
        found = saving_of(trials)
        runs.append(trials)
        total += found
        print(f"{Path(name).name:<24}{found.text}")
    print(f"{'all':<24}{total.text}", *prices(runs), sep="\n")


if __name__ == "__main__":
    main()
