"""`deployments/prefect.yaml` as Prefect itself reads it."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest
import yaml

FILE = Path(__file__).parents[2] / "deployments" / "prefect.yaml"


@pytest.fixture(scope="module")
def deployments() -> dict[str, Any]:
    from prefect.cli.deploy._models import PrefectYamlModel

    model = PrefectYamlModel.model_validate(yaml.safe_load(FILE.read_text(encoding="utf-8")))
    return {str(deployment.name): deployment for deployment in model.deployments}


def test_training_retraining_and_new_data_can_be_deployed(deployments: dict[str, Any]) -> None:
    assert set(deployments) == {"train", "retrain", "on-new-data"}
    assert all(d.work_pool.name == "automl" for d in deployments.values())


@pytest.mark.parametrize("name", ["train", "retrain", "on-new-data"])
def test_entrypoints_are_flows_of_the_package_and_parameters_fit_them(
    deployments: dict[str, Any], name: str
) -> None:
    from prefect.flows import load_flow_from_entrypoint

    deployment = deployments[name]
    flow: Any = load_flow_from_entrypoint(deployment.entrypoint, use_placeholder_flow=False)
    given = dict(deployment.parameters)
    for trigger in deployment.triggers or ():
        given |= trigger["parameters"]
    assert set(given) <= set(inspect.signature(flow.fn).parameters)
    flow.validate_parameters(given)


def test_only_retraining_has_a_schedule(deployments: dict[str, Any]) -> None:
    (schedule,) = deployments["retrain"].schedules
    assert (schedule.cron, schedule.active) == ("0 3 * * *", True)
    assert deployments["train"].schedules is None


def test_the_trigger_is_one_that_prefect_knows(deployments: dict[str, Any]) -> None:
    from prefect.events import DeploymentEventTrigger

    (trigger,) = deployments["on-new-data"].triggers
    known = DeploymentEventTrigger.model_validate({**trigger, "name": "x"})
    assert known.expect == {"automl.new-data"}
