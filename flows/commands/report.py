"""``automl report``."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from automl_flows.commands.options import HomeOption, JsonOption
from automl_flows.commands.process import open_home

if TYPE_CHECKING:
    from automl.home import Home


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command()(report)


def report(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Run id, or the beginning of one")],
    *,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Where to write it [default: the run's folder]"
        ),
    ] = None,
    history: Annotated[
        bool,
        typer.Option(
            "--history", help="RUN is a problem: the page of all its models, for the promotions"
        ),
    ] = False,
    seconds: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            min=1,
            help="How long the deployed model may be looked at, for the importance of its columns; the report "
            "is written anew [default: 30 for a slow model]",
        ),
    ] = None,
    no_open: Annotated[bool, typer.Option("--no-open", help="Do not open it")] = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write the report of a run, print its address, and open it if there is a display."""
    from automl.errors import SettingsError
    from automl_flows.words.rendering import emit_json
    from automl_flows.words.report_page import report_page

    state = open_home(home)
    if history:
        if seconds is not None:
            raise SettingsError("--seconds is for the report of a run; --history looks at no model")
        _show(_history(state, run, output), no_open=no_open, as_json=as_json)
        return
    folder = state.run(run)
    if output is not None:
        _check_file(output)
    page = report_page(folder, output, seconds=seconds)
    if as_json:
        emit_json({"run_id": folder.run_id, "file": str(page.file), "is_new": page.is_new})
        return
    _show(page.file, no_open=no_open, as_json=False)


def _history(state: Home, name: str, output: Path | None) -> Path:
    """Write the page of a problem; its file."""
    from automl.durable import write_whole
    from automl.problem_names import clean_name
    from automl.reports.history_page import history_page, trained_models
    from automl.reports.page import render

    if output is not None:
        _check_file(output)
    models = trained_models(state, name)
    file = (output or state.path / f"history-{clean_name(name)}.html").resolve()
    write_whole(file, [render(history_page(models, name)).encode()], "the page of the problem")
    return file


def _show(file: Path, *, no_open: bool, as_json: bool) -> None:
    from automl_flows.words.rendering import emit, emit_json
    from automl_flows.words.report_page import open_in_browser

    if as_json:
        emit_json({"file": str(file)})
        return
    emit(file.as_uri())
    if not no_open and _has_display():
        open_in_browser(file)


def _check_file(output: Path) -> None:
    """Refuse what cannot become the file.

    Raises
    ------
    SettingsError
        If it is a folder, or in none.
    """
    from automl.errors import SettingsError

    if output.is_dir():
        raise SettingsError(f"--output must name a file; got the folder {output}")
    if not output.resolve().parent.is_dir():
        raise SettingsError(
            f"--output must name a file in a folder that exists; got {output}, and there is no "
            f"{output.resolve().parent}"
        )


def _has_display() -> bool:
    """Whether a person sits here who would see a window."""
    if not sys.stdout.isatty():
        return False
    return sys.platform == "darwin" or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY")))
