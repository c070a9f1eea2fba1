"""Cross-validated scores of models that are equally good by construction, and of planted worse ones.

A replication draws fresh rows of a large table (or generates a table), deals them to folds as a run
does, and scores ten candidates on the same folds with the project's index:

- `networks`: ridge regression on random tanh features; candidates differ by the seed only, which is
  another one in every fold, as in a run.
- `forests`: three of scikit-learn's extremely randomized trees, likewise.
- `perceptrons`: one hidden layer, trained by gradient steps, likewise.
- `columns`: a generated table with exchangeable columns that matter equally; each candidate sees a
  random half of them, the same in every fold: different models, equal by symmetry.
- `rows`: each candidate learns from its own random half of the table's rows, the same in every fold.
  All folds share the luck of that half: the hardest case for a test that looks at folds only.
- `labels`: ten different models (nearest neighbours, ridge, Bayes, networks); in every row their
  predictions are handed to the ten candidates in random order, so that no candidate is better.
- `few`: networks on three folds of one repeat, accuracy: three scores that are counts of few rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import sklearn
from sklearn.datasets import load_breast_cancer
from sklearn.tree import ExtraTreeClassifier, ExtraTreeRegressor

from automl.data.splits import make_folds
from automl.metrics.building import build_index
from automl.records import FloatArray, IntArray, Task

N_CANDIDATES = 10
POOLS = {
    "magic-telescope": Task.BINARY,
    "electricity": Task.BINARY,
    "phoneme": Task.BINARY,
    "breast_cancer": Task.BINARY,
    "cal_housing": Task.REGRESSION,
    "kin8nm": Task.REGRESSION,
    "elevators": Task.REGRESSION,
    "bank8FM": Task.REGRESSION,
}
REPEATED_FIVE, REPEATED_TEN, ONE_OF_THREE = (7, 5), (3, 10), (2, 3)
PLANS = {
    "networks": (REPEATED_FIVE, REPEATED_TEN),
    "forests": (REPEATED_FIVE,),
    "perceptrons": (REPEATED_FIVE,),
    "columns": (REPEATED_FIVE, REPEATED_TEN),
    "rows": (REPEATED_FIVE, REPEATED_TEN),
    "labels": (REPEATED_FIVE, REPEATED_TEN),
    "few": (ONE_OF_THREE,),
}
"""Repeats and folds that each kind of model is scored on. Of five and of three folds the first repeat
is the search's and the others are the candidates'; three times ten folds are all the candidates'."""

Fit = Callable[[int, IntArray, np.random.Generator], FloatArray]
"""From candidate, training rows and generator to one prediction per row of the table."""


class Sample:
    """Rows of one replication.

    Parameters
    ----------
    X : (n, p), standardized
    y : (n,), 0 and 1, or standardized values
    """

    def __init__(self, X: FloatArray, y: FloatArray, task: Task, metric: str = "index") -> None:
        self.X, self.task = X, task
        self.y = y.astype(int) if task.is_classification else y
        self.target = y.astype(float)
        classes = 2 if task.is_classification else None
        self.index = build_index(metric, task=task, y_all=self.y, n_classes=classes)

    def folds(self, plan: tuple[int, int], seed: int) -> list[tuple[IntArray, IntArray]]:
        """(training rows, validation rows) of every fold of every repeat."""
        n_repeats, n_folds = plan
        found = []
        for repeat in range(n_repeats):
            numbers = make_folds(self.y, self.task, n_folds=n_folds, repeat=repeat, seed=seed)
            found += [
                (np.flatnonzero(numbers != fold), np.flatnonzero(numbers == fold))
                for fold in range(n_folds)
            ]
        return found

    def score(self, values: FloatArray, rows: IntArray) -> float:
        """Index of predictions (n,), probabilities of class 1 or values, on some rows."""
        if not self.task.is_classification:
            return self.index.score(self.y[rows], values[rows])
        shares = np.clip(values[rows], 0.01, 0.99)
        return self.index.score(self.y[rows], np.column_stack([1.0 - shares, shares]))


class Pools:
    """Large tables from which replications draw."""

    def __init__(self, data: Path) -> None:
        self._tables = {name: self._read(data, name) for name in POOLS}

    @staticmethod
    def _read(data: Path, name: str) -> tuple[FloatArray, FloatArray]:
        if name == "breast_cancer":
            X, y = load_breast_cancer(return_X_y=True)
            return X[:, :10], y.astype(float)
        frame = pd.read_csv(next(data.glob(f"{name}.csv*")))
        target = frame.iloc[:, -1]
        X = frame.iloc[:, :-1].select_dtypes("number").iloc[:, :10].to_numpy(float)
        if POOLS[name].is_classification:
            return X, pd.factorize(target, sort=True)[0].astype(float)
        return X, target.to_numpy(float)

    def draw(
        self, name: str, n_rows: int, rng: np.random.Generator, metric: str = "index"
    ) -> Sample:
        """Random rows without replacement."""
        X, y = self._tables[name]
        rows = rng.choice(len(y), n_rows, replace=False)
        return Sample(*_standardized(X[rows], y[rows], POOLS[name]), POOLS[name], metric)


def _standardized(X: FloatArray, y: FloatArray, task: Task) -> tuple[FloatArray, FloatArray]:
    X = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-9)
    return np.clip(X, -4, 4), y if task.is_classification else (y - y.mean()) / y.std()


def scores_of(kind: str, pools: Pools, seed: int) -> list[FloatArray]:
    """(10 candidates, n scores) of each plan of `kind`."""
    rng = np.random.default_rng([seed, sorted(PLANS).index(kind)])
    names = [n for n in POOLS if POOLS[n].is_classification] if kind == "few" else list(POOLS)
    name = names[seed % len(names)]
    n_rows = int(rng.choice([80, 120, 200]))
    if kind == "columns":
        sample = exchangeable_columns(n_rows, rng)
    else:
        sample = pools.draw(name, n_rows, rng, "accuracy" if kind == "few" else "index")
    if kind == "labels":
        return [_permuted(sample, plan, seed, rng) for plan in PLANS[kind]]
    if kind == "perceptrons":
        return [_perceptrons(sample, plan, seed, rng) for plan in PLANS[kind]]
    return [_scores(sample, _fit(kind, sample, rng), plan, seed, rng) for plan in PLANS[kind]]


def exchangeable_columns(n_rows: int, rng: np.random.Generator) -> Sample:
    """Table of 12 columns with equal correlations and equal effects."""
    n_columns = 12
    shared = rng.choice([0.0, 0.3, 0.7])
    X = np.sqrt(shared) * rng.normal(size=(n_rows, 1)) + np.sqrt(1 - shared) * rng.normal(
        size=(n_rows, n_columns)
    )
    effect = X.sum(axis=1) if rng.random() < 0.5 else (X**2 - 1.0).sum(axis=1)
    y = effect / effect.std() + rng.choice([0.3, 1.0]) * rng.normal(size=n_rows)
    task = Task.BINARY if rng.random() < 0.5 else Task.REGRESSION
    if task is Task.BINARY:
        y = (y > np.median(y)).astype(float)
    return Sample(*_standardized(X, y, task), task)


def _scores(
    sample: Sample, fit: Fit, plan: tuple[int, int], seed: int, rng: np.random.Generator
) -> FloatArray:
    folds = sample.folds(plan, seed)
    return np.array(
        [
            [sample.score(fit(candidate, training, rng), rows) for training, rows in folds]
            for candidate in range(N_CANDIDATES)
        ]
    )


def _fit(kind: str, sample: Sample, rng: np.random.Generator) -> Fit:
    n, p = sample.X.shape
    if kind == "forests":
        return lambda _, training, rng: trees(sample, training, rng)
    if kind == "columns":
        halves = [rng.permutation(p)[: p // 2] for _ in range(N_CANDIDATES)]
        width = int(rng.choice([0, 20]))

        def on_half(candidate: int, training: IntArray, rng: np.random.Generator) -> FloatArray:
            X = sample.X[:, halves[candidate]]
            return (
                network(X, sample.target, training, rng, width)
                if width
                else ridge(np.column_stack([X, X**2]), sample.target, training)
            )

        return on_half
    if kind == "rows":
        own = [np.isin(np.arange(n), rng.permutation(n)[: n // 2]) for _ in range(N_CANDIDATES)]
        return lambda candidate, training, rng: ridge(
            sample.X, sample.target, training[own[candidate][training]]
        )
    return lambda _, training, rng: network(sample.X, sample.target, training, rng, 15)


def ridge(X: FloatArray, y: FloatArray, training: IntArray, penalty: float = 1.0) -> FloatArray:
    """Predictions (n,) of ridge regression."""
    A, mean = X[training], y[training].mean()
    center = A.mean(axis=0)
    A = A - center
    weights = np.linalg.solve(A.T @ A + penalty * np.eye(X.shape[1]), A.T @ (y[training] - mean))
    return mean + (X - center) @ weights


def network(
    X: FloatArray, y: FloatArray, training: IntArray, rng: np.random.Generator, width: int
) -> FloatArray:
    """Ridge regression on `width` random tanh features."""
    W = rng.normal(size=(X.shape[1], width)) / np.sqrt(X.shape[1]) * 1.5
    return ridge(np.tanh(X @ W + rng.normal(size=width)), y, training)


def trees(sample: Sample, training: IntArray, rng: np.random.Generator) -> FloatArray:
    """Mean of three extremely randomized trees."""
    X = sample.X.astype(np.float32)
    found = np.zeros(len(X))
    for _ in range(3):
        seed = int(rng.integers(2**31))
        if sample.task.is_classification:
            tree = ExtraTreeClassifier(max_depth=6, min_samples_leaf=2, random_state=seed)
            tree.fit(X[training], sample.y[training], check_input=False)
            found += tree.predict_proba(X, check_input=False)[:, -1] / 3
        else:
            tree = ExtraTreeRegressor(max_depth=6, min_samples_leaf=2, random_state=seed)
            tree.fit(X[training], sample.y[training], check_input=False)
            found += tree.predict(X, check_input=False) / 3
    return found


def _perceptrons(
    sample: Sample, plan: tuple[int, int], seed: int, rng: np.random.Generator
) -> FloatArray:
    """All candidates and folds side by side: 25 gradient steps with momentum, six hidden units."""
    folds = sample.folds(plan, seed)
    X, y = sample.X, sample.target
    n, p = X.shape
    mask = np.zeros((len(folds), n))
    for number, (training, _) in enumerate(folds):
        mask[number, training] = 1.0 / len(training)
    mask = np.repeat(mask, N_CANDIDATES, axis=0)
    W = rng.normal(size=(len(mask), p, 6)) / np.sqrt(p)
    v = rng.normal(size=(len(mask), 6)) / np.sqrt(6)
    step_W, step_v = np.zeros_like(W), np.zeros_like(v)
    for _ in range(25):
        H = np.tanh(X @ W)
        error = ((H @ v[:, :, None])[:, :, 0] - y) * mask
        back = error[:, :, None] * v[:, None, :] * (1.0 - H**2)
        step_W = 0.8 * step_W - 0.3 * (X.T @ back)
        step_v = 0.8 * step_v - 0.3 * (error[:, None, :] @ H)[:, 0]
        W, v = W + step_W, v + step_v
    values = (np.tanh(X @ W) @ v[:, :, None])[:, :, 0].reshape(len(folds), N_CANDIDATES, n)
    return np.array(
        [
            [sample.score(values[f, c], rows) for f, (_, rows) in enumerate(folds)]
            for c in range(N_CANDIDATES)
        ]
    )


def _permuted(
    sample: Sample, plan: tuple[int, int], seed: int, rng: np.random.Generator
) -> FloatArray:
    """Different models whose predictions are dealt to the candidates row by row."""
    n = len(sample.y)
    order = rng.permuted(np.tile(np.arange(N_CANDIDATES), (n, 1)), axis=1)
    found = []
    for training, rows in sample.folds(plan, seed):
        values = np.array(list(_different(sample, training, rng)))
        dealt = values[order, np.arange(n)[:, None]]
        found.append([sample.score(dealt[:, c], rows) for c in range(N_CANDIDATES)])
    return np.array(found).T


def _different(
    sample: Sample, training: IntArray, rng: np.random.Generator
) -> Iterator[FloatArray]:
    X, y = sample.X, sample.target
    distance = ((X[:, None] - X[training]) ** 2).sum(axis=2)
    near = np.argsort(distance, axis=1)[:, :15]
    for k in (1, 3, 5, 9, 15):
        yield y[training][near[:, :k]].mean(axis=1)
    for penalty in (0.1, 30.0):
        yield ridge(X, y, training, penalty)
    for width in (5, 25):
        yield network(X, y, training, rng, width)
    yield np.full(len(y), y[training].mean())


# --- planted differences ------------------------------------------------------------------------

STRENGTHS = {
    "label noise": (0.0, 0.05, 0.1, 0.2, 0.3, 0.4),
    "share of the rows": (1.0, 0.5, 0.3, 0.2, 0.15, 0.1),
    "hidden units": (15, 10, 7, 5, 3, 1),
}


def planted(pools: Pools, seed: int, plan: tuple[int, int]) -> dict[str, FloatArray]:
    """Scores of four reseeded networks as `equal` (4, n), and of worse ones, (strengths, n) each."""
    rng = np.random.default_rng([seed, 99])
    names = [name for name in POOLS if POOLS[name].is_classification]
    sample = pools.draw(names[seed % len(names)], 200, rng)
    folds = sample.folds(plan, seed)
    flips = rng.random(len(sample.y))
    draws = rng.random(len(sample.y))

    def row(noise: float = 0.0, share: float = 1.0, width: int = 15) -> list[float]:
        y = np.where(flips < noise, 1.0 - sample.target, sample.target)
        found = []
        for training, rows in folds:
            kept = training[draws[training] <= share]
            found.append(sample.score(network(sample.X, y, kept, rng, width), rows))
        return found

    scores = {"equal": np.array([row() for _ in range(4)])}
    scores["label noise"] = np.array([row(noise=x) for x in STRENGTHS["label noise"]])
    scores["share of the rows"] = np.array([row(share=x) for x in STRENGTHS["share of the rows"]])
    scores["hidden units"] = np.array([row(width=int(x)) for x in STRENGTHS["hidden units"]])
    return scores


def quietly() -> None:
    """Small classes in small draws are expected here, and nothing is checked twice."""
    sklearn.set_config(skip_parameter_validation=True, assume_finite=True)
    warnings.filterwarnings("ignore", category=UserWarning)
