"""``automl predict``, ``rollback`` and ``families``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from automl.errors import SettingsError
from automl_flows.commands.options import HomeOption, JsonOption
from automl_flows.commands.process import open_home
from automl_flows.words.messages import say


def register(app: typer.Typer) -> None:
    """Add the commands to the program."""
    app.command()(predict)
    app.command()(rollback)
    app.command()(families)


def predict(
    model: Annotated[
        str,
        typer.Argument(metavar="MODEL", help="Run id, NAME@ALIAS, model URI or bundle folder"),
    ],
    table: Annotated[str, typer.Argument(metavar="TABLE", help="Rows to predict; see train")],
    *,
    output: Annotated[
        str,
        typer.Option("--output", "-o", metavar="OUT", help="csv or parquet file; - is stdout"),
    ],
    proba: Annotated[
        bool, typer.Option("--proba", help="Also one column of probabilities per class")
    ] = False,
    trust: Annotated[
        bool, typer.Option("--trust", help="Load a model that needs pickle; runs its code")
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse a table that lacks columns of the model")
    ] = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Predict the rows of a table with a trained model."""
    from automl_flows.prediction import check_output, predict_table, write_predictions

    check_output(output, table=table, as_json=as_json)
    state = open_home(home)
    found = predict_table(model, table, home=state, proba=proba, trust=trust, strict=strict)
    rows, deviations = len(found.frame), found.deviations
    write_predictions(found.frame, output)
    if as_json:
        from automl_flows.words.rendering import emit_json

        facts = {"model": model, "rows": rows, "output": output}
        emit_json({**facts, "deviations": deviations.to_json()})
        return
    if deviations.sentence:
        say(f"note: {deviations.sentence}")
    if output != "-":
        say(f"{rows} predictions written to {output}")


def rollback(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Registered model")],
    to: Annotated[
        str | None,
        typer.Option(metavar="VERSION", help="This version [default: the champion before]"),
    ] = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Move the alias champion back to the version that had it before."""
    from automl.tracking.model_registry import list_versions
    from automl.tracking.model_registry import rollback as move_back
    from automl_flows.words.rendering import emit_json, emit_table

    state = open_home(home)
    before, after = move_back(name, state.path, version=to or "")
    versions = list_versions(name, state.path)
    if as_json:
        listed = [version.to_json() for version in versions]
        emit_json({"name": name, "before": before, "champion": after, "versions": listed})
        return
    emit_table(
        ["version", "aliases", "run", "score", "test score"],
        [
            (
                version.version,
                ", ".join(version.aliases),
                version.run_id,
                version.metrics.get("score"),
                version.metrics.get("test_score"),
            )
            for version in versions
        ],
        right=["version", "score", "test score"],
    )
    if before == after:
        say(f"version {after} of {name} is the champion already")
    else:
        say(f"champion of {name}: version {after}; before: version {before or 'none'}")


def families(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="Show the tree of this family's hyperparameters"),
    ] = None,
    *,
    task: Annotated[
        Literal["binary", "multiclass", "regression"] | None,
        typer.Option(help="Only those with an estimator for this task"),
    ] = None,
    tree: Annotated[
        Path | None,
        typer.Option(metavar="FILE.svg", help="Draw the tree of NAME: .png, .svg or .pdf"),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the algorithm families, or show the tree of one family's hyperparameters."""
    if name is not None:
        _show_tree(name, task, tree, as_json=as_json)
        return
    if tree is not None:
        raise SettingsError("--tree needs the NAME of a family")
    from automl.families import registry
    from automl_flows.words.rendering import emit_json, emit_table

    rows: list[dict[str, Any]] = [
        {
            "family": name,
            "title": family.title,
            "tasks": list(family.kinds),
            "source": family.source,
            "probabilities": family.capabilities.probabilities,
            "max_rows": family.capabilities.max_rows,
            "available": family.unavailable is None,
            "reason": family.unavailable or "",
        }
        for name, family in registry.families(task).items()
    ]
    if as_json:
        emit_json(rows)
        return
    emit_table(
        ["family", "title", "tasks", "max rows", "source", ""],
        [
            (
                row["family"],
                row["title"],
                ", ".join(row["tasks"]),
                row["max_rows"],
                row["source"],
                row["reason"],
            )
            for row in rows
        ],
        right=["max rows"],
    )


def _show_tree(name: str, task: str | None, file: Path | None, *, as_json: bool) -> None:
    """Print or draw the hyperparameters of a family; of its first kind of target unless told."""
    from automl.families.registry import get_family
    from automl.reports.space_tree import save_space_tree, tree_lines, tree_text
    from automl_flows.words.rendering import emit, emit_json

    family = get_family(name)
    space = family.space(task or family.kinds[0])
    if file is not None:
        save_space_tree(space, file)
    if as_json:
        emit_json([line.to_json() for line in tree_lines(space)])
    elif file is None:
        emit(tree_text(space).rstrip("\n"))
    else:
        say(f"tree of {name} written to {file}")
