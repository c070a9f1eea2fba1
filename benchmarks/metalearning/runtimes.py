"""Seconds of trials as a run learns them: alone, and beginning with what other data sets took.

    python benchmarks/metalearning/runtimes.py METADATA OUT [--tables 60]

METADATA holds ``autosklearn/full_matrix_v0.0.1``: 106 pipelines of 13 classifiers on 140 data sets
with their seconds. The pipelines of a data set are tried in a random order; after 10, 30 and 100 of them the
`Forecast` of a run predicts the seconds of those that are left. `cold` knows the run's own trials
alone, `seeded` those of all other data sets too, with rows, columns and classes as inputs;
`family_median` is the median of the family's own trials, or of all where it has none. A data set is
a file in OUT/runtimes; finished ones are not repeated. ``report.py OUT`` prints the table.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from learning import write_once

sys.path.append(str(Path(__file__).parents[1] / "search"))

from matrix import FAMILIES

from automl.forecasts.forecast import Forecast
from automl.forecasts.timings import KnownTimings, Timing, Workload
from automl.randomness import Purpose, stream
from automl.records import Configuration, FoldResult, Trial, TrialStatus
from automl.spaces.tree import SpaceTree

OWN_TRIALS = (10, 30, 100)
WIDE = 100.0
"""Numbers whose greatest is so many times the least are on a logarithmic scale."""


@dataclass(frozen=True)
class Matrix:
    """All pipelines, and what they took on every data set.

    Parameters
    ----------
    spaces : by family, as wide as the pipelines
    timings : by OpenML number of the data set
    """

    spaces: dict[str, SpaceTree]
    timings: dict[int, list[Timing]]


def read_matrix(metadata: Path) -> Matrix:
    """Pipelines with a timing each per data set."""
    folder = metadata / "autosklearn" / "full_matrix_v0.0.1"
    frame = pd.read_csv(folder / "configurations.csv.gz", index_col="config_id")
    family = frame["classifier:__choice__"].replace(
        {**FAMILIES, "proj_logit": "logistic_regression"}
    )
    spaces = {name: space_over(name, frame[family == name]) for name in sorted(set(family))}
    pipelines = {
        number: Configuration(family[number], values_of(row))
        for number, row in frame.drop(columns="classifier:__choice__").iterrows()
    }
    facts = pd.read_csv(folder / "metafeatures.csv.gz", index_col="openml_id")
    timings: dict[int, list[Timing]] = {}
    for run in pd.read_csv(folder / "runs.csv.gz").itertuples():
        known = facts.loc[run.openml_id]
        workload = Workload(
            int(known["NumberOfInstances"]),
            int(known["NumberOfFeatures"]),
            int(known["NumberOfClasses"]),
        )
        timing = Timing(pipelines[run.config_id], workload, max(run.runtime, 1e-3))
        timings.setdefault(run.openml_id, []).append(timing)
    return Matrix(spaces, timings)


def values_of(row: pd.Series[Any]) -> dict[str, Any]:
    """Active hyperparameters; a pandas number becomes Python's."""
    return {
        str(name).replace(":", "__"): value.item() if isinstance(value, np.generic) else value
        for name, value in row.items()
        if not pd.isna(value)
    }


def space_over(family: str, frame: pd.DataFrame) -> SpaceTree:
    """Space as wide as some pipelines."""
    tree: dict[str, Any] = {}
    for name, column in frame.drop(columns="classifier:__choice__").items():
        found = sorted(set(values_of(column).values()), key=str)
        if len(found) < 2:
            continue
        key = str(name).replace(":", "__")
        if any(isinstance(value, str | bool) for value in found):
            tree[key] = {
                "type": "categorical", "branch": False, "choices": found, "default": found[0],
            }  # fmt: skip
            continue
        low, high = float(min(found)), float(max(found))
        kind = "loguniform" if low > 0.0 and high / low > WIDE else "uniform"
        tree[key] = {"type": kind, "low": low, "high": high, "default": low}
    return SpaceTree.build(family, tree)


def forecast(matrix: Matrix, own: list[Timing], earlier: tuple[Timing, ...]) -> Forecast:
    """What a run expects after its own trials."""
    made = Forecast(matrix.spaces, KnownTimings(own[0].workload, earlier), n_folds=1)
    for number, timing in enumerate(own):
        fold = FoldResult(0, 0, 0.0, 1, timing.seconds, 0.0)
        made.add(
            Trial(
                "replay", number, timing.configuration, TrialStatus.COMPLETE, 0.0, (fold,),
                seconds=timing.seconds,
            )
        )  # fmt: skip
    return made


def family_median(own: list[Timing], test: list[Timing]) -> np.ndarray:
    """Log seconds as the median of the family's own trials, or of all."""
    by_family: dict[str, list[float]] = {}
    for timing in own:
        by_family.setdefault(timing.configuration.family, []).append(np.log(timing.seconds))
    everything = [value for values in by_family.values() for value in values]
    return np.array([np.median(by_family.get(t.configuration.family, everything)) for t in test])


def study(matrix: Matrix, number: int, out: Path) -> None:
    """Squared errors of log seconds on one data set, and write them."""
    path = out / "runtimes" / f"{number}.json"
    if path.exists():
        return
    started = time.process_time()
    timings = matrix.timings[number]
    order = stream(0, Purpose.SAMPLE, number).permutation(len(timings))
    timings = [timings[i] for i in order]
    earlier = tuple(t for other, ts in matrix.timings.items() if other != number for t in ts)
    found: dict[str, dict[str, float]] = {}
    for n_own in OWN_TRIALS:
        own, test = timings[:n_own], timings[n_own:]
        y = np.log([t.seconds for t in test])
        predicted = {"family_median": family_median(own, test)}
        for name, known in (("cold", ()), ("seeded", earlier)):
            made = forecast(matrix, own, known)
            predicted[name] = np.log([made.seconds(t.configuration) for t in test])
        found[str(n_own)] = {
            name: float(np.mean((values - y) ** 2)) for name, values in predicted.items()
        }
    write_once(path, json.dumps(found))
    print(f"{number}: {time.process_time() - started:.1f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("metadata", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--tables", type=int, default=60)
    arguments = parser.parse_args()
    matrix = read_matrix(arguments.metadata)
    order = stream(0, Purpose.SAMPLE).permutation(sorted(matrix.timings))
    for number in order[: arguments.tables]:
        study(matrix, int(number), arguments.out)


if __name__ == "__main__":
    main()
