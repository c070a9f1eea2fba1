"""Counts of equal values as further columns: ``value_counts.py DATA_FOLDER OUT.jsonl [TABLE ...]``.

DATA_FOLDER holds tables, with ``catalog.csv`` and ``schema.json`` or plain. LightGBM is fitted in five folds of each
table, as it is and with a further column for each column of numbers that repeat: how many training rows have the same
number. At most 20,000 rows of a table count. A line of OUT.jsonl is a table. Finished ones are not repeated.
Prints the mean risk of either way (1 - area under the curve, log loss, root mean squared error), their ratio, in how
many folds the further columns are better, whether a run of 60 s would have them, and how long that takes to decide.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from lightgbm import LGBMClassifier, LGBMRegressor
from sklearn.metrics import log_loss, roc_auc_score, root_mean_squared_error
from sklearn.model_selection import KFold, StratifiedKFold

sys.path.append(str(Path(__file__).parents[1] / "seconds"))
sys.path.append(str(Path(__file__).parents[1] / "peers"))

import kept_lines
from tables import TABLES

from automl.data.collections import find_data_sets
from automl.data.readers import read_table
from automl.data.table import prepare_table
from automl.metrics.building import build_index
from automl.preprocessing import ValueCounts
from automl.records import FloatArray, IntArray
from automl.run.fold_plan import plan_folds
from automl.run.value_counts import decide_counts
from automl.settings import Settings
from automl.table_studies.facts import target_for

MOST_ROWS = 20_000
METRICS = {"binary": "roc_auc", "multiclass": "log_loss", "regression": "rmse"}
MODEL = {"n_estimators": 200, "learning_rate": 0.07, "num_leaves": 15, "n_jobs": 1, "verbose": -1}


def table_of(data: Path, name: str) -> tuple[pd.DataFrame, pd.Series]:
    """Columns, those that are no numbers as categories, and target of at most `MOST_ROWS` rows."""
    found = find_data_sets([str(data)])[name]
    frame = read_table(str(found["table"]))
    target = str(target_for(found, frame))
    frame = frame.dropna(subset=[target])
    frame = frame.sample(min(len(frame), MOST_ROWS), random_state=0).reset_index(drop=True)
    X = frame.drop(columns=target)
    nominal = [
        column
        for column in X
        if found.get("roles", {}).get(column) == "nominal" or X[column].dtype.kind not in "if"
    ]
    return X.astype(dict.fromkeys(nominal, "category")), frame[target]


def repeating(X: pd.DataFrame) -> list[str]:
    """Columns of numbers that have many values, most of them more than once."""
    numbers = X.select_dtypes("number")
    return [str(column) for column in numbers.columns[ValueCounts().fit(numbers).is_counted_]]


def with_counts(X: pd.DataFrame, rows: IntArray, columns: Sequence[str]) -> pd.DataFrame:
    """The same with how many of some rows have the number of a row, for each column."""
    counts = {
        f"rows with this {column}": X[column].map(X[column].iloc[rows].value_counts()).fillna(0.0)
        for column in columns
    }
    return X.assign(**counts)


def decided(X: pd.DataFrame, y: pd.Series, task: str) -> tuple[bool, float]:
    """Whether a run counts the values of a table, and seconds until that is known."""
    roles = dict.fromkeys(map(str, X.select_dtypes("category")), "nominal")
    settings = Settings(
        table="benchmark",
        target=str(y.name),
        task=task,
        metric=METRICS[task],
        roles=roles,
        budget_seconds=60,
    )
    table = prepare_table(X.assign(**{str(y.name): y}), target=str(y.name), task=task, roles=roles)
    index = build_index(
        settings.metric, task=table.task, y_all=table.y, n_classes=table.n_classes or None
    )
    search, started = plan_folds(table, settings)["search"], time.perf_counter()
    is_counted = decide_counts(table, settings, search, index).is_counted
    return is_counted, time.perf_counter() - started


def risk(X: pd.DataFrame, y: pd.Series, training: IntArray, test: IntArray, task: str) -> float:
    """Of LightGBM on the test rows."""
    if task == "regression":
        model = LGBMRegressor(**MODEL, random_state=0).fit(X.iloc[training], y.iloc[training])
        return float(root_mean_squared_error(y.iloc[test], model.predict(X.iloc[test])))
    model = LGBMClassifier(**MODEL, random_state=0).fit(X.iloc[training], y.iloc[training])
    found = model.predict_proba(X.iloc[test])
    if task == "binary":
        return float(1.0 - roc_auc_score(y.iloc[test] == model.classes_[1], found[:, 1]))
    return float(log_loss(y.iloc[test], found, labels=model.classes_))


def divided(
    data: Path, names: Sequence[str], known: Collection[tuple[Any, ...]]
) -> Iterator[tuple[str, str, pd.DataFrame, pd.Series, list[tuple[IntArray, IntArray]]]]:
    """Name, task, columns, target and five folds of every table that is not known yet."""
    tasks = pd.read_csv(data / "catalog.csv").set_index("name")["task"]
    for name in names:
        if (name,) not in known:
            X, y = table_of(data, name)
            task = str(tasks[name])
            kind = KFold if task == "regression" else StratifiedKFold
            folds = kind(5, shuffle=True, random_state=1).split(X, y)
            yield name, task, X, y, list(folds)


def measured(
    data: Path, names: Sequence[str], known: Collection[tuple[Any, ...]]
) -> Iterator[dict[str, Any]]:
    """Every table that is not known yet."""
    for name, task, X, y, folds in divided(data, names, known):
        columns = repeating(X)
        pairs = [
            (
                risk(X, y, training, test, task),
                risk(with_counts(X, training, columns), y, training, test, task),
            )
            for training, test in folds
            if columns
        ]
        found, seconds = decided(X, y, task)
        line = {"table": name, "task": task, "columns": len(columns), "risks": pairs}
        yield line | {"is_counted": found, "seconds": seconds}


def report(lines: list[dict[str, Any]]) -> Iterator[str]:
    """A line for each table that has such columns."""
    for line in sorted(lines, key=lambda one: one["table"]):
        if line["columns"]:
            risks: FloatArray = np.array(line["risks"])
            (plain, counted), wins = risks.mean(axis=0), int((risks[:, 1] < risks[:, 0]).sum())
            yield (
                f"| {line['table']} | {line['columns']} | {plain:.4g} | {counted:.4g} | "
                f"{counted / plain:.3f} | {wins} | {'yes' if line['is_counted'] else 'no'} | "
                f"{line['seconds']:.1f} |"
            )


if __name__ == "__main__":
    kept_lines.run(__doc__, TABLES, ("table",), measured, report)
