"""A real tracking server that keeps runs in SQLite and serves the artifacts itself: no path of ours reaches its files."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from ports import free_port

pytestmark = [pytest.mark.integration, pytest.mark.timeout(400)]

# margins whose scale and offsets are learned hold one estimator in another
SETTINGS = """
preset: fast
families: [nu_svm]
spaces: {nu_svm: {calibration: [sigmoid]}}
portfolio: false
trials: 6
workers: 1
"""
PLAIN_LOAD = """
    import json, os, sys, warnings
    warnings.simplefilter("ignore")
    import mlflow, pandas as pd
    from mlflow.models import validate_serving_input
    assert "AUTOML_TRUST" not in os.environ
    uri, rows = sys.argv[1:]
    model = mlflow.pyfunc.load_model(uri)
    frame = pd.read_csv(rows)
    folder = mlflow.artifacts.download_artifacts(uri)
    text = open(folder + "/serving_input_example.json").read()
    json.loads(text, parse_constant=lambda word: sys.exit(f"{word} is not JSON"))
    types = {c.name: (str(c.type), c.required) for c in model.metadata.get_input_schema()}
    answer = {
        "labels": model.predict(frame).tolist(),
        "shares": model.predict(frame, params={"proba": True}).to_numpy().tolist(),
        "without": len(model.predict(frame.drop(columns="size"))),
        "example": validate_serving_input(uri, text).tolist(),
        "types": types,
    }
    print(json.dumps(answer))
"""


def clean_environment(**more: str) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("AUTOML_", "MLFLOW_"))}
    quiet = {"DO_NOT_TRACK": "true", "MLFLOW_DISABLE_TELEMETRY": "true"}
    return {**kept, **quiet, **more}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a server."""
    folder = tmp_path_factory.mktemp("server")
    port = free_port()
    arguments = ["--host", "127.0.0.1", "--port", str(port), "--workers", "1"]
    store = ["--backend-store-uri", f"sqlite:///{folder}/server.db"]
    artifacts = ["--artifacts-destination", str(folder / "artifacts"), "--serve-artifacts"]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "mlflow", "server", *arguments, *store, *artifacts],
            stdout=log,
            stderr=log,
            cwd=folder,
            env=clean_environment(MLFLOW_SERVER_ENABLE_JOB_EXECUTION="false"),
            start_new_session=True,
        )
    uri = f"http://127.0.0.1:{port}"
    try:
        wait_for(uri, process, folder / "log")
        yield uri
    finally:
        os.killpg(process.pid, signal.SIGKILL)  # a kept connection would hold up its end
        process.wait()


def wait_for(uri: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{uri}/health", timeout=5):
                return
        except OSError:
            time.sleep(0.2)
    pytest.fail(f"the server does not answer: {log.read_text()[-2000:]}")


def rows(n_rows: int) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    size = rng.normal(size=n_rows)
    color = rng.choice(["red", "blue"], n_rows)
    days = pd.to_timedelta(rng.integers(0, 400, n_rows), unit="D")
    noise = rng.normal(0.0, 0.3, n_rows)
    return pd.DataFrame(
        {
            "size": np.where(rng.random(n_rows) < 0.1, np.nan, size),
            "count": rng.integers(0, 9, n_rows),
            "is new?": rng.random(n_rows) < 0.5,
            "color": color,
            "seen": (pd.Timestamp("2024-01-01") + days).strftime("%Y-%m-%d"),
            "kind": np.where(size + (color == "red") + noise > 0.5, "ripe", "raw"),
        }
    )


def automl(home: Path, uri: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "automl_flows.commands.cli", *arguments, "--home", str(home)],
        env=clean_environment(MLFLOW_TRACKING_URI=uri),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def plain_load(uri: str, model: str, table: Path) -> dict[str, Any]:
    """What a fresh process says that knows nothing but MLflow."""
    environment = clean_environment(
        MLFLOW_TRACKING_URI=uri, MLFLOW_ALLOW_PICKLE_DESERIALIZATION="false"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", textwrap.dedent(PLAIN_LOAD), model, str(table)],
        cwd=table.parent,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


@pytest.mark.usefixtures("_with_server")
def test_a_champion_on_a_server_predicts_loads_and_is_compared_without_trust(
    server: str, tmp_path: Path
) -> None:
    table = rows(420)
    table.iloc[:200].to_csv(tmp_path / "first.csv", index=False)
    table.to_csv(tmp_path / "second.csv", index=False)
    table.drop(columns="kind").to_csv(tmp_path / "new.csv", index=False)
    (tmp_path / "settings.yaml").write_text(SETTINGS)
    home, elsewhere = tmp_path / "home", tmp_path / "elsewhere"
    options = ["--target", "kind", "--name", "kinds", "--config", str(tmp_path / "settings.yaml")]
    trained = json.loads(
        automl(home, server, "train", str(tmp_path / "first.csv"), *options, "--json")
    )
    assert trained["model"]["registered"] == "kinds/1@champion"

    out = tmp_path / "out.csv"
    new = str(tmp_path / "new.csv")
    automl(elsewhere, server, "predict", "kinds@champion", new, "--proba", "-o", str(out))
    predicted = pd.read_csv(out)
    (bundle,) = elsewhere.glob("downloads/*/data/bundle")
    manifest = json.loads((bundle / "manifest.json").read_text())
    assert not manifest["needs_trust"]
    classes = {entry["class"] for entry in manifest["estimators"]}
    assert "automl.estimators.margins.CalibratedMargin" in classes

    answer = plain_load(server, "models:/kinds@champion", tmp_path / "new.csv")
    assert answer["labels"] == predicted["prediction"].tolist()
    np.testing.assert_allclose(answer["shares"], predicted[["raw", "ripe"]], rtol=1e-6)
    assert answer["without"] == len(table)
    assert set(answer["example"]) <= {"raw", "ripe"}
    columns = ("size", "count", "is new?", "color", "seen")
    assert answer["types"] == {column: ["Any", False] for column in columns}

    retrained = json.loads(
        automl(home, server, "retrain", "kinds", str(tmp_path / "second.csv"), "--json")
    )
    assert "kinds/1 on" in retrained["reason"]
    assert "95 % interval" in retrained["reason"]
    assert retrained["registered"].startswith("kinds/2")
