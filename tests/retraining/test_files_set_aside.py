"""What is bad is set aside with its reason, and nothing else."""

from __future__ import annotations

import gzip
import os
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from watched_place import Service, no_route

from automl_flows.services.drop_place import Drop, DropPlace
from automl_flows.services.drop_runs import (
    MOST_BROKEN,
    MOST_CRASHES,
    DropRuns,
    RunNow,
)
from automl_flows.services.end_states import BROKEN, REFUSED


def test_a_bad_file_is_set_aside_with_its_reason_and_an_event(service: Service) -> None:
    service.put("bad.csv")
    service.look()
    service.runs.end("bad.csv", "failed", REFUSED, "bad.csv: there is no target column 'y'")
    service.look()
    assert service.files == {"failed/bad.csv", "failed/bad.csv.reason.txt"}
    assert service.reason("bad.csv") == "bad.csv: there is no target column 'y'\n"
    assert [event for event, _ in service.events] == ["automl.drop.set-aside"]
    assert not list(service.store.folder.glob("*/bad.csv"))


@pytest.mark.parametrize("earlier", [(), ("failed/bad.csv", "failed/bad.csv.reason.txt")])
def test_a_stop_while_a_file_is_set_aside_leaves_one_reason_and_is_told_once(
    service: Service, monkeypatch: pytest.MonkeyPatch, earlier: tuple[str, ...]
) -> None:
    name = "bad-2.csv" if earlier else "bad.csv"
    service.system.makedirs(f"{service.root}/failed", exist_ok=True)
    for file in earlier:
        service.put(file, "another one\n")
    service.put("bad.csv")
    service.look()
    service.runs.end("bad.csv", "failed", REFUSED, "bad.csv: there is no target column 'y'")
    with monkeypatch.context() as patch:
        patch.setattr(service.store, "give_up", _stopped)
        with pytest.raises(KeyboardInterrupt):
            service.look()
    service.watcher.close()
    assert service.files == {f"failed/{name}", f"failed/{name}.reason.txt", *earlier}
    told = [text for text in service.said if "set aside" in text]
    assert told == [f"bad.csv: set aside in failed/{name}: bad.csv: there is no target column 'y'"]


def _stopped(*_: Any) -> None:
    raise KeyboardInterrupt


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


def test_a_file_that_cannot_be_set_aside_does_not_stop_others(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.put("bad.csv")
    service.look()
    service.runs.end("bad.csv", "failed", REFUSED, "no target")
    with monkeypatch.context() as patch:
        patch.setattr(service.system, "pipe_file", no_route)
        service.look()
        service.look()
    assert len([s for s in service.said if s.startswith("waiting:")]) == 1
    service.put("good.csv", "a\n2\n")
    service.look()
    assert service.begun == ["bad.csv", "good.csv"]
    assert "failed/bad.csv" in service.files


def test_a_service_error_is_neverno_routed(service: Service) -> None:
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


def test_links_and_names_that_lead_out_areno_routed(tmp_path: Path) -> None:
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


def test_a_name_of_an_object_that_leads_out_isno_routed(tmp_path: Path) -> None:
    assert "leads out" in Drop("../../x.csv", "1", 1).fault


def test_a_file_that_is_too_large_isno_routed_unread(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("automl_flows.services.drop_place.most_bytes", lambda: 1000)
    service.put("large.csv", "a\n" * 600)
    service.look()
    assert "a quarter of this machine's memory" in service.reason("large.csv")
    assert service.begun == []


def test_a_file_of_zeros_behind_a_small_gzip_isno_routed_while_it_is_read(
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
