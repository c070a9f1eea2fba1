"""A file is taken when it is complete, and set aside when it never is."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from watched_place import Service

from automl.errors import StorageError
from automl_flows.services import watching
from automl_flows.services.end_states import REFUSED
from automl_flows.services.watching import Completeness


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


def test_a_file_that_goes_before_it_is_complete_leaves_a_reason(service: Service) -> None:
    service.put("a.csv")
    service.watcher.step()
    service.system.rm_file(f"{service.root}/a.csv")
    service.look()
    assert service.files == {"failed/a.csv.reason.txt"}
    assert service.reason("a.csv") == "a.csv was moved or deleted before it was complete\n"
    assert service.begun == []


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
