"""What another process does to the store, or to the mirror, delays a registration and loses nothing."""

from __future__ import annotations

import os
import signal
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from filelock import FileLock
from run_records import TEST, final_of, write
from sklearn.linear_model import Ridge
from sqlalchemy import event
from sqlalchemy.engine import Engine
from waiting import until

from automl.errors import AutoMLWarning, ServiceError, StoreBusyError
from automl.home import RunFolder
from automl.inference.bundle import write_bundle
from automl.inference.model import FittedPipeline, Member, TableModel
from automl.inference.schema import TableSchema
from automl.installation import make_key
from automl.preprocessing import build_preprocessor
from automl.tracking import synchronization
from automl.tracking.mirror import (
    FIRST_PAUSE_SECONDS,
    LONGEST_PAUSE_SECONDS,
    Mirror,
    complete,
    only_mirror,
)
from automl.tracking.mirror_process import MirrorProcess, complete_apart, registration
from automl.tracking.model_registry import find_bundle, list_versions
from automl.tracking.outbox import Outbox
from automl.tracking.store import open_store, service_errors, store_address
from automl.tracking.synchronization import register_pending, register_within, sync

pytestmark = [
    pytest.mark.integration,
    pytest.mark.usefixtures("warm_load"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


@pytest.fixture(autouse=True)
def short_waits() -> Iterator[None]:
    """MLflow's sessions wait 20 s for a lock; here a twentieth of a second."""

    def shorten(_: Any, __: Any, text: str, given: Any, *___: Any) -> tuple[str, Any]:
        return text.replace("busy_timeout = 20000", "busy_timeout = 50"), given

    event.listen(Engine, "before_cursor_execute", shorten, retval=True)
    yield
    event.remove(Engine, "before_cursor_execute", shorten)


def finished(runs: Any) -> RunFolder:
    """A run that ended well but for its registration."""
    folder: RunFolder = runs.make(3)
    frame = pd.DataFrame({"size": np.arange(20.0)})
    schema = TableSchema.fit(frame, {"size": "numeric"})
    preprocessor = build_preprocessor({}, seed=1)
    matrix = preprocessor.fit_transform(schema.transform(frame), np.arange(20.0))
    pipeline = FittedPipeline(preprocessor, Ridge().fit(matrix, np.arange(20.0)))
    members = [Member(1.0, [pipeline], "ridge")]
    model = TableModel(schema, members, task="regression", target="label")
    write_bundle(model, folder.bundle, extra={"run": folder.run_id}, key=make_key())
    runs.finish(folder, champion=0)
    write(folder, final_of(kind="refit", test=TEST))
    return folder


@contextmanager
def locked(home: Path, seconds: float = 60.0) -> Iterator[threading.Event]:
    """Another connection keeps the store for itself, for so long or until the event is set."""
    is_over, is_begun = threading.Event(), threading.Event()

    def hold() -> None:
        other = sqlite3.connect(home / "mlflow.db", isolation_level=None)
        other.execute("BEGIN EXCLUSIVE")
        is_begun.set()
        is_over.wait(seconds)
        other.execute("ROLLBACK")
        other.close()

    thread = threading.Thread(target=hold)
    thread.start()
    is_begun.wait()
    try:
        yield is_over
    finally:
        is_over.set()
        thread.join()


@contextmanager
def impatient(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setattr(synchronization, "REGISTRATION_SECONDS", 0.5)
        yield


def running(home: Path) -> list[str]:
    """MLflow runs that are not ended."""
    client = open_store(store_address(home))
    experiments = [each.experiment_id for each in client.search_experiments()]
    found = client.search_runs(experiments, max_results=500)
    return [run.info.run_name for run in found if run.info.status == "RUNNING"]


def test_a_store_that_is_locked_for_a_while_only_delays_the_registration(
    home: Path, runs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = finished(runs)
    attempts: list[tuple[float, float]] = []
    attempt = Mirror._attempt

    with locked(home) as is_over:

        def watched(self: Mirror, *given: Any, **named: Any) -> bool:
            began = time.monotonic()
            if len(attempts) == 3:
                is_over.set()
            try:
                return attempt(self, *given, **named)
            finally:
                attempts.append((began, time.monotonic()))

        monkeypatch.setattr(Mirror, "_attempt", watched)
        assert complete(Mirror(folder), 60)
    assert len(attempts) > 3
    pauses = [later[0] - earlier[1] for earlier, later in pairwise(attempts)]
    wanted = [min(FIRST_PAUSE_SECONDS * 2**i, LONGEST_PAUSE_SECONDS) for i in range(len(pauses))]
    assert all(pause >= least for pause, least in zip(pauses, wanted, strict=True))  # they grow
    assert registration(folder).registered == "beans-label/1@champion"
    assert [each.version for each in list_versions("beans-label", home)] == ["1"]
    assert running(home) == []


@pytest.mark.parametrize("step", ["create_model_version", "log_batch", "set_terminated"])
def test_a_lock_in_the_middle_of_a_registration_adds_nothing_twice(
    home: Path, runs: Any, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    from mlflow import MlflowClient

    folder = finished(runs)
    call = getattr(MlflowClient, step)
    n_calls = []

    def meets_a_lock(self: MlflowClient, *given: Any, **named: Any) -> Any:
        n_calls.append(step)
        if len(n_calls) == 1:
            with locked(home):
                return call(self, *given, **named)
        return call(self, *given, **named)

    monkeypatch.setattr(MlflowClient, step, meets_a_lock)
    assert complete(Mirror(folder), 60)
    assert len(n_calls) > 1
    client = open_store(store_address(home))
    outbox = Outbox.load(folder.path / "outbox.json")
    assert len(client.search_model_versions("name = 'beans-label'")) == 1
    assert len(client.search_runs([outbox.experiment])) == 1 + 2 + 3
    assert running(home) == []


def test_who_meets_a_store_that_stays_locked_is_told_what_waits_and_where_the_model_is(
    home: Path, runs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = finished(runs)
    with (
        impatient(monkeypatch),
        locked(home),
        pytest.warns(AutoMLWarning, match="is not registered yet: .*database is locked"),
        pytest.raises(ServiceError, match=f"not registered yet: .*that of run {folder.run_id}"),
    ):
        find_bundle("beans-label@champion", home)
    with pytest.warns(AutoMLWarning, match="it is beans-label/1@champion now"):
        assert find_bundle("beans-label@champion", home).run_id == folder.run_id


def test_only_a_lock_is_worth_another_attempt(home: Path) -> None:
    address = store_address(home)
    open_store(address)
    for text, kind in (("select * from none", ServiceError), ("begin exclusive", StoreBusyError)):
        with locked(home), pytest.raises(ServiceError) as told, service_errors(address):
            sqlite3.connect(home / "mlflow.db", timeout=0.05).execute(text)
        assert type(told.value) is kind


def test_a_command_waits_for_the_process_that_is_registering_the_model(
    home: Path, runs: Any
) -> None:
    folder = finished(runs)
    is_held = threading.Event()

    def register() -> None:
        with only_mirror(folder):
            is_held.set()
            time.sleep(1.5)
            complete(Mirror(folder), 60)

    other = threading.Thread(target=register)
    other.start()
    is_held.wait()
    (told,) = register_pending("beans-label", home)
    other.join()
    assert told.endswith("it is beans-label/1@champion now")
    assert len(list_versions("beans-label", home)) == 1


def test_who_has_no_time_for_a_registration_does_not_begin_it(
    home: Path, runs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = finished(runs)
    with monkeypatch.context() as patch:
        patch.setattr(synchronization, "complete_apart", lambda *_: pytest.fail("it was begun"))
        (told,) = register_within("beans-label", home, 7.0)
    assert told.endswith(f"{folder.run_id} is not registered yet, and there is no time for it now")
    (told,) = register_within("beans-label", home, 120.0)
    assert told.endswith("it is beans-label/1@champion now")
    assert register_within("beans-label", home, 120.0) == []


def test_a_registration_apart_ends_with_its_time(runs: Any) -> None:
    folder = finished(runs)
    began = time.monotonic()
    complete_apart(folder, 0.3)
    assert time.monotonic() - began < 8
    with only_mirror(folder, seconds=0.0):
        assert registration(folder).status == "pending"


def test_a_death_while_the_model_is_copied_leaves_nothing_running(
    home: Path, runs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = finished(runs)

    def die(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("automl.tracking.publication.save_pyfunc", die)
    with pytest.raises(KeyboardInterrupt):
        Mirror(folder).finish(60)
    assert running(home) == []


def test_the_next_look_at_a_name_ends_what_others_left_running(home: Path, runs: Any) -> None:
    gone, done = runs.make(3), finished(runs)
    assert Mirror(gone).write_some() == 3
    Mirror(done).open()
    assert len(running(home)) == 1 + 2 + 1
    with pytest.warns(AutoMLWarning, match="@champion now"):
        find_bundle("beans-label@champion", home)
    assert running(home) == []
    client = open_store(store_address(home))
    ends = [Outbox.load(each.path / "outbox.json").parent for each in (gone, done)]
    assert [client.get_run(run).info.status for run in ends] == ["KILLED", "FINISHED"]


@pytest.mark.parametrize("number", [signal.SIGKILL, None])
def test_no_copy_of_a_model_stays_behind_a_mirror_that_ended_amid_it(
    runs: Any, number: int | None
) -> None:
    folder = runs.make(1)
    process = MirrorProcess(folder)
    process.start()
    until(folder.mirror.is_dir)
    (folder.mirror / "half").mkdir()
    if number is not None:
        assert process.pid is not None
        os.kill(process.pid, number)
    process.stop()
    assert not folder.mirror.exists()


def test_what_a_killed_mirror_was_copying_is_gone_with_the_next(home: Path, runs: Any) -> None:
    folder = finished(runs)
    (folder.mirror / "half").mkdir(parents=True)
    assert sync(home).pending == {}
    assert not folder.mirror.exists()


def test_a_detached_mirror_completes_the_run_and_ends(home: Path, runs: Any) -> None:
    folder = runs.make(3)
    runs.finish(folder)
    process = MirrorProcess(folder)
    process.detach(60.0)
    process.stop()
    until(lambda: Outbox.load(folder.path / "outbox.json").status == "done")
    with FileLock(folder.path / "mirror.lock").acquire(timeout=60):
        assert not folder.mirror.exists()
    assert running(home) == []
    assert sync(home).trials == 0
