"""Each content begins one run, whatever the place; what is bad is set aside with its reason."""

from __future__ import annotations

import errno
import gzip
import os
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import fsspec
import pytest

from automl.errors import ServiceError, StorageError
from automl.home import Home
from automl_flows.services import watching
from automl_flows.services.drop_place import Drop, DropPlace
from automl_flows.services.drop_runs import (
    MOST_BROKEN,
    MOST_CRASHES,
    SHUTDOWN,
    DropRuns,
    RunNow,
)
from automl_flows.services.drop_store import DropStore
from automl_flows.services.end_states import BROKEN, REFUSED
from automl_flows.services.watching import Completeness, Watcher


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


class Ledger:
    """Runs as Prefect keeps them: one for each key; the test says how they stand."""

    def __init__(self) -> None:
        self.tables: dict[str, str] = {}
        self.now: dict[str, RunNow] = {}
        self.again_of: list[str] = []
        self.is_away = False

    def begin(self, digest: str, parameters: dict[str, Any], *, n_set_aside: int) -> str:
        self._reach()
        run = f"{digest} {n_set_aside}" if n_set_aside else digest
        if run not in self.tables:
            self.tables[run] = parameters["table"].rpartition("/")[2]
            self.set(run, "scheduled")
        return run

    def state(self, run: str) -> RunNow | None:
        self._reach()
        return self.now.get(run)

    def again(self, run: str) -> None:
        self.again_of.append(run)
        self.set(run, "scheduled", "AwaitingRetry")

    def set(self, run: str, kind: str, name: str = "", message: str = "") -> None:
        state = RunNow(kind, name or kind.title(), message, 1, 1, datetime.now(UTC))
        self.now[run] = state

    def end(self, file: str, kind: str, name: str = "", message: str = "") -> str:
        run = next(run for run, table in reversed(self.tables.items()) if table == file)
        self.set(run, kind, name, message)
        return run

    def _reach(self) -> None:
        if self.is_away:
            raise ServiceError("the Prefect server cannot be used: away")


class Service:
    """A watcher of a place, its home, and what it said."""

    def __init__(self, home: Path, address: str, *, pattern: str | None = None) -> None:
        self.home, self.address, self.pattern = Home(home), address, pattern
        self.system, self.root = fsspec.core.url_to_fs(address)
        self.runs, self.clock = Ledger(), Clock()
        self.said: list[str] = []
        self.events: list[tuple[str, dict[str, str]]] = []
        self.completeness = Completeness(settle_seconds=5.0)
        self.start()

    def start(self) -> None:
        self.store = DropStore(self.home, "beans")
        self.watcher = Watcher(
            DropPlace(self.address, pattern=self.pattern),
            self.store,
            self.runs,
            self.completeness,
            lambda event, payload: self.events.append((event, payload)),
            self.said.append,
            self.clock,
        )

    def put(self, name: str, content: str | bytes = "a\n1\n") -> None:
        self.system.pipe_file(f"{self.root}/{name}", content.encode() if isinstance(content, str) else content)  # fmt: skip

    def look(self, seconds: float = 6.0) -> None:
        self.watcher.step()
        self.clock.now += seconds
        self.watcher.step()

    @property
    def begun(self) -> list[str]:
        return list(self.runs.tables.values())

    @property
    def files(self) -> set[str]:
        return {
            path.removeprefix(self.root.rstrip("/") + "/") for path in self.system.find(self.root)
        }

    def reason(self, name: str) -> str:
        return str(self.system.cat_file(f"{self.root}/failed/{name}.reason.txt").decode())


@pytest.fixture
def service(inbox: str, tmp_path: Path) -> Service:
    return Service(tmp_path / "home", inbox)


@pytest.mark.parametrize(
    ("name", "is_taken"),
    [
        ("new.csv", True),
        ("new.csv.gz", True),
        ("NEW.PARQUET", True),
        ("new.csv.part", False),
        ("new.csv.tmp", False),
        ("new.csv~", False),
        (".new.csv", False),
        ("~new.csv", False),
        ("new.csv.crdownload", False),
        ("new.csv.done", False),
        ("readme.md", False),
    ],
)
def test_only_whole_tables_are_taken(name: str, is_taken: bool) -> None:
    assert DropPlace("memory://inbox").accepts(name) is is_taken


def test_a_pattern_narrows_the_files_but_never_admits_partial_ones() -> None:
    place = DropPlace("memory://inbox", pattern="sales*")
    assert place.accepts("sales.csv")
    assert not place.accepts("costs.csv")
    assert not place.accepts("sales.csv.part")


def test_a_file_that_grows_is_not_complete_until_it_rests(service: Service) -> None:
    for text in ("a", "a,b", "a,b\n1,2\n"):
        service.put("a.csv", text)
        service.look(4.0)
        assert service.begun == []
    service.look(1.5)
    assert service.begun == ["a.csv"]
    copy = service.store.path(next(iter(service.runs.tables)))
    assert copy is not None
    assert copy.read_text() == "a,b\n1,2\n"


def test_each_content_begins_one_run_also_after_a_restart(service: Service) -> None:
    service.put("a.csv")
    service.put("copy.csv")
    for _ in range(3):
        service.look()
    assert len(service.begun) == 1
    assert [s for s in service.said if "the same content as" in s] == ["copy.csv: the same content as a.csv"]  # fmt: skip
    service.put("b.csv", "a\n2\n")
    service.look()
    service.start()
    service.look()
    assert service.begun == ["a.csv", "b.csv"]


def test_what_was_copied_before_is_not_copied_again(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.put("a.csv")
    service.look()
    monkeypatch.setattr(DropPlace, "copy", lambda *_: pytest.fail("copied again"))
    service.start()
    service.look()
    assert len(service.begun) == 1


def test_two_services_of_one_problem_share_the_work(service: Service) -> None:
    other = Service(service.home.path, service.address)
    other.runs = service.runs
    other.start()
    service.put("a.csv")
    service.look()
    other.look()
    assert service.begun == ["a.csv"]


def test_a_replaced_file_counts_with_its_new_content_and_the_old_run_is_still_looked_after(
    service: Service,
) -> None:
    service.put("a.csv", "a\n1\n")
    service.look()
    service.put("a.csv", "a\n1\n2\n")
    service.look()
    assert len(service.begun) == 2
    first, second = service.runs.tables
    service.runs.set(first, "failed", REFUSED, "no target")
    service.runs.set(second, "completed")
    service.look()
    assert service.files == {"a.csv", "failed/a.csv", "failed/a.csv.reason.txt"}
    assert service.system.cat_file(f"{service.root}/failed/a.csv") == b"a\n1\n"
    assert service.system.cat_file(f"{service.root}/a.csv") == b"a\n1\n2\n"


def test_a_bad_file_is_set_aside_with_its_reason_and_an_event(service: Service) -> None:
    service.put("bad.csv")
    service.look()
    service.runs.end("bad.csv", "failed", REFUSED, "bad.csv: there is no target column 'y'")
    service.look()
    assert service.files == {"failed/bad.csv", "failed/bad.csv.reason.txt"}
    assert service.reason("bad.csv") == "bad.csv: there is no target column 'y'\n"
    assert [event for event, _ in service.events] == ["automl.drop.set-aside"]
    assert not list(service.store.folder.glob("*/bad.csv"))


@pytest.mark.parametrize("is_restarted", [False, True])
def test_a_file_that_is_put_back_is_tried_again(service: Service, *, is_restarted: bool) -> None:
    service.put("bad.csv")
    service.look()
    service.runs.end("bad.csv", "failed", BROKEN, "the test table is gone")
    service.runs.now = {run: replace(now, n_alike=2) for run, now in service.runs.now.items()}
    service.look()
    service.system.mv(f"{service.root}/failed/bad.csv", f"{service.root}/bad.csv")
    if is_restarted:
        service.start()
    service.look()
    assert service.begun == ["bad.csv", "bad.csv"]
    assert len(set(service.runs.tables)) == 2
    assert service.store.path(next(iter(service.runs.tables))) is not None
    service.runs.end("bad.csv", "completed")
    service.look()
    assert service.files == {"bad.csv", "failed/bad.csv.reason.txt"}


def test_what_was_set_aside_is_copied_again_though_its_version_is_the_same(
    service: Service,
) -> None:
    service.put("a.csv")
    place = DropPlace(service.address)
    drop = place.find("a.csv")
    assert drop is not None
    digest = service.store.take(place, drop)
    assert service.store.digest_of(place, drop) == digest
    service.store.give_up(digest)
    assert (service.store.digest_of(place, drop), service.store.path(digest)) == ("", None)
    assert service.store.take(place, drop) == service.store.digest_of(place, drop) == digest


def test_prefect_begins_another_run_for_a_content_that_was_set_aside(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runs: dict[str, SimpleNamespace] = {}

    def run_deployment(*_: Any, idempotency_key: str, **__: Any) -> SimpleNamespace:
        return runs.setdefault(idempotency_key, SimpleNamespace(id=len(runs)))

    monkeypatch.setattr("prefect.deployments.run_deployment", run_deployment)
    begun = [DropRuns("f/d").begin("digest", {}, n_set_aside=n) for n in (0, 0, 1, 1, 2)]
    assert begun == ["0", "0", "1", "1", "2"]


def test_only_the_bad_file_is_set_aside_whatever_its_name_would_match(service: Service) -> None:
    service.put("sales[1].csv")
    service.put("sales1.csv", "a\n2\n")
    service.look()
    service.runs.end("sales[1].csv", "failed", REFUSED, "there is no target column")
    service.look()
    assert {"sales1.csv", "failed/sales[1].csv"} <= service.files
    assert "sales[1].csv" not in service.files
    assert service.system.cat_file(f"{service.root}/failed/sales[1].csv") == b"a\n1\n"


def test_a_service_that_was_killed_before_it_moved_a_bad_file_moves_it_to_its_reason(
    service: Service,
) -> None:
    service.put("bad.csv")
    service.system.makedirs(f"{service.root}/failed", exist_ok=True)
    service.put("failed/bad.csv.reason.txt", "there is no target column\n")
    service.look()
    service.runs.end("bad.csv", "failed", REFUSED, "there is no target column")
    service.look()
    assert service.files == {"failed/bad.csv", "failed/bad.csv.reason.txt"}


def test_a_bad_file_that_arrives_again_is_set_aside_again(service: Service) -> None:
    for number in range(2):
        service.put("bad.csv")
        service.look()
        service.runs.end("bad.csv", "failed", REFUSED, "there is no target column")
        service.look()
        assert "bad.csv" not in service.files, number
    assert {"failed/bad.csv", "failed/bad-2.csv"} <= service.files


def test_a_file_that_goes_before_it_is_complete_leaves_a_reason(service: Service) -> None:
    service.put("a.csv")
    service.watcher.step()
    service.system.rm_file(f"{service.root}/a.csv")
    service.look()
    assert service.files == {"failed/a.csv.reason.txt"}
    assert service.reason("a.csv") == "a.csv was moved or deleted before it was complete\n"
    assert service.begun == []


def test_a_file_that_goes_after_it_was_taken_is_trained_on(service: Service) -> None:
    service.put("a.csv")
    service.look()
    service.system.rm_file(f"{service.root}/a.csv")
    service.look()
    assert service.begun == ["a.csv"]
    assert service.store.path(next(iter(service.runs.tables))) is not None
    assert service.files == set()


def test_with_a_marker_a_file_is_complete_when_it_is_there_and_not_before(
    service: Service,
) -> None:
    service.completeness = Completeness(needs_marker=True, patience_seconds=100.0)
    service.start()
    service.put("a.csv")
    service.put("b.csv", "a\n2\n")
    service.look(50.0)
    assert service.begun == []
    service.put("a.csv.done", "")
    service.watcher.step()
    assert service.begun == ["a.csv"]
    service.look(60.0)
    assert "failed/b.csv" in service.files
    assert "did not arrive within 100 s" in service.reason("b.csv")
    service.runs.end("a.csv", "failed", REFUSED, "no target")
    service.look()
    assert {f for f in service.files if f.startswith("a.")} == set()


@pytest.fixture
def epoch(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Seconds of the epoch, which stand still."""
    moment = SimpleNamespace(now=1e9)
    monkeypatch.setattr(watching.time, "time", lambda: moment.now)
    return moment


def look_as_a_process(service: Service, epoch: SimpleNamespace, *, grows: str = "") -> None:
    """As under a work pool: look, wait while a file settles, look again, end."""
    service.start()
    service.watcher.step()
    if grows:
        service.put("growing.csv", grows)
    service.clock.now += 6.0
    epoch.now += 6.0
    service.watcher.close()


def test_patience_counts_on_when_another_process_looks(service: Service, epoch) -> None:
    service.completeness = Completeness(patience_seconds=100.0)
    for n_lines in (1, 3, 5):
        assert service.files <= {"growing.csv"}
        service.put("growing.csv", "a\n" * n_lines)
        look_as_a_process(service, epoch, grows="a\n" * (n_lines + 1))
        assert service.begun == []
        epoch.now += 54.0
    assert "kept changing and was not complete within 100 s" in service.reason("growing.csv")
    service.put("growing.csv")  # a file of the same name that comes later has its own time
    look_as_a_process(service, epoch)
    assert service.begun == ["growing.csv"]
    assert service.store.waiting(service.watcher.place) == {}


@pytest.mark.parametrize("is_changed", [False, True])
def test_a_file_that_waited_while_nobody_looked_is_taken(
    service: Service, epoch, is_changed
) -> None:
    service.completeness = Completeness(patience_seconds=100.0)
    service.put("a.csv")
    service.watcher.step()
    epoch.now += 7200.0
    if is_changed:
        service.put("a.csv", "a\n1\n2\n")
    look_as_a_process(service, epoch)
    assert service.begun == ["a.csv"]


def test_what_waits_elsewhere_says_nothing_of_this_place(service: Service) -> None:
    service.put("a.csv")
    service.watcher.step()
    other = SimpleNamespace(shown="elsewhere")
    assert service.store.waiting(service.watcher.place).keys() == {"a.csv"}
    assert service.store.waiting(other) == {}


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{", '{"place": 1}', '{"place": "P", "files": []}', "[" * 100_000]
    + [
        f'{{"place": "P", "files": {{"a.csv": {{"version": "1", "since": 1.0, "first": {first}}}}}}}'
        for first in ("-Infinity", "NaN", "-1.0", "true", '"1"', "1e300", "1" * 400)
    ],
)
def test_a_damaged_note_of_what_waits_is_as_none(service: Service, text: str) -> None:
    file = service.store.folder / "waiting.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text.replace('"P"', f'"{service.watcher.place.shown}"'))
    assert service.store.waiting(service.watcher.place) == {}
    file.unlink()
    file.mkdir()
    assert service.store.waiting(service.watcher.place) == {}


def test_a_note_that_could_not_be_written_is_tried_again(service: Service, monkeypatch) -> None:
    service.put("a.csv")
    with monkeypatch.context() as patch:
        full = StorageError("the disk is full")
        patch.setattr(service.store, "keep_waiting", lambda *_: (_ for _ in ()).throw(full))
        service.watcher.step()
    assert any("the disk is full" in text for text in service.said)
    service.watcher.step()
    assert service.store.waiting(service.watcher.place).keys() == {"a.csv"}


def test_a_marker_of_an_older_version_does_not_complete_a_newer_one(tmp_path: Path) -> None:
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    service = Service(tmp_path / "home", str(inbox), pattern="sales*")
    service.completeness = Completeness(needs_marker=True, patience_seconds=100.0)
    service.start()
    service.put("sales-1.csv")
    service.put("sales-1.csv.done", "")
    service.look()
    assert service.begun == ["sales-1.csv"]
    half, marker = inbox / "sales-1.csv", inbox / "sales-1.csv.done"
    half.write_text("a\n1\n2")
    soon = marker.stat().st_mtime + 10.0
    os.utime(half, (soon, soon))
    service.look()
    assert len(service.runs.tables) == 1
    half.write_text("a\n1\n2\n3\n")
    for path in (half, marker):
        os.utime(path, (soon, soon))
    service.look()
    assert len(service.runs.tables) == 2
    service.look(200.0)
    assert service.files == {"sales-1.csv", "sales-1.csv.done"}  # no marker is a table


def test_a_file_that_goes_on_growing_is_set_aside(service: Service) -> None:
    service.completeness = replace(service.completeness, patience_seconds=20.0)
    service.start()
    for n in range(8):
        service.put("a.csv", "a\n" + "1\n" * n)
        service.watcher.step()
        service.clock.now += 3.0
    assert "it kept changing and was not complete within 20 s" in service.reason("a.csv")
    assert service.begun == []


def test_a_server_that_is_away_is_waited_for_and_told_once(service: Service) -> None:
    service.runs.is_away = True
    service.put("a.csv")
    for _ in range(3):
        service.look()
    assert service.said == ["waiting: the Prefect server cannot be used: away"]
    service.runs.is_away = False
    service.look()
    assert service.begun == ["a.csv"]
    assert service.files == {"a.csv"}


def test_a_place_that_is_away_is_no_error_and_loses_nothing(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.put("a.csv")
    service.watcher.step()
    with monkeypatch.context() as patch:
        patch.setattr(service.system, "ls", _refuse)
        service.look()
    service.look()
    assert service.begun == ["a.csv"]
    assert "failed/a.csv.reason.txt" not in service.files


def test_a_folder_that_is_away_for_a_moment_loses_nothing(tmp_path: Path) -> None:
    inbox, away = tmp_path / "inbox", tmp_path / "away"
    inbox.mkdir()
    service = Service(tmp_path / "home", str(inbox))
    service.put("a.csv")
    service.watcher.step()
    inbox.rename(away)
    service.look()
    assert service.said == [f"waiting: there is no folder {inbox}"]
    assert not inbox.exists()
    away.rename(inbox)
    service.look()
    assert service.begun == ["a.csv"]
    assert service.files == {"a.csv"}


def test_a_copy_that_another_process_has_made_meanwhile_is_taken(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    def copy(place: DropPlace, drop: Drop, target: Path) -> str:
        digest = copied(place, drop, target)
        (service.store.folder / digest).mkdir()
        (service.store.folder / digest / "same.csv").write_bytes(target.read_bytes())
        return digest

    copied = DropPlace.copy
    monkeypatch.setattr(DropPlace, "copy", copy)
    service.put("a.csv")
    service.look()
    (digest,) = service.runs.tables
    assert [path.name for path in (service.store.folder / digest).iterdir()] == ["same.csv"]
    assert not list(service.store.folder.glob(".copy-*"))


def test_a_full_home_is_waited_for(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> Any:
        raise OSError(errno.ENOSPC, "No space left on device")

    service.put("a.csv")
    with monkeypatch.context() as patch:
        patch.setattr("automl_flows.services.drop_store.TemporaryDirectory", full)
        service.look()
    (said,) = service.said
    assert "the copy of what arrived cannot be written: No space left on device" in said
    service.look()
    assert service.begun == ["a.csv"]


def _refuse(*_: Any, **__: Any) -> Any:
    raise ConnectionError("no route")


def test_a_file_that_cannot_be_set_aside_does_not_stop_others(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.put("bad.csv")
    service.look()
    service.runs.end("bad.csv", "failed", REFUSED, "no target")
    with monkeypatch.context() as patch:
        patch.setattr(service.system, "pipe_file", _refuse)
        service.look()
        service.look()
    assert len([s for s in service.said if s.startswith("waiting:")]) == 1
    service.put("good.csv", "a\n2\n")
    service.look()
    assert service.begun == ["bad.csv", "good.csv"]
    assert "failed/bad.csv" in service.files


@pytest.mark.parametrize(
    ("kind", "name", "message"),
    [("failed", "Failed", "ServiceError: away"), ("crashed", "Crashed", "signal 9")],
)
def test_a_service_error_and_a_killed_run_are_tried_again_as_the_same_run(
    service: Service, kind: str, name: str, message: str
) -> None:
    service.put("a.csv")
    service.look()
    run = service.runs.end("a.csv", kind, name, message)
    service.look()
    assert service.runs.again_of == []
    old = service.runs.now[run]
    service.runs.now[run] = replace(old, at=old.at - timedelta(seconds=31))
    service.look()
    assert service.runs.again_of == [run]
    assert service.files == {"a.csv"}


def test_a_service_error_is_never_refused(service: Service) -> None:
    state = RunNow("failed", "Failed", "away", 100, 100, datetime.now(UTC) - timedelta(hours=2))
    assert state.is_due_again
    assert not state.refusal


@pytest.mark.parametrize(
    ("kind", "name", "most"),
    [("failed", BROKEN, MOST_BROKEN), ("crashed", "Crashed", MOST_CRASHES)],
)
def test_what_breaks_each_time_is_set_aside_in_the_end(kind: str, name: str, most: int) -> None:
    before = RunNow(kind, name, "no luck", 9, most - 1, datetime.now(UTC) - timedelta(days=2))
    assert before.is_due_again
    assert not before.refusal
    assert "no luck" in replace(before, n_alike=most).refusal
    assert not replace(before, n_alike=most).is_due_again


@pytest.mark.parametrize(("message", "is_again"), [(SHUTDOWN, True), ("by hand", False)])
def test_a_run_that_was_stopped_with_the_service_is_begun_again_one_stopped_by_hand_is_not(
    service: Service, message: str, is_again: bool
) -> None:
    service.put("a.csv")
    service.look()
    service.runs.end("a.csv", "cancelled", "Cancelled", message)
    service.watcher.close()
    assert bool(service.runs.again_of) is is_again


def test_links_and_names_that_lead_out_are_refused(tmp_path: Path) -> None:
    (tmp_path / "inbox").mkdir()
    (tmp_path / "secret.csv").write_text("a\n1\n")
    (tmp_path / "inbox" / "link.csv").symlink_to(tmp_path / "secret.csv")
    (tmp_path / "inbox" / "nowhere.csv").symlink_to(tmp_path / "gone.csv")
    os.mkfifo(tmp_path / "inbox" / "pipe.csv")
    service = Service(tmp_path / "home", str(tmp_path / "inbox"))
    service.look()
    assert service.begun == []
    assert service.reason("link.csv") == "link.csv is a link; the file itself is expected\n"
    assert "is a link" in service.reason("nowhere.csv")
    assert (tmp_path / "secret.csv").read_text() == "a\n1\n"
    assert (tmp_path / "inbox" / "pipe.csv").exists()


def test_a_name_of_an_object_that_leads_out_is_refused(tmp_path: Path) -> None:
    assert "leads out" in Drop("../../x.csv", "1", 1).fault


def test_a_file_that_is_too_large_is_refused_unread(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("automl_flows.services.drop_place.most_bytes", lambda: 1000)
    service.put("large.csv", "a\n" * 600)
    service.look()
    assert "a quarter of this machine's memory" in service.reason("large.csv")
    assert service.begun == []


def test_a_file_of_zeros_behind_a_small_gzip_is_refused_while_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from automl.data.readers import read_table
    from automl.errors import DataError

    bomb = tmp_path / "bomb.csv.gz"
    bomb.write_bytes(gzip.compress(b"a,b\n" + b"0" * 5_000_000))
    monkeypatch.setattr("automl.data.memory_limit.most_bytes", lambda: 1_000_000)
    monkeypatch.setattr("automl.data.readers.most_bytes", lambda: 1_000_000)
    with pytest.raises(DataError, match="a quarter of this machine's memory"):
        read_table(bomb)


def test_used_contents_make_the_table_the_newest_of_each_name_last(service: Service) -> None:
    contents = {"a.csv": "a\n1\n", "b.csv": "a\n2\n"}
    digests = {}
    for name, text in [*contents.items(), ("a.csv", "a\n1\n1\n"), ("c.csv", "a\n3\n")]:
        service.put(name, text)
        service.look()
        digests[text] = list(service.runs.tables)[-1]
    for text in ("a\n1\n", "a\n2\n", "a\n1\n1\n"):
        service.store.accept(digests[text])
    files = service.store.accepted_files(digests["a\n3\n"]).values()
    assert [Path(f).read_text() for f in files] == ["a\n2\n", "a\n1\n1\n", "a\n3\n"]
    service.store.tidy(digests["a\n3\n"])
    service.store.tidy(digests["a\n2\n"])
    assert service.store.path(digests["a\n3\n"]) is None
    assert service.store.path(digests["a\n2\n"]) is not None


def test_a_line_that_a_killed_process_left_unfinished_does_not_count(service: Service) -> None:
    service.put("a.csv")
    service.look()
    with (service.store.folder / "seen.jsonl").open("a") as file:
        file.write('{"accepted": "x')
    service.store.accept("y")
    assert service.store._accepted() == {"y"}
