"""The real local Prefect server."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from base64 import b64encode
from http.server import BaseHTTPRequestHandler, HTTPServer

import psutil
import pytest
from waiting import PATIENCE_SECONDS, until

from automl.flow_run_notes import LOCAL, FlowRunNote, latest_note, write_notes
from automl.home import Home
from automl.run_state import Attempt
from automl_flows.services.local_server import local_server
from automl_flows.services.prefect_api import PrefectAPI, answers, given_server, given_url
from automl_flows.services.reconciliation import (
    note_attempt,
    note_flow_run,
    reconcile,
    server_name,
)
from automl_flows.services.server import LocalServer, flush_clients

pytestmark = pytest.mark.integration

FLOW = """
import sys
from pathlib import Path
from automl_flows.environment import prepare_environment
prepare_environment()
from automl_flows.services.server import LocalServer
server = LocalServer(Path(sys.argv[1]), url=sys.argv[2])
from prefect import flow, task

@task
def double(number):
    return 2 * number

@flow(name="probe")
def probe():
    return sum(future.result() for future in double.map(list(range(20))))

with server.connected():
    assert probe() == 380
    assert any(server.drain(20) for _ in range(5))  # False: not in time
"""

DRIVER = """
import sys, time
from pathlib import Path
from automl_flows.services.server import LocalServer
server = LocalServer(Path(sys.argv[1]))
server.start()
print(server.pid, flush=True)
time.sleep(60)
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with LocalServer(tmp_path_factory.mktemp("home") / "prefect") as started:
        started.wait_ready()
        yield started


@pytest.fixture
def no_address(monkeypatch):
    monkeypatch.delenv("PREFECT_API_URL", raising=False)


@pytest.mark.usefixtures("no_address")
def test_inside_a_flow_its_own_server_is_used_and_none_is_started(server, tmp_path):
    """Its address may come from Prefect's profile, or be that of a temporary server."""
    from prefect import flow, task

    def asked():
        return given_url(), local_server(tmp_path)

    @flow
    def own():
        return asked(), task(asked)()

    with server.connected():
        assert own() == ((server.api_url, None), (server.api_url, None))
        flush_clients(PATIENCE_SECONDS)
    assert given_url() == ""
    assert local_server(tmp_path) is not None


def post(server, path):
    request = urllib.request.Request(
        f"{server.api_url}/{path}", data=b"{}", headers={"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as response:
        return json.load(response)


def test_a_server_given_after_prefect_was_imported_is_its_clients(server, monkeypatch):
    from prefect import flow
    from prefect.settings import PREFECT_API_KEY, PREFECT_API_URL

    before = PREFECT_API_URL.value()
    with given_server():
        assert PREFECT_API_URL.value() == before
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:9/api")
    monkeypatch.setenv("PREFECT_API_KEY", "word")
    assert PREFECT_API_URL.value() == before
    with given_server():
        assert PREFECT_API_URL.value() == "http://127.0.0.1:9/api"
        assert PREFECT_API_KEY.value() == "word"

    @flow
    def caller():
        with given_server():
            return PREFECT_API_URL.value()

    with server.connected():
        assert caller() == server.api_url


def test_every_task_run_is_in_the_database_after_draining(server):
    before = post(server, "task_runs/count")
    subprocess.run([sys.executable, "-c", FLOW, server.folder, server.url], check=True)
    assert post(server, "task_runs/count") - before == 20
    assert {run["state_type"] for run in post(server, "flow_runs/filter")} == {"COMPLETED"}


def test_the_server_has_its_own_session_and_its_page(server):
    assert os.getsid(server.pid) == server.pid
    assert answers(f"{server.url}/ui-settings", timeout=PATIENCE_SECONDS)
    assert psutil.Process(server.pid).net_connections("tcp")[0].laddr.ip == "127.0.0.1"


@pytest.fixture
def told():
    """A server that answers to one user alone, and what it was told."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            right = b64encode(b"ann:a b").decode()
            self.send_response(200 if self.headers["Authorization"] == f"Basic {right}" else 401)
            self.end_headers()

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


def test_an_address_may_name_a_user(told):
    assert answers(f"http://ann:a%20b@127.0.0.1:{told}/health", timeout=PATIENCE_SECONDS)
    assert not answers(f"http://127.0.0.1:{told}/health")
    assert not answers("http://127.0.0.1:PORT/health")


def test_what_speaks_no_http_does_not_answer():
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def greet():
            with listener.accept()[0] as connection:
                connection.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")
                connection.recv(1000)

        threading.Thread(target=greet, daemon=True).start()
        assert not answers(f"http://127.0.0.1:{listener.getsockname()[1]}/")


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_the_server_ends_with_its_driver_however_that_ends(tmp_path, end):
    driver = subprocess.Popen([sys.executable, "-c", DRIVER, tmp_path], stdout=subprocess.PIPE)
    assert driver.stdout is not None
    with driver.stdout:
        server = psutil.Process(int(driver.stdout.readline()))
        driver.send_signal(end)
        driver.wait()
        server.wait(PATIENCE_SECONDS)


def test_stop_ends_the_process_and_may_be_repeated(tmp_path):
    server = LocalServer(tmp_path)
    server.start()
    process = psutil.Process(server.pid)
    server.stop()
    server.stop()
    assert not process.is_running()
    assert not server.is_alive()


def test_a_server_that_dies_during_its_start_is_reported(tmp_path):
    from automl.errors import ServiceError

    server = LocalServer(tmp_path)
    server.start()
    os.kill(server.pid, signal.SIGKILL)
    began = time.monotonic()
    with pytest.raises(ServiceError, match="ended during its start"):
        server.wait_ready(150)
    assert time.monotonic() - began < 50
    server.stop()


def a_run(home, *attempts):
    """A run folder whose last attempt is noted for the local page."""
    folder = home.create_run()
    facts = {"settings": {"table": "t.csv", "target": "y"}, "data": {}, "status": "running"}
    entries = [attempt.to_json() for attempt in attempts]
    folder.write_facts({**facts, "attempts": entries})
    note_attempt(folder, LOCAL)
    note_flow_run(folder, "f1", None)
    return folder


def flow_runs(server, folder):
    body = {"flow_runs": {"tags": {"all_": [folder.run_id]}}, "sort": "START_TIME_ASC"}
    return server.api.post("flow_runs/filter", body)


def test_the_page_is_told_what_no_flow_could_tell(server):
    home = Home(server.folder.parent)
    assert server_name(home, server.api) == LOCAL
    ended = a_run(home, Attempt(1_000.0, 1_101.0, "failed"))
    facts = ended.read_facts()
    ended.write_facts({**facts, "status": "failed"})
    driven = a_run(home, Attempt(1_000.0))
    with driven.lock():
        assert reconcile(home, server.api) == 1
        assert flow_runs(server, driven) == []
    (told,) = flow_runs(server, ended)
    assert (told["state_type"], told["total_run_time"]) == ("FAILED", 101.0)
    assert told["start_time"].startswith("1970-01-01T00:16:40")
    assert told["name"] == f"t-y {ended.run_id}"
    note = latest_note(ended)
    assert note is not None
    assert note.flow_run == "f1"  # what the flow noted itself stays
    unheard = a_run(home, Attempt(1_000.0, 1_101.0, "failed"))
    unheard.write_facts({**unheard.read_facts(), "status": "failed"})
    write_notes(unheard, {1: FlowRunNote(LOCAL)})
    assert latest_note(unheard) is None
    assert reconcile(home, server.api) == 2, "the unheard one, and the one that nobody drives now"
    note = latest_note(unheard)
    assert note is not None
    assert note.flow_run == flow_runs(server, unheard)[0]["id"]
    (told,) = flow_runs(server, driven)
    assert told["state_type"] == "CRASHED"
    assert reconcile(home, server.api) == 0


def parent_of(server, folder, **child):
    """A flow run that goes on, of a flow that has called that of the run's attempt."""

    def flow_run(name, **given):
        flow = server.api.post("flows/", {"name": name})["id"]
        state = {"type": "RUNNING"}
        return server.api.post("flow_runs/", {"flow_id": flow, "state": state, **given})["id"]

    parent = flow_run("automl-retrain")
    task = {"flow_run_id": parent, "task_key": "train", "dynamic_key": "0"}
    called = server.api.post("task_runs/", {**task, "state": {"type": "RUNNING"}})["id"]
    tags = [folder.run_id, "attempt 1"]
    flow_run("automl-train", tags=tags, parent_task_run_id=called, **child)
    return parent


@pytest.mark.parametrize(("status", "expected"), [("killed", "CRASHED"), ("failed", "RUNNING")])
def test_with_a_killed_run_the_flows_around_it_in_its_process_end(server, status, expected):
    home = Home(server.folder.parent)
    now = time.time()
    folder = a_run(home, Attempt(now - 100, now - 10, status))
    folder.write_facts(
        {**folder.read_facts(), "status": "running" if status == "killed" else status}
    )
    parent = parent_of(server, folder)
    assert reconcile(home, server.api) == 1
    found = server.api.get(f"flow_runs/{parent}")
    assert found["state_type"] == expected
    (run,) = flow_runs(server, folder)
    assert run["state_type"] == ("CRASHED" if status == "killed" else "FAILED")


def test_a_flow_that_has_deployed_a_killed_run_lives_on(server):
    home = Home(server.folder.parent)
    folder = a_run(home, Attempt(time.time() - 100))
    flow = server.api.post("flows/", {"name": "automl-train"})["id"]
    deployed = server.api.post("deployments/", {"name": "mine", "flow_id": flow})["id"]
    caller = parent_of(server, folder, deployment_id=deployed)
    assert reconcile(home, server.api) == 1
    assert [run["state_type"] for run in flow_runs(server, folder)] == ["CRASHED"]
    assert server.api.get(f"flow_runs/{caller}")["state_type"] == "RUNNING"


def test_tasks_that_a_completed_flow_left_open_end_with_it(server):
    home = Home(server.folder.parent)
    now = time.time()
    folder = a_run(home, Attempt(now - 100, now - 10, "finished"))
    folder.write_facts({**folder.read_facts(), "status": "finished"})
    flow = server.api.post("flows/", {"name": "automl-train"})["id"]
    tags = [folder.run_id, "attempt 1"]
    flow_run = server.api.post("flow_runs/", {"flow_id": flow, "tags": tags})["id"]
    server.api.post(
        f"flow_runs/{flow_run}/set_state", {"state": {"type": "COMPLETED"}, "force": True}
    )
    states = {"0": "RUNNING", "1": "FAILED"}
    tasks = {
        key: server.api.post(
            "task_runs/",
            {
                "flow_run_id": flow_run,
                "task_key": "family",
                "dynamic_key": key,
                "state": {"type": state},
            },
        )["id"]
        for key, state in states.items()
    }
    assert reconcile(home, server.api) == 1
    ended = {key: server.api.get(f"task_runs/{task}")["state_type"] for key, task in tasks.items()}
    assert ended == {"0": "COMPLETED", "1": "FAILED"}


def test_a_run_of_another_server_is_left_alone(server):
    home = Home(server.folder.parent)
    folder = a_run(home, Attempt(1_000.0, 1_010.0, "interrupted"))
    note_attempt(folder, "http://elsewhere/api")
    assert reconcile(home, server.api) == 0
    assert flow_runs(server, folder) == []


def test_what_cannot_be_told_now_is_told_by_the_next_command(server):
    home = Home(server.folder.parent)
    folder = a_run(home, Attempt(1_000.0, 1_010.0, "interrupted"))
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        away = PrefectAPI(f"http://127.0.0.1:{silent.getsockname()[1]}/api")
        assert reconcile(home, away) == 0
    assert reconcile(home, server.api) == 1
    (told,) = flow_runs(server, folder)
    assert (told["state_type"], told["total_run_time"]) == ("CANCELLED", 10.0)


def test_a_server_is_silent_when_it_lives_and_has_not_answered_for_long(server, monkeypatch):
    monkeypatch.setattr("automl_flows.services.server.SILENT_SECONDS", 2.0)
    until(lambda: not server.is_silent())  # it may be busy, but answers
    process = psutil.Process(server.pid)
    process.suspend()
    try:
        until(server.is_silent)
        assert server.is_alive()
    finally:
        process.resume()
    until(lambda: not server.is_silent())
