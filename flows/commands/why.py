"""``automl why``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from automl_flows.commands.options import HomeOption, JsonOption
from automl_flows.commands.process import open_home
from automl_flows.words.messages import say

if TYPE_CHECKING:
    from automl.home import RunFolder
    from automl.reports.run_choices import RunChoices
    from automl.selection.selection_records import SelectionRecord

DOES_NOT_ADD_UP = 1
"""Exit code of a record that contradicts itself: our fault."""


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
        bool,
        typer.Option(
            "--check",
            help="Recompute the selection and the ensemble's decision from their records",
        ),
    ] = False,
    picture: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw the selection tree (.png, .svg or .pdf)"),
    ] = None,
    families: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Draw the best candidate of each family beside its default, and print the gain",
        ),
    ] = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Explain why a run chose its model, or what became of one trial."""
    from automl.errors import SettingsError
    from automl_flows.words.legible import legible, readable_choices

    if trial is not None and (check or picture is not None or families is not None):
        raise SettingsError(
            "--check, --picture and --families are about a whole run; leave TRIAL out"
        )
    folder = open_home(home).run(run)
    is_checked = check and picture is None and families is None
    choices = readable_choices(folder, is_checked=is_checked)
    with legible(choices, folder):
        if trial is not None:
            _tell_trial(choices, trial, as_json=as_json)
            return
        if picture is not None:
            _draw(_selection(choices), choices.run_id, picture)
        if families is not None:
            _draw_families(choices, families, as_json=as_json)
        if check:
            _check(choices, folder, as_json=as_json)
        elif families is None and (picture is None or as_json):
            _tell_run(choices, as_json=as_json)


def _tell_trial(choices: RunChoices, trial: str, *, as_json: bool) -> None:
    from automl_flows.words.rendering import emit, emit_json
    from automl_flows.words.why_trial import why_trial

    told = why_trial(choices, choices.trial(trial))
    emit_json(told.to_json()) if as_json else emit(told.text)


def _tell_run(choices: RunChoices, *, as_json: bool) -> None:
    from automl_flows.words.rendering import emit_facts, emit_json
    from automl_flows.words.why_run import facts_of, story_of

    if as_json:
        about = {"run_id": choices.run_id, "status": choices.status.status}
        emit_json({**about, "story": story_of(choices)})
    else:
        emit_facts(facts_of(choices))


def _draw(selection: SelectionRecord, run_id: str, file: Path) -> None:
    from automl.reports.selection_tree import save_selection_tree

    save_selection_tree(selection, file)
    say(f"the selection tree of run {run_id} is in {file}")


def _draw_families(choices: RunChoices, file: Path, *, as_json: bool) -> None:
    """Picture of the families, and the table of what the search gained over their defaults."""
    from automl.reports.boost_tables import boost_table
    from automl.reports.boxplots import default_and_optimized, rows_of_run
    from automl.reports.pictures import save_picture
    from automl.selection.defaults import boost_row_of_run
    from automl_flows.words.rendering import emit_json, emit_table

    record = _selection(choices)
    defaults = {} if choices.search is None else choices.search.defaults
    rows, alpha = rows_of_run(record, choices.searched, defaults), record.decisions[-1].alpha
    name = choices.status.problem or choices.run_id
    save_picture(lambda: default_and_optimized(rows, title=name, alpha=alpha), file)
    if defaults:
        champion = next(trial for trial in choices.searched if trial.id == record.winner)
        cells = boost_table([boost_row_of_run(name, defaults, champion)])
        emit_json(cells[0]) if as_json else emit_table(list(cells[0]), [list(cells[0].values())])
    say(f"the families of run {choices.run_id} are in {file}")


def _check(choices: RunChoices, folder: RunFolder, *, as_json: bool) -> None:
    """Print what does not add up; the checkers compute anew from the records as they are.

    Raises
    ------
    typer.Exit
        With code 1 if anything does not.
    """
    from automl.records import short_id
    from automl.run_state import read_stage
    from automl.selection.checker import check
    from automl.selection.ensemble_checker import check_ensemble
    from automl_flows.words.rendering import emit, emit_json

    record = read_stage(folder, "selection")
    if not record:
        _refuse_unselected(choices)
    problems = check(record)
    if ensemble := read_stage(folder, "ensemble"):
        champion = str(record.get("champion", ""))
        problems += check_ensemble(ensemble, champion, read_stage(folder, "final"))
    if as_json:
        emit_json({"run_id": choices.run_id, "adds_up": not problems, "problems": problems})
    elif problems:
        for problem in problems:
            emit(choices.shortened(problem))
    else:
        emit(
            f"the record adds up: {len(record['trials'])} trials with one disposition each, "
            f"{len(record['decisions'])} decisions, champion {short_id(record['winner'])}"
        )
    if problems:
        raise typer.Exit(DOES_NOT_ADD_UP)


def _yet(choices: RunChoices) -> str:
    from automl.run_state import FINISHED

    return "" if choices.status.status == FINISHED else " yet"


def _selection(choices: RunChoices) -> SelectionRecord:
    if choices.selection is None:
        _refuse_unselected(choices)
    return choices.selection.selection


def _refuse_unselected(choices: RunChoices) -> NoReturn:
    from automl.errors import SettingsError

    raise SettingsError(
        f"run {choices.run_id} has no record of a selection{_yet(choices)}: it is "
        f"{choices.status.status}",
        run=choices.run_id,
    )
