"""One model of all families, or one of each beside an allocator: replays on the shipped knowledge.

    python benchmarks/knowledge/one_model.py OUT [--ways gain gain_seconds cash random] [--every 2] [--seconds]

As in ``guard.py`` each data set in turn is searched among the configurations that it has
been tried with, with what is known of all others; nothing is fitted. A search begins as a run does, with the
default of LightGBM and the opening that other data sets teach. What follows differs:

- `gain`, `gain_seconds`: the allocators `expected_gain` and `expected_gain_seconds` choose the family, and
  `gp_prior` chooses its configuration. The first one of a family is its default, where that is known.
- `cash`: `gp_prior` chooses among the configurations of all families at once; `cash_cost`, by the expected
  improvement per slowly growing cost of a trial.
- `random`: any configuration that is left.

With `_cold` behind a way, the search begins with the default of LightGBM alone. --every takes every so manieth
data set. With --seconds it opens as a run with a time budget does.

Each (data set, way) is a line of OUT/one_model.jsonl; finished ones are not repeated. Prints how far the best
score is from the best known, as a share of that of the median configuration, after so many trials and after so
many times the seconds of the data set's median trial; below it the difference to `gain` and `gain_seconds` of
the same beginning with its 95 % interval over data sets.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from guard import Problem, interval, problems
from ways import LEAST_DISTANCE

from automl.bandits.registry import get_allocator
from automl.experience.cleaning import learnable
from automl.experience.data_set import Experience
from automl.experience.knowledge import shipped
from automl.forecasts.earlier_runs import earlier_timings
from automl.forecasts.timings import KnownTimings, Workload
from automl.optimizers.composition import GP_PRIOR, Composition
from automl.optimizers.model_based import ModelBasedOptimizer
from automl.parts import Part
from automl.randomness import Purpose, stream
from automl.recommendation.methods import ADAPTIVE
from automl.recommendation.transfer_sources import sources_of
from automl.records import Configuration, FloatArray, FoldResult, Trial
from automl.spaces.configuration_encoder import ConfigurationEncoder
from automl.spaces.tree import SpaceTree
from automl.spaces.union import UnionTree

MARKS = (10, 25, 40, 60, 80)
TIMES = (25, 50, 100, 200, 400)
WAYS: dict[str, tuple[str, Composition]] = {
    "gain": ("expected_gain", GP_PRIOR),
    "gain_seconds": ("expected_gain_seconds", GP_PRIOR),
    "cash": ("cash", GP_PRIOR),
    "cash_cost": ("cash", replace(GP_PRIOR, acquisition=Part("ei_per_cost"))),
}
RANDOM, COLD = "random", "_cold"
REFERENCES = ("gain", "gain_seconds")
Choose = Callable[[], Configuration | None]
Row = dict[str, Any]


class Replay:
    """One data set, searched among the configurations that it has been tried with.

    Parameters
    ----------
    problem : whose others know the same configurations alone
    others : all that is known of other data sets
    is_timed : whether it opens as a run with a time budget does
    """

    def __init__(
        self, problem: Problem, others: Sequence[Experience], *, is_timed: bool = False
    ) -> None:
        self._problem, self._others, self._is_timed = problem, others, is_timed
        self._trials: list[Trial] = []
        self._spaces: Mapping[str, SpaceTree] = problem.spaces
        self._searchers: dict[str, ModelBasedOptimizer] = {}
        self._composition = GP_PRIOR

    def run(self, way: str) -> Row:
        """Search until `MARKS` are reached, or nothing is left; distances from the best."""
        name = way.removesuffix(COLD)
        history = list(self._problem.others)
        opening = self._problem.opening(history, ADAPTIVE, is_timed=self._is_timed)
        begun = self._problem.begin(opening, MARKS[-1] if name == way else 1)
        self._trials = [self._trial(one.configuration, i) for i, one in enumerate(begun)]
        choose = self._at_random() if name == RANDOM else self._by_models(*WAYS[name])
        started = time.process_time()
        while len(self._trials) < MARKS[-1] and (chosen := choose()) is not None:
            self._trials.append(self._trial(chosen, len(self._trials)))
        return {**self._distances(), "cpu_seconds": round(time.process_time() - started, 1)}

    def _trial(self, configuration: Configuration, index: int) -> Trial:
        known = next(t for t in self._problem.own.trials if t.configuration.id == configuration.id)
        seconds, score = known.seconds / max(known.folds, 1), known.score or 0.0
        folds = [FoldResult(0, i, score, 1, seconds, 0.0) for i in range(known.folds)]
        return Trial(
            "replay",
            index,
            configuration,
            known.status,
            known.score,
            folds=tuple(folds),
            seconds=known.seconds,
        )

    def _distances(self) -> Row:
        known = np.array(list(self._problem.scores.values()))
        width = max(float(known.max() - np.median(known)), LEAST_DISTANCE)
        scores = [known.min() if t.score is None else t.score for t in self._trials]
        left = (known.max() - np.maximum.accumulate([np.median(known), *scores])) / width
        seconds = self._problem.seconds
        taken = np.cumsum([seconds[trial.configuration.id] for trial in self._trials])
        unit = float(np.median(list(seconds.values())))
        after = np.searchsorted(taken, unit * np.array(TIMES), side="right")
        trials = np.minimum(MARKS, len(scores))
        return {"trials": left[trials].tolist(), "times": left[after].tolist()}

    def _left(self) -> list[Configuration]:
        tried = {trial.configuration.id for trial in self._trials}
        return [c for key, c in self._problem.configurations.items() if key not in tried]

    def _at_random(self) -> Choose:
        rest = self._left()
        order = stream(0, Purpose.SAMPLE).permutation(len(rest))
        return partial(next, iter([rest[i] for i in order]), None)

    def _by_models(self, name: str, composition: Composition) -> Choose:
        entry = get_allocator(name)
        self._composition = composition
        allocator = entry.make()
        if entry.joins_families:
            union = UnionTree.of(list(self._spaces.values()))
            self._spaces = {union.family: union}
        arm_of = {part.family: arm for arm, one in self._spaces.items() for part in one.parts}
        told = 0

        def choose() -> Configuration | None:
            nonlocal told
            for trial in self._trials[told:]:
                allocator.update(trial)
                arm = arm_of[trial.configuration.family]
                if arm in self._searchers:
                    self._searchers[arm].tell(trial)
            told = len(self._trials)
            families = {c.family for c in self._left()}
            arms = [arm for arm in self._spaces if any(arm_of[f] == arm for f in families)]
            if not arms:
                return None
            rng = stream(0, Purpose.ALLOCATOR, told)
            return self._propose(allocator.choose(arms, pending=[], rng=rng))

        return choose

    def _propose(self, arm: str) -> Configuration | None:
        space = self._spaces[arm]
        left = {configuration.id for configuration in self._left()}
        if len(space.parts) == 1 and space.default().id in left:
            return space.default()
        if arm not in self._searchers:
            self._searchers[arm] = self._searcher(space)
        rng = stream(0, Purpose.OPTIMIZER, len(self._trials))
        proposal = self._searchers[arm].ask(pending=[], rng=rng)
        return None if proposal is None else proposal.configuration

    def _searcher(self, space: SpaceTree) -> ModelBasedOptimizer:
        """Optimizer that knows the other data sets and the trials so far."""
        encoder = ConfigurationEncoder(space, form=self._composition.encoding).fit()
        own = {part.family for part in space.parts}
        known = self._problem.configurations.values()
        searcher = ModelBasedOptimizer(
            space,
            self._composition,
            candidates=[configuration for configuration in known if configuration.family in own],
            sources=sources_of(self._others, encoder, self._problem.own.data),
            timings=self._timings(),
        )
        for trial in self._trials:
            if trial.configuration.family in own:
                searcher.tell(trial)
        return searcher

    def _timings(self) -> KnownTimings:
        own = self._problem.own
        workload = Workload(own.training_rows, own.data.columns, own.data.classes)
        known = earlier_timings(self._others, workload).values()
        return KnownTimings(workload, tuple(chain.from_iterable(known)))


def rows(options: argparse.Namespace, done: set[tuple[str, str]]) -> Iterator[Row]:
    """What is missing."""
    for problem in list(problems(shipped()))[:: options.every]:
        own = problem.own
        known = learnable(shipped(), own.data.task)
        names = {one.data.name for one in problem.others}
        others = [one for one in known if one.data.name in names]
        for way in options.ways:
            if (own.id, way) not in done:
                replay = Replay(problem, others, is_timed=options.seconds)
                yield {"data_set": own.id, "way": way, **replay.run(way)}


def difference(values: FloatArray) -> str:
    """Mean and 95 % interval over data sets."""
    low, high = interval(values)
    return f"{values.mean():+.3f} [{low:+.3f}, {high:+.3f}]"


def report(found: Sequence[Row], ways: Sequence[str]) -> None:
    """Print the distances of the data sets that all ways have, and the differences."""
    by_way = {way: {r["data_set"]: r for r in found if r["way"] == way} for way in ways}
    common = sorted(set.intersection(*map(set, by_way.values())))
    values = {
        way: np.array([rows[key]["trials"] + rows[key]["times"] for key in common])
        for way, rows in by_way.items()
    }
    print(f"{len(common)} data sets\n")
    marks = [f"{mark} trials" for mark in MARKS] + [f"{mark} times" for mark in TIMES]
    print(f"| way | {' | '.join(marks)} |\n|---|{'---|' * len(marks)}")
    for way, distances in values.items():
        print(f"| `{way}` | {' | '.join(f'{one:.3f}' for one in distances.mean(axis=0))} |")
    for way, distances in values.items():
        for reference in (one + (COLD if way.endswith(COLD) else "") for one in REFERENCES):
            if way != reference and reference in values:
                cells = [difference(column) for column in (distances - values[reference]).T]
                print(f"| `{way}` minus `{reference}` | {' | '.join(cells)} |")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("--ways", nargs="+", default=[*WAYS, RANDOM])
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--seconds", action="store_true")
    options = parser.parse_args()
    path = options.out / "one_model.jsonl"
    options.out.mkdir(parents=True, exist_ok=True)
    found = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    done = {(row["data_set"], row["way"]) for row in found}
    with path.open("a") as file:
        for row in rows(options, done):
            found.append(row)
            file.write(json.dumps(row) + "\n")
            file.flush()
    report(found, options.ways)


if __name__ == "__main__":
    main()
