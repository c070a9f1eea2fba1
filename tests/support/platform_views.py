"""What users see of a full stack: flow runs, tracked runs, versions, aliases."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import waiting
from full_stack import LONGEST_SECONDS, FullStack

from automl.tracking.layout import KIND_TAG, RUN_ID_TAG, TRIAL_ID_TAG

if TYPE_CHECKING:
    from mlflow import MlflowClient

OPEN = ("PENDING", "RUNNING", "CANCELLING")
OVER = ("COMPLETED", "FAILED", "CRASHED")


def until(condition: Callable[[], Any], seconds: float = LONGEST_SECONDS) -> Any:
    """What `condition` gives as soon as that is true; it asks services, which is not done often."""
    return waiting.until(condition, seconds, pause=0.5)


def flow_runs(
    stack: FullStack, deployment: str = "", states: tuple[str, ...] = ()
) -> list[dict[str, Any]]:
    """Flow runs, oldest first, of one deployment or all."""
    body: dict[str, Any] = {"sort": "EXPECTED_START_TIME_ASC"}
    if deployment:
        body["deployments"] = {"name": {"any_": [deployment]}}
    if states:
        body["flow_runs"] = {"state": {"type": {"any_": list(states)}}}
    found: list[dict[str, Any]] = stack.prefect.post("flow_runs/filter", body)
    return found


def ended(stack: FullStack, deployment: str, count: int) -> list[dict[str, Any]]:
    """The flow runs of a deployment as soon as so many have ended; those that were never begun do not count."""

    def over() -> list[dict[str, Any]]:
        found = [run for run in flow_runs(stack, deployment) if run["state_type"] in OVER]
        return found if len(found) >= count else []

    runs: list[dict[str, Any]] = until(over)
    return runs


def mlflow(stack: FullStack) -> MlflowClient:
    """MLflow's client, as its user."""
    from mlflow import MlflowClient

    return MlflowClient(stack.mlflow_uri)


def tracked(stack: FullStack, status: str) -> list[Any]:
    """MLflow runs of a status, trials among them, oldest first."""
    return _tracked(stack, f"attributes.status = '{status}'")


def parent(stack: FullStack, run_id: str) -> Any:
    """MLflow's run of a whole training."""
    (found,) = _tracked(stack, _of_kind(run_id, "run"))
    return found


def tracked_trials(stack: FullStack, run_id: str) -> list[str]:
    """Ids of the trials of a run in MLflow, in order, as often as they are there."""
    found = _tracked(stack, _of_kind(run_id, "trial"))
    return sorted(run.data.tags[TRIAL_ID_TAG] for run in found)


def _of_kind(run_id: str, kind: str) -> str:
    return f"tags.`{RUN_ID_TAG}` = '{run_id}' and tags.`{KIND_TAG}` = '{kind}'"


def _tracked(stack: FullStack, condition: str) -> list[Any]:
    client = mlflow(stack)
    experiments = [e.experiment_id for e in client.search_experiments()]
    order = ["attributes.start_time ASC"]
    return list(client.search_runs(experiments, condition, order_by=order, max_results=1000))


def aliases(stack: FullStack, name: str) -> dict[str, str]:
    """Version by alias."""
    found = mlflow(stack).get_registered_model(name).aliases
    return {alias: str(version) for alias, version in found.items()}


def versions(stack: FullStack, name: str) -> list[str]:
    """Versions of a registered model, oldest first."""
    return sorted(
        (str(v.version) for v in mlflow(stack).search_model_versions(f"name='{name}'")), key=int
    )
