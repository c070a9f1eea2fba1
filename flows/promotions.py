"""What a flow tells Prefect about promotions: an event when a model takes the alias, and a problem's history."""

from __future__ import annotations

from typing import Any

from prefect.artifacts import create_table_artifact

from automl.home import Home
from automl.run.finished_runs import finished_runs
from automl.run_records.result import RunResult
from automl_flows.services.promotion_events import emit_new_champions, evidence
from automl_flows.words.rendering import moment_text

SHOWN_RUNS = 50
"""Newest finished runs that are looked through; each is a file to read (by judgement)."""


def tell_promotion(result: dict[str, Any], home: Home, *, key: str) -> None:
    """Emit the event where a model of the home took the alias, and renew the history of the problem.

    Parameters
    ----------
    result : of the run
    key : of its problem, in Prefect's alphabet
    """
    emit_new_champions(home)
    if not result.get("promotion"):
        return
    create_table_artifact(
        table=history(home, result["problem"]),
        key=f"retrainings-{key}",
        description=f"Models of {result['problem']}, the newest first",
    )


def history(home: Home, name: str) -> list[dict[str, Any]]:
    """The newest runs of a problem with what became of their models, as rows of a table."""
    found = (RunResult.read(folder) for folder in reversed(finished_runs(home, name)[-SHOWN_RUNS:]))
    return [_row(run.to_json(), home) for run in found if run is not None]


def _row(result: dict[str, Any], home: Home) -> dict[str, Any]:
    facts = home.run(result["run_id"]).read_facts()
    promotion = result.get("promotion") or {}
    return {
        "run": result["run_id"],
        "started": moment_text(facts.get("started_at")),
        "rows": facts["data"]["rows"],
        "model": result["model"]["registered"] or result["model"]["registration"],
        **evidence(promotion),
    }
