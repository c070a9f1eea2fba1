"""A flow run whose process is killed does not stay Running on the page."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from waiting import until

from automl_flows.services.end_states import BROKEN
from automl_flows.services.prefect_api import PrefectAPI
from automl_flows.services.standing import start_services, stop_services
from automl_flows.services.zombies import HEARTBEAT_SECONDS

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]
SILENT_SECONDS = 10
"""Prefect's least."""
ANSWER_SECONDS = 60.0
"""For one answer of a server on a busy machine."""
AUTOMATION = f"""
from automl_flows.services.zombies import close_zombies
for _ in range(2):
    close_zombies({SILENT_SECONDS})
"""
ENDS = """
from prefect import tags
from automl_flows.retrain_flows import retrain_flow
from automl_flows.services.zombies import TAG
with tags(TAG):
    retrain_flow("nothing", "none.csv", return_state=True)
"""
LASTS = """
import sys
from prefect import tags
from automl_flows.deploying import look_flow
from automl_flows.services.zombies import TAG
with tags(TAG):
    look_flow("inbox", sys.argv[1], settle="10m")
"""


@pytest.fixture
def environment(tmp_path: Path, own_ports: None) -> Iterator[dict[str, str]]:
    """Of processes that use a standing server and send heartbeats, as those of a worker do."""
    home = tmp_path / "home"
    url = start_services(home, ("prefect",))["prefect"].url
    yield {
        **os.environ,
        "AUTOML_HOME": str(home),
        "PREFECT_API_URL": f"{url}/api",
        "PREFECT_FLOWS_HEARTBEAT_FREQUENCY": str(HEARTBEAT_SECONDS),
    }
    stop_services(home)


def run(code: str, environment: dict[str, str]) -> None:
    subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True)


def run_in(api: PrefectAPI, name: str, wanted: str) -> Any:
    """The flow run of a name, once it is in the state."""
    asked = {"flow_runs": {"name": {"any_": [name]}, "state": {"name": {"any_": [wanted]}}}}
    (found,) = until(lambda: api.post("flow_runs/filter", asked, seconds=ANSWER_SECONDS))
    return found


def events(api: PrefectAPI, name: str) -> Any:
    """Events of a name that are in the database: the server writes them some seconds after they came."""
    asked = {"filter": {"event": {"name": [name]}}}
    return api.post("events/filter", asked, seconds=ANSWER_SECONDS)["events"]


def events_of(api: PrefectAPI, name: str, flow_run: str) -> list[Any]:
    """Those of them that name a flow run: within ten seconds a busy machine may silence another one."""
    return [event for event in events(api, name) if flow_run in json.dumps(event)]


def test_a_flow_run_whose_process_is_killed_ends_as_crashed(
    environment: dict[str, str], tmp_path: Path
) -> None:
    api = PrefectAPI(environment["PREFECT_API_URL"])
    run(AUTOMATION, environment)
    run(ENDS, environment)
    with subprocess.Popen([sys.executable, "-c", LASTS, str(tmp_path)], env=environment) as process:
        killed = run_in(api, "look for inbox", "Running")["id"]
        until(lambda: events_of(api, "prefect.flow-run.heartbeat", killed))
        process.kill()
    state = run_in(api, "look for inbox", "Crashed")["state"]
    assert state["message"] == f"no heartbeat for {SILENT_SECONDS} s: its process is gone"
    assert run_in(api, "retrain nothing", BROKEN)
    assert len(until(lambda: events_of(api, "prefect.automation.triggered", killed))) == 1
    assert len(api.post("automations/filter", {}, seconds=ANSWER_SECONDS)) == 1
