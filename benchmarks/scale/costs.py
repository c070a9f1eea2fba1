"""What one machine pays for each step of a search: ``costs.py OUT.json [--only PART ...]``.

Computing is measured in processor seconds of this process, what waits for a disk or another process
in wall seconds; each figure is the median of its repeats. One core is used. Parts that are not
measured anew stay as they are in OUT.json.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from automl.bandits.registry import get_allocator
from automl.evaluation import channel as messages
from automl.evaluation.exchange import Job
from automl.evaluation.journal import Journal
from automl.evaluation.predictions import PredictionStore
from automl.evaluation.worker_pool import WorkerPool
from automl.families.registry import families
from automl.optimizers.registry import get_optimizer
from automl.randomness import Purpose, stream
from automl.records import Configuration, FoldResult, Task, Trial, TrialStatus
from automl.search.opening import Opening
from automl.search.proposing import Arm, Proposer
from automl.search.turns import Turns
from automl.spaces.configuration_encoder import ConfigurationEncoder
from automl.spaces.tree import SpaceTree

Clock = Callable[[], float]
FAMILY = "lightgbm"
OPTIMIZER = "gp_sampled"
ALLOCATOR = "expected_gain"
FAMILIES = ("lightgbm", "extra_trees", "mlp", "svm", "random_forest")
FACTS = {"n_rows": 1000, "n_columns": 20, "n_classes": 3}
N_KNOWN = (10, 30, 100, 300, 1000, 3000)
N_SEEN = (10, 100, 1000, 10_000)
N_ROWS, N_CLASSES = 1000, 3


class Scores:
    """A smooth score of configurations, so that models have something to learn."""

    def __init__(self, space: SpaceTree) -> None:
        self._encoder = ConfigurationEncoder(space).fit()
        width = len(self._encoder.feature_names)
        self._best = stream(0, Purpose.SAMPLE, 0).random(width)

    def __call__(self, configuration: Configuration) -> float:
        row = self._encoder.transform([configuration])[0]
        return float(0.9 - 0.2 * np.mean((row - self._best) ** 2))


def trial_of(index: int, configuration: Configuration, score: float) -> Trial:
    folds = tuple(FoldResult(0, fold, score, N_ROWS // 5, 0.4, 0.01) for fold in range(5))
    metrics = dict.fromkeys(("accuracy", "log_loss", "auc", "f1", "mcc", "brier"), score)
    return Trial(
        "20260101-000000-abcdef",
        index,
        configuration,
        TrialStatus.COMPLETE,
        score,
        folds,
        origin=OPTIMIZER,
        stage="search",
        metrics=metrics,
        seconds=2.0,
    )


def space_of(family: str) -> SpaceTree:
    return families()[family].space(Task.MULTICLASS).with_facts(**FACTS)


def taking(call: Callable[[], object], *, clock: Clock = time.process_time) -> float:
    began = clock()
    call()
    return clock() - began


# --- the parts --------------------------------------------------------------------------------


def ask_costs() -> dict[str, Any]:
    """Asks of the default optimizer by what it knows, each after a tell, and the tells."""
    space = space_of(FAMILY)
    score = Scores(space)
    drawn = [space.sample(stream(1, Purpose.SAMPLE, i)) for i in range(N_KNOWN[-1] + 100)]
    optimizer = get_optimizer(OPTIMIZER).make(space)
    tells, asks, again, told = [], {}, {}, 0

    def tell() -> None:
        nonlocal told
        trial = trial_of(told, drawn[told], score(drawn[told]))
        tells.append(taking(lambda: optimizer.tell(trial)))
        told += 1

    def ask(number: int, pending: Sequence[Configuration] = ()) -> tuple[float, Configuration]:
        rng = stream(2, Purpose.OPTIMIZER, number)
        began = time.process_time()
        proposal = optimizer.ask(pending=pending, rng=rng)
        assert proposal is not None
        return time.process_time() - began, proposal.configuration

    for n in N_KNOWN:
        while told < n:
            tell()
        ask(0)
        seconds = []
        for number in range(5 if n <= 1000 else 3):
            tell()
            seconds.append(ask(number)[0])
        asks[n] = statistics.median(seconds)
        again[n] = more_asks(optimizer, ask)
        print(f"ask, {n} known: {asks[n]:.4f} s; of a round {again[n]}", flush=True)
    relearning = {n: relearning_seconds(n, drawn, score, space) for n in N_KNOWN if n > 100}
    return {
        "ask": asks,
        "ask_again": again,
        "relearning": relearning,
        "tell": statistics.median(tells),
    }


def more_asks(
    optimizer: Any, ask: Callable[..., tuple[float, Configuration]], n: int = 64
) -> float | None:
    """Mean seconds of the asks of a round behind the first; None if there are no rounds."""
    if not hasattr(optimizer, "ask_again"):
        return None
    pending = [ask(99)[1]]
    began = time.process_time()
    for number in range(n):
        rng = stream(3, Purpose.OPTIMIZER, number)
        pending.append(optimizer.ask_again(pending=pending, rng=rng).configuration)
    return (time.process_time() - began) / n


def relearning_seconds(
    n: int, drawn: Sequence[Configuration], score: Scores, space: SpaceTree
) -> float:
    """Of learning the hyperparameters at more than a hundred trials, once for a twentieth of growth."""
    from automl.surrogates.gaussian_process import GaussianProcess

    X = ConfigurationEncoder(space).fit().transform(list(drawn[:n]))
    y = np.array([score(configuration) for configuration in drawn[:n]])
    y = (y - y.mean()) / y.std()
    process = GaussianProcess()
    process.fit(X[: n // 2], y[: n // 2], rng=stream(4, Purpose.SAMPLE, 0))
    return taking(lambda: process.fit(X, y, rng=stream(4, Purpose.SAMPLE, 1)))


def pending_costs() -> dict[str, Any]:
    """Asks of the default optimizer with a hundred trials known, by what is under way."""
    space = space_of(FAMILY)
    score = Scores(space)
    drawn = [space.sample(stream(1, Purpose.SAMPLE, i)) for i in range(2000)]
    optimizer = get_optimizer(OPTIMIZER).make(space)
    for index, configuration in enumerate(drawn[:98]):
        optimizer.tell(trial_of(index, configuration, score(configuration)))
    found = {}
    for n_pending in (0, 30, 100, 300, 1000):
        pending = drawn[100 : 100 + n_pending]

        def ask(pending: Sequence[Configuration] = pending) -> None:
            optimizer.ask(pending=pending, rng=stream(5, Purpose.OPTIMIZER, 0))

        found[n_pending] = statistics.median(taking(ask) for _ in range(3))
        print(f"ask, 98 known, {n_pending} under way: {found[n_pending]:.4f} s", flush=True)
    return {"ask_pending": found}


def decision_costs() -> dict[str, Any]:
    """Tell, choice of the family and bookkeeping of one decision, with asks that cost nothing."""
    return {"decision": {n: decision_seconds(n) for n in N_SEEN}}


def decision_seconds(n: int) -> float:
    """Of a decision with `n` trials seen and of taking its result."""
    spaces = {name: space_of(name) for name in FAMILIES}
    choose = get_optimizer("random")
    arms = {name: Arm(space, choose.make(space), "random") for name, space in spaces.items()}
    proposer = Proposer(arms, get_allocator(ALLOCATOR).make(), opening=Opening([]), seed=0)
    rng = stream(6, Purpose.SAMPLE, n)
    drawn = [spaces[FAMILIES[i % len(FAMILIES)]].sample(rng) for i in range(n)]
    known = {i: trial_of(i, each, 0.5 + 0.3 * rng.random()) for i, each in enumerate(drawn)}
    turns = Turns(proposer, lookback=None, n_trials=None, n_slots=1, replay=known)
    seconds = []
    for _ in range(20):
        began = time.process_time()
        turn = turns.take()
        assert turn is not None
        taken = time.process_time() - began
        trial = trial_of(turn.index, turn.proposal.configuration, 0.5)
        seconds.append(taken + taking(lambda trial=trial: turns.finish(trial)))
    print(f"decision, {n} seen: {statistics.median(seconds):.5f} s", flush=True)
    return statistics.median(seconds)


def journal_costs() -> dict[str, Any]:
    """A commit by one thread and by 16 at once, in the folder of temporary files (wall seconds)."""
    configuration = space_of(FAMILY).default()
    trial = trial_of(0, configuration, 0.5)
    record = {"type": "trial", "trial": trial.to_json(), "decision": {"sees": 3}}
    with tempfile.TemporaryDirectory(dir=".") as folder:
        with Journal(Path(folder) / "one") as journal:
            alone = [
                taking(lambda: journal.append(record), clock=time.monotonic) for _ in range(200)
            ]
        many = _appended_by(16, record, Path(folder) / "many")
    text = [taking(lambda: json.dumps(trial.to_json())) for _ in range(200)]
    return {
        "journal": statistics.median(alone),
        "journal_of_16": many,
        "record_text": statistics.median(text),
        "record_bytes": len(json.dumps(record)),
    }


def _appended_by(n_threads: int, record: dict[str, Any], folder: Path) -> float:
    """Wall seconds a record where so many threads append 100 each."""
    with Journal(folder) as journal:

        def append() -> None:
            for _ in range(100):
                journal.append(record)

        threads = [threading.Thread(target=append) for _ in range(n_threads)]
        began = time.monotonic()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return (time.monotonic() - began) / (100 * n_threads)


def prediction_costs() -> dict[str, Any]:
    """Keeping a trial's predictions, by how many are kept (wall seconds, mean of 200 saves)."""
    array = np.zeros((N_ROWS, N_CLASSES))
    found = {}
    with tempfile.TemporaryDirectory(dir=".") as folder:
        store = PredictionStore(folder)
        for index in range(N_SEEN[-1] + 1):
            (Path(folder) / f"trial-{index}.npy").touch()
            if index in N_SEEN:
                began = time.monotonic()
                for again in range(200):
                    store.save(f"trial-{again}", array)
                found[index] = (time.monotonic() - began) / 200
    return {"predictions": found, "prediction_bytes": 4 * array.size}


def slot_costs() -> dict[str, Any]:
    """A job that does nothing in a slot of this machine (wall), and the bytes that it moves."""
    configuration = space_of(FAMILY).default()
    trial = trial_of(0, configuration, 0.5)
    payload = {"configuration": configuration.to_json(), "jobs": [(0, fold) for fold in range(5)]}
    sent = len(b"".join(bytes(part) for part in messages.encode(("module:function", payload))))
    back = len(b"".join(bytes(part) for part in messages.encode(list(trial.folds))))
    with WorkerPool(1, context="", libraries=()) as pool:
        job = Job("builtins:str", {})
        pool.run(0, job, limit_seconds=60)
        seconds = [
            taking(lambda: pool.run(0, job, limit_seconds=60), clock=time.monotonic)
            for _ in range(50)
        ]
    return {"slot": statistics.median(seconds), "job_bytes": sent, "result_bytes": back}


def mlflow_costs() -> dict[str, Any]:
    """A trial written into MLflow on SQLite, as the mirror does (wall and processor seconds)."""
    from mlflow import MlflowClient
    from mlflow.entities import Metric, Param, RunTag

    with tempfile.TemporaryDirectory(dir=".") as folder:
        client = MlflowClient(f"sqlite:///{Path(folder).absolute()}/mlflow.db")
        experiment = client.create_experiment("costs", artifact_location=f"file://{folder}/a")
        tags = {f"automl.tag{i}": "value" for i in range(10)}

        def write() -> None:
            run = client.create_run(experiment, tags=tags).info.run_id
            client.log_batch(
                run,
                [Metric(f"metric{i}", 0.5, 0, 0) for i in range(10)],
                [Param(f"param{i}", "1") for i in range(10)],
                [RunTag("automl.more", "1")],
            )
            client.set_terminated(run)

        write()
        wall, processor = [], []
        for _ in range(40):
            began = time.monotonic()
            processor.append(taking(write))
            wall.append(time.monotonic() - began)
    return {"mlflow": statistics.median(wall), "mlflow_processor": statistics.median(processor)}


def dask_costs() -> dict[str, Any]:
    """Tasks of a local Dask scheduler with one worker (wall seconds a task), and of 1 MB moved."""
    from distributed import Client, LocalCluster

    payload = {"configuration": space_of(FAMILY).default().to_json(), "jobs": [(0, 0)] * 5}
    megabyte = os.urandom(1_000_000)
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=None, processes=True
        ) as cluster,
        Client(cluster) as client,
    ):

        def one() -> None:
            client.submit(dict, payload, pure=False).result()

        one()
        alone = [taking(one, clock=time.monotonic) for _ in range(100)]

        def many() -> None:
            client.gather([client.submit(dict, payload, pure=False) for _ in range(1000)])

        together = taking(many, clock=time.monotonic) / 1000
        moved = [
            taking(lambda: client.submit(len, megabyte, pure=False).result(), clock=time.monotonic)
            for _ in range(20)
        ]
    return {
        "dask_round_trip": statistics.median(alone),
        "dask_task": together,
        "dask_megabyte": statistics.median(moved) - statistics.median(alone),
    }


PARTS: dict[str, Callable[[], dict[str, Any]]] = {
    "ask": ask_costs,
    "pending": pending_costs,
    "decision": decision_costs,
    "journal": journal_costs,
    "predictions": prediction_costs,
    "slot": slot_costs,
    "mlflow": mlflow_costs,
    "dask": dask_costs,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--only", nargs="*", choices=PARTS, default=list(PARTS))
    given = parser.parse_args()
    found = json.loads(given.out.read_text()) if given.out.exists() else {}
    for part in given.only:
        with threadpool_limits(1):
            found.update(PARTS[part]())
        given.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
