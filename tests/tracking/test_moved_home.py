"""A copied home has a store of its own, a named store stays, and no file of a run keeps a password."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from automl.errors import ServiceError, SettingsError
from automl.home import Home, RunFolder
from automl.tracking.links import links
from automl.tracking.mirror import Mirror, complete
from automl.tracking.mirror_process import registration
from automl.tracking.model_registry import find_bundle
from automl.tracking.moved_home import place_before
from automl.tracking.outbox import Outbox
from automl.tracking.own_models import own_bundle
from automl.tracking.store import open_store, store_address
from automl.tracking.synchronization import sync
from automl_flows.services import standing

pytestmark = [
    pytest.mark.integration,
    pytest.mark.usefixtures("warm_load"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]
SECRETS = ("s3cret", "n3w")
DATABASE = "postgresql://ann:s3cret@db.example/mlflow"


@pytest.fixture
def copied(home: Path) -> Callable[[], Home]:
    def copy() -> Home:
        return Home(Path(shutil.copytree(home, home.with_name(f"{home.name}-copy"))))

    return copy


def files(folder: Path) -> dict[str, int]:
    """Time of the last change of each file of a home's store."""
    artifacts = (folder / "artifacts").rglob("*")
    return {str(path): path.stat().st_mtime_ns for path in (folder / "mlflow.db", *artifacts)}


def told(run: RunFolder) -> dict[str, Any]:
    return dict(json.loads((run.path / "outbox.json").read_text()))


def test_a_copied_home_writes_into_its_own_store(
    registered: RunFolder, home: Path, runs: Any, copied: Callable[[], Home]
) -> None:
    copy = copied()
    (run,) = copy.run_folders()
    before = files(home)
    runs.append(run, range(3, 5))
    run.report.write_text("<p>of the copy</p>")
    command = [sys.executable, "-m", "automl.tracking.mirror", str(run.path)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)  # MLflow remembers places
    assert files(home) == before
    client = open_store(store_address(copy.path))
    (experiment,) = client.search_experiments(filter_string="name = 'beans-label'")
    artifacts = str(copy.path / "artifacts")
    assert experiment.artifact_location == f"{artifacts}/beans-label"
    found = client.search_runs([experiment.experiment_id])
    assert len([each for each in found if each.data.tags["automl.kind"] == "trial"]) == 5
    assert all(each.info.artifact_uri.startswith(f"{artifacts}/") for each in found)
    parent = client.get_run(Outbox.load(run.path / "outbox.json").parent)
    assert Path(parent.info.artifact_uri, "report.html").read_text() == "<p>of the copy</p>"
    assert links(run)["tracking_store"] == f"sqlite:///{copy.path}/mlflow.db"


def test_models_of_a_moved_home_are_found_where_it_is_now(
    registered: RunFolder, copied: Callable[[], Home]
) -> None:
    copy = copied()
    (run,) = copy.run_folders()
    shutil.rmtree(registered.path)
    found = own_bundle("beans-label@champion", copy.path)
    assert found is not None
    assert found.folder == run.bundle
    shutil.rmtree(run.path)
    assert find_bundle("beans-label@champion", copy.path).folder.is_relative_to(copy.path)


def test_the_page_of_a_moved_home_shows_the_artifacts_that_came_along(
    registered: RunFolder, home: Path, copied: Callable[[], Home]
) -> None:
    copy = copied()
    assert place_before(home) is None
    assert place_before(copy.path) == home
    assert standing._tracking_store(copy.path) == f"sqlite:///{copy.path}/mlflow.db"
    assert place_before(copy.path) is None


def test_a_run_of_an_earlier_version_moves_with_its_home(
    registered: RunFolder, home: Path, copied: Callable[[], Home]
) -> None:
    outbox = {**told(registered), "store": f"sqlite:///{home}/mlflow.db"}
    (registered.path / "outbox.json").write_text(json.dumps(outbox))
    registered.write_facts({**registered.read_facts(), "home": str(home)})
    (run,) = copied().run_folders()
    address = Outbox.load(run.path / "outbox.json").address()
    assert address.sqlite_file == run.path.parents[1] / "mlflow.db"


def test_a_store_elsewhere_stays_the_store_of_a_run_whose_home_is_copied(
    home: Path, runs: Any, copied: Callable[[], Home], monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = home.with_name(f"{home.name}-elsewhere") / "mlflow.db"
    elsewhere.parent.mkdir()
    shutil.copy(home / "mlflow.db", elsewhere)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{elsewhere}")
    runs.finish(runs.make(2))
    assert sync(home).trials == 2
    monkeypatch.delenv("MLFLOW_TRACKING_URI")
    (run,) = copied().run_folders()
    assert Outbox.load(run.path / "outbox.json").address().sqlite_file == elsewhere


def test_a_password_is_not_kept_and_the_one_of_the_environment_is_used(
    runs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = runs.make(1).path / "outbox.json"
    outbox = Outbox(file)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", DATABASE)
    outbox.restart(outbox.address())
    outbox.save()
    assert not any(secret in file.read_text() for secret in ("ann", *SECRETS))
    assert Outbox.load(file).address().uri == DATABASE
    rotated = DATABASE.replace("s3cret", "n3w")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", rotated)
    assert Outbox.load(file).address().uri == rotated
    for other in ("", "http://127.0.0.1:9"):
        monkeypatch.setenv("MLFLOW_TRACKING_URI", other)
        with pytest.raises(SettingsError, match=r"in the tracking store postgresql://db\.example"):
            Outbox.load(file).address()


def test_sync_takes_the_password_out_of_what_an_earlier_version_wrote(
    registered: RunFolder, home: Path
) -> None:
    file = registered.path / "outbox.json"
    file.write_text(json.dumps({**told(registered), "store": DATABASE}))
    assert sync(home).pending == {}
    assert told(registered)["store"] == "postgresql://db.example/mlflow"
    assert Outbox.load(file).has_secret


def test_a_database_whose_driver_is_not_installed_is_a_store_that_is_away(
    runs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = runs.make(1)
    runs.finish(folder)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "mssql+pyodbc://ann:s3cret@/mlflow")
    assert not complete(Mirror(folder), 60)
    reason = registration(folder).reason
    assert reason.startswith("tracking store mssql+pyodbc:///mlflow failed:")
    for file in folder.path.rglob("*"):
        assert not file.is_file() or b"s3cret" not in file.read_bytes()


@pytest.mark.parametrize("kind", ["postgresql", "mysql+pymysql"])
def test_a_database_that_nothing_listens_for_is_away_at_once(home: Path, kind: str) -> None:
    address = store_address(home, uri=f"{kind}://ann:s3/cret@127.0.0.1:1/mlflow")
    with pytest.raises(ServiceError, match=r"//127\.0\.0\.1:1/mlflow does not answer"):
        open_store(address)


def test_a_database_that_refuses_is_not_asked_for_minutes(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    monkeypatch.setattr("mlflow.store.db.utils.time.sleep", waits.append)
    with pytest.raises(ServiceError, match="unable to open database"):
        open_store(store_address(home, uri=f"sqlite:///{home}"))
    assert 2.0 < sum(waits) < 3.0


def test_runs_that_a_home_links_to_belong_to_its_store(home: Path, runs: Any) -> None:
    folder = runs.make(1)
    runs.finish(folder)
    elsewhere = home.with_name(f"{home.name}-disk")
    shutil.move(home / "runs", elsewhere / "runs")
    (home / "runs").symlink_to(elsewhere / "runs")
    command = [sys.executable, "-m", "automl.tracking.mirror", str(folder.path)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    assert Outbox.load(folder.path / "outbox.json").address().uri == f"sqlite:///{home}/mlflow.db"
    assert not (elsewhere / "mlflow.db").exists()
