"""What a limit of boosting rounds costs and saves: ``most_rounds.py DATA_FOLDER OUT.jsonl [TABLE ...]``.

DATA_FOLDER holds tables, with ``catalog.csv`` and ``schema.json`` or plain. Each configuration is fitted on five
folds of 70 % of the rows as in a run, under each rule: most rounds, whether all rows are used again for the best
number, and the rounds of folds that are too small to hold rows out. The bag of the five models predicts the other
30 %.

A line of OUT.jsonl is a table, a configuration and a rule. Finished ones are not repeated. Prints differences to
the rule of before, means over the tables with standard errors.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest import mock

import kept_lines
import numpy as np
from shared_rounds import completed, differences, measure, prepared

from automl.estimators import rounds
from automl.estimators.allowance import current
from automl.estimators.boosting import LightGBMClassifier, LightGBMRegressor
from automl.estimators.extreme_boosting import XGBoostClassifier, XGBoostRegressor
from automl.estimators.oblivious_boosting import CatBoostEarlyClassifier, CatBoostEarlyRegressor
from automl.evaluation.fitting import SharedRounds

CLASSES = {
    "catboost": (CatBoostEarlyClassifier, CatBoostEarlyRegressor),
    "xgboost": (XGBoostClassifier, XGBoostRegressor),
    "lightgbm": (LightGBMClassifier, LightGBMRegressor),
}
KEYS = ("table", "configuration", "rule")
TABLES = (
    "sonar", "tae", "auto-price", "pyrimidines", "heart-statlog", "triazines", "servo", "colic", "housing",
    "concrete", "airfoil", "qsar-biodeg", "credit-g", "vehicle", "stock", "socmob", "churn", "cpu_act", "abalone",
    "phoneme", "kin8nm", "car", "cmc", "yeast", "segment",
)  # fmt: skip
"""The first nine have folds of fewer than 300 rows."""


@dataclass(frozen=True)
class Rule:
    """How a fit knows its number of rounds.

    Parameters
    ----------
    reach, ceiling : most rounds are reach / rate, at most the ceiling
    few : rounds times rate of fewer than 300 rows
    again : whether all rows are used again for the best number
    """

    reach: float
    ceiling: int
    few: float = 5.0
    again: bool = True


BEFORE = {
    "catboost": Rule(36, 600, again=False),
    "catboost, slow": Rule(18, 600, again=False),
    "xgboost, slow": Rule(15, 500),
    "lightgbm, slow": Rule(25, 1500),
}
"""500 rounds of XGBoost and 600 of CatBoost, at the rates below."""
NOW = Rule(50, 2000)
FEW_ROWS = 375
"""Training rows below which a fold has fewer than 300."""


def rules_of(label: str, n_rows: int) -> dict[str, Rule]:
    """Those that differ on so many rows."""
    before = BEFORE[label]
    if n_rows < FEW_ROWS:
        return {"before": before, **{f"few {n}": replace(NOW, few=n) for n in (7, 10, 15)}}
    if label == "catboost, slow":
        return {"before": before, "50, not again": replace(NOW, again=False), "50": NOW}
    return {"before": before, "50": NOW}


CONFIGURATIONS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "catboost": ("catboost", {}),
    "catboost, slow": ("catboost", {"learning_rate": 0.03}),
    "xgboost, slow": (
        "xgboost",
        {"learning_rate": 0.03, "max_depth": 5, "subsample": 0.8, "colsample": 0.7},
    ),
    "lightgbm, slow": (
        "lightgbm",
        {"learning_rate": 0.05, "num_leaves": 16, "colsample": 0.7},
    ),
}


@contextmanager
def following(rule: Rule, family: str) -> Iterator[None]:
    """Fits of a family go by a rule."""
    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(rounds, "REACH", rule.reach))
        stack.enter_context(mock.patch.object(rounds, "CEILING", rule.ceiling))
        for one in CLASSES[family]:
            stack.enter_context(mock.patch.object(one, "FEW_ROUNDS", rule.few))
        if not rule.again:
            stack.enter_context(mock.patch.object(rounds, "look", _look))
        yield


def _look(split: Any, grow: Any, _: Any) -> tuple[Any, int]:
    model, best, _ = grow(*split)
    current().find(best)
    return model, best


def measured(
    data: Path, tables: list[str], known: set[tuple[Any, ...]]
) -> Iterator[dict[str, Any]]:
    """Every table, configuration and rule that is not known yet."""
    for name in tables:
        with prepared(data, name) as (plan, test):
            for label, (family, values) in CONFIGURATIONS.items():
                configuration = completed(plan, family, values)
                for text, rule in rules_of(label, len(plan.table)).items():
                    if (name, label, text) in known:
                        continue
                    with following(rule, family):
                        found = measure(plan, test, configuration, SharedRounds.of(plan, None))
                    facts = {"table": name, "rows": len(plan.table), "kind": str(plan.table.task)}
                    yield {**facts, "configuration": label, "rule": text, **found}


def report(lines: list[dict[str, Any]]) -> Iterator[str]:
    """Differences to the rule of before."""
    found = {(line["configuration"], line["rule"], line["table"]): line for line in lines}
    sizes = {
        "few rows": (0, FEW_ROWS),
        "more": (FEW_ROWS, np.inf),
    }
    for label, text in sorted(dict.fromkeys((label, text) for label, text, _ in found)):
        for size, (low, high) in sizes.items():
            pairs = [
                (line, found[label, "before", name])
                for (one, rule, name), line in found.items()
                if (one, rule) == (label, text) != (label, "before") and low <= line["rows"] < high
            ]
            if len(pairs) > 1:
                yield f"{label:<15} {text:<10} {size}, {len(pairs)}: {differences(pairs)}"


if __name__ == "__main__":
    kept_lines.run(__doc__, tuple(TABLES), KEYS, measured, report)
