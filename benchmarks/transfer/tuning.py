"""Document S15, experiments 2 and 3: tuning strategies on a grid, with other data sets known."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from tables import Table, seed_of
from threadpoolctl import threadpool_limits

from automl.acquisition.improvement import log_expected_improvement
from automl.records import FloatArray
from automl.surrogates.earlier_data import Sources, TransferSurrogate
from automl.surrogates.gaussian_process import GaussianProcess
from automl.surrogates.mixed_kernel import MixedKernelProcess
from automl.surrogates.protocol import Surrogate
from automl.surrogates.score_targets import standard
from automl.surrogates.scot import RankingProcess
from automl.surrogates.transfer import TransferNetworks
from automl.surrogates.transfer_forest import TransferForest

METHODS = ("random", "I-GP", "SMAC++", "SCoT", "MKL-GP", "MLP", "FMLP")
"""Figures 3 and 4."""
UNCERTAINTY = ("MLPE", "MLPH")
"""Figure 2: a perceptron's ensemble, and the inverse Hessian of a single one."""


@dataclass(frozen=True)
class Effort:
    """How much is spent.

    Parameters
    ----------
    n_members : networks of an ensemble
    n_trials : of each run
    """

    n_members: int
    n_trials: int


def surrogate_of(method: str, effort: Effort) -> Surrogate:
    """New surrogate of a strategy."""
    if method == "I-GP":
        return GaussianProcess()
    if method == "SMAC++":
        return TransferForest()
    if method == "SCoT":
        return RankingProcess(degree=1)
    if method == "MKL-GP":
        return MixedKernelProcess()
    if method == "MLPH":
        return TransferNetworks(
            n_members=1, units=10, layers=1, factors=0, decay=1.0, uncertainty="laplace"
        )
    if method == "MLPE":
        return TransferNetworks(effort.n_members, units=10, layers=1, factors=0, decay=1.0)
    if method == "MLP":
        return TransferNetworks(effort.n_members, layers=2, factors=0, decay=1.0)
    return TransferNetworks(effort.n_members, decay=1.0)


def standardized(table: Table) -> FloatArray:
    """Scores (n,) standardized per data set."""
    y = np.empty(len(table.score))
    for task in range(len(table.names)):
        rows = table.task == task
        y[rows] = standard(table.score[rows])
    return y


def run_of(
    surrogate: Surrogate | None, X: FloatArray, score: FloatArray, n_trials: int, seed: int
) -> list[float]:
    """Scores in the order of trials: a random first one, then the greatest improvement expected.

    Parameters
    ----------
    X, score : (g, d) and (g,), the target's grid
    """
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(score))
    if surrogate is None:
        return [float(score[row]) for row in order[:n_trials]]
    tried = [int(order[0])]
    while len(tried) < min(n_trials, len(score)):
        y = standard(score[tried])
        surrogate.fit(X[tried], y, rng=rng)
        rest = np.setdiff1d(order, tried)
        mean, std = surrogate.predict(X[rest])
        gain = log_expected_improvement(mean, std, float(y.max()))
        best = np.flatnonzero(gain == gain.max())
        tried.append(int(rest[rng.choice(best)]))
    return [float(score[row]) for row in tried]


def run_cell(
    table: Table, target: int, method: str, *, n_repetitions: int, effort: Effort
) -> dict[str, Any]:
    """Repetitions of a strategy; what is learned of the other data sets is learned once for all."""
    name = table.names[target]
    own = table.task == target
    sources = table.others(target, standardized(table))
    begin = time.process_time()
    with threadpool_limits(1):
        prepared = 0.0
        runs = []
        known = None
        for repetition in range(n_repetitions):
            if method != "random":
                known = known or _prepared(
                    method, effort, sources, seed_of(table.name, name, method)
                )
                prepared = prepared or time.process_time() - begin
            seed = seed_of(table.name, name, str(repetition))
            runs.append(run_of(_copy(known), table.X[own], table.score[own], effort.n_trials, seed))
    return {
        "table": table.name,
        "target": name,
        "method": method,
        "grid": table.score[own].tolist(),
        "runs": runs,
        "prepared_seconds": prepared,
        "seconds": time.process_time() - begin,
    }


def _prepared(method: str, effort: Effort, sources: Sources, seed: int) -> bytes:
    """Pickle of a surrogate that has learned from the sources."""
    import pickle

    surrogate = surrogate_of(method, effort)
    if isinstance(surrogate, TransferSurrogate):
        surrogate.learn_from(sources)
        if hasattr(surrogate, "prepare"):
            surrogate.prepare(rng=np.random.default_rng(seed))
    return pickle.dumps(surrogate)


def _copy(known: bytes | None) -> Surrogate | None:
    import pickle

    return None if known is None else pickle.loads(known)
