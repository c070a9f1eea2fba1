"""Scores of the thesis' 17 families with their defaults, on the 31 tables of table 5.1 that are to be had.

    python benchmarks/thesis/defaults.py DATA_FOLDER OUT_FOLDER [--tables a,b] [--families a,b]
        [--profiles ours,2013,2013_scaled] [--rows half,quarter,all]

The thesis does not say on which rows the defaults are scored. ``half`` is half H of preset `thesis`, 3 x 10
folds, the rows and folds that its optimized models are scored on; ``quarter`` and ``all`` are 3 x 10 folds of a
quarter of the rows and of all rows.
`ours` is the family's default configuration with its default preprocessing; `2013` is scikit-learn's of that
year on the rows as they are (``year_2013.py``), `2013_scaled` the same on standardized columns.

One file for each (table, family, profile, rows) with every metric of every fold; finished ones are not
repeated. The families of a table run one after the other, each in a process of its own that may use as
many seconds of the processor as the table's budget has (300, 1,200 over 5,000 rows), 30 fits and
predictions together, so that the limit does not depend on what else the machine does.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import resource
import signal
import time
import traceback
import warnings
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import year_2013
from printed import FAMILIES, Source, sources
from sklearn.metrics import f1_score
from sklearn.preprocessing import StandardScaler

from automl.data.table import Table
from automl.evaluation.cache import FoldCache
from automl.evaluation.fitting import fit_fold
from automl.evaluation.plan import EvaluationPlan
from automl.families.registry import get_family
from automl.home import RunFolder
from automl.inference.prediction import raw_prediction
from automl.run.preparation import prepare
from automl.settings.sources import resolve_settings

PROFILES = ("ours", "2013", "2013_scaled")
ROWS: dict[str, dict[str, Any]] = {
    "half": {"halves": "disjoint"},
    "quarter": {"halves": "disjoint", "search_share": 0.75},
    "all": {"halves": "all"},
}
CACHE_BYTES = 2.0**29


def plan_of(source: Source, out: Path, rows: str) -> EvaluationPlan:
    """Table, rows and folds of preset `thesis`, written at the first call."""
    folder = out / "plans" / f"{source.name}-{rows}"
    if not (folder / "plan.json").exists():
        settings = resolve_settings(
            {
                "table": str(source.file),
                "target": source.target,
                "preset": "thesis",
                **ROWS[rows],
            },
            environment={},
        )
        prepare(RunFolder(folder), settings)
    return EvaluationPlan(folder)


def evaluate(plan: EvaluationPlan, family: str, profile: str) -> Iterator[dict[str, float]]:
    """Every metric of each fold in turn, natural sign, and its seconds."""
    fit = _ours(plan, family) if profile == "ours" else _of_2013(plan, family, profile)
    stage = plan.stage("candidates")
    for repeat, fold in stage.jobs:
        started = time.perf_counter()
        estimator, validation = fit(repeat, fold)
        prediction = raw_prediction(estimator, validation, plan.table.n_classes)
        seconds = time.perf_counter() - started
        y = plan.table.y[stage.rows[plan.rows_of("candidates", repeat, fold)[1]]]
        labels = prediction.argmax(axis=1)
        weighted = float(f1_score(y, labels, average="weighted", zero_division=0.0))
        yield {
            **plan.index.metrics(y, prediction),
            "f_weighted": weighted,
            "brier_of_labels": 2.0 * float((labels != y).mean()),
            "seconds": seconds,
        }


def _ours(plan: EvaluationPlan, family: str) -> Any:
    table = plan.table
    facts = {
        "n_rows": len(table),
        "n_columns": table.frame.shape[1],
        "n_classes": table.n_classes,
    }
    configuration = get_family(family).space(table.task).with_facts(**facts).default()
    cache = FoldCache(CACHE_BYTES)

    def fit(repeat: int, fold: int) -> tuple[Any, Any]:
        pipeline, validation = fit_fold(
            plan, cache, configuration, stage="candidates", repeat=repeat, fold=fold
        )
        return pipeline.estimator, validation

    return fit


def _of_2013(plan: EvaluationPlan, family: str, profile: str) -> Any:
    matrix = raw_matrix(plan.table)
    rows = plan.stage("candidates").rows

    def fit(repeat: int, fold: int) -> tuple[Any, Any]:
        training, within = (rows[part] for part in plan.rows_of("candidates", repeat, fold))
        before, after = matrix[training], matrix[within]
        if profile == "2013_scaled":
            scaler = StandardScaler().fit(before)
            before, after = scaler.transform(before), scaler.transform(after)
        seed = 1000 * repeat + fold
        return year_2013.fitted(family, before, plan.table.y[training], seed=seed), after

    return fit


def raw_matrix(table: Table) -> Any:
    """(n, n_columns) numbers as they are, categories by their codes, gaps by the column's mean."""
    columns = [
        np.asarray(column.cat.codes if column.dtype == "category" else column, dtype=np.float64)
        for _, column in table.frame.items()
    ]
    is_category = np.array([column.dtype == "category" for _, column in table.frame.items()])
    matrix = np.column_stack(columns)
    matrix[is_category & (matrix < 0)] = np.nan
    gaps = np.isnan(matrix)
    return np.where(gaps, np.nanmean(matrix, axis=0), matrix)


def record_of(plan_folder: Path, family: str, profile: str, file: Path) -> None:
    """Evaluate in this process and write the record."""
    warnings.simplefilter("ignore")
    found: list[dict[str, float]] = []
    record: dict[str, Any] = {"status": "complete", "reason": ""}
    try:
        for fold in evaluate(EvaluationPlan(plan_folder), family, profile):
            found.append(fold)  # noqa: PERF402 - what came before an error is kept
    except Exception as error:  # noqa: BLE001 - a family that does not work is a record
        reason = f"{type(error).__name__}: {next(iter(str(error).splitlines()), '')}"
        record = {"status": "failed", "reason": reason, "trace": traceback.format_exc()}
    names = found[0] if found else {}
    write(file, {**record, "folds": {name: [f[name] for f in found] for name in names}})


def write(file: Path, record: dict[str, Any]) -> None:
    temporary = file.with_suffix(".tmp")
    temporary.write_text(json.dumps(record))
    temporary.replace(file)


def run(plan: EvaluationPlan, family: str, profile: str, file: Path, seconds: int) -> None:
    """Evaluate in a process of its own, which ends after `seconds` of the processor."""
    started = time.monotonic()

    def work() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
        record_of(plan.folder, family, profile, file)

    process = multiprocessing.get_context("fork").Process(target=work, daemon=True)
    process.start()
    process.join()
    if process.exitcode in {-signal.SIGXCPU, -signal.SIGKILL}:
        reason = f"not finished after {seconds} s of the processor"
        write(file, {"status": "timed_out", "reason": reason, "folds": {}})
    elif not file.exists():
        reason = f"ended with exit code {process.exitcode}"
        write(file, {"status": "crashed", "reason": reason, "folds": {}})
    status = json.loads(file.read_text())["status"]
    print(f"{file.parent.name} {file.stem} {status} {time.monotonic() - started:.1f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    for option, every in (
        ("--tables", ()),
        ("--families", FAMILIES.values()),
        ("--profiles", PROFILES),
        ("--rows", ROWS),
    ):
        parser.add_argument(option, type=lambda text: text.split(","), default=list(every))
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    for source in sources(options.data, options.out, options.tables or None):
        folder = options.out / "defaults" / source.name
        folder.mkdir(parents=True, exist_ok=True)
        for rows, profile in product(options.rows, options.profiles):
            plan = plan_of(source, options.out, rows)
            for family in options.families:
                file = folder / f"{family}.{profile}.{rows}.json"
                if not file.exists():
                    run(plan, family, profile, file, int(source.budget_seconds))


if __name__ == "__main__":
    main()
