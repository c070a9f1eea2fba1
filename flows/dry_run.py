"""``automl train --dry-run``: what would run, without running it."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from automl_flows.rendering import emit, emit_facts, emit_json, emit_table, seconds_text

if TYPE_CHECKING:
    from automl.data.table import Table
    from automl.settings import Settings


def plan_of(settings: Settings) -> dict[str, Any]:
    """Facts of the table, families that would run, and the budget.

    The table is read, checked and split exactly as a run does it, into a folder that is deleted.

    Raises
    ------
    DataError
        With every problem of the table.
    SettingsError
        If a setting does not fit the table or names something unknown.
    """
    from automl_flows.given import check_names

    check_names(settings)
    from automl.data.table import Table
    from automl.home import RunFolder
    from automl.stages.preparation import prepare

    with tempfile.TemporaryDirectory(prefix="automl-dry-run-") as name:
        folder = RunFolder(Path(name))
        data = prepare(folder, settings)
        table = Table.load(folder.table)
        roles = _roles(table)
    return {
        "settings": settings.model_dump(),
        "problem": settings.problem,
        "data": data,
        "columns": roles,
        "families": _families(settings, data),
        "budget": _budget(settings),
    }


def show_plan(plan: dict[str, Any], *, as_json: bool) -> None:
    """Print a plan on stdout."""
    if as_json:
        emit_json(plan)
        return
    data, budget = plan["data"], plan["budget"]
    emit_facts(
        {
            "problem": plan["problem"],
            "task": data["task"],
            "target": data["target"],
            "classes": ", ".join(data["classes"] or ()),
            "rows": f"{data['rows']} training, {data['test_rows']} test",
            "columns": data["columns"],
            "metric": data.get("metric"),
            "folds": data.get("folds"),
            "budget": budget["text"],
        }
    )
    emit("")
    emit_table(["column", "role", "reason"], [tuple(row.values()) for row in plan["columns"]])
    for note in data["notes"]:
        emit(f"note: {note}")
    emit("")
    emit_table(
        ["family", "runs", "reason"],
        [(row["family"], row["runs"], row["reason"]) for row in plan["families"]],
    )
    emit("")
    emit("settings")
    emit_facts({f"  {key}": value for key, value in plan["settings"].items()})


def _roles(table: Table) -> list[dict[str, str]]:
    columns = table.schema.to_json().get("columns", [])
    found = []
    for column in columns:
        known = column if isinstance(column, dict) else {"name": column}
        found.append(
            {
                "column": str(known.get("name", "")),
                "role": str(known.get("role", "")),
                "reason": str(known.get("reason", "")),
            }
        )
    return found


def _families(settings: Settings, data: dict[str, Any]) -> list[dict[str, Any]]:
    from automl.families.registry import families

    found = []
    n_classes = len(data["classes"] or ())
    for name, family in families().items():
        reason = family.supports(data["task"], data["rows"], data["columns"], n_classes)
        if settings.families and name not in settings.families:
            reason = "not among the chosen families"
        elif name in settings.exclude:
            reason = "excluded"
        found.append({"family": name, "runs": reason is None, "reason": reason or ""})
    return sorted(found, key=lambda row: not row["runs"])


def _budget(settings: Settings) -> dict[str, Any]:
    from automl.settings import DEFAULT_BUDGET_SECONDS

    seconds, trials = settings.budget_seconds, settings.trials
    if trials is not None:
        guard = f"; ends after {seconds_text(seconds)} at the latest" if seconds else ""
        return {"trials": trials, "seconds": seconds, "text": f"{trials} trials{guard}"}
    seconds = seconds or DEFAULT_BUDGET_SECONDS
    reserve = seconds * settings.reserve
    text = (
        f"{seconds_text(seconds)}: search up to {seconds_text(seconds - reserve)}, "
        f"{seconds_text(reserve)} for what follows"
    )
    return {
        "trials": None,
        "seconds": seconds,
        "search_seconds": seconds - reserve,
        "reserve_seconds": reserve,
        "text": text,
    }
