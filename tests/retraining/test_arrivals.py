"""Files are complete when they rest; each content is used once, also after a restart."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from automl.errors import DataError, ServiceError, SettingsError
from automl.home import Home
from automl_flows.services import arrivals as module
from automl_flows.services.arrivals import Arrivals, FolderWatch, ending_of, file_digest
from automl_flows.services.watching import Watcher


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "inbox").mkdir()
    return tmp_path / "inbox"


class Service:
    """A watcher over a folder whose runs the test ends."""

    def __init__(self, home: Path, folder: Path, clock: Clock) -> None:
        self.home, self.folder, self.clock = Home(home), folder, clock
        self.begun: list[str] = []
        self.said: list[str] = []
        self.endings: dict[str, str] = {}
        self.is_away = False
        self.start()

    def start(self) -> None:
        self.arrivals = Arrivals(self.home, "beans")
        self.arrivals.recover()
        watch = FolderWatch(self.folder, settle_seconds=5.0, clock=self.clock)
        self.watcher = Watcher(
            watch, self.arrivals, begin=self._begin, ended=self._ended, say=self.said.append
        )

    def look(self, seconds: float = 6.0) -> None:
        self.watcher.step()
        self.clock.now += seconds
        self.watcher._looked_at = float("-inf")
        self.watcher.step()

    def _begin(self, path: Path, digest: str) -> str:
        if self.is_away:
            raise ServiceError("no run could be begun")
        self.begun.append(path.name)
        return f"run-{len(self.begun)}"

    def _ended(self, flow_run: str) -> str:
        return self.endings.get(flow_run, "")


@pytest.fixture
def service(tmp_path: Path, folder: Path, clock: Clock) -> Service:
    return Service(tmp_path / "home", folder, clock)


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
        ("readme.md", False),
    ],
)
def test_only_whole_tables_are_taken(folder: Path, name: str, is_taken: bool) -> None:
    assert FolderWatch(folder).accepts(name) is is_taken


def test_a_pattern_narrows_the_files_but_never_admits_partial_ones(folder: Path) -> None:
    watch = FolderWatch(folder, pattern="sales*")
    assert watch.accepts("sales.csv")
    assert not watch.accepts("costs.csv")
    assert not watch.accepts("sales.csv.part")


def test_a_file_that_grows_is_not_complete_until_it_rests(folder: Path, clock: Clock) -> None:
    watch = FolderWatch(folder, settle_seconds=5.0, clock=clock)
    file = folder / "a.csv"
    for text in ("a", "a,b", "a,b\n1,2\n"):
        file.write_text(text)
        assert watch.complete_files() == []
        clock.now += 4.0
        assert watch.complete_files() == []
    clock.now += 1.5
    assert watch.complete_files() == [(file, file_digest(file))]


def test_a_file_that_was_renamed_into_place_is_new(folder: Path, clock: Clock) -> None:
    watch = FolderWatch(folder, settle_seconds=5.0, clock=clock)
    part = folder / "a.csv.part"
    part.write_text("a,b\n1,2\n")
    watch.complete_files()
    clock.now += 100.0
    assert watch.complete_files() == []
    part.rename(folder / "a.csv")
    assert watch.complete_files() == []
    clock.now += 6.0
    assert [path.name for path, _ in watch.complete_files()] == ["a.csv"]


def test_the_same_size_and_another_time_is_a_change(folder: Path, clock: Clock) -> None:
    watch = FolderWatch(folder, settle_seconds=5.0, clock=clock)
    file = folder / "a.csv"
    file.write_text("a\n1\n")
    watch.complete_files()
    clock.now += 6.0
    first = watch.complete_files()
    file.write_text("a\n2\n")
    os.utime(file, ns=(1, 1))
    assert watch.complete_files() == []
    clock.now += 6.0
    assert watch.complete_files() != first


def test_a_folder_that_is_away_is_no_error(folder: Path, clock: Clock) -> None:
    watch = FolderWatch(folder / "gone", clock=clock)
    assert watch.complete_files() == []


def test_each_content_begins_one_run(service: Service, folder: Path) -> None:
    (folder / "a.csv").write_text("a\n1\n")
    (folder / "copy.csv").write_text("a\n1\n")
    for _ in range(3):
        service.look()
    assert len(service.begun) == 1
    (folder / "b.csv").write_text("a\n2\n")
    service.look()
    assert service.begun[1:] == ["b.csv"]


def test_a_content_is_remembered_after_a_restart(service: Service, folder: Path) -> None:
    (folder / "a.csv").write_text("a\n1\n")
    service.look()
    service.arrivals.end(file_digest(folder / "a.csv"), "done", "trained", run_id="r")
    service.start()
    service.look()
    assert service.begun == ["a.csv"]


def test_two_watchers_of_one_folder_share_the_work(
    service: Service, tmp_path: Path, folder: Path, clock: Clock
) -> None:
    other = Service(tmp_path / "home", folder, clock)
    (folder / "a.csv").write_text("a\n1\n")
    service.watcher.step()
    other.watcher.step()
    clock.now += 6.0
    service.watcher.step()
    other.watcher.step()
    assert len(service.begun) + len(other.begun) == 1


def test_a_failed_run_is_tried_once_more(
    service: Service, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "RETRY_SECONDS", 0.0)
    (folder / "a.csv").write_text("a\n1\n")
    digest = file_digest(folder / "a.csv")
    for attempt in (1, 2):
        service.look()
        assert len(service.begun) == attempt
        service.arrivals.end(digest, "failed", "no luck")
    for _ in range(3):
        service.look()
    assert len(service.begun) == 2
    assert service.arrivals.entries()[digest].reason == "no luck"
    assert [line for line in service.said if "no luck" in line] == ["a.csv: the run failed: no luck"] * 2  # fmt: skip


def test_a_failed_run_is_not_tried_again_at_once(service: Service, folder: Path) -> None:
    (folder / "a.csv").write_text("a\n1\n")
    service.look()
    service.arrivals.end(file_digest(folder / "a.csv"), "failed", "no luck")
    service.look()
    assert len(service.begun) == 1


def test_a_bad_file_is_told_once_and_never_tried_again(
    service: Service, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "RETRY_SECONDS", 0.0)
    (folder / "a.csv").write_text("a\n1\n")
    service.look()
    service.arrivals.end(file_digest(folder / "a.csv"), "refused", "no target column")
    for _ in range(3):
        service.look()
    service.start()
    service.look()
    assert len(service.begun) == 1
    told = [line for line in service.said if "cannot be used" in line]
    assert told == ["a.csv: the file cannot be used: no target column"]


def test_a_run_whose_process_was_killed_counts_as_failed(service: Service, folder: Path) -> None:
    (folder / "a.csv").write_text("a\n1\n")
    service.look()
    service.endings["run-1"] = "its flow run ended as Crashed"
    service.look()
    entry = service.arrivals.entries()[file_digest(folder / "a.csv")]
    assert (entry.status, entry.reason) == ("failed", "its flow run ended as Crashed")


def test_a_run_that_was_stopped_with_the_service_is_begun_again(
    service: Service, folder: Path
) -> None:
    (folder / "a.csv").write_text("a\n1\n")
    service.look()
    service.watcher.close()
    entry = service.arrivals.entries()[file_digest(folder / "a.csv")]
    assert (entry.status, entry.attempts, entry.interruptions) == ("interrupted", 0, 1)
    service.start()
    service.look()
    assert len(service.begun) == 2


def test_a_stop_that_the_run_and_the_service_notice_counts_once(
    service: Service, folder: Path
) -> None:
    (folder / "a.csv").write_text("a\n1\n")
    service.look()
    digest = file_digest(folder / "a.csv")
    service.arrivals.end(digest, "interrupted", "the run was stopped")
    service.arrivals.end(digest, "interrupted", "the service was stopped")
    entry = service.arrivals.entries()[digest]
    assert (entry.attempts, entry.interruptions) == (0, 1)


def test_a_file_that_takes_the_service_down_is_not_begun_endlessly(
    service: Service, folder: Path
) -> None:
    (folder / "a.csv").write_text("a\n1\n")
    for _ in range(10):
        service.look()
        service.start()
    assert len(service.begun) == module.MOST_INTERRUPTIONS


def test_a_server_that_is_away_is_a_failure_with_its_reason(service: Service, folder: Path) -> None:
    service.is_away = True
    (folder / "a.csv").write_text("a\n1\n")
    service.look()
    assert service.said == ["a.csv: the run failed: no run could be begun"]


def test_a_broken_state_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    arrivals = Arrivals(Home(tmp_path), "beans")
    arrivals.file.write_text("{broken")
    with pytest.raises(SettingsError, match=r"beans\.json is not a list of arrivals"):
        arrivals.entries()


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (DataError("bad table"), "refused"),
        (ServiceError("away"), "failed"),
        (ValueError("a bug"), "failed"),
        (KeyboardInterrupt(), "interrupted"),
    ],
)
def test_how_a_run_ended_decides_whether_it_is_tried_again(error: Any, status: str) -> None:
    assert ending_of(error)[0] == status
