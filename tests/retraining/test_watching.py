"""Each content begins one run, whatever the place."""

from __future__ import annotations

import errno
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from watched_place import Service, no_route

from automl_flows.services.drop_place import Drop, DropPlace
from automl_flows.services.drop_runs import (
    SHUTDOWN,
)
from automl_flows.services.end_states import REFUSED


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


def test_a_file_that_goes_after_it_was_taken_is_trained_on(service: Service) -> None:
    service.put("a.csv")
    service.look()
    service.system.rm_file(f"{service.root}/a.csv")
    service.look()
    assert service.begun == ["a.csv"]
    assert service.store.path(next(iter(service.runs.tables))) is not None
    assert service.files == set()


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
        patch.setattr(service.system, "ls", no_route)
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


@pytest.mark.parametrize(("message", "is_again"), [(SHUTDOWN, True), ("by hand", False)])
def test_a_run_that_was_stopped_with_the_service_is_begun_again_one_stopped_by_hand_is_not(
    service: Service, message: str, is_again: bool
) -> None:
    service.put("a.csv")
    service.look()
    service.runs.end("a.csv", "cancelled", "Cancelled", message)
    service.watcher.close()
    assert bool(service.runs.again_of) is is_again


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
