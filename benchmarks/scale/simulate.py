"""Searches on many slots from measured costs: ``simulate.py COSTS.json [--median 10 60] [--slots 10 ...]``.

Discrete events. A slot asks for a turn, runs a trial whose seconds are lognormal, hands the result over
and asks again. Between two trials it waits for what there is one of: the driver's decisions, its
threads' work under the interpreter's lock, the Dask scheduler, the journal's disk. MLflow's writer
follows behind and keeps nobody waiting; what it has not written when the search ends is its lag.

``once``, as it was: every decision fits a model of all trials, searches, and looks at all trials. ``rounds``,
as it is: one fit of at most a thousand trials and one search for up to 32 of the decisions that wait.
"""

from __future__ import annotations

import argparse
import heapq
import json
import math
from bisect import bisect
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from automl.evaluation.journal import read
from automl.records import Trial

SPREAD = 1.0
"""Standard deviation of the logarithm of a trial's seconds."""
ARM_SHARE = 1 / 3
"""Share of the trials and of those under way that belong to the family that is asked."""
MOST = 32
"""Proposals of one search (`automl.optimizers.rounds.MOST`)."""
IN_MODEL = 875
"""Trials that a model of more than a thousand is made of, in the mean: between 750 and 1,000
(`automl.optimizers.observations.MOST`)."""
BYTES_PER_SECOND = 100e6
"""Of the driver's network: a gigabit."""


@dataclass(frozen=True)
class Curve:
    """A cost by a count, straight between measured points on logarithmic axes and beyond the last."""

    counts: tuple[float, ...]
    seconds: tuple[float, ...]

    @classmethod
    def of(cls, measured: Mapping[str, float]) -> Curve:
        points = sorted((float(n), s) for n, s in measured.items() if float(n) > 0)
        return cls(tuple(n for n, _ in points), tuple(s for _, s in points))

    def at(self, n: float) -> float:
        if n <= self.counts[0]:
            return self.seconds[0]
        i = min(bisect(self.counts, n), len(self.counts) - 1)
        (n0, n1), (s0, s1) = self.counts[i - 1 : i + 1], self.seconds[i - 1 : i + 1]
        slope = math.log(s1 / s0) / math.log(n1 / n0)
        return s1 * (n / n1) ** max(slope, 0.0) if n > n1 else s0 * (n / n0) ** slope


@dataclass(frozen=True)
class Costs:
    """Seconds of each step; see ``costs.py``."""

    ask: Curve
    ask_again: Curve
    pending: Curve
    relearning: Curve
    decision: Curve
    decision_once: Curve
    tell: float
    slot: float
    journal: float
    journal_of_16: float
    record: float
    mlflow: float
    dask: float
    bytes_moved: int

    @classmethod
    def read(cls, path: Path) -> Costs:
        found: dict[str, Any] = json.loads(path.read_text())
        return cls(
            Curve.of(found["ask"]),
            Curve.of(found["ask_again"]),
            Curve.of(found["ask_pending"]),
            Curve.of(found["relearning"]),
            Curve.of(found["decision"]),
            Curve.of(found["decision_once"]),
            found["tell"],
            found["slot"],
            found["journal"],
            found["journal_of_16"],
            found["record_text"],
            found["mlflow_processor"],
            found["dask_task"],
            found["job_bytes"] + found["result_bytes"] + found["prediction_bytes"],
        )

    def first_ask(self, n_known: float, n_pending: float) -> float:
        """Of a fit and a search, what is under way beside the known trials."""
        more = self.pending.at(n_pending) - self.pending.seconds[0] if n_pending else 0.0
        return self.ask.at(n_known) + max(more, 0.0)

    def learning(self, n_known: float, *, rounds: bool) -> float:
        """Of learning hyperparameters, for each result: done when so many more are known."""
        if n_known <= 100:
            return 0.0
        return self.relearning.at(n_known) / (n_known / (4 if rounds and n_known > 500 else 20))


class Server:
    """A resource that does one thing at a time, in the order of arrival."""

    def __init__(self) -> None:
        self.free_at = self.busy = 0.0

    def serve(self, now: float, seconds: float) -> float:
        """When work that arrives now is done."""
        self.free_at = max(self.free_at, now) + seconds
        self.busy += seconds
        return self.free_at


@dataclass
class Cluster:
    """Slots of a search that ends after so many seconds."""

    costs: Costs
    n_slots: int
    median: float
    horizon: float
    rounds: bool
    dask: bool
    most_trials: int = 200_000
    seed: int = 0
    drawn: Sequence[float] = ()
    """Seconds of real trials, in place of the lognormal ones."""
    decisions: Server = field(default_factory=Server)
    driver: Server = field(default_factory=Server)
    scheduler: Server = field(default_factory=Server)
    network: Server = field(default_factory=Server)
    journal: Server = field(default_factory=Server)
    mlflow: Server = field(default_factory=Server)

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)
        self.events: list[tuple[float, int, Callable[[], None]]] = []
        self.n_events = self.n_done = self.n_running = 0
        self.waiting: deque[float] = deque()
        self.is_deciding = False
        self.left_of_round = 0
        self.in_trials = 0.0
        self.now = 0.0

    def run(self) -> dict[str, Any]:
        """Utilizations, trials a second, and what is busiest."""
        self.waiting.extend([0.0] * self.n_slots)
        self._decide()
        while self.events and self.n_done < self.most_trials:
            self.now, _, then = heapq.heappop(self.events)
            if self.now > self.horizon:
                self.now = self.horizon
                break
            then()
        return self._report()

    def _at(self, when: float, then: Callable[[], None]) -> None:
        self.n_events += 1
        heapq.heappush(self.events, (when, self.n_events, then))

    def _decide(self) -> None:
        """Begin the next decision where a slot waits and none is being made."""
        if self.is_deciding or not self.waiting:
            return
        self.is_deciding = True
        known = max(self.n_done * ARM_SHARE, 2.0)
        known = min(known, IN_MODEL) if self.rounds else known
        if self.rounds and self.left_of_round:
            self.left_of_round -= 1
            ask = self.costs.ask_again.at(known)
        else:
            ask = self.costs.first_ask(known, self.n_running * ARM_SHARE)
            self.left_of_round = min(len(self.waiting), MOST) - 1
        choosing = self.costs.decision if self.rounds else self.costs.decision_once
        choice = choosing.at(self.n_done) + self.costs.tell
        choice += self.costs.learning(known, rounds=self.rounds)
        self._at(self.decisions.serve(self.now, ask + choice), self._decided)

    def _decided(self) -> None:
        self.is_deciding = False
        self.waiting.popleft()
        self.n_running += 1
        begins = self._handed_over(self.now)
        seconds = self._seconds()
        self.in_trials += min(seconds, max(self.horizon - begins, 0.0))
        self._at(begins + seconds, self._ended)
        self._decide()

    def _seconds(self) -> float:
        if self.drawn:
            return float(self.rng.choice(self.drawn))
        return float(self.median * self.rng.lognormal(0.0, SPREAD))

    def _ended(self) -> None:
        """The result comes back and is committed."""
        arrived = self._handed_over(self.now) if self.dask else self.now
        arrived = self.driver.serve(arrived, self.costs.record)
        n_writers = min(16, 1 + max(self.journal.free_at - arrived, 0.0) / self.costs.journal)
        share = (n_writers - 1) / 15
        commit = (1 - share) * self.costs.journal + share * self.costs.journal_of_16
        self._at(self.journal.serve(arrived, commit), self._committed)

    def _committed(self) -> None:
        self.n_done += 1
        self.n_running -= 1
        self.mlflow.serve(self.now, self.costs.mlflow)
        self.waiting.append(self.now)
        self._decide()

    def _handed_over(self, now: float) -> float:
        """When a job or its result has reached the other side."""
        if not self.dask:
            return self.driver.serve(now, self.costs.slot / 2)
        sent = self.network.serve(now, self.costs.bytes_moved / 2 / BYTES_PER_SECOND)
        return self.scheduler.serve(sent, self.costs.dask / 2)

    def _report(self) -> dict[str, Any]:
        seconds = max(self.now, 1e-9)
        busy = {
            name: min(getattr(self, name).busy / seconds, 1.0)
            for name in ("decisions", "driver", "scheduler", "network", "journal")
        }
        first = max(busy, key=lambda name: busy[name])
        return {
            "slots": self.n_slots,
            "utilization": self.in_trials / (seconds * self.n_slots),
            "trials_per_second": self.n_done / seconds,
            "first": first,
            "busy": busy[first],
            "all_busy": busy,
            "mlflow_lag": max(self.mlflow.free_at - seconds, 0.0),
        }


def compare(costs: Costs, folder: Path) -> None:
    """Trials a second of a run on slots of one machine, and what is predicted for trials as its own took."""
    settings = json.loads((folder / "run.json").read_text())["settings"]
    trials = [
        Trial.from_json(record["trial"])
        for record in read(folder / "journal")
        if record["type"] == "trial" and record["trial"]["stage"] == "search"
    ]
    span = max(t.started_at + t.seconds for t in trials) - min(t.started_at for t in trials)
    drawn = [trial.seconds for trial in trials]
    simulated = [
        Cluster(costs, settings["workers"], 0.0, span, True, False, seed=seed, drawn=drawn).run()
        for seed in range(50)
    ]
    predicted = float(np.mean([each["trials_per_second"] for each in simulated]))
    print(f"{len(trials)} trials, median {np.median(drawn):.3f} s, mean {np.mean(drawn):.3f} s")
    print(f"trials/s: {len(trials) / span:.2f} real, {predicted:.2f} predicted")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("costs", type=Path)
    parser.add_argument("--slots", type=int, nargs="+", default=[2, 10, 100, 1000, 10_000])
    parser.add_argument("--median", type=float, nargs="+", default=[10.0, 60.0])
    parser.add_argument("--horizon", type=float, default=600.0, help="seconds of the search")
    parser.add_argument("--local", action="store_true", help="slots of this machine, without Dask")
    parser.add_argument("--run", type=Path, help="run folder to compare with, and nothing else")
    given = parser.parse_args()
    costs = Costs.read(given.costs)
    if given.run is not None:
        compare(costs, given.run)
        return
    print("| median trial | slots | asks | slots in trials | trials/s | busiest | MLflow behind |")
    print("|---|---|---|---|---|---|---|")
    for median in given.median:
        for n_slots in given.slots:
            for rounds in (False, True):
                cluster = Cluster(costs, n_slots, median, given.horizon, rounds, not given.local)
                found = cluster.run()
                print(
                    f"| {median:g} s | {n_slots:,} | {'rounds' if rounds else 'once'} "
                    f"| {100 * found['utilization']:.1f} % | {found['trials_per_second']:.2f} "
                    f"| {found['first']} {100 * found['busy']:.0f} % | {found['mlflow_lag']:.0f} s |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
