"""``automl compare``: methods against methods on many data sets."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from automl.errors import SettingsError
from automl_flows.commands.options import HomeOption, JsonOption
from automl_flows.commands.process import TerminationError, open_home
from automl_flows.words.messages import say

if TYPE_CHECKING:
    from automl.comparison.folder import ComparisonFolder
    from automl.comparison.plan import ComparisonPlan


def register(app: typer.Typer) -> None:
    """Add the commands to the program."""
    app.command()(compare)


def compare(
    methods: Annotated[
        Path | None,
        typer.Argument(
            metavar="METHODS.yaml", help="Settings of each method by its name", show_default=False
        ),
    ] = None,
    data: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="DATA...",
            help="Files, folders, lists (YAML), sklearn:NAME or openml:NAME",
            show_default=False,
        ),
    ] = None,
    *,
    out: Annotated[
        Path, typer.Option("-o", "--out", metavar="OUT", help="Folder of records and results")
    ],
    target: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column to predict [default: the one called target, else the last]",
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(metavar="N", min=1, help="Runs of each cell")] = 1,
    test_share: Annotated[float, typer.Option(metavar="SHARE", help="Share of test rows")] = 0.3,
    workers: Annotated[
        int, typer.Option(metavar="N", min=1, help="Cells that run at a time on this machine")
    ] = 1,
    dask: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Run the cells on this Dask cluster"),
    ] = None,
    curves: Annotated[
        bool,
        typer.Option(
            "--curves/--no-curves", help="Also score the best model so far on the test rows"
        ),
    ] = True,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Run failed cells again")
    ] = False,
    report_only: Annotated[
        bool, typer.Option("--report-only", help="Run nothing; compare the finished cells")
    ] = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare methods on data sets by ranks, wins and tests; continue where it was interrupted."""
    from automl.comparison.folder import ComparisonFolder

    folder = ComparisonFolder(out.expanduser().resolve())
    if report_only:
        if methods is not None or data:
            raise SettingsError("--report-only takes no methods and no data: only -o OUT")
        _show(_report(folder), folder, as_json=as_json)
        return
    if methods is None or not data:
        raise SettingsError("a comparison needs METHODS.yaml and at least one data set")
    state = open_home(home)
    state.check()
    if dask is not None:
        _check_cluster(dask)
    plan = _plan(methods, data, target=target, n_seeds=seeds, test_share=test_share)
    _begin(folder, plan, retry_failed=retry_failed)
    from automl_flows.comparing import run_comparison  # slow: imports Prefect

    try:
        result = run_comparison(
            folder, home=state, n_side_by_side=workers, dask=dask, with_curves=curves, say=say
        )
    except (KeyboardInterrupt, TerminationError):
        say("to continue, give the same command; finished cells are not run again")
        raise
    _show(result, folder, as_json=as_json)


def _check_cluster(address: str) -> None:
    """Look whether a Dask scheduler answers.

    Raises
    ------
    SettingsError
        If the address is none.
    ServiceError
        If nothing answers there.
    """
    from automl_tasks.cluster.reachable import check_address, check_reachable

    check_address(address)
    check_reachable(address)
    from automl_tasks.cluster.connection import connect  # slow: imports distributed

    connect(address).close()


def _plan(
    methods: Path, data: list[str], *, target: str | None, n_seeds: int, test_share: float
) -> ComparisonPlan:
    from automl.comparison.plan import ComparisonPlan, read_methods
    from automl.data.collections import find_data_sets

    if not 0 < test_share < 0.9:
        raise SettingsError(f"--test-share must be above 0 and below 0.9; got {test_share:g}")
    settings, metric = read_methods(methods.expanduser())
    return ComparisonPlan(
        settings, find_data_sets(data, target=target), n_seeds, test_share, metric
    )


def _begin(folder: ComparisonFolder, plan: ComparisonPlan, *, retry_failed: bool) -> None:
    """Check everything, write the plan, say how much there is to do.

    A comparison that another process runs is left as it is.
    """
    from automl_flows.comparison_check import checked_plan, only_one

    complete = checked_plan(plan, folder, say)
    with only_one(folder):
        plan_there = folder.read_plan()  # another process may have added to it meanwhile
        complete = complete if plan_there is None else plan_there.joined(complete, str(folder.path))
        folder.write_plan(complete)
        records = {cell: folder.read(cell) for cell in complete.cells()}
        failed = [cell for cell, record in records.items() if record and record.status == "failed"]
        for cell in failed if retry_failed else ():
            folder.remove(cell)
            records[cell] = None
    n_open = sum(record is None for record in records.values())
    say(
        f"{len(complete.methods)} methods, {len(complete.data_sets)} data sets, "
        f"{complete.n_seeds} seeds: {len(records)} cells, {n_open} to run"
    )


def _report(folder: ComparisonFolder) -> dict[str, Any]:
    from automl.reports.comparison_report import make_report

    plan = folder.read_plan()
    if plan is None:
        raise SettingsError(f"{folder.path} holds no comparison: it has no plan.json")
    return make_report(folder, plan)


def _show(result: dict[str, Any], folder: ComparisonFolder, *, as_json: bool) -> None:
    from automl_flows.words.rendering import emit, emit_facts, emit_json, emit_table

    if as_json:
        emit_json(result)
        return
    rows = result["frequencies"]
    emit_table(list(rows[0]), [list(row.values()) for row in rows], right=list(rows[0])[1:])
    emit("row beats column in this share of data sets; marks of the Poisson-binomial/sign test:")
    emit("+ significant (0.8 / p < 0.1), ++ highly significant (0.9 / p < 0.05)")
    emit("")
    scores = result["scores"]
    emit_table(list(scores[0]), [list(row.values()) for row in scores], right=list(scores[0])[1:])
    emit("")
    for method, cells in result["boosts"].items():
        emit(f"{method}: gain over the families' defaults, by the folds of its search")
        emit_table(list(cells[0]), [list(row.values()) for row in cells])
        emit("")
    emit_facts(
        {
            "data sets": result["data_sets"],
            "places (data set, seed)": result["places"],
            "tables": str(folder.tables),
            "pictures": str(folder.pictures) if result["pictures"] else "",
            "page": folder.page.resolve().as_uri(),
            "records": str(folder.path / "cells"),
        }
    )
    for failure in result["failures"]:
        emit(f"failed: {failure['cell']}: {failure['reason']}")
    for place in result["left_out"]:
        emit(f"left out, not all methods have it: {place}")
    if result["missing"]:
        emit(f"missing: {result['missing']} cells; the same command runs them")
