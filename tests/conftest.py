"""Settings of all tests, and an installation of their own.

Linear algebra has one thread, as in a worker slot: threads of tests that run side by side wait for each other, and
a fit of 0.2 seconds takes eighteen.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

from automl.installation import KEY_VARIABLE

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

os.environ["OMP_NUM_THREADS"] = "1"  # read when numpy is loaded, which is later
os.environ.pop(
    "PYTHONDONTWRITEBYTECODE", None
)  # hundreds of processes would compile every module anew


def pytest_addoption(parser: pytest.Parser) -> None:
    """How much the suite of faults does, and whether the full stack and all checks are tested."""
    parser.addoption("--kills", type=int, default=1, help="runs whose processes are killed")
    parser.addoption("--drops", type=int, default=20, help="files that are dropped into a place")
    parser.addoption("--busy", type=int, default=2, help="busy loops beside a run")
    parser.addoption(
        "--sklearn-checks", action="store_true", help="all of scikit-learn's checks of AutoML"
    )
    parser.addoption("--stack", action="store_true", help="also tests/stack; it needs PostgreSQL")
    parser.addoption("--stack-kills", type=int, default=6, help="parts of it that are killed")
    parser.addoption("--screenshots", metavar="FOLDER", help="where tests/browser leaves pictures")


@pytest.fixture(scope="session", autouse=True)
def _own_installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A key that is not the user's."""
    before = os.environ.get(KEY_VARIABLE)
    os.environ[KEY_VARIABLE] = str(tmp_path_factory.mktemp("installation") / "key")
    yield
    if before is None:
        del os.environ[KEY_VARIABLE]
    else:
        os.environ[KEY_VARIABLE] = before


@pytest.fixture(scope="session")
def prefect_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a Prefect server of the session, for commands whose own start of one is no matter."""
    from automl_flows.services.server import LocalServer

    server = LocalServer(tmp_path_factory.mktemp("prefect"))
    server.start()
    try:
        server.wait_ready()
        yield server.api_url
    finally:
        server.stop()


@pytest.fixture(scope="session")
def own_ports() -> Iterator[None]:
    """Standing services of this process take any free port: tests at the same moment would meet at the usual ones."""
    from automl_flows.services import standing

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(standing, "USUAL_PORTS", dict.fromkeys(standing.USUAL_PORTS, 0))
        yield


@pytest.fixture
def _with_server(prefect_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands of the test find a server that is up."""
    monkeypatch.setenv("PREFECT_API_URL", prefect_url)
