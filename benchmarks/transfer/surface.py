"""Document S15, experiment 1: how well models reconstruct the scores of a data set.

Of the target's scores 4 % are for training, with all of the other data sets', 10 % choose the
model's own hyperparameters, and the rest are the test.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from tables import Table, seed_of
from threadpoolctl import threadpool_limits

from automl.records import FloatArray, IntArray
from automl.surrogates.batches import Examples
from automl.surrogates.earlier_data import design_matrix
from automl.surrogates.network_ensemble import Ensemble
from automl.surrogates.network_parameters import Shape

MODELS = ("RF", "SVR", "FM", "MLP", "FMLP")
TRAINING, VALIDATION = 0.04, 0.10
SVR_ROWS, SVR_PROBE_ROWS = 7200, 2500
"""Most rows of the support vector regression, as many as the document has, and of its choice."""
Options = dict[str, Any]
GRIDS: Mapping[str, list[Options]] = {
    "RF": [
        {"max_features": share, "min_samples_leaf": leaf}
        for share in (1 / 3, 2 / 3, 1.0)
        for leaf in (1, 3)
    ],
    "SVR": [{"C": cost, "gamma": gamma} for cost in (1.0, 10.0) for gamma in (0.1, 1.0)],
    "FM": [
        {"units": 1, "layers": 0, "factors": factors, "decay": decay, "rate": 0.01}
        for factors in (3, 8)
        for decay in (0.1, 1.0, 10.0)
    ],
    "MLP": [
        {"units": units, "layers": layers, "factors": 0, "decay": decay, "rate": 0.01}
        for units, layers in ((20, 1), (20, 2), (40, 2))
        for decay in (0.1, 1.0, 10.0)
    ],
    "FMLP": [
        {"units": units, "layers": 1, "factors": factors, "decay": decay, "rate": 0.01}
        for units, factors in ((10, 3), (20, 5))
        for decay in (0.1, 1.0, 10.0)
    ],
}


@dataclass(frozen=True)
class Problem:
    """All data sets with one of them, the last, as the target.

    Parameters
    ----------
    examples : the rows of the other data sets and the target's, scores standardized
    training, validation, test : rows
    center, spread : of the scores of the training rows
    """

    examples: Examples
    training: IntArray
    validation: IntArray
    test: IntArray
    center: float
    spread: float

    @classmethod
    def of(cls, table: Table, target: int) -> Problem:
        """The problem of a target; the split depends on the names alone."""
        rng = np.random.default_rng(seed_of(table.name, table.names[target], "split"))
        position = np.argsort(np.append(np.delete(np.arange(len(table.names)), target), target))
        own = rng.permutation(np.flatnonzero(table.task == target))
        n_training = max(round(TRAINING * len(own)), 1)
        n_validation = round(VALIDATION * len(own))
        training = np.concatenate([np.flatnonzero(table.task != target), own[:n_training]])
        center, spread = table.score[training].mean(), table.score[training].std()
        meta = np.concatenate([np.delete(table.meta, target, axis=0), table.meta[[target]]])
        return cls(
            Examples(table.X, (table.score - center) / spread, position[table.task], meta),
            training,
            own[n_training : n_training + n_validation],
            own[n_training + n_validation :],
            float(center),
            float(spread),
        )

    def rmse(self, predicted: FloatArray, rows: IntArray) -> float:
        """Root mean squared error in the units of the score."""
        errors = self.spread * (predicted - self.examples.y[rows])
        return float(np.sqrt(np.mean(errors**2)))


def rows_of(examples: Examples, rows: IntArray) -> Examples:
    """Some of the rows."""
    return Examples(examples.X[rows], examples.y[rows], examples.task[rows], examples.meta)


def networks(
    problem: Problem, options: Options, asked: IntArray, *, n_members: int, n_steps: int, seed: int
) -> FloatArray:
    """(m, M) predictions of networks for the target's rows `asked`."""
    examples = problem.examples
    tasks, meta = examples.meta.shape
    size = {key: options[key] for key in ("units", "layers", "factors")}
    shape = Shape(columns=examples.X.shape[1], tasks=tasks, meta=meta, **size)
    rng = np.random.default_rng(seed)
    found = Ensemble.begin(shape, n_members, decay=options["decay"], rng=rng)
    training = rows_of(examples, problem.training)
    found.train(training, n_steps=n_steps, rate=options["rate"], rng=rng)
    return found.predict(examples.X[asked], tasks - 1, examples.meta[-1])


def other_model(
    model: str, problem: Problem, options: Options, asked: IntArray, *, size: int, seed: int
) -> FloatArray:
    """(m, 1) predictions of a forest of `size` trees, or of a support vector regression.

    The latter sees `size` rows of the other data sets.
    """
    from sklearn.ensemble import RandomForestRegressor
    from sklearn.svm import SVR

    examples = problem.examples
    X = design_matrix(examples.X, examples.task, examples.meta)
    rows = problem.training
    if model == "SVR" and size < len(rows):
        n_own = int((examples.task[rows] == len(examples.meta) - 1).sum())
        others = np.random.default_rng(seed).choice(len(rows) - n_own, size, replace=False)
        rows = np.concatenate([rows[others], rows[len(rows) - n_own :]])
    made = (
        RandomForestRegressor(size, random_state=seed, **options)
        if model == "RF"
        else SVR(epsilon=0.1, cache_size=500, **options)
    )
    found = made.fit(X[rows], examples.y[rows]).predict(X[asked])
    return np.asarray(found)[:, None]


def run_cell(
    table: Table, target: int, model: str, *, n_members: int, n_probes: int, n_steps: int
) -> dict[str, Any]:
    """Choose the options of a model on the validation rows and test them.

    Parameters
    ----------
    n_members : networks, or trees, of the final model
    n_probes : of those that choose the options
    n_steps : of the training of networks
    """
    problem, grid = Problem.of(table, target), GRIDS[model]
    seed = seed_of(table.name, table.names[target], model)
    both = np.concatenate([problem.validation, problem.test])
    n_validation = len(problem.validation)

    def predict(options: Options, asked: IntArray, *, is_final: bool) -> FloatArray:
        size = n_members if is_final else n_probes
        if model in {"RF", "SVR"}:
            rows = SVR_ROWS if is_final else SVR_PROBE_ROWS
            size = rows if model == "SVR" else size
            return other_model(model, problem, options, asked, size=size, seed=seed)
        return networks(problem, options, asked, n_members=size, n_steps=n_steps, seed=seed)

    with threadpool_limits(1):
        tried = [
            problem.rmse(
                predict(options, problem.validation, is_final=False).mean(axis=1),
                problem.validation,
            )
            for options in grid
        ]
        options = grid[int(np.argmin(tried))]
        begin = time.process_time()
        found = predict(options, both, is_final=True)
        seconds = time.process_time() - begin
    test = found[n_validation:]
    return {
        "table": table.name,
        "target": table.names[target],
        "model": model,
        "options": options,
        "validation": tried,
        "members": n_members,
        "rmse": problem.rmse(test.mean(axis=1), problem.test),
        "member_rmse": float(
            np.mean([problem.rmse(test[:, i], problem.test) for i in range(test.shape[1])])
        ),
        "seconds": seconds,
    }
