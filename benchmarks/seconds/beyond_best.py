"""What more rounds than held-out rows find best gain and cost: ``beyond_best.py DATA_FOLDER OUT.jsonl [TABLE ...]``.

DATA_FOLDER holds tables, with ``catalog.csv`` and ``schema.json`` or plain. Each configuration is fitted on five
folds of 70 % of the rows as in a run, with a multiple of the rounds that are best on the rows held out. The bag of the
five models predicts the other 30 %.

A line of OUT.jsonl is a table, a metric, a configuration and a multiple. Finished ones are not repeated. Prints differences
to the best number itself, means over the tables with standard errors.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import kept_lines
from shared_rounds import CONFIGURATIONS, completed, differences, measure, prepared

from automl.estimators.rounds import EarlyStopped
from automl.evaluation.fitting import SharedRounds

KEYS = ("table", "metric", "configuration", "multiple")
TABLES = (
    "housing", "concrete", "airfoil", "abalone", "cpu_act", "kin8nm", "wine-quality-red", "stock", "energy-heating",
    "elevators", "socmob", "sensory", "qsar-biodeg", "credit-g", "kc1", "pc4", "churn", "phoneme", "ilpd", "wilt",
    "spambase", "vehicle", "cmc", "yeast", "segment", "car", "splice", "satellite",
)  # fmt: skip
METRICS = {"regression": ("index",), "binary": ("roc_auc", "mcc"), "multiclass": ("mcc",)}
"""By kind of target; the loss beside each is the squared error or the log loss."""
MULTIPLES = (1.0, 1.25, 1.5, 2.0)


def measured(
    data: Path, tables: list[str], known: set[tuple[Any, ...]]
) -> Iterator[dict[str, Any]]:
    """Every table, metric, configuration and multiple that is not known yet."""
    for name in tables:
        with prepared(data, name) as (plan, _):
            kind = str(plan.table.task)
        for metric in METRICS[kind]:
            with prepared(data, name, metric=metric) as (plan, test):
                for label, (family, values) in CONFIGURATIONS.items():
                    configuration = completed(plan, family, values)
                    for multiple in MULTIPLES:
                        if (name, metric, label, multiple) in known:
                            continue
                        with mock.patch.object(EarlyStopped, "_multiple", new=multiple):
                            rounds = SharedRounds(None, is_shared=True)
                            found = measure(plan, test, configuration, rounds)
                        facts = {"table": name, "kind": kind, "metric": metric}
                        yield {**facts, "configuration": label, "multiple": multiple, **found}


def report(lines: list[dict[str, Any]]) -> Iterator[str]:
    """Differences to the best number, by kind of target, metric and configuration."""
    found = {tuple(line[key] for key in KEYS): line for line in lines}
    for kind, metrics in METRICS.items():
        for metric in metrics:
            for label in CONFIGURATIONS:
                for multiple in MULTIPLES[1:]:
                    pairs = [
                        (line, found[(*key[:3], 1.0)])
                        for key, line in found.items()
                        if (line["kind"], *key[1:]) == (kind, metric, label, multiple)
                        and (*key[:3], 1.0) in found
                    ]
                    if len(pairs) > 1:
                        yield f"{kind}, {metric}, {label}, x {multiple}, {len(pairs)}: {differences(pairs)}"


if __name__ == "__main__":
    kept_lines.run(__doc__, tuple(TABLES), KEYS, measured, report)
