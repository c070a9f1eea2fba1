"""The compose file of the full stack: what is open to whom, and that it holds no secret. `.ci/stack` runs its commands."""

from __future__ import annotations

import configparser
import re
import tomllib
from pathlib import Path
from typing import Any

import compose
import pytest
import yaml

ROOT = Path(__file__).parents[1]
SECRET = re.compile(r"PASSWORD|SECRET|AUTH_STRING")
OURS = ("prefect", "mlflow", "worker", "scheduler", "dask-worker")


@pytest.fixture(scope="module")
def content() -> dict[str, Any]:
    """The file as it is written, with its variables."""
    found: dict[str, Any] = yaml.safe_load(compose.FILE.read_text(encoding="utf-8"))
    return found


@pytest.fixture(scope="module")
def declared(content: dict[str, Any]) -> dict[str, Any]:
    """Its services."""
    services: dict[str, Any] = content["services"]
    return services


def test_the_stack_has_its_services(declared: dict[str, Any]) -> None:
    assert set(declared) == {"postgres", *OURS}


def test_services_wait_for_what_there_is(declared: dict[str, Any]) -> None:
    for service in declared.values():
        for name, wait in service.get("depends_on", {}).items():
            says_when_ready = "healthcheck" in declared[name]
            expected = "service_healthy" if says_when_ready else "service_started"
            assert wait["condition"] == expected


def test_each_volume_has_a_name_that_is_declared(content: dict[str, Any]) -> None:
    mounted = {v.split(":")[0] for s in content["services"].values() for v in s.get("volumes", ())}
    assert {source for source in mounted if source.isidentifier()} == set(content["volumes"])


def test_what_is_published_is_on_this_machine_unless_asked(declared: dict[str, Any]) -> None:
    ports = [port for service in declared.values() for port in service.get("ports", ())]
    assert len(ports) == 3
    assert all(port.startswith("${BIND:-127.0.0.1}:") for port in ports)
    filled = compose.services(dict.fromkeys(compose.required_variables(), "x"))
    assert filled["prefect"]["ports"] == ["127.0.0.1:4200:4200"]


def test_the_pages_answer_at_the_address_that_is_bound() -> None:
    variables = dict.fromkeys(compose.required_variables(), "x")
    bound = compose.services({**variables, "BIND": "10.0.0.5"})
    hosts = bound["mlflow"]["environment"]["MLFLOW_SERVER_ALLOWED_HOSTS"].split(",")
    assert "10.0.0.5:5000" in hosts
    assert bound["prefect"]["environment"]["PREFECT_SERVER_UI_API_URL"] == "/api"


def test_no_secret_is_written_down_and_none_has_a_default(declared: dict[str, Any]) -> None:
    given = {
        f"{name}.{key}": value
        for name, service in declared.items()
        for key, value in service["environment"].items()
        if SECRET.search(key)
    }
    assert given
    assert not {
        key for key, value in given.items() if not re.fullmatch(r"\$\{\w+:\?[^}]+\}", value)
    }


@pytest.mark.parametrize("missing", sorted(compose.required_variables()))
def test_it_does_not_start_without_a_variable(missing: str) -> None:
    variables = dict.fromkeys(compose.required_variables() - {missing}, "x")
    with pytest.raises(KeyError, match=missing):
        compose.services(variables)


def test_prefect_and_mlflow_ask_who_it_is(declared: dict[str, Any]) -> None:
    assert "PREFECT_SERVER_API_AUTH_STRING" in declared["prefect"]["environment"]
    command = declared["mlflow"]["command"]
    assert command[command.index("--app-name") + 1] == "basic-auth"
    file = configparser.ConfigParser()
    file.read(compose.FOLDER / "mlflow_auth.ini")
    assert file["mlflow"]["default_permission"] == "READ"
    assert file["mlflow"]["database_uri"] == "postgresql:///mlflow_auth"
    assert not {name for name in file["mlflow"] if "password" in name}


@pytest.mark.parametrize("name", OURS)
def test_nothing_is_reported_to_the_makers(declared: dict[str, Any], name: str) -> None:
    environment = declared[name]["environment"]
    assert environment["DO_NOT_TRACK"] == environment["MLFLOW_DISABLE_TELEMETRY"] == "true"
    assert environment["PREFECT_SERVER_ANALYTICS_ENABLED"] == "false"


def test_images_are_of_one_version(declared: dict[str, Any]) -> None:
    images = {name: service["image"] for name, service in declared.items()}
    dockerfile = (compose.FOLDER / "Dockerfile").read_text()
    (base,) = re.findall(r"^FROM (\S+)$", dockerfile, re.MULTILINE)
    for image in [*images.values(), base]:
        assert re.fullmatch(r"[\w-]+:\d+\.\d+(\.\d+)?(-[\w-]+)?", image), image
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert {images[name] for name in OURS} == {f"automl-flows:{version}"}
    assert re.findall(r"^USER (\S+)$", dockerfile, re.MULTILINE) == ["automl"]


def test_prefect_unpacks_its_pages_where_the_user_of_the_image_can_write() -> None:
    dockerfile = (compose.FOLDER / "Dockerfile").read_text()
    (folder,) = re.findall(
        r"^ENV PREFECT_SERVER_UI_STATIC_DIRECTORY=(\S+)$", dockerfile, re.MULTILINE
    )
    assert folder.startswith("/home/automl/")


def test_the_files_that_are_mounted_or_copied_are_there(declared: dict[str, Any]) -> None:
    mounted = [v.split(":")[0] for s in declared.values() for v in s.get("volumes", ())]
    files = [compose.FOLDER / source for source in mounted if source.startswith(".")]
    assert len(files) == 2
    copied = re.findall(
        r"^COPY (.+) \S+$", (compose.FOLDER / "Dockerfile").read_text(), re.MULTILINE
    )
    files += [ROOT / name for names in copied for name in names.split()]
    assert [file for file in files if not file.exists()] == []
