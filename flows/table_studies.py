"""The flow that learns from a folder of tables what families of algorithms give on them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from prefect import flow
from prefect.artifacts import create_table_artifact

from automl.addresses import check_told_apart, entrust
from automl.errors import ServiceError
from automl.home import Home
from automl.table_studies.conditions import Conditions
from automl.table_studies.learned_folder import LearnedFolder
from automl.table_studies.one_table import Outcome, check_measures, in_turn
from automl_flows.environment import prepare_environment, silence_libraries
from automl_flows.flow_thread import FlowThread
from automl_tasks.table_studies import learn_experience_of_table

POLL_SECONDS = 0.5
"""Between looks for new records: a table takes seconds at least."""

Say = Callable[[str], None]


@flow(name="automl-learn-experience", flow_run_name="experience of tables", persist_result=False)
def learn_experience_flow(
    data_sets: dict[str, dict[str, Any]],
    *,
    home: str,
    conditions: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Try every table with the same configurations; each adds its trials to the home's experience.

    Tables come one after another, in an order that has nothing to do with their names; the trials
    of a table run side by side.

    Parameters
    ----------
    data_sets
        Settings that belong to each table, by its name: `table`, `target`, `task`, ...
    home
        State folder.
    conditions
        See `automl.table_studies.conditions.Conditions`.
    """
    prepare_environment()
    seed = int((conditions or {}).get("seed", 0))
    summary = {
        name: learn_experience_of_table(home, name, data_sets[name], conditions)
        for name in in_turn(data_sets, seed)
    }
    rows = [{"table": name, **record} for name, record in summary.items()]
    create_table_artifact(table=rows, key="experience", description=home)
    return {"tables": rows}


def run_learning(
    data_sets: Mapping[str, Mapping[str, Any]],
    conditions: Mapping[str, Any],
    *,
    home: Home,
    say: Say,
) -> dict[str, Any]:
    """Run the flow beside a local server if one is needed, and tell of every table that is learned.

    An interruption leaves at once: tables that are learned have their records, and a run under way
    is continued the next time.

    Raises
    ------
    SettingsError
        If another process learns in this home, or what is learned there was measured otherwise.
    ServiceError
        If the orchestrator cannot be reached or ends.
    """
    from automl_flows.services.local_server import local_server, running

    folder = LearnedFolder(home)
    check_measures(folder, data_sets, Conditions(**conditions))
    server = local_server(home.path)
    check_told_apart(str(data["table"]) for data in data_sets.values())
    given = {
        name: {**data, "table": entrust(str(data["table"]))} for name, data in data_sets.items()
    }
    with folder.only_one(), running(server, home):
        driver = FlowThread(
            lambda: learn_experience_flow(given, home=str(home.path), conditions=dict(conditions)),
            server,
        )
        driver.start()
        _follow(folder, list(given), driver, say)
        is_lost = driver.is_lost()
    if driver.error is not None and is_lost:
        raise ServiceError("the local Prefect server ended; the same command continues")
    if driver.error is not None:
        raise driver.error
    assert driver.result is not None
    return driver.result


def _follow(folder: LearnedFolder, names: list[str], driver: FlowThread, say: Say) -> None:
    """Wait for the flow's end; one line for every record that appears or changes."""
    seen = {name: folder.written_at(name) for name in names}
    n_done = 0
    while True:
        is_over = not driver.is_alive()
        if driver.is_lost():
            silence_libraries()
        for name in names:
            if (written := folder.written_at(name)) not in (seen[name], None):
                seen[name], n_done = written, n_done + 1
                say(f"{n_done} of at most {len(names)}: {_line(folder, name)}")
        if is_over:
            return
        time.sleep(POLL_SECONDS)


def _line(folder: LearnedFolder, name: str) -> str:
    """Facts about a table, in a few words."""
    learned = folder.read(name)
    if learned is None:
        return name
    summary = Outcome(learned).summary()
    best = (
        ""
        if summary["best"] is None
        else f", best {summary['best']:.4f} ({summary['best_family']})"
    )
    late = f", {summary['left_out']} left out" if summary["left_out"] else ""
    return f"{name}: {summary['trials']} trials{late}{best}, {summary['seconds']:.0f} s"
