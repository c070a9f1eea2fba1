"""Trials a second of a real search whose trials do nothing: ``real.py [--slots 2 8] [--seconds 20]``.

Real are the decisions, the default optimizer, the worker processes and the journal. Of a checkout as it was
before, run it with PYTHONPATH=CHECKOUT.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from pathlib import Path

from costs import ALLOCATOR, FAMILIES, OPTIMIZER, Scores, space_of, trial_of
from threadpoolctl import threadpool_limits

import automl
from automl.bandits.registry import get_allocator
from automl.evaluation.exchange import Job
from automl.evaluation.journal import Journal
from automl.evaluation.worker_pool import WorkerPool
from automl.optimizers.registry import get_optimizer
from automl.records import Trial
from automl.search.opening import Opening
from automl.search.proposing import Arm, Proposer
from automl.search.runner import work
from automl.search.turns import Turn, Turns

JOB = Job("builtins:str", {})


class Runner:
    """Runs turns on slots of this machine, as jobs that do nothing."""

    def __init__(self, pool: WorkerPool) -> None:
        self.pool = pool
        self.scores = {name: Scores(space_of(name)) for name in FAMILIES}

    def run_turn(self, turn: Turn, *, limit_seconds: float | None) -> Trial:
        slot = self.pool.acquire()
        try:
            self.pool.run(slot, JOB, limit_seconds=limit_seconds)
        finally:
            self.pool.release(slot)
        configuration = turn.proposal.configuration
        return trial_of(turn.index, configuration, self.scores[configuration.family](configuration))


def measured(n_slots: int, seconds: float) -> tuple[float, float]:
    """Trials a second, and the driver's processor seconds a trial."""
    spaces = {name: space_of(name) for name in FAMILIES}
    make = get_optimizer(OPTIMIZER).make
    arms = {name: Arm(space, make(space), OPTIMIZER) for name, space in spaces.items()}
    opening = Opening([(space.default(), "portfolio") for space in spaces.values()])
    proposer = Proposer(arms, get_allocator(ALLOCATOR).make(), opening=opening, seed=0)
    turns = Turns(proposer, lookback=None, n_trials=None, n_slots=n_slots)
    with (
        tempfile.TemporaryDirectory(dir=".") as folder,
        Journal(Path(folder)) as journal,
        WorkerPool(n_slots, context="", libraries=()) as pool,
    ):
        runner = Runner(pool)
        for slot in range(n_slots):
            pool.run(slot, JOB, limit_seconds=60)
        began, used = time.monotonic(), time.process_time()

        def search() -> None:
            work(
                turns,
                runner,
                commit=lambda trial, _: journal.append({"trial": trial.to_json()}) and None,
                limit_seconds=lambda _: 60.0,
                until=lambda: time.monotonic() - began > seconds,
            )

        threads = [threading.Thread(target=search) for _ in range(n_slots)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        n = len(turns.trials)
        return n / (time.monotonic() - began), (time.process_time() - used) / n


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--slots", type=int, nargs="+", default=[2, 8])
    parser.add_argument("--seconds", type=float, default=20.0)
    given = parser.parse_args()
    print(Path(automl.__file__).parents[1])
    for n_slots in given.slots:
        with threadpool_limits(1):
            rate, processor = measured(n_slots, given.seconds)
        print(
            f"{n_slots} slots: {rate:.1f} trials/s, {1000 * processor:.1f} ms of the driver",
            flush=True,
        )


if __name__ == "__main__":
    main()
