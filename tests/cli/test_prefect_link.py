"""A run's link to Prefect leads to its own page, or to the command that opens one."""

from __future__ import annotations

import json
import os
from dataclasses import asdict

import psutil
import pytest

from automl.flow_run_notes import LOCAL, FlowRunNote, latest_note, write_notes
from automl.tracking.links import links
from automl.tracking.outbox import Outbox
from automl_flows.services.reconciliation import note_flow_run
from automl_flows.services.standing import Service, services_file
from automl_flows.words.result_display import current_links, page_facts

OWN_PAGE = "http://127.0.0.1:4321/runs/flow-run/f1"


@pytest.fixture
def run(runs):
    """A finished run."""
    return runs[1]


@pytest.fixture
def result(run):
    return json.loads((run.stages / "result.json").read_text())


@pytest.fixture
def standing_prefect(own_home):
    """A server that `automl up` left standing, as far as its note tells."""
    service = Service("prefect", os.getpid(), 4321, psutil.Process().create_time())
    services_file(own_home.path).write_text(json.dumps([asdict(service)]))


def test_pages_that_stand_later_show_the_runs_own_page(run, result, own_home, standing_prefect):
    assert "link prefect" not in page_facts(run, result, own_home)  # no flow run is known
    write_notes(run, {1: FlowRunNote(LOCAL, flow_run="f1"), 2: FlowRunNote(LOCAL)})
    found = page_facts(run, result, own_home)
    assert found["link prefect"] == OWN_PAGE
    assert found["pages"] == "open them with: automl ui"  # MLflow's page does not stand


def test_a_page_that_outlives_the_command_is_noted(run, standing_prefect):
    write_notes(run, {1: FlowRunNote(LOCAL)})
    run.write_facts({**run.read_facts(), "attempts": [{"began": 1.0}]})
    note_flow_run(run, "f1", OWN_PAGE)
    assert latest_note(run) == FlowRunNote(LOCAL, flow_run="f1", page=OWN_PAGE)
    assert links(run)["prefect"] == OWN_PAGE


def test_a_page_that_ends_with_the_command_is_not_noted(run):
    write_notes(run, {1: FlowRunNote(LOCAL)})
    run.write_facts({**run.read_facts(), "attempts": [{"began": 1.0}]})
    note_flow_run(run, "f1", OWN_PAGE)
    assert latest_note(run) == FlowRunNote(LOCAL, flow_run="f1")
    assert links(run)["prefect"] == "f1"


def test_the_page_of_a_version_opens_on_its_model(run):
    done = {"version": "1", "registered_name": "t-y", "published": "yes"}
    Outbox(run.path / "outbox.json", done=done).save()
    page = links(run, server="http://host:5000")["model"]
    assert page == "http://host:5000/#/models/t-y/versions/1?workflowType=machine_learning"


def test_the_page_of_another_server_is_the_one_that_was_noted(run, result, own_home):
    page = "https://prefect.example/runs/flow-run/f3"
    write_notes(run, {1: FlowRunNote("https://prefect.example/api", flow_run="f3", page=page)})
    assert links(run)["prefect"] == page
    assert page_facts(run, result, own_home)["link prefect"] == page


def test_without_a_page_there_is_the_command_that_opens_it(run, result, own_home, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://host:5000")
    pages = {**result, "links": {"experiment": "http://host:5000/#/experiments/1"}}
    write_notes(run, {1: FlowRunNote(LOCAL, flow_run="f1", page=OWN_PAGE)})
    found = page_facts(run, pages, own_home)
    assert found["link prefect"] == "open it with: automl ui"
    assert current_links(run, pages)["prefect"] == "f1"
