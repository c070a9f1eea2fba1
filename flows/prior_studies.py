"""The flow that learns priors of hyperparameters from what is known of many tables (B14, chapter 4)."""

from __future__ import annotations

from typing import Any

from prefect import flow
from prefect.artifacts import create_table_artifact

from automl.errors import ServiceError
from automl.home import Home
from automl_flows.environment import prepare_environment
from automl_flows.flow_thread import FlowThread
from automl_tasks.prior_studies import learn_priors_of

POLL_SECONDS = 0.5
"""Between looks whether server and flow still live."""


@flow(name="automl-learn-priors", flow_run_name="priors of tables", persist_result=False)
def learn_priors_flow(
    *,
    home: str,
    into: str,
    tables: list[str] | None = None,
    files: list[str] | None = None,
    options: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Learn priors and write them as text, with a picture of each hyperparameter.

    Parameters
    ----------
    home
        State folder, in which the tables were learned (`learn_experience_flow`).
    into
        File of the priors; pictures go to a folder of that name beside it.
    tables
        Names of learned tables.
    files
        Exports of experience, files of knowledge.
    options
        `families`, `seed`, `command`, and `settings`, see `automl.priors.accepted_values`.
    """
    prepare_environment()
    rows = learn_priors_of(home, tables or [], files or [], into, options or {})
    create_table_artifact(table=rows, key="priors", description=into)
    return {"priors": rows, "file": into}


def run_prior_learning(*, home: Home, **given: Any) -> dict[str, Any]:
    """Run the flow beside a local server if one is needed.

    Parameters
    ----------
    given
        The flow's other parameters.

    Raises
    ------
    ServiceError
        If the orchestrator cannot be reached or ends, or a file cannot be written.
    DataError
        If too little is known.
    """
    from automl_flows.services.local_server import local_server, running

    server = local_server(home.path)
    with running(server, home):
        driver = FlowThread(lambda: learn_priors_flow(home=str(home.path), **given), server)
        driver.start()
        while driver.is_alive() and not driver.is_lost():
            driver.join(POLL_SECONDS)
        is_lost = driver.is_lost()
    if driver.error is not None:
        raise driver.error
    if is_lost or driver.result is None:
        raise ServiceError("the local Prefect server ended; give the same command again")
    return driver.result
