"""What ending hopeless trials in their first fold saves: ``first_fold.py RUN_FOLDER ...``.

Asks the proposals of recorded runs whether they would have been ended after one fold, and by how much those
that went on to their end were behind the best complete trial of the moment.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from automl.evaluation.journal import read
from automl.evaluation.racing import why_raced
from automl.origins import DEFAULT
from automl.records import Trial
from automl.search.runner import UNRACED


def searched(folder: Path) -> list[Trial]:
    """Trials of a run's search, in their order."""
    records = (r["trial"] for r in read(folder / "journal") if r["type"] == "trial")
    trials = (Trial.from_json(record) for record in records if record["stage"] == "search")
    return sorted(trials, key=lambda trial: trial.index)


def ended(trials: list[Trial]) -> Iterator[tuple[Trial, Trial]]:
    """Trials that one fold would have ended, each with the best complete one before it."""
    best: Trial | None = None
    for trial in trials:
        is_raced = trial.origin not in (*UNRACED, DEFAULT) and len(trial.folds) > 1
        if best is not None and is_raced:
            scores, n_jobs = best.fold_scores, len(best.folds)
            if why_raced(trial.fold_scores[:1], scores, n_jobs):
                yield trial, best
        if trial.is_complete and (best is None or trial.achieved > best.achieved):
            best = trial


def main() -> None:
    """Print a line for each run."""
    for name in sys.argv[1:]:
        trials = searched(Path(name))
        found = list(ended(trials))
        seconds = sum(fold.seconds for trial, _ in found for fold in trial.folds[1:])
        behind = sorted(best.achieved - t.achieved for t, best in found if t.is_complete)
        least = f", behind by {behind[0]:.3f} at least" if behind else ""
        share = 100 * seconds / sum(trial.seconds for trial in trials)
        print(
            f"{Path(name).name}: {len(trials)} trials, {len(found)} ended after one fold, {share:.1f} % of the "
            f"seconds; {len(behind)} of them were complete{least}"
        )


if __name__ == "__main__":
    main()
