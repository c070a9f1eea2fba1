"""What a search gains from how it begins (van Hoof, sections 6.4 and 6.5).

    python benchmarks/metalearning/starting.py METADATA OUT [--flows flow_forest ...] [--tables 30]
        [--trials 30] [--seeds 1]

Searches data sets for which `learning.py` has kept predictions, in a fixed random order. Each data set is searched among its own configurations; all
starts have three trials, then the surrogate goes on: `gbqr`, boosting of the 0.9 quantile, or
`gp_ei`, a Gaussian process with expected improvement. A data set is a file in OUT/starting/FLOW;
finished ones are not repeated. ``report.py OUT`` prints the tables.

Starts: `random`; `best`, `bad` and `delta` by the meta-learner's predictions; `knn`, the best
configurations of the three nearest data sets by meta-features; `opt`, those of the three data sets
whose ranking is most like that of the one searched (looks at its scores: a bound for `knn`). No two
data sets have a configuration in common, so that what was best elsewhere stands for the nearest
configuration here, and rankings are compared through the five nearest runs. `meta_order` follows
the predictions to the end, without a surrogate. `blend` begins with `delta` and mixes the ranks of
prediction and surrogate by the weight k / (k + trials); `blend_random` begins at random.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from flow_tables import FLOWS, FlowData, stored_flow, usable_numbers
from learning import write_once

from automl.optimizers.composition import NAMED
from automl.optimizers.model_based import ModelBasedOptimizer
from automl.parts import Part
from automl.randomness import Purpose, stream
from automl.recommendation.meta_vote import blended
from automl.recommendation.nearest_data_sets import NearestRuns, nearest_data_sets
from automl.recommendation.warm_starts import (
    bad_start,
    best_start,
    delta_start,
    meta_order,
    nearest_start,
    similar_data_sets,
)
from automl.records import FloatArray, Trial, TrialStatus
from automl.surrogates.boosting import QuantileBoosting

N_START = 3
N_BEST = 10
"""Configurations of another data set that are looked for here."""
SURROGATES = ("gbqr", "gp_ei")
ONE_SURROGATE = ("knn", "opt", "blend", "blend_random")
"""Only with `gbqr`."""


@dataclass(frozen=True)
class Problem:
    """One data set to be searched, and what is known before.

    Parameters
    ----------
    number : position of the data set
    p : (m,) predictions of the meta-learner for its configurations
    """

    data: FlowData
    number: int
    p: FloatArray

    @cached_property
    def X(self) -> FloatArray:
        """(m, d) its configurations."""
        return self.data.X[self.data.rows(self.number)]

    @cached_property
    def scores(self) -> FloatArray:
        """(m,) their accuracies."""
        return self.data.tables[self.number].scores

    @cached_property
    def others(self) -> list[int]:
        """Positions of all other data sets."""
        return [n for n in range(len(self.data.tables)) if n != self.number]

    @cached_property
    def best_elsewhere(self) -> FloatArray:
        """(t, m) scores of the best configurations of other data sets, at the nearest ones here."""
        found = np.full((len(self.others), len(self.X)), np.nan)
        for row, other in enumerate(self.others):
            rows = self.data.rows(other)
            best = rows[np.argsort(-self.data.scores[rows], kind="stable")[:N_BEST]]
            for one in best[::-1]:  # the better one last, where two have the same nearest
                nearest = int(np.square(self.X - self.data.X[one]).sum(axis=1).argmin())
                found[row, nearest] = self.data.scores[one]
        return found

    @cached_property
    def responses_elsewhere(self) -> FloatArray:
        """(t, m) scores that the configurations here would have on other data sets."""
        found = []
        for other in self.others:
            rows = self.data.rows(other)
            found.append(
                NearestRuns().fit(self.data.X[rows], self.data.scores[rows]).predict(self.X)
            )
        return np.array(found)

    @cached_property
    def starts(self) -> dict[str, list[int]]:
        """Configurations to begin with by the name of the start, but for the random one."""
        meta = self.data.meta
        nearest = nearest_data_sets(meta[self.others], meta[self.number])
        similar = similar_data_sets(self.responses_elsewhere, self.scores)
        found = {
            "best": best_start(self.p, N_START),
            "bad": bad_start(self.p, N_START),
            "delta": delta_start(self.p),
            "knn": nearest_start(self.best_elsewhere, nearest, N_START),
            "opt": nearest_start(self.best_elsewhere, similar, N_START),
        }
        return {name: [int(i) for i in rows] for name, rows in found.items()}

    def begin(self, start: str, seed: int) -> list[int]:
        """Configurations of a start."""
        if start in ("random", "blend_random"):
            order = stream(seed, Purpose.SAMPLE).permutation(len(self.scores))
            return [int(i) for i in order[:N_START]]
        return self.starts["delta" if start == "blend" else start]


def search(problem: Problem, surrogate: str, start: str, seed: int, n_trials: int) -> list[int]:
    """Configurations in the order in which they are tried."""
    if start == "meta_order":
        return [int(i) for i in meta_order(problem.p)[:n_trials]]
    chosen = list(problem.begin(start, seed))
    if start.startswith("blend"):
        return blended_search(problem, chosen, seed, n_trials)
    table = problem.data.tables[problem.number]
    position = {configuration.id: i for i, configuration in enumerate(table.candidates)}
    design = Part("default_and_random", (("n_points", N_START),))
    composition = replace(NAMED[surrogate], initial_design=design)
    optimizer = ModelBasedOptimizer(table.space, composition, candidates=table.candidates)
    for k in range(min(n_trials, len(table.candidates))):
        if k >= len(chosen):
            proposal = optimizer.ask(pending=[], rng=stream(seed, Purpose.OPTIMIZER, k))
            assert proposal is not None
            chosen.append(position[proposal.configuration.id])
        index = chosen[k]
        score = float(table.scores[index])
        optimizer.tell(
            Trial("replay", k, table.candidates[index], TrialStatus.COMPLETE, score, seconds=1.0)
        )
    return chosen


def blended_search(problem: Problem, chosen: list[int], seed: int, n_trials: int) -> list[int]:
    """As `search` with `gbqr`, whose bounds and the predictions vote together."""
    chosen = list(chosen)
    for k in range(len(chosen), min(n_trials, len(problem.scores))):
        y = problem.scores[chosen]
        spread = y.std() or 1.0
        surrogate = QuantileBoosting()
        rng = stream(seed, Purpose.OPTIMIZER, k)
        surrogate.fit(problem.X[chosen], (y - y.mean()) / spread, rng=rng)
        votes = blended(problem.p, surrogate.predict(problem.X)[0], k)
        votes[chosen] = -np.inf
        best = np.flatnonzero(votes == votes.max())
        chosen.append(int(rng.choice(best)))
    return chosen


def entries(n_seeds: int) -> list[tuple[str, str, int]]:
    """Surrogate, start and seed of every search."""
    found = [("none", "meta_order", 0)]
    for seed in range(n_seeds):
        for start in ("random", "best", "bad", "delta", *ONE_SURROGATE):
            found += [
                (surrogate, start, seed)
                for surrogate in SURROGATES
                if surrogate == "gbqr" or start not in ONE_SURROGATE
            ]
    return found


def study(data: FlowData, number: int, arguments: argparse.Namespace) -> None:
    """Search one data set from every start and write what was found."""
    name = data.names[number]
    path = arguments.out / "starting" / data.flow / f"{name}.json"
    if path.exists():
        return
    kept = arguments.out / "predictions" / data.flow / f"{name}.json"
    problem = Problem(data, number, np.array(json.loads(kept.read_text())))
    started = time.process_time()
    scores = problem.scores
    curves = {
        f"{surrogate}/{start}/{seed}": [
            float(s)
            for s in np.maximum.accumulate(
                scores[search(problem, surrogate, start, seed, arguments.trials)]
            )
        ]
        for surrogate, start, seed in entries(arguments.seeds)
    }
    seconds = time.process_time() - started
    content = {
        "best": float(scores.max()),
        "median": float(np.median(scores)),
        "curves": curves,
        "seconds": seconds,
    }
    write_once(path, json.dumps(content))
    print(f"{data.flow} {name}: {seconds:.1f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("metadata", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--flows", nargs="+", default=list(FLOWS), choices=FLOWS)
    parser.add_argument("--tables", type=int, default=30)
    parser.add_argument("--trials", type=int, default=30)
    parser.add_argument("--seeds", type=int, default=1)
    arguments = parser.parse_args()
    for flow in arguments.flows:
        data = stored_flow(arguments.metadata, flow, arguments.out)
        folder = arguments.out / "predictions" / flow
        known = [n for n in usable_numbers(data) if (folder / f"{data.names[n]}.json").exists()]
        for number in known[: arguments.tables]:
            study(data, number, arguments)


if __name__ == "__main__":
    main()
