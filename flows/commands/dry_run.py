"""``automl train --dry-run``: what would run, without running it."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from automl.durations import seconds_text
from automl_flows.words.rendering import emit, emit_facts, emit_json, emit_table

if TYPE_CHECKING:
    from automl.data.table import Table
    from automl.home import Home, RunFolder
    from automl.settings import Settings


def plan_of(settings: Settings, home: Home) -> dict[str, Any]:
    """Facts of the table, families that would run, and the budget.

    The table is read, checked and split exactly as a run does it, into a folder that is deleted.
    Of the home only what is remembered is looked at.

    Raises
    ------
    DataError
        With every problem of the table.
    SettingsError
        If a setting does not fit the table or names something unknown.
    """
    from automl.run.choices import check_names

    check_names(settings)
    from automl.data.table import Table
    from automl.home import RunFolder
    from automl.run.memory import unknown_exclusions
    from automl.run.preparation import prepare
    from automl.run.workers import check_workers

    check_workers(settings)
    with tempfile.TemporaryDirectory(prefix="automl-dry-run-") as name:
        folder = RunFolder(Path(name))
        data = prepare(folder, settings)
        table = Table.load(folder.table)
        roles = _roles(table)
        families = _families(settings, folder)
    return {
        "settings": settings.public.model_dump(),
        "chosen": {
            "allocator": settings.chosen_allocator,
            "alpha_split": settings.chosen_alpha_split,
        },
        "problem": settings.problem,
        "data": data,
        "columns": roles,
        "families": families,
        "budget": _budget(settings),
        "warnings": unknown_exclusions(home, settings),
    }


def show_plan(plan: dict[str, Any], *, as_json: bool) -> None:
    """Print a plan on stdout."""
    from automl.settings import SECTIONS

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
            "columns": _columns_text(plan["columns"]),
            "metric": data.get("metric"),
            "folds": data.get("folds"),
            "budget": budget["text"],
        }
    )
    emit("")
    emit_table(["column", "role", "read as"], [tuple(row.values()) for row in plan["columns"]])
    for note in data["notes"]:
        emit(f"note: {note}")
    emit("")
    emit_table(
        ["family", "runs", "reason"],
        [(row["family"], row["runs"], row["reason"]) for row in plan["families"]],
    )
    for warning in plan["warnings"]:
        emit(f"warning: {warning}")
    emit("")
    emit("settings")
    for section in SECTIONS.values():
        emit(f" {section.title}")
        emit_facts({f"  {name}": _shown(plan, name) for name in section.model_fields})


def _columns_text(columns: list[dict[str, str]]) -> str:
    """How many columns a model sees, by their roles."""
    from automl.reports.first_words import roles_text

    return f"{len(columns)} beside the target: {roles_text(c['role'] for c in columns)}"


def _shown(plan: dict[str, Any], name: str) -> str:
    """A setting as a settings file writes it; in words if it was not given, or auto chose it."""
    from automl.settings.all_settings import accounts
    from automl.settings.presets import usual_value
    from automl.settings.reference import value_text

    value = plan["settings"][name]
    if value == "auto" and name in plan["chosen"]:
        return f"auto: {plan['chosen'][name]}"
    is_usual = value == usual_value(plan["settings"]["preset"], name)
    return (accounts()[name].usual if is_usual else "") or value_text(value)


def _roles(table: Table) -> list[dict[str, str]]:
    from automl.data.column_readings import read_as

    return [
        {
            "column": column.name,
            "role": column.role,
            "read as": read_as(column.reading, column.role),
        }
        for column in table.schema.columns
    ]


def _families(settings: Settings, folder: RunFolder) -> list[dict[str, Any]]:
    from automl.evaluation.plan import EvaluationPlan
    from automl.families.registry import families
    from automl.stages.first_configurations import floors_of
    from automl.stages.participation import usable_families

    usable, refused = usable_families(settings, EvaluationPlan(folder.path))
    floors = floors_of(settings, usable)
    rest = {
        name: "tried once, as a floor" if name in floors else "not chosen"
        for name in families()
        if name not in usable
    }
    reasons = {**dict.fromkeys(usable, ""), **rest, **refused}
    return [
        {"family": name, "runs": name in usable or name in floors, "reason": reason}
        for name, reason in reasons.items()
    ]


def _budget(settings: Settings) -> dict[str, Any]:
    from automl.settings import DEFAULT_BUDGET_SECONDS

    seconds, trials = settings.budget_seconds, settings.trials
    if trials is not None:
        guard = f"; ends after {seconds_text(seconds)} at the latest" if seconds else ""
        return {"trials": trials, "seconds": seconds, "text": f"{trials} trials{guard}"}
    seconds = seconds or DEFAULT_BUDGET_SECONDS
    reserve = seconds * settings.reserve
    text = (
        f"{seconds_text(seconds)}: the search, then at most {seconds_text(reserve)} for candidates "
        "on fresh folds and refits, and what the final model takes"
    )
    return {
        "trials": None,
        "seconds": seconds,
        "reserve_seconds": reserve,
        "text": text,
    }
