"""The comparison flow: cells as tasks side by side or on a Dask cluster, then tables and pictures."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from prefect import flow
from prefect.artifacts import create_table_artifact
from prefect.client.schemas.objects import State
from prefect.futures import wait
from prefect.states import Failed
from prefect.task_runners import TaskRunner, ThreadPoolTaskRunner

from automl.comparison.folder import ComparisonFolder
from automl.comparison.plan import Cell
from automl.comparison.results import common_places
from automl.errors import DataError, ServiceError, SettingsError
from automl.home import Home
from automl.reports.comparison_report import make_report, read_records
from automl_flows.comparison_check import only_one
from automl_flows.environment import prepare_environment, silence_libraries
from automl_flows.flow_thread import FlowThread
from automl_tasks.comparison import report_comparison, run_comparison_cell

POLL_SECONDS = 0.3
"""Between looks for new records: a cell takes seconds at least."""

Say = Callable[[str], None]


@flow(name="automl-compare", flow_run_name="compare {folder}", persist_result=False)
def compare_flow(
    folder: str, n_side_by_side: int = 1, *, with_curves: bool = True
) -> dict[str, Any] | State[Any]:
    """Run every cell of a comparison that has no record yet, then compare the methods.

    Give it another task runner to run the cells elsewhere:
    ``compare_flow.with_options(task_runner=DaskTaskRunner(address="tcp://…"))``; all workers must
    see the folder.

    Parameters
    ----------
    folder
        Of the comparison, with its plan; see `automl.comparison.folder`.
    n_side_by_side
        Cells that run at a time on one machine; each has its part of the cores.
    with_curves
        Whether the best models on the way are judged on the test rows too.
    """
    prepare_environment()
    store = ComparisonFolder(folder)
    cells = open_cells(store)
    wait(
        [
            run_comparison_cell.submit(
                folder,
                cell.method,
                cell.data_set,
                cell.seed,
                n_side_by_side=n_side_by_side,
                with_curve=with_curves,
            )
            for cell in cells
        ]
    )
    plan = store.read_plan()
    assert plan is not None
    try:
        common_places(read_records(store, plan))
    except DataError as error:
        return Failed(message=error.message)
    result: dict[str, Any] = report_comparison(folder)
    create_table_artifact(table=result["methods"], key="comparison", description=folder)
    return result


def open_cells(folder: ComparisonFolder) -> list[Cell]:
    """Cells of the plan without a record.

    Raises
    ------
    SettingsError
        If the folder holds no plan.
    """
    plan = folder.read_plan()
    if plan is None:
        raise SettingsError(f"{folder.path} holds no comparison: it has no plan.json")
    return [cell for cell in plan.cells() if folder.read(cell) is None]


def task_runner(n_side_by_side: int, dask: str | None) -> TaskRunner[Any]:
    """Where cells run: in threads of this process, or on a Dask cluster."""
    if dask is None:
        return ThreadPoolTaskRunner(max_workers=n_side_by_side)
    from prefect_dask import DaskTaskRunner  # slow, and seldom needed

    runner: TaskRunner[Any] = DaskTaskRunner(address=dask)
    return runner


def run_comparison(
    folder: ComparisonFolder,
    *,
    home: Home,
    n_side_by_side: int = 1,
    dask: str | None = None,
    with_curves: bool = True,
    say: Say | None = None,
) -> dict[str, Any]:
    """Run the flow beside a local server if one is needed, and tell of every cell that ends.

    An interruption leaves at once: finished cells have their records, and a run under way is
    continued the next time.

    Raises
    ------
    SettingsError
        If another process runs this comparison.
    ServiceError
        If the orchestrator or the cluster cannot be reached or ends.
    DataError
        If no data set was finished by at least two methods.
    """
    from automl_flows.services.local_server import local_server, running

    runner = task_runner(n_side_by_side, dask)
    server = local_server(home.path)
    with only_one(folder), running(server, home):
        run = compare_flow.with_options(task_runner=runner)
        driver = FlowThread(
            lambda: run(str(folder.path), n_side_by_side, with_curves=with_curves), server
        )
        driver.start()
        _follow(folder, driver, say or (lambda _: None))
        is_lost = driver.is_lost()
        if not open_cells(folder):
            folder.forget_addresses()
    if is_lost and driver.result is None and not open_cells(folder):
        return _report(folder)
    if isinstance(driver.error, OSError) and dask is not None:
        raise ServiceError(f"the Dask cluster {dask} cannot be reached: {driver.error}")
    if driver.error is not None and is_lost:
        raise ServiceError("the local Prefect server ended; the same command continues")
    if driver.error is not None:
        raise driver.error
    assert driver.result is not None
    return driver.result


def _report(folder: ComparisonFolder) -> dict[str, Any]:
    """Result of the flow, rebuilt if its server ended first."""
    plan = folder.read_plan()
    assert plan is not None
    return make_report(folder, plan)


def _follow(folder: ComparisonFolder, driver: FlowThread, say: Say) -> None:
    """Wait for the flow's end; one line for every record that appears.

    A flow that has lost its server is silenced, and left when the last record is there: it would
    try for minutes to reach the server.
    """
    waiting = open_cells(folder)
    n_cells, n_done = len(waiting), 0
    was_lost = False
    while True:
        is_over, is_lost = not driver.is_alive(), driver.is_lost()
        if is_lost and not was_lost:
            silence_libraries()
            say("the local Prefect server has ended; the comparison goes on without it")
        was_lost = is_lost
        still = []
        for cell in waiting:
            record = folder.read(cell)
            if record is None:
                still.append(cell)
                continue
            n_done += 1
            score = f"failed: {record.reason}" if record.score is None else f"{record.score:.4f}"
            say(f"{n_done} of {n_cells}: {cell}: {score} ({record.seconds:.0f} s)")
        waiting = still
        if is_over or (is_lost and not waiting):
            return
        time.sleep(POLL_SECONDS)
