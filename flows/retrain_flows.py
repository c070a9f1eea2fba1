"""The flows that deployments run: retraining, and retraining on a new file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from prefect import flow, get_run_logger
from prefect.artifacts import create_markdown_artifact
from prefect.client.schemas.objects import State
from prefect.states import Failed

from automl.addresses import entrust, whole_address
from automl.data.sources import TableSource, source_at
from automl.durations import parse_duration
from automl.errors import AutoMLError
from automl.home import Home, default_home
from automl.problem_names import clean_name
from automl_flows.environment import prepare_environment
from automl_flows.retraining import Retraining, absolute_source, retrain
from automl_flows.services.arrivals import Arrivals, Status, ending_of
from automl_flows.words.messages import say

if TYPE_CHECKING:
    from prefect.deployments.runner import RunnerDeployment

    from automl_flows.services.service_plan import Plan


@flow(name="automl-retrain", flow_run_name="retrain {name}", persist_result=False)
def retrain_flow(
    name: str,
    table: str,
    *,
    home: str = "",
    budget: str = "",
    trials: int | None = None,
    seed: int | None = None,
    force: bool = False,
    mode: str = "replace",
    window: str | None = None,
    time: str | None = None,
) -> dict[str, Any] | State[Any]:
    """Retrain a problem on its table; does nothing if the table has not changed.

    Parameters
    ----------
    name
        Problem, that is registered model.
    table
        File or URI of the table; a folder or a prefix of files.
    home
        State folder; default: `AUTOML_HOME` or ./automl-home.
    budget
        Wall time such as 10m; default: as the problem was trained.
    trials
        Number of trials instead of a wall time.
    seed
        Root of all randomness; default: as the problem was trained.
    force
        Also if this content was trained on before.
    mode, window, time
        How files become the table; see `automl.data.sources`.
    """
    try:
        source = source_at(whole_address(absolute_source(table)), mode, window, time)
        outcome = _retrain(name, table, home, budget, trials, source=source, seed=seed, force=force)
    except Exception as error:
        say(f"retraining of {name} failed: {ending_of(error)[1]}")
        if isinstance(error, AutoMLError):
            return Failed(message=error.message)
        raise
    say(f"retraining of {name}: {outcome.reason}")
    return outcome.summary()


@flow(name="automl-on-new-data", flow_run_name="{name} on new data", persist_result=False)
def on_new_data_flow(
    name: str,
    table: str,
    *,
    home: str = "",
    budget: str = "",
    trials: int | None = None,
    digest: str = "",
) -> dict[str, Any] | State[Any]:
    """Retrain a problem on a file that has just arrived, and remember what became of the file.

    Parameters
    ----------
    name, table, home, budget, trials
        As in `retrain_flow`.
    digest
        Of the file's bytes, as the watcher saw them; empty if nothing is to be remembered.
    """
    arrivals = Arrivals(_home(home), name) if digest else None
    try:
        outcome = _retrain(name, table, home, budget, trials)
    except BaseException as error:
        if arrivals is not None:
            arrivals.end(digest, *ending_of(error))
        if isinstance(error, AutoMLError):
            return Failed(message=error.message)
        raise
    if arrivals is not None:
        status: Status = "unchanged" if outcome.status == "unchanged" else "done"
        arrivals.end(digest, status, outcome.reason, run_id=outcome.run_id)
    return outcome.summary()


def _retrain(
    name: str,
    table: str,
    home: str,
    budget: str,
    trials: int | None,
    *,
    source: TableSource | None = None,
    seed: int | None = None,
    force: bool = False,
) -> Retraining:
    prepare_environment()
    logger = get_run_logger()
    outcome = retrain(
        name,
        whole_address(absolute_source(table)),
        home=_home(home),
        source=source,
        overrides={
            "budget_seconds": parse_duration(budget) if budget else None,
            "trials": trials,
            "seed": seed,
        },
        force=force,
        say=logger.info,
    )
    logger.info("%s: %s", outcome.status, outcome.reason)
    create_markdown_artifact(markdown=outcome_text(outcome), description="Retraining")
    return outcome


def outcome_text(outcome: Retraining) -> str:
    """A few lines of Markdown about a retraining."""
    lines = [f"# {outcome.name}: {outcome.status}", f"- table `{outcome.table}`"]
    lines.append(f"- run `{outcome.run_id}`")
    if outcome.registered:
        lines.append(f"- registered as `{outcome.registered}`")
    return "\n".join([*lines, f"- {outcome.reason}"])


def _home(home: str) -> Home:
    return Home(Path(home).expanduser().resolve() if home else default_home())


def deployments(plan: Plan, home: Home) -> list[RunnerDeployment]:
    """What a service of retraining serves: the schedule, new files, or both."""
    from prefect.client.schemas.objects import ConcurrencyLimitConfig, ConcurrencyLimitStrategy
    from prefect.types.entrypoint import EntrypointType

    parameters = {"name": plan.name, "home": str(home.path), **plan.run_parameters}
    served: list[Any] = []
    if plan.has_schedule:
        served.append(
            retrain_flow.to_deployment(
                clean_name(plan.name),
                cron=plan.cron,
                interval=plan.interval_seconds,
                parameters={**parameters, "table": entrust(plan.table or "")},
                entrypoint_type=EntrypointType.MODULE_PATH,
                concurrency_limit=ConcurrencyLimitConfig(
                    limit=1, collision_strategy=ConcurrencyLimitStrategy.CANCEL_NEW
                ),
                tags=["automl"],
            )
        )
    if plan.folder is not None:
        served.append(
            on_new_data_flow.to_deployment(
                clean_name(plan.name),
                parameters=parameters,
                entrypoint_type=EntrypointType.MODULE_PATH,
                tags=["automl"],
            )
        )
    return served
