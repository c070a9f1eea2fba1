"""``automl train``, ``resume`` and ``demo``: everything that drives a run."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from automl.bandits.special_names import AUTO
from automl.errors import SettingsError
from automl_flows.commands.options import HomeOption, JsonOption
from automl_flows.commands.process import BEGAN, TerminationError, open_home
from automl_flows.words.messages import say

if TYPE_CHECKING:
    from automl.home import Home, RunFolder
    from automl.run.beginning import Place
    from automl.settings import Settings
    from automl_flows.words.result_display import Commands


def register(app: typer.Typer) -> None:
    """Add the commands to the program."""
    app.command("train", cls=_TrainCommand, help=train.__doc__)(_incomplete)
    app.command()(resume)
    app.command()(demo)


class _TrainCommand(TyperCommand):
    """`automl train`; its options are made from the settings once it is asked for.

    Settings take longer to load than the rest of the program, which other commands need not wait for.
    """

    @cached_property
    def complete(self) -> TyperCommand:
        """The command with all its options."""
        from automl_flows.commands.train_options import command

        return command(train, str(self.name))

    def make_context(self, *args: Any, **extra: Any) -> Any:
        """Context of the complete command, which parses and runs in place of this one."""
        return self.complete.make_context(*args, **extra)


def _incomplete() -> None:
    raise NotImplementedError("the complete command runs in place of this one")


def train(
    *, config: Path | None, home: Path | None, as_json: bool, dry_run: bool, **options: Any
) -> None:
    """Search, select, fit and register a model for a table."""
    from automl.settings.sources import resolve_settings
    from automl_flows.commands.train_options import flags, given_settings
    from automl_flows.words.result_display import show_notices

    state = open_home(home)
    state.check()
    settings = resolve_settings(given_settings(options), file=config, called=flags())
    if dry_run:
        from automl.tracking.problem_experiment import check_problem
        from automl_flows.commands.dry_run import plan_of, show_plan

        check_problem(state.path, settings)
        show_plan(plan_of(settings, state), as_json=as_json)
        return
    show_notices(_train(settings, state.path, as_json=as_json), as_json=as_json)


def resume(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Run id, or the beginning of one")],
    *,
    trust: Annotated[
        bool,
        typer.Option(
            "--trust", help="Continue a run of another installation, which may run its code"
        ),
    ] = False,
    dask: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Run the remaining trials on this Dask cluster"),
    ] = None,
    local: Annotated[
        bool, typer.Option("--local", help="Run the remaining trials on this machine")
    ] = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Continue an interrupted run where it was started: on this machine or on its cluster."""
    from automl.reports.run_status import describe
    from automl_flows.words.result_display import show_notices

    place = _place(dask, is_local=local)
    state = open_home(home)
    folder = state.run(run)
    status = describe(folder).status
    if status == "running":
        raise SettingsError(f"run {folder.run_id} is being driven by another process")
    if status in {"finished", "damaged"}:
        raise SettingsError(
            f"run {folder.run_id} cannot be resumed: it is {status}{_unregistered(folder)}"
        )
    result = _drive(state.path, as_json=as_json, run_id=folder.run_id, trust=trust, place=place)
    show_notices(result, as_json=as_json)


def _unregistered(folder: RunFolder) -> str:
    """What registers the model of a finished run, where that was interrupted."""
    from automl.home import Home
    from automl.reports.command_line import command
    from automl.tracking.mirror_process import registration

    if not folder.bundle.is_dir() or registration(folder).status != "pending":
        return ""
    return f"; {command(Home(folder.path.parents[1]), 'sync')} registers its model"


def _place(dask: str | None, *, is_local: bool) -> Place | None:
    """Where the options want the trials; None if they say nothing.

    Raises
    ------
    SettingsError
        If they contradict each other, or the address is none.
    """
    if dask is None and not is_local:
        return None
    from automl.run.beginning import Place
    from automl_tasks.cluster.reachable import check_address

    if dask is None:
        return Place(None)
    if is_local:
        raise SettingsError("--dask and --local contradict each other; give one of them")
    check_address(dask)
    return Place(dask)


def demo(
    budget: Annotated[str, typer.Option(metavar="TIME", help="Wall time")] = "45s",
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Train on a bundled table and show what to do next."""
    from automl_flows.commands.demonstration import demo_commands, demo_settings
    from automl_flows.words.result_display import show_notices

    state = open_home(home)
    settings = demo_settings(budget)
    result = _train(settings, state.path, as_json=as_json, commands=demo_commands)
    show_notices(result, as_json=as_json)


def _train(
    settings: Settings, home: Path, *, as_json: bool, commands: Commands | None = None
) -> dict[str, Any]:
    from automl.home import Home
    from automl.run.choices import check_names
    from automl.run.memory import unknown_exclusions
    from automl_tasks.cluster.reachable import check_reachable

    check_names(settings)
    if settings.cluster is not None:
        check_reachable(settings.cluster)
    for sentence in unknown_exclusions(Home(home), settings):
        say(f"warning: {sentence}")
    return _drive(home, as_json=as_json, settings=settings, commands=commands)


def _drive(
    home: Path,
    *,
    as_json: bool,
    settings: Settings | None = None,
    run_id: str = "",
    trust: bool = False,
    place: Place | None = None,
    commands: Commands | None = None,
) -> dict[str, Any]:
    """Start the server, then import and run the flow beside it; print the result."""
    from automl.home import Home
    from automl.run.ledger import has_time
    from automl_flows.services.local_server import local_server, running
    from automl_flows.words.progress_display import ProgressDisplay
    from automl_flows.words.result_display import show_result

    state = Home(home)
    state.prepare()
    server = local_server(home, has_time=settings is None or has_time(settings, BEGAN))
    with running(server, state):
        try:
            with ProgressDisplay() as display:
                from automl_flows import driver as flow  # slow: imports Prefect beside the server

                given: dict[str, Any] = {"server": server, "on_progress": display.update}
                if settings is not None:
                    say(f"settings: {_changed(settings)}")
                    result = flow.train(settings, home=state, started=BEGAN, **given)
                else:
                    result = flow.resume(run_id, home=state, trust=trust, place=place, **given)
            show_result(result, state, as_json=as_json, commands=commands)
        except (KeyboardInterrupt, TerminationError):
            _say_how_to_continue(state)
            raise
    return result


def _say_how_to_continue(home: Home) -> None:
    """Name the run that this process has begun, if it got that far."""
    from automl.reports.command_line import command
    from automl.run_state import FINISHED, state_of

    for folder in reversed(home.run_folders()):
        with suppress(SettingsError):
            if folder.read_facts().get("pid") != os.getpid():
                continue
            if state_of(folder).status != FINISHED:
                say(f"continue: {command(home, 'resume', folder.run_id)}")
            return


def _changed(settings: Settings) -> str:
    """The resolved settings that say something: all that differ from the plain defaults."""
    shown = settings.public.model_dump(exclude_defaults=True)
    shown["preset"] = settings.preset
    if settings.allocator == AUTO:
        shown["allocator"] = f"{AUTO} ({settings.chosen_allocator})"
    return ", ".join(f"{key}={value}" for key, value in shown.items())
