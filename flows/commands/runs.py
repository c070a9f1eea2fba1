"""``automl runs``, ``show``, ``stop`` and ``clean``."""

from __future__ import annotations

from typing import Annotated

import typer

from automl.listing import counted
from automl_flows.commands.options import HomeOption, JsonOption, YesOption
from automl_flows.commands.process import open_home
from automl_flows.words.messages import say


def register(app: typer.Typer) -> None:
    """Add the commands to the program."""
    app.command()(runs)
    app.command()(show)
    app.command()(stop)
    app.command()(clean)


def runs(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """List the runs of the home folder, newest first."""
    from automl.durations import seconds_text
    from automl.metrics.words import words_of
    from automl.reports.run_status import describe
    from automl.tracking.holders import Registry
    from automl_flows.words.rendering import emit_json, emit_table, moment_text, text_of

    state = open_home(home)
    registry = Registry(state.path)
    statuses = [describe(folder, registry) for folder in reversed(state.run_folders())]
    if as_json:
        emit_json([status.to_json() for status in statuses])
        return
    if not statuses:
        say(f"no runs in {state.path}")
        return
    names = ["run", "status", "problem", "task", "rows", "trials", "score", "natural units"]
    emit_table(
        [*names, "started", "took", "model"],
        [
            (
                status.run_id,
                "interrupted, resumable" if status.is_resumable else status.status,
                status.problem,
                status.task,
                status.rows,
                status.trials,
                status.score,
                f"{words_of(status.metric).label} {text_of(status.value)}" if status.metric else "",
                moment_text(status.started_at),
                seconds_text(status.seconds),
                status.model,
            )
            for status in statuses
        ],
        right=["rows", "trials", "score", "took"],
    )


def show(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Run id, or the beginning of one")],
    seconds: Annotated[
        bool, typer.Option("--seconds", help="Show where the time of its trials went instead")
    ] = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the leaderboard, decisions, times and links of a run, even while it runs."""
    from automl_flows.words.rendering import emit_json
    from automl_flows.words.run_report import report_of, show_report
    from automl_flows.words.seconds_page import page_of, show_page

    state = open_home(home)
    folder = state.run(run)
    if seconds:
        page = page_of(folder)
        emit_json(page.to_json()) if as_json else show_page(page)
        return
    report = report_of(folder)
    if as_json:
        emit_json(report)
    else:
        show_report(report, state)


def stop(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Run id, or the beginning of one")],
    timeout: Annotated[
        float, typer.Option(metavar="SECONDS", help="How long to wait until it has ended", min=0)
    ] = 30.0,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Stop a run cleanly; it can be resumed."""
    from automl.reports.command_line import command
    from automl_flows.commands.housekeeping import stop_run
    from automl_flows.words.rendering import emit_json

    state = open_home(home)
    folder = state.run(run)
    stop_run(folder, timeout=timeout)
    is_resumable = folder.facts_file.exists()
    if as_json:
        emit_json({"run_id": folder.run_id, "stopped": True, "resumable": is_resumable})
    elif not is_resumable:
        say(f"run {folder.run_id} is stopped; it had not read its table, so nothing is left of it")
    else:
        resume = command(state, "resume", folder.run_id)
        say(f"run {folder.run_id} is stopped; continue it with: {resume}")


def clean(
    run: Annotated[
        list[str] | None, typer.Argument(metavar="[RUN]...", help="Only these runs")
    ] = None,
    *,
    older_than: Annotated[
        str | None, typer.Option(metavar="TIME", help="Runs that started longer ago, such as 30d")
    ] = None,
    keep: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="Keep the newest N runs")
    ] = None,
    experience: Annotated[
        bool, typer.Option("--experience", help="Also forget their trials")
    ] = False,
    yes: YesOption = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Delete old runs, but none that is running or waits for registration.

    Their trials stay in the experience; see automl experience.
    """
    from automl_flows.commands.housekeeping import choose_runs, confirm_deletion
    from automl_flows.retention import delete_runs
    from automl_flows.words.rendering import emit_json

    state = open_home(home)
    chosen, spared = choose_runs(state, runs=run or [], older_than=older_than, keep=keep)
    for run_id, reason in spared.items():
        say(f"kept {run_id}: {reason}")
    if chosen:
        confirm_deletion([folder.run_id for folder in chosen], yes=yes)
    freed = delete_runs(state, chosen, experience=experience)
    deleted = [folder.run_id for folder in chosen]
    if as_json:
        emit_json({"deleted": deleted, "kept": spared, "freed_mib": freed / 2**20})
    else:
        say(f"{counted(len(deleted), 'run')} deleted, {freed / 2**20:.1f} MiB freed")
