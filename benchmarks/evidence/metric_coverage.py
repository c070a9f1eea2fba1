"""Whether the honest values of metrics and their intervals are right, on made-up tables whose truth is known.

    python benchmarks/evidence/metric_coverage.py [--runs 200] [--rows 100 400] [--models 30]

Each run draws rows of twelve columns and fits linear models to small subsets of the columns, in five folds. The best
one by its out-of-fold score is the final choice, as in a run of the library: the index is the default one, and the
threshold of two classes is learned. The truth of a metric is the mean over the five fold models of the chosen one, on
20,000 fresh rows, labels by the rule of the final choice.

Worlds: `equal`, where all columns count alike, so that all models are equally good but for chance; `apart`, where
each column counts less than the one before. For each metric: the mean error of the naive and of the honest value in
natural units, with the standard error of the latter, and how often the naive and the honest interval hold the truth.
The naive interval is the bootstrap interval of the out-of-fold predictions of the final choice.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from automl.metrics.building import build_index
from automl.metrics.index import PerformanceIndex
from automl.records import FloatArray, Task
from automl.selection.honest import Repetition
from automl.selection.natural_metrics import NaturalMetrics
from automl.selection.row_intervals import row_intervals
from automl.selection.scored_rows import Choice, ScoredRows

N_COLUMNS, N_CHOSEN, N_FOLDS, N_FRESH = 12, 4, 5, 20_000
N_BOOTSTRAPS = 100
WORLDS: Mapping[str, FloatArray] = {
    "equal": np.full(N_COLUMNS, 0.35),
    "apart": 0.9 * 0.7 ** np.arange(N_COLUMNS),
}
TASKS = {"two classes": Task.BINARY, "numbers": Task.REGRESSION}
Models = list[tuple[NDArray[np.intp], FloatArray]]
"""Columns and coefficients of the model of each fold."""


@dataclass(frozen=True)
class Found:
    """Of one metric in one run."""

    truth: float
    naive: float
    honest: float
    naive_holds: bool
    honest_holds: bool


def rows_of(
    rng: np.random.Generator, world: str, task: Task, n: int
) -> tuple[FloatArray, NDArray[Any]]:
    """(n, N_COLUMNS) columns, and the target."""
    x = rng.normal(size=(n, N_COLUMNS))
    y = x @ WORLDS[world] + rng.logistic(size=n)
    return x, (y > 0).astype(np.intp) if task is Task.BINARY else y


def fitted(x: FloatArray, y: NDArray[Any], columns: NDArray[np.intp]) -> FloatArray:
    """Coefficients of least squares on some columns, the intercept last."""
    design = np.column_stack([x[:, columns], np.ones(len(x))])
    return np.asarray(np.linalg.lstsq(design, y, rcond=None)[0])


def predicted(
    x: FloatArray, columns: NDArray[np.intp], coefficients: FloatArray, task: Task
) -> NDArray[Any]:
    """(n,) values, or (n, 2) probabilities."""
    values = x[:, columns] @ coefficients[:-1] + coefficients[-1]
    if task is not Task.BINARY:
        return np.asarray(values)
    positive = np.clip(values, 0.01, 0.99)
    return np.column_stack([1 - positive, positive]).astype(np.float32)


def best_of(rows: ScoredRows, index: PerformanceIndex) -> Any:
    """Chooses the model with the best score on drawn rows, with the rule that these speak for."""
    models = rows.versions[0]

    def choose(counts: FloatArray, _: Any) -> list[dict[str, Choice]]:
        under = np.array([index.learned_scores(rows.y, model[None], counts) for model in models])
        return [
            {"single": Choice(np.eye(len(models))[i], index.learn_rule(rows.y, models[i], drawn))}
            for i, drawn in zip(under.argmax(axis=0), counts, strict=True)
        ]

    return choose


def one_run(task: Task, world: str, n_rows: int, n_models: int, seed: int) -> dict[str, Found]:
    """Each metric of the best model, and the score."""
    rng = np.random.default_rng([seed, n_rows, n_models, len(world), len(task)])
    x, y = rows_of(rng, world, task, n_rows)
    folds = rng.permutation(n_rows) % N_FOLDS
    index = build_index(task=task, y_all=y, n_classes=2 if task is Task.BINARY else None)
    models: list[Models] = []
    predictions = []
    for _ in range(n_models):
        columns = rng.choice(N_COLUMNS, N_CHOSEN, replace=False)
        parts = [(columns, fitted(x[folds != k], y[folds != k], columns)) for k in range(N_FOLDS)]
        out_of_fold = predicted(x, *parts[0], task)
        for k, part in enumerate(parts):
            out_of_fold[folds == k] = predicted(x[folds == k], *part, task)
        models.append(parts)
        predictions.append(out_of_fold)
    rows = ScoredRows([predictions], y, index.score, metrics=NaturalMetrics(index))
    choose = best_of(rows, index)
    final = choose(np.ones((1, n_rows), dtype=np.float32), None)[0]
    sequence = np.random.SeedSequence(seed)
    made = Repetition(rows, final, choose, seed=sequence, n_bootstraps=N_BOOTSTRAPS)
    return compared(made, final["single"], rows, index, models, rows_of(rng, world, task, N_FRESH))


def compared(
    repetition: Repetition,
    final: Choice,
    rows: ScoredRows,
    index: PerformanceIndex,
    models: list[Models],
    fresh: tuple[FloatArray, NDArray[Any]],
) -> dict[str, Found]:
    """Estimates beside the truth of fresh rows, by metric."""
    honest = repetition.whole()["single"]
    winner = int(final.weights.argmax())
    x, y = fresh
    told = [predicted(x, *part, index.task) for part in models[winner]]
    labels = [None if final.rule is None else final.rule.codes(each) for each in told]
    pairs = list(zip(told, labels, strict=True))
    values = [index.metrics(y, each, labels=codes) for each, codes in pairs]
    truth = {name: float(np.mean([value[name] for value in values])) for name in values[0]}
    own = rows.versions[0][winner]
    codes = None if final.rule is None else final.rule.codes(own)
    naive = row_intervals(index, rows.y, own, labels=codes)
    found = {
        name: Found(
            truth[name],
            metric.naive,
            metric.value,
            naive.metrics[name][0] <= truth[name] <= naive.metrics[name][1],
            metric.low <= truth[name] <= metric.high,
        )
        for name, metric in honest.metrics.items()
        if name in naive.metrics
    }
    score = float(np.mean([index.score(y, each, labels=codes) for each, codes in pairs]))
    found["score"] = Found(
        score,
        honest.naive,
        honest.score,
        honest.naive_low <= score <= honest.naive_high,
        honest.low <= score <= honest.high,
    )
    return found


def line_of(name: str, found: list[Found]) -> str:
    """Errors and coverage of one metric over runs, as a row of a table."""
    naive = np.array([run.naive - run.truth for run in found])
    honest = np.array([run.honest - run.truth for run in found])
    held = np.mean([(run.naive_holds, run.honest_holds) for run in found], axis=0)
    truth = np.mean([run.truth for run in found])
    error = honest.std(ddof=1) / np.sqrt(len(honest))
    return (
        f"| {name} | {truth:.3f} | {naive.mean():+.4f} | {honest.mean():+.4f} ± {error:.4f} | "
        f"{held[0]:.3f} | {held[1]:.3f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--rows", type=int, nargs="+", default=[100, 400])
    parser.add_argument("--models", type=int, default=30)
    options = parser.parse_args()
    for (name, task), n_rows, world in product(TASKS.items(), options.rows, WORLDS):
        runs = [one_run(task, world, n_rows, options.models, seed) for seed in range(options.runs)]
        print(f"\n{name}, {n_rows} rows, {world}, {options.runs} runs", flush=True)
        for metric in runs[0]:
            print(line_of(metric, [run[metric] for run in runs if metric in run]), flush=True)


if __name__ == "__main__":
    main()
