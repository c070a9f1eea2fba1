"""What the shipped timings add to the forecast of a trial's seconds.

    python benchmarks/seconds/forecasts.py [TABLE ...]

Replays forty complete trials of each shipped table, all tables by default, in a random order. Before each trial the
forecast of `automl train` says its seconds, and then it learns them. It knows either nothing or the timings of the
other shipped tables, as in a new home. Prints the median of the absolute log ratio of seconds to forecast, over the
first ten trials and the others, and the processor seconds of the forecasts of a table.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Mapping, Sequence
from itertools import chain

import numpy as np

from automl.experience.data_set import Experience, KnownTrial
from automl.experience.knowledge import shipped
from automl.families.family import kind_of
from automl.families.registry import families
from automl.forecasts.earlier_runs import earlier_timings
from automl.forecasts.forecast import Forecast
from automl.forecasts.timings import KnownTimings, Workload, known_timing
from automl.records import FoldResult, Trial
from automl.spaces.tree import SpaceTree

N_TRIALS, N_FIRST = 40, 10
WAYS = ("nothing", "shipped timings")


def errors(
    spaces: Mapping[str, SpaceTree], known: KnownTimings, trials: Sequence[KnownTrial]
) -> list[float]:
    """|log(seconds / forecast)| of each trial; NaN where there was no forecast."""
    forecast, found = Forecast(spaces, known, n_folds=1), []
    for number, trial in enumerate(trials):
        expected, timing = (
            forecast.seconds(trial.configuration),
            known_timing(trial, known.workload),
        )
        assert timing is not None
        found.append(math.nan if expected is None else abs(math.log(timing.seconds / expected)))
        forecast.add(_as_run(number, trial, timing.seconds))
    return found


def _as_run(number: int, trial: KnownTrial, fold_seconds: float) -> Trial:
    folds = tuple(FoldResult(0, k, 0.0, 1, fold_seconds, 0.0) for k in range(trial.folds))
    return Trial(
        "replay",
        number,
        trial.configuration,
        trial.status,
        trial.score,
        folds=folds,
        seconds=trial.seconds,
    )


def replay(one: Experience, others: Sequence[Experience]) -> dict[str, tuple[list[float], float]]:
    """Errors and processor seconds of both ways on a table."""
    kind = kind_of(one.data.task)
    spaces = {name: family.space(kind) for name, family in families(kind).items()}
    workload = Workload(one.training_rows, one.data.columns, one.data.classes)
    scored = [t for t in one.trials if t.score is not None and t.configuration.family in spaces]
    order = np.random.default_rng(0).permutation(len(scored))[:N_TRIALS]
    found = {}
    for way in WAYS:
        started = time.process_time()
        timings = earlier_timings(others, workload).values() if way != "nothing" else ()
        known = KnownTimings(workload, tuple(chain.from_iterable(timings)))
        found[way] = (
            errors(spaces, known, [scored[i] for i in order]),
            time.process_time() - started,
        )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("tables", nargs="*")
    tables = parser.parse_args().tables
    every = shipped()
    chosen = [one for one in every if not tables or one.data.name in tables]
    found = [replay(one, [other for other in every if other is not one]) for one in chosen]
    for way in WAYS:
        first = np.concatenate([each[way][0][:N_FIRST] for each in found])
        later = np.concatenate([each[way][0][N_FIRST:] for each in found])
        print(
            f"{way}: first {N_FIRST} {np.nanmedian(first):.3f}, others {np.nanmedian(later):.3f}; "
            f"{np.mean([each[way][1] for each in found]):.2f} processor s a table, {len(found)} tables"
        )


if __name__ == "__main__":
    main()
