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

from automl_flows.prefect_api import answers
from automl_flows.server import LocalServer

pytestmark = pytest.mark.integration

FLOW = """
import sys
from pathlib import Path
from automl_flows.environment import prepare_environment
prepare_environment()
from automl_flows.server import LocalServer
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
    assert server.drain(20)
"""

DRIVER = """
import sys, time
from pathlib import Path
from automl_flows.server import LocalServer
server = LocalServer(Path(sys.argv[1]))
server.start()
print(server.pid, flush=True)
time.sleep(60)
"""


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    with LocalServer(tmp_path_factory.mktemp("prefect")) as started:
        started.wait_ready(60)
        yield started


def post(server, path):
    request = urllib.request.Request(
        f"{server.api_url}/{path}", data=b"{}", headers={"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=10) as response:
        return json.load(response)


def test_every_task_run_is_in_the_database_after_draining(server):
    before = post(server, "task_runs/count")
    subprocess.run([sys.executable, "-c", FLOW, server.folder, server.url], check=True, timeout=60)
    assert post(server, "task_runs/count") - before == 20
    assert {run["state_type"] for run in post(server, "flow_runs/filter")} == {"COMPLETED"}


def test_the_server_has_its_own_session_and_its_page(server):
    assert os.getsid(server.pid) == server.pid
    assert answers(f"{server.url}/ui-settings", timeout=5)
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
    assert answers(f"http://ann:a%20b@127.0.0.1:{told}/health")
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
        server.wait(15)


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
        server.wait_ready(30)
    assert time.monotonic() - began < 10
    server.stop()
