"""``automl why``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from automl_flows.options import HomeOption, JsonOption
from automl_flows.session import open_home, say

if TYPE_CHECKING:
    from automl.home import RunFolder
    from automl_flows.why_known import Known

DOES_NOT_ADD_UP = 1


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command()(why)


def why(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Run id, or the beginning of one")],
    trial: Annotated[
        str | None,
        typer.Argument(metavar="[TRIAL]", help="Trial id, its short form, or its number"),
    ] = None,
    *,
    check: Annotated[
        bool, typer.Option("--check", help="Compute the selection again from its record")
    ] = False,
    picture: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw the selection tree (.png, .svg or .pdf)"),
    ] = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Tell why a run chose its model, or what became of one trial and why."""
    from automl.errors import SettingsError
    from automl_flows.rendering import emit, emit_facts, emit_json
    from automl_flows.why_known import known_of

    if trial is not None and (check or picture is not None):
        raise SettingsError("--check and --picture are about a whole run; leave TRIAL out")
    folder = open_home(home).run(run)
    known = known_of(folder)
    if trial is not None:
        from automl_flows.why_trial import why_trial

        told = why_trial(known, known.trial(trial))
        emit_json(told) if as_json else emit(told["text"])
        return
    if check or picture is not None:
        _refuse_unreadable(known, folder)
    if picture is not None:
        _draw(known, picture)
    if check:
        _check(known, as_json=as_json)
    elif picture is None or as_json:
        from automl_flows.why_run import story_of

        story = story_of(known)
        about = {"run_id": known.run_id, "status": known.status.status}
        emit_json({**about, "story": story}) if as_json else emit_facts(
            {"run": known.run_id, **story}
        )


def _refuse_unreadable(known: Known, folder: RunFolder) -> None:
    """Tell a record that is damaged from one that is not there yet.

    Raises
    ------
    AutoMLError
        If there is a record of the selection that cannot be read.
    """
    from automl.errors import AutoMLError

    file = folder.stages / "selection.json"
    if file.exists() and not known.stages["selection"]:
        raise AutoMLError(
            f"the record of the selection of run {known.run_id} cannot be read: {file}",
            run=known.run_id,
        )


def _draw(known: Known, file: Path) -> None:
    from automl.reports.selection_tree import save_selection_tree

    save_selection_tree(_record(known), file)
    say(f"the selection tree of run {known.run_id} is in {file}")


def _check(known: Known, *, as_json: bool) -> None:
    """Print what does not add up.

    Raises
    ------
    typer.Exit
        With code 1 if anything does not.
    """
    from automl.selection.checker import check
    from automl_flows.rendering import emit, emit_json
    from automl_flows.results import short_id

    record = _record(known)
    problems = check(record)
    if as_json:
        emit_json({"run_id": known.run_id, "adds_up": not problems, "problems": problems})
    elif problems:
        for problem in problems:
            emit(known.shortened(problem))
    else:
        emit(
            f"the record adds up: {len(record['trials'])} trials with one disposition each, "
            f"{len(record['decisions'])} decisions, champion {short_id(record['winner'])}"
        )
    if problems:
        raise typer.Exit(DOES_NOT_ADD_UP)


def _record(known: Known) -> dict[str, Any]:
    from automl.errors import SettingsError

    record = dict(known.stages["selection"])
    if not record:
        raise SettingsError(
            f"run {known.run_id} has no record of a selection yet: it is {known.status.status}",
            run=known.run_id,
        )
    return record
