"""Which server a run uses, what stands, the schema of a new one, and the doctor."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time

import psutil
import pytest

from automl import remembered_schema
from automl.errors import ServiceError
from automl.installation import KEY_VARIABLE
from automl.remembered_schema import schema_text
from automl_flows.commands.doctor import Finding, examine, exit_code
from automl_flows.services import server_schema, standing
from automl_flows.services.local_server import local_server
from automl_flows.services.server import LocalServer, listen_at_best
from automl_flows.services.standing import Service, read_services, services_file, stop_services

LEVELS = {"ok", "warn", "fail"}


def write_service(home, pid, started):
    home.path.mkdir(exist_ok=True)
    entry = {"name": "prefect", "pid": pid, "port": 1, "started": started}
    services_file(home.path).write_text(json.dumps([entry]))


def test_the_environment_s_server_wins(own_home, monkeypatch):
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:1/api")
    assert local_server(own_home.path) is None


def test_a_run_gets_a_server_of_its_own_when_none_stands(own_home):
    server = local_server(own_home.path)
    assert server is not None
    assert server.is_owned
    assert not server.is_alive()


def test_a_service_whose_process_ended_is_forgotten(own_home):
    write_service(own_home, 2**22 - 1, time.time())
    assert read_services(own_home.path) == {}


def test_a_process_id_that_was_given_away_is_not_ours(own_home):
    write_service(own_home, os.getpid(), psutil.Process().create_time() - 1000)
    assert read_services(own_home.path) == {}
    assert stop_services(own_home.path) == []  # and is not signaled


def test_a_living_service_is_found_but_not_used_unless_it_answers(own_home):
    write_service(own_home, os.getpid(), psutil.Process().create_time())
    assert set(read_services(own_home.path)) == {"prefect"}
    server = local_server(own_home.path)
    assert server is not None
    assert server.is_owned


def test_a_port_that_another_program_has_is_no_service_of_ours(own_home):
    started = psutil.Process().create_time()
    with listen_at_best(0) as listener:
        port = listener.getsockname()[1]
        assert Service("mlflow", os.getpid(), port, started).has_its_port()
        with listen_at_best(port) as other:
            assert other.getsockname()[1] != port
        with subprocess.Popen(["sleep", "60"]) as stranger:
            began = psutil.Process(stranger.pid).create_time()
            assert not Service("mlflow", stranger.pid, port, began).has_its_port()
            stranger.kill()
    assert not Service("mlflow", os.getpid(), port, started).has_its_port()
    assert not Service("mlflow", 2**22 - 1, port, started).has_its_port()


def test_a_stranger_that_answers_at_the_port_is_not_taken_for_the_service(own_home, monkeypatch):
    monkeypatch.setattr(standing, "answers", lambda _url: True)
    with listen_at_best(0) as stranger, subprocess.Popen(["sleep", "0.5"]) as ours:
        began = psutil.Process(ours.pid).create_time()
        service = Service("mlflow", ours.pid, stranger.getsockname()[1], began)
        with pytest.raises(ServiceError, match="did not become healthy"):
            standing._wait_healthy(service, own_home.path)


@pytest.mark.parametrize("text", ["", "{", "[1]", '[{"name": 3}]', "{}"])
def test_a_broken_state_file_means_that_nothing_stands(own_home, text):
    own_home.path.mkdir()
    services_file(own_home.path).write_text(text)
    assert read_services(own_home.path) == {}


def test_down_without_services_is_no_error(automl):
    assert automl("down").code == 0
    assert automl("down", "--json").json == {"stopped": []}


def test_up_names_the_servers_of_the_environment_and_starts_none(automl, monkeypatch, own_home):
    monkeypatch.setenv("PREFECT_API_URL", "http://prefect.example/api")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://mlflow.example")
    expected = {"prefect": "http://prefect.example", "mlflow": "http://mlflow.example"}
    assert automl("up", "--json").json == expected
    assert not own_home.path.exists()


def test_a_service_that_ends_at_once_is_an_error_and_leaves_nothing(automl, monkeypatch, own_home):
    dead = Service("prefect", 2**22 - 1, 1, 0.0)
    for name in standing.SERVICE_NAMES:
        monkeypatch.setitem(standing._STARTERS, name, lambda *_: dead)
    outcome = automl("up")
    assert outcome.code == 4
    assert "server.log" in outcome.err
    assert not services_file(own_home.path).exists()


def test_a_server_that_cannot_be_started_is_a_service_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ServiceError, match="cannot be started"):
        LocalServer(tmp_path / "file" / "prefect").start()


@pytest.fixture
def server_that_was_ready(tmp_path, monkeypatch):
    """Folder of a server that ran its migrations in a new installation, and was ready."""
    monkeypatch.setenv(KEY_VARIABLE, str(tmp_path / "installation" / "key"))
    folder = tmp_path / "first"
    assert not server_schema.ensure_database(folder)
    with LocalServer(folder) as server:
        server.wait_ready()
    return folder


@pytest.mark.integration
def test_the_schema_that_the_first_server_made_is_every_further_home_s(
    server_that_was_ready, tmp_path, monkeypatch
):
    second = tmp_path / "second"
    assert server_schema.ensure_database(second)
    assert not server_schema.ensure_database(second)
    assert [path.name for path in second.iterdir()] == ["prefect.db"]
    made, migrated = (
        schema_text(folder / "prefect.db") for folder in (second, server_that_was_ready)
    )
    assert made == migrated
    assert re.search(r"CREATE TABLE \"?flow_run\"? ", made)
    assert 'INSERT INTO "alembic_version"' in made
    with LocalServer(second) as server:
        server.wait_ready()
    assert schema_text(second / "prefect.db") == migrated
    monkeypatch.setattr(remembered_schema, "version", lambda _: "99.0")
    assert not server_schema.ensure_database(tmp_path / "third")
    assert not (tmp_path / "third").exists()


@pytest.mark.parametrize("content", [b"", b"no database"])
def test_a_file_that_is_no_database_of_prefect_s_is_not_remembered(tmp_path, monkeypatch, content):
    monkeypatch.setenv(KEY_VARIABLE, str(tmp_path / "key"))
    (tmp_path / "prefect.db").write_bytes(content)
    server_schema.remember_schema(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["prefect.db"]


def test_the_doctor_looks_at_everything_and_changes_nothing(own_home, runs):
    findings = examine(own_home)
    assert {finding.level for finding in findings} <= LEVELS
    checks = {finding.check for finding in findings}
    assert {"python", "fastapi", "disk", "memory", "cores", "home", "runs", "clock"} <= checks
    assert all(finding.fix for finding in findings if finding.level != "ok")
    assert {path.name for path in own_home.path.iterdir()} == {"runs"}


def test_the_doctor_names_a_dependency_out_of_range(monkeypatch, own_home):
    from automl_flows.commands import doctor

    real = doctor.metadata.version
    monkeypatch.setattr(
        doctor.metadata, "version", lambda name: "0.155.0" if name == "fastapi" else real(name)
    )
    (found,) = [finding for finding in examine(own_home) if finding.check == "fastapi"]
    assert found.level == "fail"
    assert "<0.151" in found.fix


def test_the_doctor_finds_a_broken_store_and_an_absent_server(automl, own_home, monkeypatch):
    own_home.path.mkdir()
    (own_home.path / "mlflow.db").write_text("this is no database" * 100)
    assert automl("doctor").code == 4
    (own_home.path / "mlflow.db").unlink()
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:1/api")
    outcome = automl("doctor", "--json")
    assert outcome.code == 4
    assert any("unset PREFECT_API_URL" in finding["fix"] for finding in outcome.json)


def test_the_exit_code_tells_our_faults_from_those_of_services():
    ok, ours = Finding("a", "ok", ""), Finding("b", "fail", "", "fix")
    theirs = Finding("c", "fail", "", "fix", is_service=True)
    assert [exit_code(f) for f in ([ok], [ok, theirs], [ours, theirs], [])] == [0, 4, 1, 0]


def test_families_are_listed(automl):
    assert "lightgbm" in automl("families").out
    rows = automl("families", "--task", "regression", "--json").json
    names = {row["family"] for row in rows}
    assert "huber" in names
    assert "gaussian_nb" not in names
