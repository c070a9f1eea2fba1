"""``automl optimizers``, ``allocators``, ``ensembles`` and ``metrics``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from automl_flows.commands.options import JsonOption

if TYPE_CHECKING:
    from automl.bandits.registry import AllocatorEntry
    from automl.ensembles.registry import EnsembleMethod
    from automl.optimizers.registry import OptimizerEntry

Row = tuple[str, str, str]


def register(app: typer.Typer) -> None:
    """Add the commands to the program."""
    app.command()(optimizers)
    app.command()(allocators)
    app.command()(ensembles)
    app.command()(metrics)


def optimizers(*, as_json: JsonOption = False) -> None:
    """List the optimizers, which propose configurations."""
    from automl.optimizers.registry import OPTIMIZERS

    _emit("optimizer", _rows(OPTIMIZERS), as_json=as_json, options=_options(OPTIMIZERS))


def allocators(*, as_json: JsonOption = False) -> None:
    """List the allocators, which choose the family of the next trial."""
    from automl.bandits.registry import ALLOCATORS
    from automl.bandits.special_names import AUTO

    auto = (AUTO, "expected_gain_seconds; expected_gain with --trials", "ours")
    rows = [auto, *_rows(ALLOCATORS)]
    _emit("allocator", rows, as_json=as_json, options=_options(ALLOCATORS))


def ensembles(*, as_json: JsonOption = False) -> None:
    """List the ensemble methods."""
    from automl.ensembles.registry import ENSEMBLES

    offered = {name: entry for name, entry in ENSEMBLES.items() if name != "single"}
    none = ("none", "the champion alone", "-")
    _emit("ensemble", [*_rows(offered), none], as_json=as_json)


def metrics(
    *,
    task: Annotated[
        Literal["binary", "multiclass", "regression"] | None,
        typer.Option(help="Only metrics for this task"),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the metrics."""
    from automl.metrics.registry import METRICS
    from automl_flows.words.rendering import emit_json, emit_table

    rows = [
        {
            "metric": metric.name,
            "tasks": sorted(metric.tasks),
            "needs": metric.needs,
            "better": "greater" if metric.is_maximized else "less",
            "ideal": metric.ideal,
            "aliases": list(metric.aliases),
            "package": METRICS.packages.get(metric.name, "automl"),
        }
        for metric in METRICS.values()
        if task is None or task in metric.tasks
    ]
    if as_json:
        emit_json(rows)
        return
    emit_table(
        list(rows[0]),
        [
            tuple(", ".join(cell) if isinstance(cell, list) else cell for cell in row.values())
            for row in rows
        ],
        right=["ideal"],
    )


def _rows(
    entries: Mapping[str, OptimizerEntry]
    | Mapping[str, AllocatorEntry]
    | Mapping[str, EnsembleMethod],
) -> list[Row]:
    return [(name, entry.summary, entry.source) for name, entry in entries.items()]


def _options(
    entries: Mapping[str, OptimizerEntry] | Mapping[str, AllocatorEntry],
) -> dict[str, dict[str, Any]]:
    from automl.factory_options import options_of

    return {name: options_of(entry.make) for name, entry in entries.items()}


def _emit(
    kind: str,
    rows: Sequence[Row],
    *,
    as_json: bool,
    options: Mapping[str, dict[str, Any]] | None = None,
) -> None:
    from automl_flows.words.rendering import emit_json, emit_table

    columns = (kind, "summary", "source")
    if as_json:
        listed: list[dict[str, Any]] = [dict(zip(columns, row, strict=True)) for row in rows]
        if options is not None:
            listed = [{**row, "options": options.get(row[kind], {})} for row in listed]
        emit_json(listed)
    elif options is None:
        emit_table(columns, rows)
    else:
        emit_table((*columns, "options"), [(*row, _shown(options.get(row[0], {}))) for row in rows])


def _shown(options: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {_number(value)}" for name, value in options.items()) or "-"


def _number(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else "auto" if value is None else str(value)
