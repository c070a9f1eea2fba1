"""Content of ``automl show``, from the journal and stage records of a run."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Any

from automl.data_facts import learned_columns
from automl.durations import seconds_text
from automl.errors import SettingsError
from automl.home import Home, RunFolder
from automl.reports.command_line import command
from automl.reports.decision_table import chance_name, decision_rows
from automl.reports.run_status import describe, problem_of
from automl.run.stage_table import STAGES
from automl.run_records.champion import ChampionRecord
from automl.run_state import read_stage
from automl.selection.selection_records import SelectionRecord
from automl.stages.notices import current_warnings, notices_of
from automl.tracking.holders import Registry
from automl.training_request import KEY as REQUEST
from automl.training_request import TrainingRequest
from automl_flows.words.metric_table import show_result_metrics
from automl_flows.words.rendering import emit, emit_facts, emit_table, moment_text
from automl_flows.words.result_display import (
    current_links,
    ensemble_row,
    page_facts,
    quality_of,
    result_facts,
    show_leaderboard,
    show_ledger,
    show_notices,
    untried_notes,
)


def report_of(folder: RunFolder) -> dict[str, Any]:
    """Everything about a run in plain JSON form; of a running one what is known so far."""
    status = describe(folder, Registry(folder.path.parents[1]))
    try:
        facts = folder.read_facts()
    except SettingsError:
        facts = {}
    result = read_stage(folder, "result") or _result_so_far(folder, facts)
    links = current_links(folder, result)
    if result.get("links"):
        result["links"] = links
    if result.get("model"):
        now = {"registration": status.registration, "registered": status.registered}
        if result["model"].get("bundle"):
            now["bundle"] = str(folder.bundle.resolve())  # the home may have moved since
        result["model"] = {**result["model"], **now}
        result["notices"] = notices_of(result, folder)
        result["warnings"] = current_warnings(result.get("warnings") or (), folder)
    return {
        **status.to_json(),
        "model": status.model,
        "trials": result.get("trials"),
        "score": result.get("score"),
        "data": facts.get("data") or {},
        "settings": facts.get("settings") or {},
        "request": facts.get(REQUEST),
        "result": result,
        "selection": read_stage(folder, ChampionRecord.stage),
        "stages": _finished_stages(folder),
        "links": links,
        "folder": str(folder.path),
    }


def show_report(report: Mapping[str, Any], home: Home) -> None:
    """Print the report of a run on stdout, with the decisions of its selection."""
    result, data = report["result"], report["data"]
    folder = home.run(report["run_id"])
    emit_facts(
        {
            "run": report["run_id"],
            "status": "interrupted, resumable" if report["resumable"] else report["status"],
            "problem": report["problem"],
            "data": _data_line(data),
            "settings of": _request_line(report["request"]),
            "started": moment_text(report["started_at"]),
            "took": seconds_text(report["seconds"]),
            "stages": ", ".join(report["stages"]),
        }
    )
    if result.get("leaderboard"):
        emit("")
        show_leaderboard(
            result["leaderboard"],
            ensemble=ensemble_row(result),
            quality=quality_of(folder, result),
        )
    show_result_metrics(result, data.get("folds") or 0)
    if selection := ChampionRecord.read(folder):
        show_decisions(selection.selection)
    if result.get("ledger"):
        emit("")
        show_ledger(result["ledger"])
    if result.get("champion"):
        emit("")
        model = {**(result.get("model") or {}), "registered": report["model"]}
        result_known = {**result, "model": model}
        emit_facts({**result_facts(result_known, home), "run": None, "problem": None})
    else:
        emit_facts(page_facts(folder, result, home))
    for warning in result.get("warnings") or ():
        emit(f"warning: {warning}")
    notes = (result.get("given_up") or (), untried_notes(result), data.get("notes") or ())
    for line in chain.from_iterable(notes):
        emit(f"note: {line}")
    show_notices(result, as_json=False)
    if report["resumable"]:
        emit(f"continue it with: {command(home, 'resume', report['run_id'])}")


def show_decisions(selection: SelectionRecord) -> None:
    """Print every member of every decision; nothing where nothing was decided yet."""
    rows = list(decision_rows(selection))
    if rows:
        columns = ["decided at", "trial", "mean score", "test", chance_name(selection), "became"]
        emit("")
        emit_table(columns, rows, right=["mean score", chance_name(selection)])


def _finished_stages(folder: RunFolder) -> list[str]:
    """Names of the finished stages in their order."""
    names = ("data", *(stage.name for stage in STAGES))
    return [name for name in names if (folder.stages / f"{name}.json").exists()]


def _request_line(request: Mapping[str, Any] | None) -> str | None:
    """The run whose settings a retraining has, and what it changed; None for other runs."""
    if request is None:
        return None
    retraining = TrainingRequest.from_json(request)
    return f"run {retraining.run_id}{retraining.remark}"


def _result_so_far(folder: RunFolder, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Leaderboard of the journal's complete trials, best first."""
    from automl.evaluation.journal import Journal

    records = Journal.read(folder.journal) if folder.journal.is_dir() else []
    trials = [record["trial"] for record in records if record.get("type") == "trial"]
    scored = [t for t in trials if t["status"] == "complete" and t["stage"] == "search"]
    scored.sort(key=lambda trial: -trial["score"])
    return {
        "run_id": folder.run_id,
        "problem": problem_of(dict(facts)),
        "leaderboard": [_row(rank, trial) for rank, trial in enumerate(scored, 1)],
        "score": scored[0]["score"] if scored else None,
        "trials": len(trials),
        "families": len({trial["configuration"]["family"] for trial in trials}),
    }


def _row(rank: int, trial: Mapping[str, Any]) -> dict[str, Any]:
    from automl.records import Trial

    shown = Trial.from_json(trial)
    scores = shown.fold_scores
    mean = sum(scores) / len(scores) if scores else 0.0
    spread = sum((score - mean) ** 2 for score in scores) / max(1, len(scores) - 1)
    return {
        "rank": rank,
        "trial_id": shown.id,
        "family": shown.configuration.family,
        "score": shown.score,
        "std": spread**0.5 if len(scores) > 1 else None,
        "fit_seconds": shown.fit_seconds,
        "predict_ms": shown.predict_milliseconds,
        "status": "so far",
        "origin": shown.origin,
    }


def _data_line(data: Mapping[str, Any]) -> str:
    if not data:
        return ""
    classes = data.get("classes")
    kind = f"{data.get('task')}" + (f" ({len(classes)} classes)" if classes else "")
    return (
        f"{data.get('rows')} rows x {learned_columns(data)} columns, {data.get('target')}: {kind}, "
        f"{data.get('test_rows') or 0} test rows"
    )
