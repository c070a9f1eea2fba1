"""``automl retrain`` and ``automl serve``: models that follow their data."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from automl.alternatives import AskedHow
from automl.errors import SettingsError
from automl.home import HOME_VARIABLE
from automl_flows.commands.options import HomeOption, JsonOption
from automl_flows.commands.process import BEGAN, open_home
from automl_flows.words.messages import say

if TYPE_CHECKING:
    from automl.home import Home
    from automl_flows.retraining import Retraining
    from automl_flows.services.service_plan import Plan

BudgetOption = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="Wall time of this run [default: as trained]"),
]
TrialsOption = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, help="Number of trials of this run [default: as trained]"),
]


HowOption = Annotated[
    AskedHow,
    typer.Option(
        help="search: all; warm: a quarter, starting from the champion's configurations; refit: only these; auto: let drift decide"
    ),
]


def register(app: typer.Typer) -> None:
    """Add the commands to the program."""
    app.command()(retrain)
    app.command()(serve)
    app.command()(deploy)


def retrain(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Name of the problem and its registered model")
    ],
    table: Annotated[
        str, typer.Argument(metavar="TABLE", help="New version of the table: file or URI")
    ],
    *,
    budget: BudgetOption = None,
    trials: TrialsOption = None,
    seed: Annotated[
        int | None,
        typer.Option(metavar="N", min=0, help="Root of all randomness [default: as trained]"),
    ] = None,
    how: HowOption = "search",
    force: Annotated[
        bool, typer.Option("--force", help="Train even if this content was trained on before")
    ] = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Train a problem again on a new table; the promotion rule chooses the champion."""
    from automl_flows.retraining import absolute_source
    from automl_flows.retraining import retrain as run_again
    from automl_flows.words.progress_display import ProgressDisplay

    state = open_home(home)
    overrides = _overrides(budget, trials, seed)
    with ProgressDisplay() as display:
        outcome = run_again(
            name,
            absolute_source(table),
            home=state,
            overrides=overrides,
            how=how,
            force=force,
            started=BEGAN,
            on_progress=display.update,
            say=say,
        )
    _show(outcome, state, as_json=as_json)


def serve(
    context: typer.Context,
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE]", help="deployments.yaml with many problems, instead of --name"
        ),
    ] = None,
    *,
    name: Annotated[
        str | None,
        typer.Option(help="Name of the problem and its registered model", metavar="NAME"),
    ] = None,
    table: Annotated[
        str | None,
        typer.Option(
            metavar="TABLE", help="Table for the schedule, or table that new files are added to"
        ),
    ] = None,
    cron: Annotated[
        str | None,
        typer.Option(
            metavar="CRON", help='Retrain on TABLE at these times (UTC), such as "0 3 * * *"'
        ),
    ] = None,
    interval: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Retrain on TABLE at this interval, such as 12h"),
    ] = None,
    watch: Annotated[
        str | None,
        typer.Option(metavar="PLACE", help="Retrain on every new file in this folder or prefix"),
    ] = None,
    pattern: Annotated[
        str | None,
        typer.Option(metavar="GLOB", help="Only files with such names [default: all tables]"),
    ] = None,
    settle: Annotated[
        str,
        typer.Option(
            metavar="TIME", help="A file is complete once it has not changed for this long"
        ),
    ] = "5s",
    done_marker: Annotated[
        bool,
        typer.Option(
            "--done-marker", help="A FILE is complete once FILE.done exists and is no older"
        ),
    ] = False,
    patience: Annotated[
        str,
        typer.Option(
            metavar="TIME", help="A file that is not complete after this time is set aside"
        ),
    ] = "1h",
    mode: Annotated[
        str,
        typer.Option(
            metavar="MODE", help="How files become the table: replace, append, partition, window"
        ),
    ] = "replace",
    window: Annotated[
        str | None,
        typer.Option(metavar="N", help="Length of the window, such as '90 days' or '5000 rows'"),
    ] = None,
    window_time: Annotated[
        str | None, typer.Option(metavar="COL", help="Time column of the window")
    ] = None,
    keep: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Delete all but the newest N runs of the problem"),
    ] = None,
    how: HowOption = "search",
    budget: BudgetOption = None,
    trials: TrialsOption = None,
    home: HomeOption = None,
) -> None:
    """Retrain on a schedule, on new files, or both, until interrupted.

    Both are possible in mode replace, where each file is the whole table. Modes append and window need
    --watch alone, mode partition a schedule alone.
    """
    from automl.durations import parse_duration
    from automl_flows.retraining import absolute_source
    from automl_flows.services.service_plan import Plan
    from automl_flows.services.watching import Completeness

    if file is not None:
        _serve(_plans_of(file, context), home)
        return
    if name is None:
        raise SettingsError("give --name NAME, or a file with the problems to serve")
    plan = Plan(
        name=name,
        table=None if table is None else absolute_source(table),
        cron=cron,
        interval_seconds=None if interval is None else parse_duration(interval),
        drops=None if watch is None else absolute_source(watch),
        pattern=pattern,
        completeness=Completeness(parse_duration(settle), done_marker, parse_duration(patience)),
        mode=mode,
        window=window,
        time=window_time,
        keep=keep,
        how=how,
        overrides=_overrides(budget, trials, None),
    )
    _serve([plan], home)


def deploy(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="deployments.yaml")],
    *,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Deploy the problems of a file to the Prefect server, for the workers of a pool."""
    from automl_flows.deploying import deploy as put_on_server
    from automl_flows.services.deployment_file import read_deployments
    from automl_flows.services.serving import standing_api
    from automl_flows.words.rendering import emit_json

    pool, plans = read_deployments(file)
    opened = open_home(home)
    with standing_api(opened):
        names = put_on_server(plans, opened, pool)
    if as_json:
        emit_json({"pool": pool, "deployments": names})
        return
    for name in names:
        say(f"deployed {name}")
    say(f"to run them: prefect worker start --pool {pool}")


def _plans_of(file: Path, context: typer.Context) -> list[Plan]:
    """Plans of a file; refuses options of a problem, which would have no effect beside it."""
    from automl_flows.services.deployment_file import read_deployments

    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        is_given = source is not None and source.name == "COMMANDLINE"
        if is_given and parameter.name not in ("file", "home"):
            raise SettingsError(
                f"{parameter.opts[0]} has no effect beside {file}, which says what to serve"
            )
    return read_deployments(file)[1]


def _serve(plans: list[Plan], home: Path | None) -> None:
    from automl_flows.retrain_flows import deployments
    from automl_flows.services.serving import serve_plans

    opened = open_home(home)
    os.environ[HOME_VARIABLE] = str(opened.path)  # of the processes of the runs
    serve_plans(plans, opened, deployments, say=say)


def _overrides(budget: str | None, trials: int | None, seed: int | None) -> dict[str, Any]:
    from automl.durations import parse_duration

    if budget is not None and trials is not None:
        raise SettingsError("--budget and --trials cannot be combined; give one of them")
    seconds = None if budget is None else parse_duration(budget)
    given = {"budget_seconds": seconds, "trials": trials, "seed": seed}
    return {key: value for key, value in given.items() if value is not None}


def _show(outcome: Retraining, home: Home, *, as_json: bool) -> None:
    from automl_flows.words.metric_table import show_result_metrics
    from automl_flows.words.rendering import emit_facts, emit_json
    from automl_flows.words.result_display import (
        data_facts,
        folder_of,
        show_next_commands,
        show_notices,
    )

    if as_json:
        emit_json(outcome.to_json())
        return
    result = outcome.result or {}
    promotion = result.get("promotion") or {}
    emit_facts(
        {
            "problem": outcome.name,
            "table": outcome.table,
            "status": outcome.status,
            "run": outcome.run_id,
            "cross-validated score": result.get("score"),
            "rows compared on": promotion.get("rows"),
            "score there": promotion.get("score"),
            "champion's score there": promotion.get("champion_score"),
            "drift": (outcome.drift or {}).get("reason") if result else None,
            "registered": outcome.registered,
            "decision": outcome.decision or None,
            "reason": outcome.reason,
        }
    )
    if result:
        show_result_metrics(result, data_facts(folder_of(result, home)).get("folds") or 0)
        show_next_commands(result, home)
    show_notices(result, as_json=as_json)
