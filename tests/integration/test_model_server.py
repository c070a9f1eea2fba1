"""MLflow's own server answers for a model: gaps, new categories, columns left out, whole numbers and fractions."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from ports import free_port
from tiny_models import tiny_bundle, tiny_model

from automl.tracking.packaging import save_pyfunc

pytestmark = [
    pytest.mark.integration,
    pytest.mark.timeout(300),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::automl.errors.AutoMLWarning"),
]
START_SECONDS = 120.0
OPTIONS = ["--env-manager", "local", "--host", "127.0.0.1", "--workers", "1", "--port"]
Ask = Callable[[dict[str, Any]], Any]


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    """Function that sends a body to a server of `tiny_model` and gives its answer."""
    folder = tmp_path_factory.mktemp("served")
    bundle = tiny_bundle(folder / "bundle")
    facts = {"model_id": "m-1", "location": None, "run": "r", "metadata": {}}
    save_pyfunc(bundle, folder / "model", **facts)
    port = free_port()
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "mlflow",
            "models",
            "serve",
            "-m",
            str(folder / "model"),
            *OPTIONS,
            str(port),
        ],
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for(f"http://127.0.0.1:{port}/ping", process)
        yield lambda body: answer(f"http://127.0.0.1:{port}/invocations", body)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def wait_for(address: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            urllib.request.urlopen(address, timeout=5).close()
        except OSError:
            time.sleep(0.2)
        else:
            return
    pytest.fail(f"the server did not start; it ended with {process.poll()}")


def answer(address: str, body: dict[str, Any]) -> Any:
    request = urllib.request.Request(
        address, json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            return json.load(response)["predictions"]
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


ROWS: dict[str, list[dict[str, Any]]] = {
    "as trained": [{"x": 3, "kind": "a"}, {"x": 49, "kind": "c"}],
    "fractions": [{"x": 20.6, "kind": "b"}, {"x": 20, "kind": "b"}],
    "gaps": [{"x": None, "kind": "a"}, {"x": 49, "kind": None}],
    "all missing": [{"x": None, "kind": None}],
    "unseen category": [{"x": 49, "kind": "zebra"}],
    "a column left out": [{"x": 49}, {"x": 1}],
    "texts of numbers": [{"x": "49", "kind": "a"}, {"x": "?", "kind": "a"}],
    "outside the range": [{"x": -1e12, "kind": "a"}],
    "a column too many": [{"x": 49, "kind": "a", "z": [1]}],
}


@pytest.mark.parametrize("name", ROWS)
def test_the_server_predicts_what_the_model_predicts(name: str, ask: Ask) -> None:
    frame = pd.DataFrame(ROWS[name]).reindex(columns=["x", "kind"])
    expected = tiny_model().predict_proba(frame)
    bodies: list[dict[str, Any]] = [{"dataframe_records": ROWS[name]}]
    whole = frame.astype(object).where(frame.notna(), None)
    bodies.append({"dataframe_split": {"columns": list(frame), "data": whole.to_numpy().tolist()}})
    for body in bodies:
        found = ask({**body, "params": {"proba": True}})
        np.testing.assert_allclose([row["prediction"] for row in found], expected[:, 1], atol=1e-6)
        assert ask(body) == ["prediction" if p > 0.5 else "no" for p in expected[:, 1]]


def test_what_cannot_be_read_is_said_with_its_column(ask: Ask) -> None:
    code, message = ask({"dataframe_records": [{"x": "tall", "kind": "a"}]})
    assert code == 400
    assert "column 'x' must hold numbers; found 'tall'" in message
    code, message = ask({"dataframe_records": [{"weight": 1}]})
    assert "none of the model's columns" in message
