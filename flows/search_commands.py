"""``automl optimizers`` and ``allocators``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import typer

from automl_flows.options import JsonOption

if TYPE_CHECKING:
    from automl.bandits.registry import AllocatorEntry
    from automl.optimizers.registry import OptimizerEntry


def register(app: typer.Typer) -> None:
    """Add the commands to the program."""
    app.command()(optimizers)
    app.command()(allocators)


def optimizers(*, as_json: JsonOption = False) -> None:
    """List what can propose configurations inside a family."""
    from automl.optimizers.registry import OPTIMIZERS

    _emit("optimizer", OPTIMIZERS, as_json=as_json)


def allocators(*, as_json: JsonOption = False) -> None:
    """List what can give the turns to families."""
    from automl.bandits.registry import ALLOCATORS

    _emit("allocator", ALLOCATORS, as_json=as_json)


def _emit(
    kind: str,
    entries: Mapping[str, OptimizerEntry] | Mapping[str, AllocatorEntry],
    *,
    as_json: bool,
) -> None:
    from automl_flows.rendering import emit_json, emit_table

    rows = [(name, entry.summary, entry.source) for name, entry in entries.items()]
    columns = (kind, "summary", "source")
    if as_json:
        emit_json([dict(zip(columns, row, strict=True)) for row in rows])
    else:
        emit_table(columns, rows)
