"""A password in the address of a server stays in the environment: nothing prints or publishes it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from types import SimpleNamespace

import httpx
import psutil
import pytest

from automl.errors import ServiceError, SettingsError
from automl.flow_run_notes import FlowRunNote, latest_note, write_notes
from automl.tracking import model_registry
from automl.tracking.links import links
from automl.tracking.outbox import Outbox
from automl_flows.commands.process import open_home, report_internal_error
from automl_flows.services import standing
from automl_flows.services.drop_runs import reaching_server
from automl_flows.services.reconciliation import note_flow_run, prefect_link
from automl_flows.services.serving import standing_api

SERVER = "http://ann:s3cret@127.0.0.1:1"
DATABASE = "postgresql://mlflow:s3cret@db.example/mlflow"
DONE = {"version": "1", "registered_name": "t-y", "published": "yes"}


def track(folder, store):
    Outbox(folder.path / "outbox.json", store=store, experiment="7", parent="p1", done=DONE).save()


@pytest.mark.parametrize(
    ("store", "page"),
    [
        (SERVER, "http://127.0.0.1:1/#/experiments/7/runs"),
        (f"{SERVER}/", "http://127.0.0.1:1/#/experiments/7/runs"),
        (DATABASE, "7"),
    ],
)
def test_links_of_a_run_have_no_password(automl, runs, store, page):
    track(runs[1], store)
    found = links(runs[1])
    assert found["experiment"].startswith(page)
    assert found["tracking_store"].endswith(
        ("//127.0.0.1:1", "//127.0.0.1:1/", "//db.example/mlflow")
    )
    assert "s3cret" not in json.dumps(found)
    for way in ((), ("--json",)):
        assert "s3cret" not in automl("show", runs[1].run_id, *way).out


def test_links_to_the_page_of_the_environment_have_no_password(runs, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", SERVER)
    track(runs[1], DATABASE)
    found = links(runs[1])
    assert found["run"].startswith("http://127.0.0.1:1/#/experiments/7/runs/p1")
    assert "s3cret" not in json.dumps(found)


def test_a_page_of_prefect_is_noted_and_shown_without_a_password(runs):
    page = "https://ann:s3cret@prefect.example/runs/flow-run/f3"
    public = "https://prefect.example/runs/flow-run/f3"
    note = FlowRunNote("https://prefect.example/api", flow_run="f3", page=page)
    write_notes(runs[1], {1: note})
    assert links(runs[1])["prefect"] == prefect_link(runs[1]) == public
    runs[1].write_facts({**runs[1].read_facts(), "attempts": [{"began": 1.0}]})
    note_flow_run(runs[1], "f3", page)
    assert latest_note(runs[1]).page == public


def test_a_registry_that_lacks_a_model_is_named_without_its_password(own_home, monkeypatch):
    from mlflow.exceptions import MlflowException
    from mlflow.protos.databricks_pb2 import RESOURCE_DOES_NOT_EXIST

    own_home.prepare()
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{own_home.path}/no.db?key=s3cret")
    with pytest.raises(SettingsError, match=r"no\.db does not exist"):
        model_registry.aliases("t-y", own_home.path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", SERVER)

    def refuse(*_):
        raise MlflowException(f"not found at {SERVER}/x.", error_code=RESOURCE_DOES_NOT_EXIST)

    monkeypatch.setattr(model_registry, "open_store", lambda _: object())
    monkeypatch.setattr(model_registry, "versions_by_alias", refuse)
    with pytest.raises(SettingsError, match=r"no such model in http://127") as caught:
        model_registry.aliases("t-y", own_home.path)
    assert "s3cret" not in str(caught.value)


def test_the_page_of_a_database_gets_its_address_where_ps_does_not_show_it(own_home, monkeypatch):
    started = {}

    def start(command, *, env, **_):
        started.update(command=command, env=env)
        return SimpleNamespace(pid=psutil.Process().pid, returncode=None)

    own_home.prepare()
    monkeypatch.setenv("MLFLOW_TRACKING_URI", DATABASE)
    monkeypatch.setattr(subprocess, "Popen", start)
    standing._start_mlflow(own_home.path, 5000)
    assert "s3cret" not in " ".join(started["command"])
    assert started["env"]["MLFLOW_BACKEND_STORE_URI"] == DATABASE
    assert "MLFLOW_TRACKING_URI" not in started["env"]


def test_up_prints_the_servers_of_the_environment_without_their_passwords(automl, monkeypatch):
    monkeypatch.setenv("PREFECT_API_URL", "http://ann:s3cret@127.0.0.1:2/api")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", SERVER)
    expected = {"prefect": "http://127.0.0.1:2", "mlflow": "http://127.0.0.1:1"}
    assert automl("up", "--json").json == expected


def test_errors_about_prefect_s_server_have_no_password(own_home, monkeypatch):
    monkeypatch.setenv("PREFECT_API_URL", f"{SERVER}/api")
    with pytest.raises(ServiceError, match="http://127") as caught, standing_api(own_home):
        pass
    assert "s3cret" not in str(caught.value)
    response = httpx.Response(401, request=httpx.Request("GET", f"{SERVER}/api/x"))
    with pytest.raises(ServiceError, match="401") as caught, reaching_server():
        response.raise_for_status()
    assert "s3cret" not in str(caught.value)


def test_an_internal_error_and_its_log_have_no_password(own_home, capsys):
    open_home(own_home.path)
    report_internal_error(RuntimeError(f"{SERVER}/api refuses"))
    told = capsys.readouterr().err
    log = Path(told.strip().rpartition(" ")[2]).read_text(encoding="utf-8")
    assert "http://127.0.0.1:1/api refuses" in told
    assert "http://127.0.0.1:1/api refuses" in log
    assert "s3cret" not in told + log
