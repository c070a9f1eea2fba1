"""``automl leaderboard``."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from automl_flows.commands.options import HomeOption, JsonOption
from automl_flows.commands.process import open_home
from automl_flows.words.messages import say

if TYPE_CHECKING:
    from automl.home import Home
    from automl.reports.leaderboard import Leaderboard

SHOWN = 20
"""Trials that fit on a screen."""


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command()(leaderboard)


def leaderboard(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Run id, or the beginning of one")],
    *,
    test: Annotated[
        bool, typer.Option("--test", help="Also score the models on the run's test rows")
    ] = False,
    table: Annotated[
        str | None,
        typer.Option(metavar="TABLE", help="Also score the models on this labelled table"),
    ] = None,
    trust: Annotated[
        bool, typer.Option("--trust", help="Load a model that needs pickle, which runs its code")
    ] = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the models of a run, best first, in natural units; each with a model can predict."""
    from automl.errors import SettingsError
    from automl.reports.leaderboard import leaderboard_of
    from automl_flows.words.rendering import emit_json

    if test and table is not None:
        raise SettingsError("--test and --table contradict each other; give one of them")
    state = open_home(home)
    limit = None if as_json else SHOWN
    board = leaderboard_of(state.run(run), test=test, table=table, trust=trust, limit=limit)
    if as_json:
        emit_json([asdict(entry) for entry in board.entries])
    else:
        _show(board)
        _say_remarks(board, state)


def _show(board: Leaderboard) -> None:
    from automl.metrics.words import words_of
    from automl_flows.words.rendering import emit, emit_table

    entries, name = board.entries, board.metric
    label = words_of(name).label
    columns = {
        "rank": [entry.rank for entry in entries],
        "trial": [entry.trial for entry in entries],
        "family": [entry.family for entry in entries],
        label: [entry.metrics.get(name) for entry in entries],
        "score": [entry.score for entry in entries],
    }
    if board.n_test_rows is not None:
        columns[f"test {label}"] = [entry.test_metrics.get(name) for entry in entries]
        columns["test score"] = [entry.test_score for entry in entries]
    columns["predicts"] = [bool(entry.model) for entry in entries]
    numbers = [column for column in columns if column not in {"trial", "family", "predicts"}]
    emit_table(list(columns), zip(*columns.values(), strict=True), right=numbers)
    if board.n_more:
        emit(f"... and {board.n_more} more (--json shows all)")


def _say_remarks(board: Leaderboard, home: Home) -> None:
    from automl.reports.command_line import command
    from automl_flows.words.metric_table import trained_on_text

    n_gone = sum(not entry.model for entry in board.entries)
    kept = next((entry.model for entry in board.entries if "#" in entry.model), "")
    if board.n_test_rows is not None:
        say(
            f"note: {board.n_test_rows} test rows; a model chosen by them is scored too well on them"
        )
        if trained_on := trained_on_text(board.n_trained_on, board.n_test_rows):
            say(f"note: {trained_on}")
    if kept:
        shown = command(home, "predict", kept, "TABLE", "-o", "OUT.csv")
        say(f"predict with one of them: {shown}")
    if n_gone and board.is_finished:
        say(
            f"note: {n_gone} of these have no fitted model; automl train --keep-models keeps those of the "
            "best trials"
        )
