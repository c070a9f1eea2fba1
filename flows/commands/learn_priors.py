"""``automl learn priors``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from automl.errors import SettingsError
from automl_flows.commands.learn import (
    TableLimit,
    TrialLimit,
    check_data_sets,
    check_learned,
    checked_file,
    learn,
    named_families,
    unusable,
)
from automl_flows.commands.options import HomeOption, JsonOption
from automl_flows.commands.process import TerminationError, command_given, open_home
from automl_flows.words.messages import say

EXPERIENCE_SUFFIX = ".jsonl.gz"


def register(app: typer.Typer) -> None:  # noqa: ARG001 the command joins the group `learn`
    """Add the command to its group, which is part of the program."""
    learn.command()(priors)


def priors(
    data: Annotated[
        list[str],
        typer.Argument(
            metavar="DIR...",
            help="Folders of tables and what else compare reads; exported experience (.jsonl.gz)",
            show_default=False,
        ),
    ],
    *,
    into: Annotated[
        Path, typer.Option("--into", metavar="FILE", help="File of the priors; pictures beside it")
    ] = Path("priors.yaml"),
    families: Annotated[str | None, typer.Option(metavar="A,B", help="Only these families")] = None,
    acceptance: Annotated[
        Literal["rivals", "index"],
        typer.Option(help="Values are accepted by rank on their table, or by score (thesis)"),
    ] = "rivals",
    rivals: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Other trials that an accepted value must beat [default: 19]"
        ),
    ] = None,
    width: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            help="Standard deviation of a new component, as a share of the range [default: 0.05]",
        ),
    ] = None,
    tolerance: Annotated[
        float | None,
        typer.Option(metavar="X", help="T_D, distance that merging may cost [default: 0.02]"),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(metavar="X", help="Least fidelity of two that are merged [default: 0.5]"),
    ] = None,
    settled: Annotated[
        float | None,
        typer.Option(metavar="X", help="Distance at which a table has converged [default: 0.03]"),
    ] = None,
    most_values: Annotated[
        int | None, typer.Option(metavar="N", help="Accepted values of a table [default: 128]")
    ] = None,
    most_draws: Annotated[
        int | None, typer.Option(metavar="N", help="Draws for a table [default: 20000]")
    ] = None,
    floor: Annotated[
        float | None,
        typer.Option(metavar="X", help="Mass that stays on the whole range [default: 0.1]"),
    ] = None,
    doubt: Annotated[
        float | None,
        typer.Option(metavar="X", help="Tables that the plain range counts as [default: 2]"),
    ] = None,
    least_trials: Annotated[
        int | None, typer.Option(metavar="N", help="Trials that a table needs [default: 3]")
    ] = None,
    least_data_sets: Annotated[
        int | None, typer.Option(metavar="N", help="Tables that a prior needs [default: 3]")
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column to predict, as for learn experience"),
    ] = None,
    draws: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=0,
            help="Random configurations per family on a new table, times the family's share",
        ),
    ] = 8,
    trial_limit: TrialLimit = "2m",
    table_limit: TableLimit = "250s",
    seed: Annotated[int, typer.Option(metavar="N", min=0)] = 0,
    workers: Annotated[
        int, typer.Option(metavar="N", min=0, help="Trials at a time; 0: one per core")
    ] = 0,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Learn where good values of hyperparameters lie; `automl train --priors FILE` searches there.

    Tables are tried as by `learn experience`, unless this home has done so already.
    """
    given = _constants(locals())
    chosen = named_families(families)
    into = checked_file(into)
    files = [_file(source) for source in data if source.endswith(EXPERIENCE_SUFFIX)]
    sources = [source for source in data if not source.endswith(EXPERIENCE_SUFFIX)]
    from automl.data.collections import find_data_sets  # slow: imports pandas
    from automl.durations import parse_duration
    from automl.table_studies.conditions import Conditions

    conditions = Conditions(
        draws=draws,
        trial_seconds=parse_duration(trial_limit),
        table_seconds=parse_duration(table_limit),
        seed=seed,
        workers=workers,
    )
    data_sets = find_data_sets(sources, target=target) if sources else {}
    check_data_sets(data_sets, conditions)
    state = open_home(home)
    state.prepare()
    try:
        if data_sets:
            from automl_flows.table_studies import run_learning  # slow: imports Prefect

            learned = run_learning(data_sets, conditions.to_json(), home=state, say=say)
            if not files:
                check_learned(learned["tables"])
            for line in unusable(learned["tables"]):
                say(line)
        from automl_flows.prior_studies import run_prior_learning  # slow: imports Prefect

        result = run_prior_learning(
            home=state,
            into=str(into),
            tables=list(data_sets),
            files=files,
            options={
                "families": list(chosen),
                "seed": seed,
                "settings": {"acceptance": acceptance, **given},
                "command": command_given(),
            },
        )
    except (KeyboardInterrupt, TerminationError):
        say("to continue, give the same command; learned tables are not tried again")
        raise
    _show(result, as_json=as_json)


def _constants(options: dict[str, Any]) -> dict[str, float]:
    """The constants of `PriorSettings` that were given, all of them usable.

    Raises
    ------
    SettingsError
        If one is out of its range.
    """
    from dataclasses import fields

    from automl.priors.accepted_values import PriorSettings  # slow: imports numpy

    names = [field.name for field in fields(PriorSettings) if field.name != "acceptance"]
    given = {name: options[name] for name in names if options[name] is not None}
    PriorSettings(**given)
    return given


def _file(source: str) -> str:
    path = Path(source).expanduser().resolve()
    if not path.is_file():
        raise SettingsError(f"experience {path} does not exist", file=str(path))
    return str(path)


def _show(result: dict[str, Any], *, as_json: bool) -> None:
    from automl.reports.priors import page_file, pictures_folder
    from automl_flows.words.rendering import emit, emit_facts, emit_json, emit_table

    if as_json:
        emit_json(result)
        return
    columns = ("signature", "hyperparameter", "data sets", "trials", "10 %", "median", "90 %")
    keys = ("data_sets", "trials", "low_tenth", "median", "high_tenth")
    rows = [
        (row["signature"], row["hyperparameter"], *(f"{row[key]:.4g}" for key in keys))
        for row in result["priors"]
    ]
    emit_table(columns, rows, right=columns[2:])
    emit("")
    file = Path(result["file"])
    page = page_file(file).resolve().as_uri()
    emit_facts({"priors": str(file), "pictures": str(pictures_folder(file)), "page": page})
    emit(f"use them: automl train TABLE --priors {file}")
