"""``automl experience``: what all runs have tried, as a list, a file, and without what is not wanted."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from automl_flows.commands.options import HomeOption, JsonOption, YesOption
from automl_flows.commands.process import open_home
from automl_flows.words.messages import say

experience = typer.Typer(
    name="experience",
    help="What runs have tried: list, export, import, forget.",
    add_completion=False,
)


def register(app: typer.Typer) -> None:
    """Add the commands to the program."""
    app.add_typer(experience)


@experience.command("list")
def list_experience(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """List the known data sets, your own and those of the package, newest runs first."""
    from automl.experience.knowledge import shipped
    from automl.experience.snapshot import Snapshot
    from automl_flows.commands.known_data_sets import by_data_set, remembered
    from automl_flows.words.rendering import emit_json, emit_table

    state = open_home(home)
    data_sets = by_data_set(Snapshot.of([*remembered(state), *shipped()]).experiences)
    if as_json:
        emit_json([data_set.to_json() for data_set in data_sets])
        return
    if not data_sets:
        say(f"no experience in {state.experience}")
        return
    columns = ("data set", "task", "rows", "trials", "runs", "best", "origin", "fingerprint")
    rows = [
        (
            ", ".join(data_set.names),
            data_set.task,
            data_set.rows,
            data_set.trials,
            len(data_set.runs),
            data_set.best,
            ", ".join(data_set.origins),
            data_set.fingerprint[:12],
        )
        for data_set in data_sets
    ]
    emit_table(columns, rows, right=["rows", "trials", "runs", "best"])


@experience.command("export")
def export_experience(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="File to write, such as team.jsonl.gz")
    ],
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write all experience of the home folder to one file."""
    from automl.errors import SettingsError
    from automl.experience.store import write_export
    from automl_flows.commands.known_data_sets import remembered
    from automl_flows.words.rendering import emit_json

    state = open_home(home)
    experiences = remembered(state)
    if not experiences:
        raise SettingsError(f"there is no experience to export in {state.experience}")
    target = file.expanduser().resolve()
    if target.is_dir():
        raise SettingsError(f"{target} is a folder; a file is expected")
    write_export(target, experiences)
    n_trials = sum(1 for one in experiences for _ in one.trials)
    if as_json:
        emit_json({"file": str(target), "runs": len(experiences), "trials": n_trials})
    else:
        say(f"{len(experiences)} runs with {n_trials} trials are in {target}")


@experience.command("import")
def import_experience(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE]", help="File that automl experience export wrote", show_default=False
        ),
    ] = None,
    *,
    mlflow: Annotated[
        str | None,
        typer.Option(metavar="URI", help="MLflow store whose past runs are imported"),
    ] = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Add the experience of a file, or of all past runs of a tracking store."""
    from automl.errors import SettingsError
    from automl_flows.commands.known_data_sets import import_file, import_store
    from automl_flows.words.rendering import emit_json

    state = open_home(home)
    if mlflow is not None and file is None:
        state.prepare()
        taken = import_store(mlflow, state)
    elif file is not None and mlflow is None:
        taken = import_file(file.expanduser(), state)
    else:
        given = "nothing" if file is None else "both"
        raise SettingsError(f"a FILE or --mlflow URI is expected; got {given}")
    for note in taken.notes:
        say(f"note: {note}")
    if as_json:
        emit_json(taken.to_json())
        return
    say(f"{taken.added} runs with {taken.trials} trials added, {taken.known} were known already")
    for reason, count in taken.skipped.items():
        say(f"left out: {count} {reason}")


@experience.command("forget")
def forget_experience(
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="NAME|ID...",
            help="Data set, run, or the first digits of a fingerprint or layout",
        ),
    ],
    *,
    yes: YesOption = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Forget data sets or runs; the runs themselves stay."""
    from automl.experience.store import ExperienceStore
    from automl.table_studies.learned_folder import LearnedFolder
    from automl_flows.commands.housekeeping import confirm_deletion
    from automl_flows.commands.known_data_sets import named, remembered
    from automl_flows.words.rendering import emit_json

    state = open_home(home)
    chosen = named(names, remembered(state))
    confirm_deletion(chosen, yes=yes, what="entries")
    store = ExperienceStore(state.experience)
    forgotten = [identity for identity in chosen if store.forget(identity)]
    LearnedFolder(state).forget(forgotten)
    if as_json:
        emit_json({"forgotten": forgotten})
    else:
        say(f"entries forgotten: {len(forgotten)}")
