"""``automl train``, ``resume`` and ``demo``: everything that drives a run."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from automl.errors import SettingsError
from automl_flows.commands.options import HomeOption, JsonOption
from automl_flows.commands.process import BEGAN, TerminationError, open_home
from automl_flows.words.messages import say

if TYPE_CHECKING:
    from automl.home import Home
    from automl.settings import Settings


def register(app: typer.Typer) -> None:
    """Add the commands to the program."""
    app.command()(train)
    app.command()(resume)
    app.command()(demo)


def train(
    table: Annotated[
        str, typer.Argument(metavar="TABLE", help="File, URI, sklearn:NAME or openml:NAME")
    ],
    *,
    target: Annotated[
        str | None, typer.Option(help="Column to predict; may come from --config", metavar="COLUMN")
    ] = None,
    task: Annotated[
        Literal["auto", "binary", "multiclass", "regression"] | None,
        typer.Option(help="Kind of target [default: auto]"),
    ] = None,
    role: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN=ROLE", help="Role of a column, instead of the detected one"),
    ] = None,
    strict: Annotated[
        bool | None,
        typer.Option(
            "--strict", help="Refuse what is odd in the table, instead of taking it with a note"
        ),
    ] = None,
    test: Annotated[
        str | None, typer.Option(metavar="TABLE", help="Untouched rows for the test score")
    ] = None,
    test_share: Annotated[
        float | None, typer.Option(metavar="SHARE", help="Share of rows set aside as test rows")
    ] = None,
    groups: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Rows of one group stay together")
    ] = None,
    time: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Rows are ordered by this column")
    ] = None,
    weights: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of sample weights")
    ] = None,
    class_weight: Annotated[
        Literal["none", "balanced"] | None, typer.Option(help="Weights of the classes")
    ] = None,
    beta: Annotated[
        float | None,
        typer.Option(metavar="X", help="Weight of recall against precision in F-beta [default: 1]"),
    ] = None,
    positive: Annotated[
        str | None, typer.Option(metavar="LABEL", help="Positive class of a binary target")
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(help="index, a metric's name, NAME=WEIGHT,NAME=WEIGHT or FILE.py:FUNCTION"),
    ] = None,
    cost_matrix: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="csv or YAML: cost of column j for true class i"),
    ] = None,
    budget: Annotated[
        str | None, typer.Option(metavar="TIME", help="Wall time, such as 90s, 10m [default: 10m]")
    ] = None,
    trials: Annotated[
        int | None, typer.Option(metavar="N", help="Number of trials: a reproducible run")
    ] = None,
    preset: Annotated[
        Literal["thesis", "fast", "balanced", "best"] | None,
        typer.Option(help="Defaults of all settings [default: balanced]"),
    ] = None,
    families: Annotated[str | None, typer.Option(metavar="A,B", help="Only these families")] = None,
    exclude: Annotated[str | None, typer.Option(metavar="A,B", help="Families left out")] = None,
    trust: Annotated[
        bool | None,
        typer.Option("--trust", help="Store models of your own families as pickles if need be"),
    ] = None,
    optimizer: Annotated[
        str | None, typer.Option(metavar="NAME", help="Search method inside each family")
    ] = None,
    allocator: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="How turns are given to families [default: auto]"),
    ] = None,
    priors: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|learned",
            help="Priors that `automl learn priors` has written, or those that earlier runs teach",
        ),
    ] = None,
    selection_test: Annotated[
        Literal["closed", "paired", "mcb", "bayesian", "friedman", "thesis"] | None,
        typer.Option(help="Test that drops worse candidates [default: closed]"),
    ] = None,
    rope: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            help="Difference of the index that means nothing, for bayesian [default: 0.01]",
        ),
    ] = None,
    normality: Annotated[
        Literal["kolmogorov_smirnov", "lilliefors"] | None,
        typer.Option(help="Test of normal scores, for thesis [default: kolmogorov_smirnov]"),
    ] = None,
    alpha: Annotated[
        str | None,
        typer.Option(
            metavar="X",
            help="Significance level, or leaf=X,category=X,family=X,root=X [default: 0.05]",
        ),
    ] = None,
    alpha_split: Annotated[
        Literal["auto", "level", "tree"] | None,
        typer.Option(help="What keeps alpha: each level, or the whole tree [default: auto]"),
    ] = None,
    top_n: Annotated[
        str | None,
        typer.Option(
            metavar="N",
            help="Models that each level promotes, or leaf=N,category=N,family=N,root=N [default: 3]",
        ),
    ] = None,
    ensemble: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="How models are blended, or none [default: greedy]"),
    ] = None,
    max_predict_ms: Annotated[
        float | None, typer.Option(metavar="X", help="Longest milliseconds to predict one row")
    ] = None,
    experience: Annotated[
        bool | None,
        typer.Option(
            "--experience/--no-experience",
            help="Use what earlier runs have tried [default: experience]",
            show_default=False,
        ),
    ] = None,
    exclude_experience: Annotated[
        str | None,
        typer.Option(
            metavar="A,B", help="Data sets left out of it: names, runs, fingerprints, layouts"
        ),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(metavar="N", help="Trials at a time [default: one per core]")
    ] = None,
    register_after: Annotated[
        bool | None,
        typer.Option(
            "--register-after",
            help="Where there was no time to register the model, do it after the run",
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(metavar="N", help="Root of all randomness")] = None,
    name: Annotated[
        str | None, typer.Option(help="Problem and model name [default: table and target]")
    ] = None,
    config: Annotated[Path | None, typer.Option(metavar="FILE.yaml", help="Settings file")] = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check everything, show the plan, start nothing")
    ] = False,
) -> None:
    """Search, select, fit and register a model for a table."""
    options = dict(locals())
    from automl.settings.sources import resolve_settings
    from automl_flows.commands.given import given_settings
    from automl_flows.words.results import show_notices

    state = open_home(home)
    state.check()
    settings = resolve_settings(given_settings(options), file=config)
    if dry_run:
        from automl.tracking.problem import check_problem
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
        typer.Option("--trust", help="Continue a run of another installation; may run its code"),
    ] = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Continue an interrupted run from its records."""
    from automl_flows.words.results import show_notices
    from automl_flows.words.run_status import describe

    state = open_home(home)
    folder = state.run(run)
    status = describe(folder).status

    if status == "running":
        raise SettingsError(f"run {folder.run_id} is being driven by another process")
    if status in {"finished", "damaged"}:
        raise SettingsError(f"run {folder.run_id} cannot be resumed: it is {status}")
    result = _drive(state.path, as_json=as_json, run_id=folder.run_id, trust=trust)
    show_notices(result, as_json=as_json)


def demo(
    budget: Annotated[str, typer.Option(metavar="TIME", help="Wall time")] = "45s",
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run the whole line on a bundled table and say where to look."""
    from automl_flows.commands.demonstration import demo_settings, show_next_steps
    from automl_flows.words.results import show_notices

    state = open_home(home)
    result = _train(demo_settings(budget), state.path, as_json=as_json)
    if not as_json:
        show_next_steps(result, state)
    show_notices(result, as_json=as_json)


def _train(settings: Settings, home: Path, *, as_json: bool) -> dict[str, Any]:
    from automl.home import Home
    from automl.run.choices import check_names
    from automl.run.memory import unknown_exclusions

    check_names(settings)
    for sentence in unknown_exclusions(Home(home), settings):
        say(f"warning: {sentence}")
    return _drive(home, as_json=as_json, settings=settings)


def _drive(
    home: Path,
    *,
    as_json: bool,
    settings: Settings | None = None,
    run_id: str = "",
    trust: bool = False,
) -> dict[str, Any]:
    """Start the server, then import and run the flow beside it; print the result."""
    from automl.home import Home
    from automl.run.ledger import has_time
    from automl_flows.services.local_server import local_server, running
    from automl_flows.words.progress_display import ProgressDisplay
    from automl_flows.words.results import show_result

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
                    result = flow.resume(run_id, home=state, trust=trust, **given)
            show_result(result, state, as_json=as_json)
        except (KeyboardInterrupt, TerminationError):
            _say_how_to_continue(state)
            raise
    return result


def _say_how_to_continue(home: Home) -> None:
    """Name the run that this process has begun, if it got that far."""
    from automl.run_state import FINISHED, state_of
    from automl_flows.words.results import command

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
    return ", ".join(f"{key}={value}" for key, value in shown.items())
