"""Everything that the trials of a run share: table, rows and folds of each stage, score, seed.

The plan is written once per run and loaded once per worker process.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from automl.alternatives import ClassWeighting
from automl.data.splits import fold_rows
from automl.data.table import Table
from automl.evaluation.predictions import PredictionStore
from automl.metrics.index import PerformanceIndex
from automl.records import FloatArray, IntArray

StageName = Literal["search", "candidates"]


@dataclass(frozen=True)
class StageRows:
    """Rows of one stage and how they are dealt to folds.

    Parameters
    ----------
    rows : (n,)
        Positions in the table; repeated in a bootstrap.
    folds : (n_repeats, n)
        Fold of each of these rows, -1 for rows that only train.
    """

    rows: IntArray
    folds: IntArray

    @cached_property
    def jobs(self) -> tuple[tuple[int, int], ...]:
        """Every (repeat, fold), in the order in which they run."""
        return tuple(
            (repeat, fold)
            for repeat in range(len(self.folds))
            for fold in range(int(self.folds[repeat].max()) + 1)
        )

    @property
    def first_jobs(self) -> tuple[tuple[int, int], ...]:
        """Those of the first repeat, whose predictions and models are kept."""
        return tuple(job for job in self.jobs if job[0] == 0)

    @property
    def jobs_per_repeat(self) -> int:
        """Number of folds of one repeat."""
        return len(self.jobs) // len(self.folds)


@dataclass(frozen=True)
class PlanSettings:
    """The part of a plan that is plain JSON.

    Parameters
    ----------
    keep_models
        Whether the fold models of good trials are kept for a bag.
    cache_mib
        Greatest size of the cache of preprocessed folds in one process.
    predictions_quota_mib
        Most disk space of all predictions together.
    n_bootstraps
        Bootstraps of the validation rows on which complete trials of the search are scored.
    matrix
        `automl.preprocessing.matrix_facts` of the table; empty in plans of old.
    trust
        Whether models may be stored as pickles.
    value_counts
        Whether all families see how many rows have a number, see `automl.preprocessing.ValueCounts`.
    """

    seed: int
    threads: int
    time_ordered: bool
    class_weight: ClassWeighting
    family_folder: str | None
    keep_models: bool
    cache_mib: float
    predictions_quota_mib: float
    n_bootstraps: int = 0
    matrix: Mapping[str, float] = field(default_factory=dict)
    trust: bool = False
    value_counts: bool = False


class EvaluationPlan:
    """Loaded plan; shared read-only by all trials of a process.

    Parameters
    ----------
    folder
        The run folder, with `table/`, `plan.json` and one array file per stage.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        content = json.loads((self.folder / "plan.json").read_text(encoding="utf-8"))
        self.settings = PlanSettings(**content["settings"])
        self.index = PerformanceIndex.from_json(content["index"])
        self.table = Table.load(self.folder / "table")
        self._stages: dict[str, StageRows] = {}
        if self.settings.family_folder:
            from automl.families.registry import load_families

            load_families(self.settings.family_folder)

    @staticmethod
    def write(
        folder: Path,
        *,
        settings: PlanSettings,
        index: PerformanceIndex,
        stages: Mapping[StageName, StageRows],
    ) -> None:
        """Write the plan beside an already written table; `plan.json` comes last."""
        for name, stage in stages.items():
            np.savez(folder / f"{name}.npz", rows=stage.rows, folds=stage.folds)
        content = {"settings": asdict(settings), "index": index.to_json()}
        temporary = folder / "plan.tmp"
        temporary.write_text(json.dumps(content), encoding="utf-8")
        temporary.replace(folder / "plan.json")

    @property
    def facts(self) -> dict[str, float]:
        """Facts of the table for the rules and encodings of search spaces."""
        n_rows, n_columns = self.table.frame.shape
        sizes = {"n_rows": n_rows, "n_columns": n_columns, "n_classes": self.table.n_classes}
        return {**sizes, **self.settings.matrix}

    def stage(self, name: str) -> StageRows:
        """Rows and folds of a stage."""
        if name not in self._stages:
            with np.load(self.folder / f"{name}.npz", allow_pickle=False) as arrays:
                self._stages[name] = StageRows(arrays["rows"], arrays["folds"])
        return self._stages[name]

    @cached_property
    def predictions(self) -> PredictionStore:
        """Where the out-of-fold predictions of trials are kept."""
        return PredictionStore(self.folder / "predictions", self.settings.predictions_quota_mib)

    def rows_of(self, stage: str, repeat: int, fold: int) -> tuple[IntArray, IntArray]:
        """Training and validation positions within the stage's rows."""
        return fold_rows(self.stage(stage).folds[repeat], fold, time=self.settings.time_ordered)

    def test_train_ratio(self, stage: str) -> float:
        """Validation rows / training rows of the first fold of a stage."""
        training, validation = self.rows_of(stage, 0, 0)
        return len(validation) / max(len(training), 1)

    @cached_property
    def weights(self) -> FloatArray | None:
        """(n_rows,) sample weights times class weights; None when all are equal."""
        weights = self.table.weights
        if self.settings.class_weight == "none" or not self.table.task.is_classification:
            return weights
        counts = np.bincount(self.table.y, weights=weights, minlength=self.table.n_classes)
        balance = counts.sum() / (len(counts) * np.maximum(counts, 1e-12))
        factors: NDArray[np.float64] = balance[self.table.y]
        return factors if weights is None else factors * weights

    def row_weights(self, rows: IntArray) -> FloatArray | None:
        """Sample weights of table rows, without class weights, for scoring."""
        return None if self.table.weights is None else self.table.weights[rows]
