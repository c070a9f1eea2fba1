"""Deployments of problems for the work pool of a Prefect server; on one machine `automl serve` does the same."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from prefect import flow, get_client, get_run_logger
from prefect.client.schemas.actions import WorkPoolCreate
from prefect.client.schemas.objects import ConcurrencyLimitConfig, ConcurrencyLimitStrategy
from prefect.exceptions import ObjectNotFound
from prefect.types.entrypoint import EntrypointType

from automl.addresses import public_address
from automl.durations import parse_duration
from automl.errors import SettingsError
from automl.home import HOME_VARIABLE, Home, default_home
from automl.problem_names import clean_name
from automl_flows.environment import TELEMETRY_OFF
from automl_flows.retrain_flows import deployments
from automl_flows.services.drop_runs import reaching_server
from automl_flows.services.service_plan import Plan
from automl_flows.services.serving import new_watcher
from automl_flows.services.watching import Completeness
from automl_flows.services.zombies import HEARTBEAT_SECONDS, TAG, close_zombies

LOOK_EVERY_SECONDS = 60.0
"""Between looks at a place; each is a flow run, whose process costs some seconds of one core."""


@flow(name="automl-look-for-drops", flow_run_name="look for {name}", persist_result=False)
def look_flow(
    name: str,
    drops: str,
    *,
    pattern: str | None = None,
    settle: str = "5s",
    done_marker: bool = False,
    patience: str = "1h",
) -> None:
    """Begin a run for every new file of a place that is complete, and set bad ones aside.

    Everything is kept in the state folder of this machine: `AUTOML_HOME`, or ./automl-home.

    Args:
        name: Problem, that is registered model.
        drops: Folder, or prefix that fsspec reads.
        pattern: Of the names of files. Empty: every kind of table.
        settle: A file is complete when unchanged so long.
        done_marker: FILE is complete when FILE.done is there, instead.
        patience: A file that is not complete by then is set aside.
    """
    seconds = parse_duration(settle)
    completeness = Completeness(seconds, done_marker, parse_duration(patience))
    plan = Plan(name=name, drops=drops, pattern=pattern, completeness=completeness)
    watcher = new_watcher(plan, Home(default_home()), get_run_logger().info)
    watcher.step()
    time.sleep(seconds)
    watcher.close()


def deploy(plans: Sequence[Plan], home: Home, pool: str) -> list[str]:
    """Put the deployments of problems on the Prefect server of the settings; returns their names.

    The work pool is made where it is missing, as one of processes; so is the automation that closes
    flow runs whose process is gone.

    Raises
    ------
    SettingsError
        If a plan cannot be served, or an address holds what is secret.
    ServiceError
        If the server is away or refuses.
    """
    for plan in plans:
        plan.check(home)
        _refuse_secrets(plan)
    names = []
    with reaching_server():
        _ensure_pool(pool)
        close_zombies()
        for deployment in [one for p in plans for one in (*deployments(p), *_looks(p))]:
            ours = deployment.model_copy(update={"job_variables": {"env": _environment(home)}})
            ours.apply(work_pool_name=pool)
            names.append(ours.full_name)
    return names


def _environment(home: Home) -> dict[str, str]:
    """Environment of the processes that a worker begins; whoever starts a run does not choose the state folder."""
    heartbeats = {"PREFECT_FLOWS_HEARTBEAT_FREQUENCY": str(HEARTBEAT_SECONDS)}
    own = {HOME_VARIABLE: str(home.path), "OMP_NUM_THREADS": "1"}
    return {**TELEMETRY_OFF, **heartbeats, **own}


def _looks(plan: Plan) -> list[Any]:
    """The deployment that looks for new files, where the plan has a place for them."""
    if plan.drops is None:
        return []
    look = look_flow.to_deployment(
        clean_name(plan.name),
        interval=LOOK_EVERY_SECONDS,
        parameters={
            "name": plan.name,
            "drops": plan.drops,
            "pattern": plan.pattern,
            "settle": f"{plan.completeness.settle_seconds:.15g}s",
            "done_marker": plan.completeness.needs_marker,
            "patience": f"{plan.completeness.patience_seconds:.15g}s",
        },
        entrypoint_type=EntrypointType.MODULE_PATH,
        concurrency_limit=ConcurrencyLimitConfig(
            limit=1, collision_strategy=ConcurrencyLimitStrategy.CANCEL_NEW
        ),
        tags=[TAG],
    )
    return [look]


def _refuse_secrets(plan: Plan) -> None:
    for address in (plan.table, plan.drops):
        if address is not None and public_address(address) != address:
            raise SettingsError(
                f"problem {plan.name!r}: {public_address(address)} is given with a user, a password or a "
                "query, which every user of the Prefect server would see; put them into the "
                "environment of the workers"
            )


def _ensure_pool(name: str) -> None:
    with get_client(sync_client=True) as client:
        try:
            client.read_work_pool(name)
        except ObjectNotFound:
            client.create_work_pool(WorkPoolCreate(name=name, type="process"))
