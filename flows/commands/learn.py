"""``automl learn``: what many tables teach about families of algorithms."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from automl_flows.commands.options import HomeOption, JsonOption
from automl_flows.commands.process import TerminationError, command_given, open_home
from automl_flows.words.messages import say

if TYPE_CHECKING:
    from automl.home import Home
    from automl.table_studies.conditions import Conditions

USABLE = ("learned", "known")
TrialLimit = Annotated[
    str, typer.Option(metavar="TIME", help="Time limit of one trial, all folds together")
]
TableLimit = Annotated[
    str, typer.Option(metavar="TIME", help="Processor time of all trials of one table")
]

learn = typer.Typer(name="learn", help="Learn from a folder of tables.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add the commands to the program."""
    app.add_typer(learn)


@learn.command()
def experience(
    data: Annotated[
        list[str],
        typer.Argument(
            metavar="DIR...",
            help="Folders of tables, files, lists (YAML), sklearn:NAME or openml:NAME",
            show_default=False,
        ),
    ],
    *,
    into: Annotated[
        Path | None,
        typer.Option(
            "--into",
            metavar="FILE",
            help="Also write a knowledge file of these tables; trials that it already holds are not run again",
        ),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column to predict [default: the catalog's, else target, else the last]",
        ),
    ] = None,
    draws: Annotated[
        int,
        typer.Option(
            metavar="N", min=0, help="Random configurations per family, times the family's share"
        ),
    ] = 8,
    search_trials: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=0,
            help="Trials of an ordinary search afterwards, guided by what is known of all tables",
        ),
    ] = 0,
    families: Annotated[
        str | None, typer.Option(metavar="A,B", help="Only these families [default: all]")
    ] = None,
    most_rows: Annotated[
        int, typer.Option(metavar="N", min=50, help="Sample larger tables down to this many rows")
    ] = 2_000,
    trial_limit: TrialLimit = "2m",
    table_limit: TableLimit = "250s",
    seed: Annotated[int, typer.Option(metavar="N", min=0)] = 0,
    workers: Annotated[
        int, typer.Option(metavar="N", min=0, help="Trials at a time; 0: one per core")
    ] = 0,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Try the same configurations on every table; add all trials to the experience of this home.

    The same command continues where it was interrupted; more draws or tables add to what is there.
    """
    from automl.data.collections import find_data_sets
    from automl.durations import parse_duration
    from automl.table_studies.conditions import Conditions

    into = None if into is None else checked_file(into)
    conditions = Conditions(
        draws=draws,
        search_trials=search_trials,
        most_rows=most_rows,
        trial_seconds=parse_duration(trial_limit),
        table_seconds=parse_duration(table_limit),
        seed=seed,
        workers=workers,
        families=named_families(families),
    )
    data_sets = find_data_sets(data, target=target)
    check_data_sets(data_sets, conditions)
    state = open_home(home)
    state.prepare()
    if into is not None and into.exists():
        _take_over(into, data_sets, state, conditions)
    from automl_flows.table_studies import run_learning  # slow: imports Prefect

    try:
        result = run_learning(data_sets, conditions.to_json(), home=state, say=say)
    except (KeyboardInterrupt, TerminationError):
        say("to continue, give the same command; learned tables are not run again")
        raise
    check_learned(result["tables"])
    if into is not None:
        result["knowledge"] = _write_knowledge(into, data_sets, state, conditions)
    _show(result, as_json=as_json)


@learn.command()
def facts(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME...", help="Learned tables; all by default"),
    ] = None,
    *,
    home: HomeOption = None,
) -> None:
    """Recompute the sizes, digests and meta-features of learned tables; their trials stay."""
    from automl.errors import AutoMLError, SettingsError
    from automl.table_studies.knowledge_file import refresh_facts
    from automl.table_studies.learned_folder import LearnedFolder

    folder = LearnedFolder(open_home(home))
    tables = folder.names()
    if unknown := sorted(set(names or ()) - set(tables)):
        raise SettingsError(f"{unknown[0]} is not learned in {folder.path}")
    if not tables:
        raise SettingsError(
            f"no table has been learned in {folder.path}; see automl learn experience"
        )
    with folder.only_one():
        for name in names or tables:
            try:
                refresh_facts(folder, name)
            except AutoMLError as error:
                say(f"{name} keeps its facts: {' '.join(error.message.split())}")
            else:
                say(f"{name}: described anew")


def named_families(text: str | None) -> tuple[str, ...]:
    """Families of a list with commas; none for None.

    Raises
    ------
    SettingsError
        If there is no family of one of the names.
    """
    from automl.families.registry import get_family

    names = tuple(name.strip() for name in (text or "").split(",") if name.strip())
    for name in names:
        get_family(name)
    return names


def check_data_sets(data_sets: dict[str, dict[str, Any]], conditions: Conditions) -> None:
    """Refuse settings that no run could have, and tables of which none is there, before the start."""
    from automl.errors import DataError

    for data in data_sets.values():
        conditions.settings({"target": "target", **data}, n_rows=conditions.most_rows)
    tables = [str(data["table"]) for data in data_sets.values()]
    if tables and all(":" not in table and not Path(table).exists() for table in tables):
        raise DataError.of([f"there is no file {table}" for table in tables])


def checked_file(into: Path) -> Path:
    """A file that is to be written at the end, refused at once where it cannot be.

    Raises
    ------
    SettingsError
        If it is a folder, or there can be no file.
    """
    from automl.errors import SettingsError

    path = into.expanduser().resolve()
    folder = next(parent for parent in path.parents if parent.exists())
    if path.is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
        raise SettingsError(f"--into {path}: no file can be written there", file=str(path))
    return path


def unusable(rows: list[dict[str, Any]]) -> list[str]:
    """A line for each table that nothing is learned from."""
    return [
        f"{row['status']}: {row['table']}: {row['reason']}"
        for row in rows
        if row["status"] not in USABLE
    ]


def check_learned(rows: list[dict[str, Any]]) -> None:
    """Refuse to go on where nothing was learned from any table.

    Raises
    ------
    DataError
        With the problem of each.
    ServiceError
        If an outside service kept one from being tried.
    """
    from automl.errors import DataError, ServiceError

    if any(row["status"] in USABLE for row in rows):
        return
    problems = [f"{row['table']}: {row['reason']}" for row in rows]
    if any(row["status"] == "open" for row in rows):
        raise ServiceError(f"no table could be learned from: {'; '.join(problems)}")
    raise DataError.of(problems)


def _show(result: dict[str, Any], *, as_json: bool) -> None:
    from automl_flows.words.rendering import emit, emit_facts, emit_json

    if as_json:
        emit_json(result)
        return
    rows = result["tables"]
    usable = [row for row in rows if row["status"] in USABLE]
    emit_facts(
        {
            "tables": len(usable),
            "trials": sum(row["trials"] for row in usable),
            "new trials": sum(row["new"] for row in usable),
            "left out": sum(row["left_out"] for row in usable),
            "seconds": round(sum(row["seconds"] for row in usable)),
            "knowledge": result.get("knowledge", ""),
        }
    )
    for line in unusable(rows):
        emit(line)


def _take_over(
    path: Path, data_sets: dict[str, dict[str, Any]], home: Home, conditions: Conditions
) -> None:
    """Begin with what an earlier command has written."""
    from automl.table_studies.knowledge_file import take_over
    from automl.table_studies.learned_folder import LearnedFolder

    folder = LearnedFolder(home)
    with folder.only_one():
        taken = take_over(folder, data_sets, path, measure=conditions.measure())
    if taken:
        say(f"{path}: its trials of {', '.join(sorted(taken))} are not run again")


def _write_knowledge(
    file: Path, data_sets: dict[str, dict[str, Any]], home: Home, conditions: Conditions
) -> str:
    """Write the file; where it is, and how large."""
    from automl.table_studies.knowledge_file import make_knowledge
    from automl.table_studies.learned_folder import LearnedFolder

    knowledge = make_knowledge(
        LearnedFolder(home),
        data_sets,
        file,
        measure=conditions.measure(),
        command=command_given(),
    )
    return f"{file}: {len(knowledge.experiences)} data sets, {file.stat().st_size / 2**10:.0f} KiB"
