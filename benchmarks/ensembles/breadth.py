"""What a family adds to a blend of others' defaults: ``breadth.py DATA_FOLDER OUT.jsonl [TABLE ...]``.

DATA_FOLDER holds tables, with ``catalog.csv`` and ``schema.json`` or plain. The new family is that of the folder
`splines`: additive models of cubic splines, which the package does not have. The defaults of eight strong families,
and three configurations of the new one, are fitted on five folds of 70 % of the rows as in a run. Greedy selection
learns a blend from their out-of-fold predictions, without the new family and with it, by log loss or root mean
squared error; the bags of the folds' models predict the other 30 %.

A line of OUT.jsonl is a table. Finished ones are not repeated. Prints each table's losses, and the geometric means
of their ratios with standard errors.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).parents[1] / "seconds"))
sys.path.append(str(Path(__file__).parent / "splines"))

import kept_lines
from shared_rounds import completed, fitted_folds, prepared

from automl.data.table import Table
from automl.ensembles.problem import EnsembleProblem
from automl.ensembles.registry import get_ensemble
from automl.evaluation.fitting import SharedRounds
from automl.evaluation.plan import EvaluationPlan
from automl.families.registry import get_family, load_families
from automl.metrics.building import build_index
from automl.records import Configuration, FloatArray

FAMILY_FOLDER = Path(__file__).parent / "splines"
NEW = "additive_splines"
VALUES: Sequence[Mapping[str, Any]] = ({"C": 0.01}, {"C": 0.1}, {"C": 1.0})
OTHERS = (
    "lightgbm", "catboost", "svm", "tabular_network", "two_layer_perceptron", "extra_trees",
    "logistic_regression", "elastic_net",
)  # fmt: skip
KEYS = ("table",)
TABLES = (
    "credit-g", "ilpd", "concrete", "kc1", "qsar-biodeg", "pc4", "housing", "airfoil", "abalone", "auto-price",
)  # fmt: skip


def predictions(
    plan: EvaluationPlan, test: Table, configuration: Configuration
) -> tuple[FloatArray, FloatArray]:
    """Out of fold, and of the bag on the test rows."""
    table, n_classes, bags = plan.table, plan.table.n_classes or None, []
    found = np.zeros((len(table), n_classes) if n_classes else len(table))
    for fold in fitted_folds(plan, test, configuration, SharedRounds.of(plan, None)):
        found[fold.rows] = fold.prediction
        bags.append(fold.on_test)
    return found, np.mean(bags, axis=0)


def measured(
    data: Path, tables: Sequence[str], known: Collection[tuple[Any, ...]]
) -> Iterator[dict[str, Any]]:
    """Every table that is not known yet."""
    load_families(FAMILY_FOLDER)
    for name in tables:
        if (name,) in known:
            continue
        with prepared(data, name) as (plan, test):
            kinds = get_family(NEW).kinds
            kind = next(k for k in kinds if (k == "classification") == bool(plan.table.n_classes))
            fits = [(family, {}) for family in OTHERS if kind in get_family(family).kinds]
            members = [predictions(plan, test, completed(plan, *fit)) for fit in fits]
            started = time.process_time()
            new = [predictions(plan, test, completed(plan, NEW, values)) for values in VALUES]
            seconds = (time.process_time() - started) / len(VALUES)
            without, _ = blended(plan, test, members)
            found, weights = blended(plan, test, [*members, *new])
        yield {
            "table": name,
            "without": without,
            "with": found,
            "weight": float(weights[len(members) :].sum()),
            "seconds": seconds,
        }


def blended(
    plan: EvaluationPlan, test: Table, members: Sequence[tuple[FloatArray, FloatArray]]
) -> tuple[float, FloatArray]:
    """Loss of a greedy blend on the test rows, and its weights."""
    table, n_classes = plan.table, plan.table.n_classes or None
    metric = "log_loss" if n_classes else "rmse"
    index = build_index(metric, task=table.task, y_all=table.y, n_classes=n_classes)
    rng = np.random.default_rng(0)
    problem = EnsembleProblem([found for found, _ in members], table.y, index, rng)
    weights = get_ensemble("greedy").weights(problem)
    blend = sum(weight * bag for weight, (_, bag) in zip(weights, members, strict=True))
    return index.metrics(test.y, blend)[metric], weights


def report(lines: list[dict[str, Any]]) -> Iterator[str]:
    """Losses by table, and their ratios."""
    for line in lines:
        yield (
            f"{line['table']:<20} {line['without']:.5g} {line['with']:.5g} x {line['with'] / line['without']:.3f}, "
            f"weight {line['weight']:.2f}, {line['seconds']:.1f} s"
        )
    ratios = np.log([line["with"] / line["without"] for line in lines])
    if len(ratios) > 1:
        error = ratios.std(ddof=1) / len(ratios) ** 0.5
        yield f"{len(ratios)} tables: x {np.exp(ratios.mean()):.4f} ({error:.4f})"


if __name__ == "__main__":
    kept_lines.run(__doc__, TABLES, KEYS, measured, report)
