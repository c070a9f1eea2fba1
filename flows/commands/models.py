"""``automl predict``, ``drift``, ``rollback`` and ``families``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from automl.errors import SettingsError
from automl_flows.commands.options import HomeOption, JsonOption
from automl_flows.commands.process import open_home
from automl_flows.words.messages import say

if TYPE_CHECKING:
    from automl_flows.prediction import Predictor


def register(app: typer.Typer) -> None:
    """Add the commands to the program."""
    app.command()(predict)
    app.command()(drift)
    app.command()(rollback)
    app.command()(families)


def predict(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL", help="Run id, RUN#TRIAL, NAME@ALIAS, model URI or bundle folder"
        ),
    ],
    table: Annotated[
        str,
        typer.Argument(
            metavar="TABLE", help="Table with the rows to predict; a folder with --each"
        ),
    ],
    *,
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="OUT",
            help="CSV or Parquet file, - for stdout; a folder with --each",
        ),
    ],
    proba: Annotated[
        bool, typer.Option("--proba", help="Add one column of probabilities per class")
    ] = False,
    each: Annotated[
        bool, typer.Option("--each", help="Predict each new file of the folder TABLE separately")
    ] = False,
    trust: Annotated[
        bool, typer.Option("--trust", help="Load a model that needs pickle, which runs its code")
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse a table that lacks columns of the model")
    ] = False,
    log: Annotated[
        bool, typer.Option("--log", help="Log rows and predictions for automl drift")
    ] = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Predict the rows of a table with a trained model."""
    from automl_flows.prediction import Predictor, check_output

    if not each:
        check_output(output, table=table, as_json=as_json)
    state = open_home(home)
    predictor = Predictor.open(model, state, proba=proba, trust=trust, strict=strict, log=log)
    if each:
        _predict_each(predictor, Path(table), Path(output), as_json=as_json)
    else:
        _predict_table(predictor, model, table, output, as_json=as_json)


def _predict_table(
    predictor: Predictor, model: str, table: str, output: str, *, as_json: bool
) -> None:
    from automl_flows.prediction import write_predictions

    found = predictor.table(table)
    write_predictions(found.frame, output)
    predictor.remember(found)
    rows, deviations = len(found.frame), found.deviations
    if as_json:
        from automl_flows.words.rendering import emit_json

        facts = {"model": model, "rows": rows, "output": output}
        emit_json({**facts, "deviations": deviations.to_json()})
        return
    if deviations.sentence:
        say(f"note: {deviations.sentence}")
    if output != "-":
        say(f"{rows} predictions written to {output}")


def _predict_each(predictor: Predictor, folder: Path, output: Path, *, as_json: bool) -> None:
    """Predict the files of a folder; files set aside are reported, and are no error of the command."""
    from automl_flows.prediction_folder import predict_files

    outcome = predict_files(predictor, folder, output)
    if as_json:
        from automl_flows.words.rendering import emit_json

        emit_json(outcome.to_json())
        return
    for name, reason in outcome.failed.items():
        say(f"warning: {name} is set aside in {folder / 'failed'}: {reason}")
    counts = f"{len(outcome.known)} known, {len(outcome.waiting)} waiting, {len(outcome.failed)} set aside"
    say(f"{len(outcome.predicted)} files predicted into {output}; {counts}")


def drift(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL", help="Run id, RUN#TRIAL, NAME@ALIAS, model URI or bundle folder"
        ),
    ],
    table: Annotated[
        str | None,
        typer.Argument(
            metavar="TABLE", help="Rows to compare [default: those logged by predict --log]"
        ),
    ] = None,
    *,
    days: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Only logged rows of the last N days [default: all]"),
    ] = None,
    trust: Annotated[
        bool, typer.Option("--trust", help="Load a model that needs pickle, which runs its code")
    ] = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Report how far rows and predictions have drifted from the training table."""
    from automl.data.readers import read_table
    from automl.monitoring.drift import drift_of
    from automl.monitoring.log import raw_rows, read
    from automl_flows.prediction import Predictor, log_folder
    from automl_flows.words.rendering import emit_json, emit_table

    if table is not None and days is not None:
        raise SettingsError("--days chooses logged rows and cannot be combined with TABLE")
    state = open_home(home)
    predictor = Predictor.open(model, state, trust=trust)
    folder = log_folder(predictor.identity, state)
    rows = raw_rows(read(folder, days=days)) if table is None else read_table(table)
    if rows.empty and table is None:
        raise SettingsError(f"{folder} has no logged rows; automl predict {model} --log keeps them")
    found = drift_of(predictor.model, rows)
    if as_json:
        emit_json(found.to_json())
        return
    emit_table(
        ["column", "moved", "index", "by chance", "missing", "before", "unseen", "outside"],
        [
            (
                f"({each.name})" if each.is_prediction else each.name,
                each.verdict,
                f"{each.index:.3f}",
                f"{each.by_chance:.3f}",
                *(
                    f"{share:.1%}"
                    for share in (each.missing, each.missing_before, each.unseen, each.outside)
                ),
            )
            for each in found.movements
        ],
        right=["index", "by chance", "missing", "before", "unseen", "outside"],
    )
    names = ", ".join(each.name for each in found.moved) or "nothing"
    say(f"{found.rows} rows against {found.training_rows} training rows; moved: {names}")


def rollback(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Registered model")],
    to: Annotated[
        str | None,
        typer.Option(
            metavar="VERSION", help="Version that gets the alias [default: the previous champion]"
        ),
    ] = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Give the alias champion back to the previous version."""
    from automl.tracking.model_registry import list_versions
    from automl.tracking.model_registry import rollback as move_back
    from automl_flows.services.promotion_events import tell_new_champions
    from automl_flows.words.rendering import emit_json, emit_table

    state = open_home(home)
    before, after = move_back(name, state.path, version=to or "")
    tell_new_champions(state)
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
                version.score,
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
    """List the algorithm families, or show the hyperparameters of one."""
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
