"""Document L14's experiment: RS, ERS, SMBO and ESMBO on seven spaces.

    python benchmarks/esmbo/experiment.py DATA OUT [--kind classification|regression]
        [--tables NAME ...] [--families NAME ...] [--methods NAME ...] [--most-tables N]

Trains 150 configurations per (table, family, method) and keeps what each predicts for the
validation and the test rows in OUT/cells; `report.py OUT` chooses and combines. RS and ERS share
their trainings (method `random`). A finished cell is not repeated, so that the command can be
killed and started again, and several of them may work off one OUT side by side.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from problems import Problem, problem_names, read_problem
from threadpoolctl import threadpool_limits

from automl.families.family import Family
from automl.families.registry import load_families
from automl.metrics.bootstraps import bootstrap_multiplicities
from automl.optimizers.composition import GP_EI
from automl.optimizers.esmbo import EnsembleOptimizer
from automl.optimizers.model_based import ModelBasedOptimizer
from automl.optimizers.protocol import Optimizer
from automl.optimizers.random_search import RandomSearch
from automl.parts import Part
from automl.randomness import Purpose, integer_seed, stream
from automl.records import Configuration, FloatArray, Trial, TrialStatus

N_CONFIGURATIONS = 150
N_BOOTSTRAPS = 50
FAMILIES = {
    "svm": "l14_support_vectors",
    "boosting": "l14_boosting",
    "forest": "l14_forest",
    "mlp": "l14_perceptron",
}
METHODS = ("random", "smbo", "esmbo")
GAUSSIAN_PROCESS = replace(GP_EI, initial_design=Part("sobol", (("has_default", False),)))
"""The document has no default configurations: all methods begin without one."""


def optimizer_of(method: str, family: Family, kind: str) -> Optimizer:
    """New optimizer of a method."""
    space = family.space(kind)
    if method == "random":
        return RandomSearch(space)
    if method == "smbo":
        return ModelBasedOptimizer(space, GAUSSIAN_PROCESS)
    return EnsembleOptimizer(space, replace(GAUSSIAN_PROCESS, n_histories=N_BOOTSTRAPS))


def losses(y: FloatArray, prediction: FloatArray, *, is_classification: bool) -> FloatArray:
    """Loss of each row (..., n): whether the class is wrong, or the squared error."""
    if is_classification:
        return np.asarray(prediction != y, dtype=np.float64)
    return np.asarray((prediction.astype(np.float64) - y) ** 2)


def scaled_losses(y: FloatArray, prediction: FloatArray, *, is_classification: bool) -> FloatArray:
    """The same with squared errors in units of the variance of y, which changes no choice."""
    found = losses(y, prediction, is_classification=is_classification)
    return found if is_classification else found / (np.var(y) or 1.0)


def fit(problem: Problem, family: Family, configuration: Configuration) -> list[Any] | None:
    """Predictions for validation and test rows; None if the fit failed."""
    kind = "classification" if problem.is_classification else "regression"
    seed = integer_seed(problem.seed, Purpose.ESTIMATOR, int(configuration.id, 16))
    estimator = family.build(configuration, task=kind, seed=seed)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            family.fit(estimator, problem.X, problem.y)
        except (ValueError, FloatingPointError):
            return None
        found = [estimator.predict(X) for X in (problem.X_validation, problem.X_test)]
    stored = np.int8 if problem.is_classification else np.float32
    predictions = [np.asarray(values).astype(stored) for values in found]
    return predictions if all(np.isfinite(values).all() for values in predictions) else None


def run(problem: Problem, family: Family, method: str) -> dict[str, Any]:
    """Arrays of one cell: what every configuration predicts, and processor seconds."""
    kind = "classification" if problem.is_classification else "regression"
    optimizer = optimizer_of(method, family, kind)
    keys = (list(FAMILIES.values()).index(family.name), METHODS.index(method))
    weights = bootstrap_multiplicities(
        len(problem.y_validation), N_BOOTSTRAPS, stream(problem.seed, Purpose.BOOTSTRAP)
    ) / len(problem.y_validation)
    shapes = [(N_CONFIGURATIONS, len(y)) for y in (problem.y_validation, problem.y_test)]
    stored = np.int8 if problem.is_classification else np.float32
    predictions = [np.zeros(shape, dtype=stored) for shape in shapes]
    has_failed = np.zeros(N_CONFIGURATIONS, dtype=bool)
    seconds = np.zeros((N_CONFIGURATIONS, 2))
    configurations = []
    for k in range(N_CONFIGURATIONS):
        started = time.process_time()
        proposal = optimizer.ask(pending=[], rng=stream(problem.seed, Purpose.OPTIMIZER, *keys, k))
        assert proposal is not None
        configuration = proposal.configuration
        asked = time.process_time()
        found = fit(problem, family, configuration)
        seconds[k] = asked - started, time.process_time() - asked
        trial = Trial(problem.name, k, configuration, TrialStatus.FAILED, None)
        has_failed[k] = found is None
        if found is not None:
            for kept, values in zip(predictions, found, strict=True):
                kept[k] = values
            loss = scaled_losses(
                problem.y_validation, found[0], is_classification=problem.is_classification
            )
            trial = replace(
                trial,
                status=TrialStatus.COMPLETE,
                score=-float(loss.mean()),
                bootstrap_scores=tuple(-float(risk) for risk in weights @ loss),
            )
        optimizer.tell(trial)
        configurations.append(dict(configuration.values))
    return {
        "validation": predictions[0],
        "test": predictions[1],
        "y_validation": problem.y_validation,
        "y_test": problem.y_test,
        "has_failed": has_failed,
        "seconds": seconds,
        "configurations": json.dumps(configurations),
        "n_training": len(problem.y),
        "is_classification": problem.is_classification,
    }


@contextmanager
def claim(path: Path) -> Iterator[bool]:
    """Whether this process alone works on a file now; released when the process ends."""
    with path.with_suffix(".lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True


def work_off(options: argparse.Namespace) -> None:
    """Every missing cell, table by table."""
    known = load_families(Path(__file__).parent / "spaces")
    cells = options.out / "cells"
    cells.mkdir(parents=True, exist_ok=True)
    n_done, began = 0, time.monotonic()
    for name, is_classification in problem_names(options.data)[: options.most_tables]:
        kind = "classification" if is_classification else "regression"
        if options.kind not in (None, kind) or name not in (options.tables or [name]):
            continue
        problem = None
        for family in options.families:
            if kind not in known[FAMILIES[family]].kinds:
                continue
            for method in options.methods:
                path = cells / f"{name}__{family}__{method}.npz"
                with claim(path) as is_mine:
                    if not is_mine or path.exists():
                        continue
                    problem = problem or read_problem(options.data, name)
                    found = run(problem, known[FAMILIES[family]], method)
                    temporary = path.with_suffix(".tmp")
                    with temporary.open("wb") as file:
                        np.savez_compressed(file, **found)
                    temporary.replace(path)
                n_done += 1
                ask, fitted = found["seconds"].sum(axis=0)
                hours = (time.monotonic() - began) / 3600
                print(
                    f"{name} {family} {method}: asks {ask:.0f} s, fits {fitted:.0f} s;"
                    f" {n_done / hours:.0f} cells per hour",
                    flush=True,
                )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--kind", choices=["classification", "regression"])
    parser.add_argument("--tables", nargs="+")
    parser.add_argument("--families", nargs="+", choices=FAMILIES, default=list(FAMILIES))
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--most-tables", type=int)
    with threadpool_limits(1):
        work_off(parser.parse_args())


if __name__ == "__main__":
    main()
