"""Published scores of pipelines by algorithm family, for replays of allocations.

Two sources, both below the metadata folder:

- `matrix`: ``autosklearn/full_matrix_v0.0.1``, 140 data sets x 106 pipelines of 13 families with
  runtimes. The score is 1 - loss of a metric, whose baseline is 0 and ideal 1.
- `flows`: ``openml_sklearn_flows``, random forest, AdaBoost and SVC on the tasks that have all
  three (the three arms of van Hoof, chapter 7), without runtimes. The score is the accuracy with
  one over the number of classes as its baseline.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from automl.families.registry import families
from automl.records import FloatArray

SPLIT_SEED = 2026
FAMILIES = {
    "liblinear_svc": "linear_svm",
    "libsvm_svc": "svm",
    "proj_logit": "logistic_regression",
    "xgradient_boosting": "xgboost",
}
"""Our names of the matrix's classifiers, where they differ."""
FLOWS = {"random_forest": "random_forest", "adaboost": "adaboost", "svc_250": "svm"}


@dataclass(frozen=True)
class PipelineTable:
    """What every pipeline scored and took on one data set.

    Parameters
    ----------
    number : OpenML number of the data set or task
    scores : by family, in our prior order
    seconds : aligned with `scores`; 1 where the source has none
    has_seconds : whether the source has runtimes
    """

    number: int
    scores: dict[str, FloatArray]
    seconds: dict[str, FloatArray]
    has_seconds: bool

    @property
    def best(self) -> float:
        """Greatest score of any pipeline."""
        return max(float(scores.max()) for scores in self.scores.values())

    @property
    def mean_seconds(self) -> float:
        """Mean seconds of a pipeline."""
        return float(np.concatenate(list(self.seconds.values())).mean())


def read_matrix(metadata: Path, *, loss: str = "acc") -> list[PipelineTable]:
    """Tables of the matrix with runtimes.

    Parameters
    ----------
    loss
        acc, auc, bac, f1 or pac.
    """
    folder = metadata / "autosklearn" / "full_matrix_v0.0.1"
    configurations = pd.read_csv(folder / "configurations.csv.gz", index_col="config_id")
    runs = pd.read_csv(folder / "runs.csv.gz").sort_values(["openml_id", "config_id"])
    family = configurations["classifier:__choice__"].replace(FAMILIES)
    runs["family"] = runs["config_id"].map(family)
    runs["score"] = (1 - runs[f"loss_{loss}"]).fillna(0.0)
    return [
        _table(int(str(number)), rows, has_seconds=True)
        for number, rows in runs.groupby("openml_id")
    ]


def read_flows(metadata: Path) -> list[PipelineTable]:
    """Tables of the three flows."""
    folder = metadata / "openml_sklearn_flows"
    n_classes = pd.read_csv(folder / "task_qualities.csv.gz", index_col="task_id")[
        "NumberOfClasses"
    ]
    parts = [
        pd.read_csv(folder / f"{file}.csv.gz", usecols=["predictive_accuracy", "task_id"]).assign(
            family=family, runtime=1.0
        )
        for file, family in FLOWS.items()
    ]
    runs = pd.concat(parts, ignore_index=True)
    baseline = 1 / runs["task_id"].map(n_classes)
    runs["score"] = (runs["predictive_accuracy"] - baseline) / (1 - baseline)
    return [
        _table(int(str(number)), rows, has_seconds=False)
        for number, rows in runs.groupby("task_id")
        if rows["family"].nunique() == len(FLOWS)
    ]


def _table(number: int, rows: pd.DataFrame, *, has_seconds: bool) -> PipelineTable:
    groups = dict(list(rows.groupby("family")))
    order = [name for name in families() if name in groups]
    return PipelineTable(
        number,
        {name: groups[name]["score"].to_numpy() for name in order},
        {name: groups[name]["runtime"].to_numpy() for name in order},
        has_seconds,
    )


def half_of(tables: list[PipelineTable], half: str) -> list[PipelineTable]:
    """The fixed random half for `tuning`, or the other one, `reported`."""
    mixed = np.random.default_rng(SPLIT_SEED).permutation(len(tables))
    middle = len(tables) // 2
    chosen = mixed[:middle] if half == "tuning" else mixed[middle:]
    return [tables[i] for i in sorted(chosen)]
