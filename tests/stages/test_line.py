"""The line of stages, with stages that do nothing."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from run_records import final_of, result_of, write

from automl.home import RunFolder
from automl.record_files import StageRecords
from automl.records import Configuration, Trial, TrialStatus
from automl.run_records.registration import RegistrationRule
from automl.run_records.search import FamilyFindings
from automl.stages import line as module
from automl.stages.line import Line
from automl.tracking.outbox import Outbox


@pytest.mark.parametrize("status", ["pending", "done", "off"])
def test_a_model_that_is_not_registered_yet_is_a_notice(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, status: str
) -> None:
    folder = RunFolder(tmp_path / "runs" / "r")
    folder.write_facts({"settings": {"table": "beans.csv", "target": "label"}})
    records = StageRecords(folder.stages)
    write(folder, final_of(), RegistrationRule(register=status != "off"))
    done = {"version": "1", "registered_name": "beans-label", "published": "yes"}
    outbox = Outbox(folder.path / "outbox.json", reason="no answer")
    outbox.done = done if status == "done" else {}
    outbox.save()
    monkeypatch.setattr(Line, "record", lambda *_: result_of())
    monkeypatch.setattr(Line, "trials", ())
    line: Any = object.__new__(Line)
    line._complete = None
    line.session = SimpleNamespace(
        folder=folder,
        warnings=[],
        stage_lock=nullcontext(),
        ledger=SimpleNamespace(elapsed=1.0, to_json=dict),
        settings=SimpleNamespace(keep_models=False),
        records=records,
        end=lambda _: None,
    )
    made = line.close()
    assert made.model.registration == status
    waiting = [notice for notice in made.notices if "not registered yet (no answer)" in notice]
    assert len(waiting) == (status == "pending")
    assert records.read("result")["notices"] == list(made.notices)


def test_a_family_is_told_what_it_found_without_the_record_of_the_search() -> None:
    """It is asked once by every family at the end of the search, when the seconds are dear."""
    line: Any = object.__new__(Line)
    line.session = SimpleNamespace(records=SimpleNamespace(read=lambda _: {"trials": 2}))
    line.search = SimpleNamespace(findings=lambda: {"knn": FamilyFindings(trials=2)})
    assert line.search_family("knn").trials == 2
    assert line.search_family("svm").trials == 0


@pytest.mark.parametrize(
    ("register_after", "is_mirrored"), [(True, False), (True, True), (False, False)]
)
def test_only_where_it_may_and_must_the_mirror_outlives_the_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, register_after: bool, is_mirrored: bool
) -> None:
    told: list[str] = []
    line: Any = object.__new__(Line)
    line.session = SimpleNamespace(
        folder=RunFolder(tmp_path),
        settings=SimpleNamespace(register_after=register_after),
        close=lambda: None,
    )
    line.search = SimpleNamespace(turns=SimpleNamespace(end=lambda: None))
    line.mirror = SimpleNamespace(
        detach=lambda seconds: told.append("detach"), stop=lambda: told.append("stop")
    )
    line.is_mirrored = is_mirrored
    monkeypatch.setattr(module, "state_of", lambda _: SimpleNamespace(status="finished"))
    module.close_line(line)
    assert told == (["detach", "stop"] if register_after and not is_mirrored else ["stop"])


@pytest.mark.parametrize(
    ("is_open", "left", "expected"),
    [(True, 3.0, 5.0), (True, -9.0, 2.0), (False, 3.0, 3.0), (False, -9.0, 0.0)],
)
def test_only_a_registration_that_may_be_near_its_end_is_waited_for_beyond_the_budget(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, is_open: bool, left: float, expected: float
) -> None:
    Outbox(tmp_path / "outbox.json", parent="a" if is_open else "").save()
    assert given_to_the_mirror(monkeypatch, tmp_path, left=left, is_late=True, pid=7) == expected


@pytest.mark.parametrize(
    ("is_late", "pid", "expected"), [(True, None, 0.0), (True, 7, 3.0), (False, None, 3.0)]
)
def test_a_run_that_is_late_waits_for_no_mirror_that_has_yet_to_start(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    is_late: bool,
    pid: int | None,
    expected: float,
) -> None:
    given = given_to_the_mirror(monkeypatch, tmp_path, left=3.0, is_late=is_late, pid=pid)
    assert given == expected


def given_to_the_mirror(
    monkeypatch: pytest.MonkeyPatch, path: Path, *, left: float, is_late: bool, pid: int | None
) -> float:
    """Seconds that a registration gives the mirror, once the model is no longer in memory."""
    given: list[float] = []
    dropped: list[bool] = []
    monkeypatch.setattr(Line, "record", lambda *_: None)
    line: Any = object.__new__(Line)
    line._complete = None
    line.session = SimpleNamespace(
        folder=RunFolder(path),
        stage_lock=nullcontext(),
        is_late=is_late,
        drop_model=lambda: dropped.append(True),
        ledger=SimpleNamespace(left_for=lambda _: left, stage=lambda _: nullcontext()),
    )

    def finish(seconds: float) -> str:
        assert dropped
        given.append(seconds)
        return "pending"

    line.mirror = SimpleNamespace(pid=pid, finish=finish)
    line.registration()
    assert not line.is_mirrored
    (seconds,) = given
    return seconds


@pytest.mark.parametrize("is_searched", [False, True])
def test_stages_after_a_search_see_all_its_trials_while_a_resumed_run_retakes_them(
    is_searched: bool,
) -> None:
    trials = [
        Trial("r", k, Configuration("knn", {"k": k}), TrialStatus.COMPLETE, 0.5) for k in range(3)
    ]
    fresh = replace(trials[0], index=0, stage="candidates")
    record = {"trials": 3} if is_searched else None
    line: Any = object.__new__(Line)
    line.session = SimpleNamespace(
        earlier=[*reversed(trials), fresh], records=SimpleNamespace(read=lambda _: record)
    )
    line.search = SimpleNamespace(turns=SimpleNamespace(trials=trials[:1]))
    assert line.trials == (trials if is_searched else trials[:1])
    line.search.turns.trials = trials
    assert line.trials == trials
