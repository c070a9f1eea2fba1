"""Tables of real data in versions, and homes without anybody else's environment."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import fsspec
import pandas as pd
import pytest
from watched_place import Service


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "AUTOML_HOME",
        "MLFLOW_REGISTRY_URI",
        "MLFLOW_TRACKING_URI",
        "PREFECT_API_URL",
        "_MLFLOW_SERVER_ARTIFACT_ROOT",
    ):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="session")
def s3_server() -> Iterator[str]:
    """Address of an S3 server in this process; skips where moto or s3fs is not installed."""
    pytest.importorskip("s3fs")
    server = pytest.importorskip("moto.server").ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # else a line for each request
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture(params=["local", "memory", "s3"])
def inbox(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    """Address of an empty place where files may arrive."""
    if request.param == "local":
        (tmp_path / "inbox").mkdir()
        yield str(tmp_path / "inbox")
    elif request.param == "memory":
        memory = fsspec.filesystem("memory")
        memory.store.clear()
        memory.pseudo_dirs[:] = [""]
        memory.makedirs("/inbox")
        yield "memory://inbox"
        memory.store.clear()
        memory.pseudo_dirs[:] = [""]
    else:
        yield from _bucket(request.getfixturevalue("s3_server"), monkeypatch)


@pytest.fixture
def service(inbox: str, tmp_path: Path) -> Service:
    """A watcher of such a place."""
    return Service(tmp_path / "home", inbox)


def _bucket(server: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A prefix of a new bucket; the file systems know the server by the environment, as a service does."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", server)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    system = fsspec.get_filesystem_class("s3")
    system.clear_instance_cache()
    bucket = f"drops-{uuid4().hex[:12]}"
    system().mkdir(bucket)
    yield f"s3://{bucket}/inbox"
    system.clear_instance_cache()


@pytest.fixture(scope="session")
def tumors() -> pd.DataFrame:
    """Breast cancer, ten columns and a target of texts, 569 rows in a fixed order."""
    from sklearn.datasets import load_breast_cancer

    frame = load_breast_cancer(as_frame=True).frame
    frame["target"] = frame["target"].map({0: "malignant", 1: "benign"})
    names = [name for name in frame.columns if name.startswith("mean ")]
    return frame[[*names, "target"]].sample(frac=1.0, random_state=0).reset_index(drop=True)


@pytest.fixture
def versions(tumors: pd.DataFrame, tmp_path: Path) -> dict[str, Path]:
    """Files of the table as it grows: 60, 300, 310 and 500 rows."""
    files = {}
    for name, n_rows in {"first": 60, "second": 300, "more": 310, "third": 500}.items():
        files[name] = tmp_path / f"{name}.csv"
        tumors.iloc[:n_rows].to_csv(files[name], index=False)
    return files
