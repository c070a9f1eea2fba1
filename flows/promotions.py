"""What Prefect receives about promotions: an event when a model takes the alias, and a problem's history."""

from __future__ import annotations

from typing import Any

from prefect.artifacts import create_table_artifact
from prefect.events import emit_event

from automl.home import Home
from automl.run.finished_runs import finished_runs
from automl.run_records.result import RunResult
from automl.tracking.holders import CHAMPION
from automl_flows.words.rendering import moment_text

PROMOTED_EVENT = "automl.champion.promoted"
SHOWN_RUNS = 50
"""Newest finished runs that are looked through; each is a file to read (by judgement)."""


def tell_promotion(result: dict[str, Any], home: Home, *, key: str) -> None:
    """Emit the event where the model of a run took the alias, and renew the history of the problem.

    Parameters
    ----------
    key : of the problem, in Prefect's alphabet
    """
    if not result.get("promotion"):
        return
    label, _, alias = str(result["model"]["registered"] or "").partition("@")
    if alias == CHAMPION:
        emit_event(
            PROMOTED_EVENT,
            {
                "prefect.resource.id": f"automl.problem.{result['problem']}",
                "prefect.resource.name": result["problem"],
            },
            payload={"model": label, "run_id": result["run_id"], **_evidence(result["promotion"])},
        )
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
        **_evidence(promotion),
    }


def _evidence(promotion: dict[str, Any]) -> dict[str, Any]:
    """Numbers and words of a decision, as short as a page wants them."""
    names = ("champion", "rule", "look", "pvalue", "level", "low", "high", "reason")
    new, old = promotion.get("score"), promotion.get("champion_score")
    difference = None if new is None or old is None else new - old
    values = {**{name: promotion.get(name) for name in names}, "difference": difference}
    return {k: float(f"{v:.4g}") if isinstance(v, float) else v for k, v in values.items()}
