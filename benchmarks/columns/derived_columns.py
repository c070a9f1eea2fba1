"""Columns made of others, for trees: ``derived_columns.py DATA_FOLDER OUT.jsonl [TABLE ...]``.

As `value_counts.py`, for further columns of other kinds:

- ``categories``: how many training rows have the category of a row, for columns of more than five categories;
- ``ratios``: differences and ratios of the five numeric columns that LightGBM uses most on the training rows;
- ``products``: sums and products of the same;
- ``rows``: mean, spread, extremes of a row's standardized numbers, its missing values and its zeros.

Prints for each kind the ratio of the mean risks, and in how many of five folds the further columns are better.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from lightgbm import LGBMClassifier, LGBMRegressor
from value_counts import MODEL, TABLES, divided, kept_lines, risk

from automl.records import IntArray

N_PAIRED = 5
"""Columns that are paired: ten pairs."""
LEAST_CATEGORIES = 5
"""Categories of a column that is not counted: trees tell so few apart themselves."""
N_TREES = 50
"""Trees that find the columns to be paired."""
ZERO = 1e-9
"""Magnitude of a denominator that gives no ratio."""

Further = Callable[[pd.DataFrame, pd.Series, IntArray, str], dict[str, pd.Series]]


def categories(
    X: pd.DataFrame, _y: pd.Series, training: IntArray, _task: str
) -> dict[str, pd.Series]:
    """Counts of categories among the training rows."""
    nominal = X.select_dtypes("category").astype(object)
    return {
        f"rows with this {name}": column.map(column.iloc[training].value_counts()).fillna(0.0)
        for name, column in nominal.items()
        if column.nunique() > LEAST_CATEGORIES
    }


def ratios(X: pd.DataFrame, y: pd.Series, training: IntArray, task: str) -> dict[str, pd.Series]:
    """Differences and ratios of pairs."""
    pairs = list(combinations(most_used(X, y, training, task), 2))
    differences = {f"{a} - {b}": X[a] - X[b] for a, b in pairs}
    return differences | {f"{a} / {b}": X[a] / X[b].where(X[b].abs() > ZERO) for a, b in pairs}


def products(X: pd.DataFrame, y: pd.Series, training: IntArray, task: str) -> dict[str, pd.Series]:
    """Sums and products of pairs."""
    pairs = list(combinations(most_used(X, y, training, task), 2))
    sums = {f"{a} + {b}": X[a] + X[b] for a, b in pairs}
    return sums | {f"{a} * {b}": X[a] * X[b] for a, b in pairs}


def rows(X: pd.DataFrame, _y: pd.Series, training: IntArray, _task: str) -> dict[str, pd.Series]:
    """Statistics of each row; nothing of a table with less than four numeric columns."""
    numbers = X.select_dtypes("number")
    if numbers.shape[1] < 4:
        return {}
    known = numbers.iloc[training]
    standard = (numbers - known.mean()) / known.std().replace(0.0, 1.0)
    return {
        "mean": standard.mean(axis=1),
        "spread": standard.std(axis=1),
        "greatest": standard.max(axis=1),
        "least": standard.min(axis=1),
        "missing": X.isna().sum(axis=1),
        "zeros": (numbers == 0).sum(axis=1),
    }


KINDS: dict[str, Further] = {
    "categories": categories,
    "ratios": ratios,
    "products": products,
    "rows": rows,
}


def most_used(X: pd.DataFrame, y: pd.Series, training: IntArray, task: str) -> list[str]:
    """Numeric columns with the greatest gain in a small LightGBM, at most `N_PAIRED`."""
    numbers = X.select_dtypes("number")
    if numbers.shape[1] < 2:
        return []
    kind = LGBMRegressor if task == "regression" else LGBMClassifier
    model = kind(**{**MODEL, "n_estimators": N_TREES}, importance_type="gain", random_state=0)
    model.fit(numbers.iloc[training], y.iloc[training])
    return list(numbers.columns[np.argsort(-model.feature_importances_)[:N_PAIRED]])


def measured(
    data: Path, names: Sequence[str], known: Collection[tuple[Any, ...]]
) -> Iterator[dict[str, Any]]:
    """Every table that is not known yet."""
    for name, task, frame, y, folds in divided(data, names, known):
        X = frame.astype(dict.fromkeys(frame.select_dtypes("number"), float))
        risks: dict[str, list[tuple[float, float]]] = {kind: [] for kind in KINDS}
        for training, test in folds:
            plain = risk(X, y, training, test, task)
            for kind, further in KINDS.items():
                if made := further(X, y, training, task):
                    wide = pd.concat([X, pd.DataFrame(made)], axis=1)
                    wide.columns = pd.RangeIndex(wide.shape[1]).astype(str)
                    risks[kind].append((plain, risk(wide, y, training, test, task)))
        yield {"table": name, "risks": risks}


def report(lines: list[dict[str, Any]]) -> Iterator[str]:
    """A line for each table."""
    for line in sorted(lines, key=lambda one: one["table"]):
        cells = [_cell(np.array(line["risks"][kind])) for kind in KINDS]
        yield f"| {line['table']} | {' | '.join(cells)} |"


def _cell(risks: np.ndarray) -> str:
    if not len(risks):
        return ""
    plain, further = risks.mean(axis=0)
    return f"{further / plain:.3f} ({(risks[:, 1] < risks[:, 0]).sum()})"


if __name__ == "__main__":
    warnings.simplefilter("ignore", pd.errors.PerformanceWarning)
    kept_lines.run(__doc__, TABLES, ("table",), measured, report)
