"""Which way to begin reaches good scores soonest: replays on the shipped knowledge.

    python benchmarks/knowledge/ways.py [--knowledge FILE] [--ways adaptive portfolio ...] [--seconds]

As in `guard.py` each data set in turn is searched among the configurations that it has been tried with, with
what is known of all others; nothing is fitted. A search begins with the default of LightGBM. Beside the ways of
the setting `warm_start` stands `written`, the hand-ordered portfolio.

Prints, for each way, how far the best score is from the best known, after so many further trials: mean over
data sets of the distance as a share of that of the median configuration, with its 95 % interval. With
--seconds searches are those of a run with a time budget, and the marks are seconds in units of the data
set's median trial.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from guard import Problem, interval, problems

from automl.experience.knowledge import read_knowledge, shipped
from automl.recommendation.methods import WAYS
from automl.records import FloatArray

MARKS = (2, 4, 8, 12, 16, 24)
TIMES = (3, 6, 12, 25, 50)
WRITTEN = "written"
LEAST_DISTANCE = 0.01


def distances(problem: Problem, way: str, *, is_timed: bool) -> FloatArray:
    """(marks,) distance from the best known score, where the median's is 1."""
    scores = np.array(list(problem.scores.values()))
    width = max(float(scores.max() - np.median(scores)), LEAST_DISTANCE)
    history = None if way == WRITTEN else list(problem.others)
    opening = problem.opening(history, way, is_timed=is_timed)
    begun = problem.begin(opening, MARKS[-1] + 1)
    found = [scores.min() if trial.score is None else trial.score for trial in begun]
    best = np.maximum.accumulate([np.median(scores), *found])
    at = np.add(MARKS, 1)
    if is_timed:
        taken = np.cumsum([problem.seconds[trial.configuration.id] for trial in begun])
        at = np.searchsorted(
            taken, np.multiply(TIMES, np.median(list(problem.seconds.values()))), "right"
        )
    return (scores.max() - best[np.minimum(at, len(begun))]) / width


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--knowledge", type=Path)
    parser.add_argument("--ways", nargs="+", default=[WRITTEN, *WAYS], choices=[WRITTEN, *WAYS])
    parser.add_argument("--seconds", action="store_true")
    options = parser.parse_args()
    known = read_knowledge(options.knowledge).experiences if options.knowledge else shipped()
    found = list(problems(known))
    print(f"{len(found)} data sets\n")
    marks = [f"{mark} trials" for mark in MARKS]
    if options.seconds:
        marks = [f"{time} median trials' time" for time in TIMES]
    print("| way | " + " | ".join(marks) + " |")
    print("|---" * (len(marks) + 1) + "|")
    for way in options.ways:
        table = np.array([distances(problem, way, is_timed=options.seconds) for problem in found])
        cells = []
        for column in table.T:
            low, high = interval(column)
            cells.append(f"{column.mean():.3f} [{low:.3f}, {high:.3f}]")
        print(f"| {way} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
