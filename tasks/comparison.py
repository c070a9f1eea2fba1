"""Tasks of a comparison: one for each cell, and one for the tables and pictures.

Everything passes through the comparison's folder, which all workers must see: a task returns only a
few plain values. A cell whose record is there is not run again.
"""

from __future__ import annotations

from typing import Any

from prefect import get_run_logger, task
from prefect.cache_policies import NO_CACHE

from automl.comparison.folder import ComparisonFolder
from automl.comparison.plan import Cell, ComparisonPlan
from automl.errors import ServiceError, SettingsError
from automl_tasks.run_slots import run_slots

Record = dict[str, Any]


@task(
    cache_policy=NO_CACHE, persist_result=False, task_run_name="{method} on {data_set}, seed {seed}"
)
def run_comparison_cell(
    folder: str,
    method: str,
    data_set: str,
    seed: int,
    *,
    n_side_by_side: int = 1,
    with_curve: bool = True,
) -> Record:
    """Run one method on one data set with one seed, and record what became of it.

    The status is `finished`, `failed`, or `open` where an outside service kept the cell from running.
    """
    from automl.comparison.cells import run_cell

    store, plan = _open(folder)
    cell = Cell(method, data_set, seed)
    try:
        record = run_cell(
            store,
            plan,
            cell,
            n_side_by_side=n_side_by_side,
            with_curve=with_curve,
            make_slots=run_slots,
        )
    except ServiceError as error:
        get_run_logger().warning("%s has no record: %s", cell, error.message)
        return {"status": "open", "score": None, "reason": error.message}
    outcome = f"score {record.score:.4f}" if record.score is not None else record.reason
    get_run_logger().info("%s: %s", record.cell, outcome)
    return {"status": record.status, "score": record.score, "reason": record.reason}


@task(cache_policy=NO_CACHE, persist_result=False, task_run_name="tables and pictures")
def report_comparison(folder: str) -> Record:
    """Compare the methods by the records that are there; write tables and pictures."""
    from automl.reports.comparison_report import make_report

    store, plan = _open(folder)
    return make_report(store, plan)


def _open(folder: str) -> tuple[ComparisonFolder, ComparisonPlan]:
    store = ComparisonFolder(folder)
    plan = store.read_plan()
    if plan is None:
        raise SettingsError(f"{folder} holds no comparison: it has no plan.json")
    return store, plan
