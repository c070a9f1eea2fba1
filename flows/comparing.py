"""The comparison flow: cells as tasks side by side or on a Dask cluster, then tables and pictures."""

from __future__ import annotations

import contextvars
import logging
import threading
import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from prefect import flow
from prefect.artifacts import create_table_artifact
from prefect.client.schemas.objects import State
from prefect.exceptions import FailedRun
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
from automl_flows.environment import prepare_environment
from automl_tasks.comparison import report_comparison, run_comparison_cell

if TYPE_CHECKING:
    from automl_flows.server import LocalServer

DRAIN_SECONDS = 5.0
POLL_SECONDS = 0.3

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
    from prefect_dask import DaskTaskRunner

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
    from automl_flows.server import local_server, running

    runner = task_runner(n_side_by_side, dask)
    server = local_server(home.path)
    with only_one(folder), running(server, DRAIN_SECONDS):
        driver = _Driver(folder, runner, n_side_by_side, server, with_curves=with_curves)
        driver.start()
        _follow(folder, driver, say or (lambda _: None))
        is_lost = driver.is_lost()
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
    """What the flow would have given, where its server ended before it did."""
    plan = folder.read_plan()
    assert plan is not None
    return make_report(folder, plan)


class _Driver(threading.Thread):
    """The flow in a thread that an interrupted program does not wait for."""

    def __init__(
        self,
        folder: ComparisonFolder,
        runner: TaskRunner[Any],
        n_side_by_side: int,
        server: LocalServer | None,
        *,
        with_curves: bool,
    ) -> None:
        super().__init__(name="automl-compare", daemon=True)
        self._flow = compare_flow.with_options(task_runner=runner)
        self._arguments = (str(folder.path), n_side_by_side)
        self._server, self._with_curves = server, with_curves
        self._context = contextvars.copy_context()
        self.error: Exception | None = None
        self.result: dict[str, Any] | None = None

    def is_lost(self) -> bool:
        """Whether the server that was started for the flow has ended before it."""
        return self._server is not None and self._server.is_owned and not self._server.is_alive()

    def run(self) -> None:
        try:
            self._context.run(self._run)
        except FailedRun as error:
            self.error = DataError(str(error))
        except Exception as error:  # noqa: BLE001 - raised again by the thread that waits
            self.error = error

    def _run(self) -> None:
        connection: Any = nullcontext()
        if self._server is not None:
            self._server.wait_ready()
            connection = self._server.connected()
        with connection:
            result = self._flow(*self._arguments, with_curves=self._with_curves)
        assert isinstance(result, dict)  # a failed state has been raised
        self.result = result


def _follow(folder: ComparisonFolder, driver: _Driver, say: Say) -> None:
    """Wait for the flow's end; one line for every record that appears.

    A flow that has lost its server is silenced, and left when the last record is there: it would
    try for minutes to reach the server.
    """
    waiting = open_cells(folder)
    n_cells, n_done = len(waiting), 0
    while True:
        is_over, is_lost = not driver.is_alive(), driver.is_lost()
        if is_lost:
            logging.disable(logging.CRITICAL)
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
