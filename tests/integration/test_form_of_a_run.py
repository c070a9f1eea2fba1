"""What a Prefect page may ask for a training run, and a run that it begins."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from beside_a_server import run_beside_server
from sklearn.datasets import load_wine

from automl.errors import SettingsError
from automl.settings.all_settings import SECTIONS, accounts
from automl_flows.forms import TrainingForm, answers, form_settings

PASSWORD = "s3cret-of-anna"


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    from prefect.utilities.callables import parameter_schema

    from automl_flows.training import train_flow

    return parameter_schema(train_flow).model_dump()


def fields(schema: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Every field of the form, by the name of its setting."""
    form = schema["definitions"]["TrainingForm"]["properties"]
    first = {name: field for name, field in form.items() if "properties" not in field}
    return first | {k: v for section in SECTIONS for k, v in form[section]["properties"].items()}


def test_every_setting_is_asked_for_but_those_of_the_operator(schema):
    asked = {name for name, account in accounts().items() if account.form != "operator"}
    assert set(fields(schema)) == asked
    assert set(accounts()) - asked == {"trust", "family_folder", "cluster"}
    assert list(schema["properties"]) == ["settings"]


def test_what_most_runs_give_stands_first(schema):
    names = list(schema["definitions"]["TrainingForm"]["properties"])
    assert names[:3] == ["table", "target", "task"]
    assert names[-len(SECTIONS) :] == list(SECTIONS)
    assert schema["definitions"]["TrainingForm"]["required"] == ["table", "target"]


def test_every_field_has_help_and_one_kind_of_value(schema):
    for name, field in fields(schema).items():
        assert len(field["description"]) > 10, name
        assert "null" not in json.dumps(field), name
        assert "default" not in field, name
        assert {"type", "anyOf"} & set(field), name


@pytest.mark.parametrize("name", [n for n, a in accounts().items() if a.names is not None])
def test_names_of_registries_are_choices(schema, name):
    field = fields(schema)[name]
    choices = field.get("enum") or field["anyOf"][0]["enum"]
    assert list(accounts()[name].names.known()) == choices


def test_an_empty_field_is_decided_by_the_preset():
    form = TrainingForm(table="sklearn:iris", target="target", preset="fast", name="", data={})
    settings = form_settings(form)
    assert (settings.folds, settings.final, settings.name) == (3, "refit", "")


def test_settings_stand_in_sections_or_alone():
    in_section = TrainingForm(table="t.csv", target="y", search={"optimizer": "tpe"})
    alone = TrainingForm(table="t.csv", target="y", optimizer="tpe")
    assert form_settings(in_section) == form_settings(alone)
    assert answers(alone) == {"table": "t.csv", "target": "y", "optimizer": "tpe"}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"trust": True}, "setting trust is the operator's"),
        ({"family_folder": "/tmp/own"}, "setting family_folder is the operator's"),
        ({"metric": "/tmp/mine.py:gain"}, "metric '/tmp/mine.py:gain' is a function in a file"),
        ({"metric": {"/tmp/mine.py:gain": 1.0}}, "is a function in a file"),
        ({"optimiser": "tpe"}, "unknown setting 'optimiser'; did you mean 'optimizer'"),
        ({"score": {"folds": 1}}, "setting folds: must be at least 2"),
        ({"budget_seconds": "soon"}, "a duration must look like"),
    ],
)
def test_answers_that_a_run_may_not_have_are_refused(given, words):
    with pytest.raises(SettingsError, match=words):
        form_settings(TrainingForm(table="sklearn:iris", target="target", **given))


FLOWS = {
    "automl_flows.retrain_flows": ("retrain_flow", "on_new_data_flow"),
    "automl_flows.deploying": ("look_flow",),
}


@pytest.mark.parametrize(
    ("module", "name"), [(module, name) for module, names in FLOWS.items() for name in names]
)
def test_every_parameter_of_a_deployed_flow_has_help_and_none_chooses_the_home(module, name):
    from prefect.utilities.callables import parameter_schema

    asked = parameter_schema(getattr(import_module(module), name)).properties
    assert "home" not in asked
    assert [key for key, field in asked.items() if len(field.get("description", "")) < 10] == []
    if "mode" in asked:
        assert asked["mode"]["enum"] == ["replace", "append", "partition", "window"]


class Guarded(BaseHTTPRequestHandler):
    """A table for those who know the password."""

    def do_GET(self) -> None:
        wanted = base64.b64encode(f"anna:{PASSWORD}".encode()).decode()
        is_allowed = self.headers.get("Authorization") == f"Basic {wanted}"
        self.send_response(200 if is_allowed else 401)
        self.end_headers()
        if is_allowed and self.command == "GET":
            self.wfile.write(load_wine(as_frame=True).frame.to_csv(index=False).encode())

    do_HEAD = do_GET

    def log_message(self, *_: object) -> None:
        """Nothing on the terminal."""


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Guarded)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port
    server.shutdown()
    server.server_close()


SCRIPT = """
from prefect import get_client
from prefect.blocks.system import Secret
from automl_flows.training import train_flow
Secret(value=sys.argv[2]).save("wine")
form = {"table": "secret:wine", "target": "target", "trials": 3, "families": ["ridge", "knn"],
        "ensemble": "none", "resources": {"workers": 1}}
print(train_flow(form)["model"]["registered"])
drained()
with get_client(sync_client=True) as client:
    for run in client.read_flow_runs():
        print("flow run", run.name, run.state.name, run.parameters)
    for run in client.read_task_runs():
        print("task run", run.name, "/", run.state.name, "/", run.state.message)
"""


@pytest.mark.integration
@pytest.mark.timeout(300)
def test_a_run_of_a_table_in_a_secret_block_shows_its_families_and_nowhere_the_secret(
    port, tmp_path
):
    address = f"http://anna:{PASSWORD}@127.0.0.1:{port}/wine.csv?token={PASSWORD}"
    done = run_beside_server(SCRIPT, address, home=tmp_path / "home")
    assert done.returncode == 0, done.stderr
    assert "@champion" in done.stdout
    assert "flow run wine-target Completed" in done.stdout
    searches = [line for line in done.stdout.splitlines() if line.startswith("task run search")]
    assert {line.split()[3].rstrip(":") for line in searches} == {
        "constant",
        "stump",
        "ridge",
        "knn",
    }
    assert len(searches) == 4
    assert any("/ Completed / 1 of 1 trials complete, best score 0." in line for line in searches)
    assert "task run search knn: no trial / No trial / no trial" in searches
    assert PASSWORD not in done.stdout + done.stderr
    holding = [path for path in tmp_path.rglob("*") if path.is_file() and _has_secret(path)]
    assert holding == []


def _has_secret(path: Path) -> bool:
    return PASSWORD.encode() in path.read_bytes()
