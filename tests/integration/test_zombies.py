"""A flow run whose process is killed does not stay Running on the page."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from automl_flows.services.end_states import BROKEN
from automl_flows.services.prefect_api import PrefectAPI
from automl_flows.services.standing import start_services, stop_services
from automl_flows.services.zombies import HEARTBEAT_SECONDS

pytestmark = [pytest.mark.integration, pytest.mark.timeout(240)]
SILENT_SECONDS = 10
"""Prefect's least."""
PATIENCE_SECONDS = 90.0
"""For a start or a state on a busy machine."""
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
def environment(tmp_path: Path) -> Iterator[dict[str, str]]:
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


def state_of(api: PrefectAPI, name: str, *wanted: str) -> Any:
    """The state of the flow run of a name, once it is wanted."""
    deadline, found = time.monotonic() + PATIENCE_SECONDS, []
    while time.monotonic() < deadline:
        found = api.post("flow_runs/filter", {"flow_runs": {"name": {"any_": [name]}}})
        if found and found[0]["state"]["name"] in wanted:
            return found[0]["state"]
        time.sleep(0.2)
    pytest.fail(f"the flow run {name} is not {wanted}: {found}")


def events(api: PrefectAPI, name: str) -> Any:
    return api.post("events/filter", {"filter": {"event": {"name": [name]}}})["events"]


def test_a_flow_run_whose_process_is_killed_ends_as_crashed(
    environment: dict[str, str], tmp_path: Path
) -> None:
    api = PrefectAPI(environment["PREFECT_API_URL"])
    run(AUTOMATION, environment)
    run(ENDS, environment)
    with subprocess.Popen([sys.executable, "-c", LASTS, str(tmp_path)], env=environment) as process:
        state_of(api, "look for inbox", "Running")
        while len(events(api, "prefect.flow-run.heartbeat")) < 2:
            time.sleep(0.2)
        process.kill()
    state = state_of(api, "look for inbox", "Crashed")
    assert state["message"] == f"no heartbeat for {SILENT_SECONDS} s: its process is gone"
    assert state_of(api, "retrain nothing", BROKEN)
    assert len(events(api, "prefect.automation.triggered")) == 1
    assert len(api.post("automations/filter", {})) == 1
