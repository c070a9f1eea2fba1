"""What rounds that the first folds find cost and save: ``shared_rounds.py DATA_FOLDER OUT.jsonl [TABLE ...]``.

DATA_FOLDER holds tables, with ``catalog.csv`` and ``schema.json`` or plain. Each configuration is fitted on five
folds of 70 % of the rows: every fold looks for its own number of rounds, or the first fold or the first two do, and
the others take (the geometric mean of) their numbers. The bag of the five models predicts the other 30 %, which
nothing has seen: where shared rounds made the folds' scores too good, they would be so beside those of the bag.

A line of OUT.jsonl is a table, a configuration and a number of folds that look. Finished ones are not repeated.
Prints differences to every fold's own search, means over the pairs with standard errors.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import kept_lines
import numpy as np

from automl.data.collections import find_data_sets
from automl.data.readers import read_table
from automl.data.table import Table
from automl.estimators.allowance import Allowance, fitting_within
from automl.evaluation import fitting
from automl.evaluation.cache import FoldCache
from automl.evaluation.fitting import FoldData, SharedRounds, fit_pipeline, preprocess_fold
from automl.evaluation.plan import EvaluationPlan
from automl.families.registry import get_family
from automl.home import RunFolder
from automl.inference.prediction import raw_prediction
from automl.records import Configuration, FloatArray, IntArray
from automl.run.preparation import prepare
from automl.settings.sources import resolve_settings
from automl.table_studies.facts import target_for

SLOW = {"learning_rate": 0.03, "num_leaves": 63, "colsample": 0.6}
CONFIGURATIONS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "lightgbm": ("lightgbm", {}),
    "lightgbm, slow": ("lightgbm", SLOW),
    "xgboost": ("xgboost", {}),
    "catboost": ("catboost", {}),
}
KEYS = ("table", "configuration", "looking")
TABLES = (
    "vehicle", "qsar-biodeg", "credit-g", "kc1", "cmc", "yeast", "segment", "pc4", "churn", "phoneme",
    "wine-quality-red", "concrete", "airfoil", "abalone", "housing", "stock", "mfeat-zernike", "splice",
    "car", "spambase", "cjs", "satellite", "kin8nm", "elevators", "socmob", "credit-approval", "ilpd",
    "vowel", "sensory",
)  # fmt: skip
ALL = 5
LOOKING = (ALL, 1, 2)


def loss(y: Any, prediction: FloatArray, *, has_classes: bool) -> float:
    """Log loss, or mean squared error."""
    if not has_classes:
        return float(np.mean((prediction - y) ** 2))
    return float(-np.mean(np.log(np.clip(prediction[np.arange(len(y)), y], 1e-15, 1.0))))


@dataclass(frozen=True)
class FittedFold:
    """Predictions of one fold's model, and the processor seconds of its fit.

    Parameters
    ----------
    rows : of the table, which the model has not seen
    prediction : of these rows
    on_test : of the test rows
    """

    rows: IntArray
    prediction: FloatArray
    on_test: FloatArray
    seconds: float


def fitted_folds(
    plan: EvaluationPlan, test: Table, configuration: Configuration, rounds: SharedRounds
) -> Iterator[FittedFold]:
    """A configuration on each fold of the search, as in a run."""
    cache, n_classes = FoldCache(2**28), plan.table.n_classes or None
    for repeat, fold in plan.stage("search").first_jobs:
        data = FoldData("search", repeat, fold)
        part = preprocess_fold(plan, cache, configuration, data)
        started = time.process_time()
        with fitting_within(Allowance(most_rounds=rounds.known)) as allowance:
            pipeline = fit_pipeline(plan, configuration, part, data, 1.0)
            rounds.learn(allowance.found)
        yield FittedFold(
            rows=plan.rows_of("search", repeat, fold)[1],
            seconds=time.process_time() - started,
            prediction=raw_prediction(pipeline.estimator, part.validation, n_classes),
            on_test=pipeline.predict(test.frame, n_classes),
        )


def measure(
    plan: EvaluationPlan, test: Table, configuration: Configuration, rounds: SharedRounds
) -> dict[str, Any]:
    """Scores of the folds and of the bag on the test rows, and processor seconds of the fits."""
    has_classes = bool(plan.table.n_classes)
    losses, scores, bags, used = [], [], [], 0.0
    for fold in fitted_folds(plan, test, configuration, rounds):
        y = plan.table.y[fold.rows]
        losses.append(loss(y, fold.prediction, has_classes=has_classes))
        scores.append(plan.index.score(y, fold.prediction, None))
        bags.append(fold.on_test)
        used += fold.seconds
    bag = np.mean(bags, axis=0)
    return {
        "loss": float(np.mean(losses)),
        "score": float(np.mean(scores)),
        "test_loss": loss(test.y, bag, has_classes=has_classes),
        "test_score": plan.index.score(test.y, bag, None),
        "seconds": used,
    }


@contextmanager
def prepared(data: Path, name: str, **settings: Any) -> Iterator[tuple[EvaluationPlan, Table]]:
    """Five folds of 70 % of a table's rows, and the other rows."""
    found = find_data_sets([str(data)])[name]
    target = target_for(found, read_table(str(found["table"])))
    given = {**found, "target": target, "folds": ALL, "seed": 1, "test_share": 0.3, **settings}
    with tempfile.TemporaryDirectory() as path:
        folder = RunFolder(Path(path))
        prepare(folder, resolve_settings(given, environment={}))
        yield EvaluationPlan(path), Table.load(folder.test)


def completed(plan: EvaluationPlan, family: str, values: Mapping[str, Any]) -> Configuration:
    """A family's default with other values."""
    space = get_family(family).space(plan.table.task)
    return space.complete({**space.default().values, **values})


def measured(
    data: Path, tables: list[str], known: set[tuple[Any, ...]]
) -> Iterator[dict[str, Any]]:
    """Every table, configuration and number that is not known yet."""
    for name in tables:
        with prepared(data, name) as (plan, test):
            for label, (family, values) in CONFIGURATIONS.items():
                configuration = completed(plan, family, values)
                for looking in LOOKING:
                    if (name, label, looking) in known:
                        continue
                    with mock.patch.object(fitting, "LOOKING_FOLDS", looking):
                        rounds = SharedRounds(None, is_shared=True)
                        found = measure(plan, test, configuration, rounds)
                    yield {"table": name, "configuration": label, "looking": looking, **found}


def report(lines: list[dict[str, Any]]) -> Iterator[str]:
    """Differences to the search in every fold, by configuration and over all."""
    found = {(line["table"], line["configuration"], line["looking"]): line for line in lines}
    for label in (*CONFIGURATIONS, ""):
        for looking in LOOKING[1:]:
            pairs = [
                (found[key], found[*key[:2], ALL])
                for key in found
                if label in ("", key[1]) and key[2] == looking and (*key[:2], ALL) in found
            ]
            if len(pairs) > 1:
                yield f"{label or 'all':<15} {looking} look, {len(pairs)} pairs: {differences(pairs)}"


def differences(pairs: list[tuple[dict[str, Any], dict[str, Any]]]) -> str:
    """Of the first to the second of each pair: ratios and differences with standard errors."""
    texts = []
    for name in ("loss", "score", "test_loss", "test_score", "seconds"):
        is_ratio = not name.endswith("score")
        change = [
            np.log(one[name] / own[name]) if is_ratio else one[name] - own[name]
            for one, own in pairs
        ]
        mean, error = float(np.mean(change)), float(np.std(change, ddof=1)) / len(change) ** 0.5
        shown = f"x {np.exp(mean):.3f}" if is_ratio else f"{mean:+.4f}"
        texts.append(f"{name} {shown} ({error:.4f})")
    return ", ".join(texts)


if __name__ == "__main__":
    kept_lines.run(__doc__, tuple(TABLES), KEYS, measured, report)
