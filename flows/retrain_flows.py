"""The flows that deployments run: retraining, and retraining on a new file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from uuid import UUID

from prefect import flow, get_client, get_run_logger
from prefect.artifacts import create_markdown_artifact
from prefect.client.schemas.objects import (
    ConcurrencyLimitConfig,
    ConcurrencyLimitStrategy,
    FlowRunPolicy,
    State,
)
from prefect.runtime import flow_run
from prefect.states import Completed, Failed
from prefect.types.entrypoint import EntrypointType

from automl.addresses import entrust, whole_address
from automl.alternatives import AskedHow
from automl.data.sources import Mode, source_at
from automl.durations import parse_duration
from automl.errors import AutoMLError, DataError, ServiceError
from automl.home import Home, default_home
from automl.listing import counted
from automl.problem_names import clean_name
from automl_flows.arrived_tables import ArrivedTable, take
from automl_flows.blocks import table_address
from automl_flows.environment import prepare_environment
from automl_flows.retention import prune
from automl_flows.retraining import Retraining, absolute_source, retrain
from automl_flows.services.end_states import BROKEN, KEPT, PROMOTED, REFUSED, UNCHANGED
from automl_flows.services.zombies import TAG
from automl_flows.words.messages import say

if TYPE_CHECKING:
    import pandas as pd
    from prefect.deployments.runner import RunnerDeployment

    from automl_flows.services.service_plan import Plan

SHOWN_COLUMNS = 30
"""Columns of a drift report on a page, those that moved most; a reader needs no more (by judgement)."""
RETRIES, RETRY_SECONDS = 3, 60
"""Retries of a flow that could not reach a service: a restart of one takes less than three minutes."""


@flow(
    name="automl-retrain",
    flow_run_name="retrain {name}",
    persist_result=False,
    retries=RETRIES,
    retry_delay_seconds=RETRY_SECONDS,
)
def retrain_flow(
    name: str,
    table: str,
    *,
    budget: str = "",
    trials: int | None = None,
    seed: int | None = None,
    force: bool = False,
    mode: Mode = "replace",
    window: str | None = None,
    time: str | None = None,
    keep: int | None = None,
    how: AskedHow = "search",
) -> State[Any]:
    """Retrain a problem on its table; does nothing if the table has not changed.

    Everything is kept in the state folder of this machine: `AUTOML_HOME`, or ./automl-home.

    Args:
        name: Problem, that is registered model.
        table: File or URI of the table; a folder or a prefix of files; secret:NAME or storage:NAME/PATH of a block.
        budget: Wall time such as 10m. Empty: as the problem was trained.
        trials: Number of trials instead of a wall time. Empty: as the problem was trained.
        seed: Root of all randomness. Empty: as the problem was trained.
        force: Also if this content was trained on before.
        mode: How files become the table: the newest, all, a folder of partitions, or the last rows of all.
        window: Last rows of mode window, such as 90 days or 5000 rows.
        time: Column of dates or times that a window of days is counted by.
        keep: Delete all runs of the problem but so many. Empty: none.
        how: search in full, warm with a quarter of the budget, refit the champion's recipe; auto, by what has drifted.
    """
    address = whole_address(absolute_source(table_address(table)))
    request = _Request(name, Home(default_home()), budget, trials, seed, keep, how, force)
    say(f"retraining of {name}: a run has begun")
    try:
        outcome = request.retrain(table, lambda: source_at(address, mode, window, time).read())
    except Exception as error:  # noqa: BLE001 - told as a state
        state = _ending(error)
        say(f"retraining of {name} failed: {state.message}")
        return state
    say(f"retraining of {name}: {outcome.words}")
    return retraining_state(outcome)


@flow(
    name="automl-on-new-data",
    flow_run_name="{name} on new data",
    persist_result=False,
    retries=RETRIES,
    retry_delay_seconds=RETRY_SECONDS,
)
def on_new_data_flow(
    name: str,
    table: str,
    *,
    budget: str = "",
    trials: int | None = None,
    seed: int | None = None,
    digest: str = "",
    mode: Mode = "replace",
    window: str | None = None,
    time: str | None = None,
    base: str = "",
    keep: int | None = None,
    how: AskedHow = "search",
) -> State[Any]:
    """Retrain a problem on a file that has just arrived; a file that cannot be used ends as Refused.

    Everything is kept in the state folder of this machine: `AUTOML_HOME`, or ./automl-home.

    Args:
        name: Problem, that is registered model.
        table: Address of the file; it is copied into the state folder before anything else.
        budget: Wall time such as 10m. Empty: as the problem was trained.
        trials: Number of trials instead of a wall time. Empty: as the problem was trained.
        seed: Root of all randomness. Empty: as the problem was trained.
        digest: Of the file's bytes, as the watcher saw them. Empty: of what it holds now.
        mode: How files become the table: the newest, all, a folder of partitions, or the last rows of all.
        window: Last rows of mode window, such as 90 days or 5000 rows.
        time: Column of dates or times that a window of days is counted by.
        base: Table that files are appended to. Empty: the one that the problem was trained on.
        keep: Delete all runs of the problem but so many. Empty: none.
        how: search in full, warm with a quarter of the budget, refit the champion's recipe; auto, by what has drifted.
    """
    request = _Request(name, Home(default_home()), budget, trials, seed, keep, how)
    arrived = ArrivedTable(request.home, name, digest, mode, window, time, base)
    try:
        address = absolute_source(table)
        arrived = replace(arrived, digest=take(request.home, name, address, digest))
        outcome = request.retrain(address, arrived.read)
    except Exception as error:  # noqa: BLE001 - told as a state
        return _ending(error, arrived.said)
    arrived.accept()
    return retraining_state(outcome)


@dataclass(frozen=True)
class _Request:
    """Request to a flow, besides the table."""

    name: str
    home: Home
    budget: str
    trials: int | None
    seed: int | None
    keep: int | None
    how: AskedHow = "search"
    force: bool = False

    def retrain(self, table: str, read: Callable[[], pd.DataFrame]) -> Retraining:
        """Retrain, tell the page, and delete runs that are too many."""
        prepare_environment()
        logger = get_run_logger()
        outcome = retrain(
            self.name,
            whole_address(table),
            home=self.home,
            read=read,
            overrides={
                "budget_seconds": parse_duration(self.budget) if self.budget else None,
                "trials": self.trials,
                "seed": self.seed,
            },
            how=self.how,
            force=self.force,
            say=logger.info,
        )
        logger.info("%s: %s", outcome.status, outcome.words)
        create_markdown_artifact(markdown=outcome_text(outcome), description="Retraining")
        if self.keep:
            gone = prune(self.home, self.name, self.keep)
            logger.info("%s deleted; the newest %d stay", counted(len(gone), "run"), self.keep)
        return outcome


def _ending(error: Exception, said: Callable[[str], str] = str) -> State[Any]:
    """State of a flow that ended by an error; what a service did is raised, so that Prefect tries again.

    Only an error of the table itself is Refused: one with the field `setting` is of another table that
    the settings name. If that has the field `file` too, the file cannot be read now, and may be later.

    Raises
    ------
    ServiceError
        If it is one, or a file that the settings name cannot be read.
    """
    if isinstance(error, ServiceError):
        raise error
    if isinstance(error, DataError) and {"setting", "file"} <= error.fields.keys():
        raise ServiceError(error.message)
    with get_client(sync_client=True) as client:  # the same error would come again
        client.update_flow_run(UUID(flow_run.id), empirical_policy=FlowRunPolicy(retries=0))
    if isinstance(error, DataError) and "setting" not in error.fields:
        return Failed(name=REFUSED, message=said(error.message))
    if isinstance(error, AutoMLError):
        return Failed(name=BROKEN, message=said(error.message))
    get_run_logger().exception("retraining failed", exc_info=error)
    return Failed(name=BROKEN, message=said(f"{type(error).__name__}: {error}"))


def retraining_state(outcome: Retraining) -> State[dict[str, Any]]:
    """State of a flow that retrained: Promoted, Kept (also where drift asked for nothing) or Unchanged, and why."""
    changed = PROMOTED if outcome.promoted else KEPT
    return Completed(
        name=UNCHANGED if outcome.status == "unchanged" else changed,
        message=f"{outcome.status}: {outcome.words}",
        data=outcome.summary(),
    )


def outcome_text(outcome: Retraining) -> str:
    """A few lines of Markdown about a retraining."""
    lines = [f"# {outcome.name}: {outcome.status}", f"- table `{outcome.table}`"]
    lines.append(f"- run `{outcome.run_id}`")
    if outcome.registered:
        lines.append(f"- registered as `{outcome.registered}`")
    return "\n".join([*lines, f"- {outcome.words}", *drift_text(outcome.drift)])


def drift_text(drift: Mapping[str, Any] | None) -> list[str]:
    """Lines of Markdown about a drift report: why, the champion's score and the columns; empty without one."""
    if drift is None:
        return []
    score = drift["score"]
    lines = ["", f"## Drift: {drift['rung']}", f"- {drift['reason']}"]
    lines.append(f"- {drift['fresh_rows']} fresh rows, {drift['training_rows']} training rows")
    if score is not None:
        told = f"{score['score']:.4f} ± {score['standard_error']:.4f}"
        lines.append(f"- champion's score {told}, expected {score['expected']:.4f}")
    shifts = [*drift["columns"], *filter(None, [drift["label"]])]
    head = ["", "| column | index | by chance | test | adjusted p |", "|---|---|---|---|---|"]
    rows = [
        f"| {s['name']} | {s['index']:.3f} | {s['by_chance']:.3f} | {s['test']} | {s['pvalue']:.2g} |"
        for s in shifts[:SHOWN_COLUMNS]
    ]
    return [*lines, *(head if rows else []), *rows]


def deployments(plan: Plan) -> list[RunnerDeployment]:
    """Deployments of a retraining service: the schedule, new files, or both."""
    parameters = {"name": plan.name, **plan.run_parameters}
    served: list[Any] = []
    if plan.has_schedule:
        served.append(
            retrain_flow.to_deployment(
                clean_name(plan.name),
                cron=plan.cron,
                interval=plan.interval_seconds,
                parameters={**parameters, "table": entrust(plan.table or "")},
                entrypoint_type=EntrypointType.MODULE_PATH,
                concurrency_limit=_one_at_a_time(ConcurrencyLimitStrategy.CANCEL_NEW),
                tags=[TAG],
            )
        )
    if plan.drops is not None:
        base = {"base": entrust(plan.table)} if plan.table else {}
        served.append(
            on_new_data_flow.to_deployment(
                clean_name(plan.name),
                parameters={**parameters, **base},
                entrypoint_type=EntrypointType.MODULE_PATH,
                concurrency_limit=_one_at_a_time(ConcurrencyLimitStrategy.ENQUEUE),
                tags=[TAG],
            )
        )
    return served


def _one_at_a_time(strategy: ConcurrencyLimitStrategy) -> ConcurrencyLimitConfig:
    return ConcurrencyLimitConfig(limit=1, collision_strategy=strategy)
